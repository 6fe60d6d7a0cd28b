/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of load balancers are found, made, and end: the packet path. */

#include "sn_balancer_impl.h"

#define CLIENT_SESSIONS 64u /* of a client's address, port and protocol */
#define OTHER_BACKENDS	64u /* entries of the table that are asked for a backend without a flow of that */
#define LOOKED		16u /* sessions, for one that may end */

static uint16_t port_of(const struct sn_backend *b, uint16_t sent_to)
{
	return b->port ? b->port : sent_to;
}

/* The first backend with the address, or that which would follow. */
static uint32_t first_at(const struct sn_balancer_rules *r, uint32_t address)
{
	uint32_t lo = 0, hi = r->n_backends;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (r->backends[mid].address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Whether a session's backend is still one. */
static bool is_listed(const struct sn_balancer_rules *r, const struct sn_session *s)
{
	for (uint32_t i = first_at(r, s->inside_addr);
	     i < r->n_backends && r->backends[i].address == s->inside_addr; i++)
		if (port_of(&r->backends[i], s->outside_port) == s->inside_port && !r->backends[i].down)
			return true;
	return false;
}

static bool counts(const struct sn_balancer_rules *r, const struct sn_session *s, uint64_t now)
{
	return sn_entry_live(&s->entry, now) && is_listed(r, s);
}

static uint32_t entry_for(const struct sn_balancer_rules *r, const struct sn_flow *f)
{
	uint64_t h;

	if (r->by_client)
		return (uint32_t)(sn_mix(sn_mix((uint64_t)f->src << 32)) % SN_MAGLEV_ENTRIES);
	h = sn_mix((uint64_t)f->src << 32 | f->dst);
	h += (uint64_t)f->sport << 48 | (uint64_t)f->dport << 32 | f->proto;
	return (uint32_t)(sn_mix(h) % SN_MAGLEV_ENTRIES);
}

/* The backend for a new flow: of the table's entries from the flow's on, the first that knows no other flow
 * of the client's end. */
static enum sn_balancer_result choose(const struct sn_balancer_rules *r, const struct sn_flow *f,
				      const struct sessions *all, uint64_t now, const struct sn_backend **to)
{
	struct sn_session *known[CLIENT_SESSIONS], *s;
	uint32_t at = entry_for(r, f), n = 0;
	struct sessions others = *all;

	if (r->entries[at] == SN_NO_BACKEND)
		return SN_BALANCER_NO_BACKEND;
	while ((s = sessions_next(&others)) != NULL) {
		if (!counts(r, s, now))
			continue;
		if (n == CLIENT_SESSIONS)
			return SN_BALANCER_FULL;
		known[n++] = s;
	}
	if (n == CLIENT_SESSIONS)
		return SN_BALANCER_FULL;
	*to = &r->backends[r->entries[at]];
	if (r->direct) /* no reply has to tell which flow it is of */
		return SN_BALANCER_MADE;
	for (uint32_t i = 0; i < OTHER_BACKENDS; i++, at = at + 1 < SN_MAGLEV_ENTRIES ? at + 1 : 0) {
		const struct sn_backend *b = &r->backends[r->entries[at]];
		uint32_t k = 0;

		while (k < n &&
		       (known[k]->inside_addr != b->address || known[k]->inside_port != port_of(b, f->dport)))
			k++;
		*to = b;
		if (k == n)
			return SN_BALANCER_MADE;
	}
	return SN_BALANCER_FULL;
}

/* gone: the flow's session with a backend that is not listed; NULL: it has none. It is in no one's way. */
static enum sn_balancer_result make(struct sn_partition *partition, struct sn_state_table *t,
				    const struct sn_balancer_rules *r, const struct sn_flow *f,
				    const struct sessions *all, uint64_t now, struct sn_session *gone,
				    struct sn_session **session)
{
	uint32_t shard = shard_of(partition->state, t, f->src, f->sport, f->proto);
	struct sn_state_shard *sh = shard_at(t, shard);
	enum sn_proto_class class = ported_class_of(f->proto);
	const struct sn_backend *to = NULL;
	enum sn_balancer_result result = choose(r, f, all, now, &to);
	struct sn_session *s;

	if (result != SN_BALANCER_MADE)
		return result;
	if (unlikely(gone != NULL && slab_empty(sh))) {
		sn_entry_expire(partition, t, sh, &gone->entry);
		gone = NULL;
	}
	if (unlikely(!gone && !has_room(partition, t, sh, t->owner, class, now))) {
		sh->cold->exhausted++;
		return SN_BALANCER_FULL;
	}
	s = session_begin(partition->state, sh, t->owner, shard, f->proto, class, now);
	s->inside_addr = to->address;
	s->inside_port = port_of(to, f->dport);
	s->outside_addr = f->dst;
	s->outside_port = f->dport;
	s->remote_addr = f->src;
	s->remote_port = f->sport;
	if (r->direct)
		s->seen = SN_SEEN_ANSWERED;
	entry_settle(partition, t, sh, &s->entry, class, all->hash);
	sh->created++;
	sn_state_note_made(partition, t, &s->entry, now);
	*session = s;
	return gone ? SN_BALANCER_MOVED : SN_BALANCER_MADE;
}

const struct sn_backend *sn_balancer_spread(const struct sn_balancer_rules *r, const struct sn_flow *f)
{
	uint16_t backend = r->entries[entry_for(r, f)];

	return backend == SN_NO_BACKEND ? NULL : &r->backends[backend];
}

uint32_t sn_balancer_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *f)
{
	return shard_of(state, state->tables[table], f->src, f->sport, f->proto);
}

enum sn_balancer_result sn_balancer_forth(struct sn_partition *partition, uint32_t table,
					  const struct sn_balancer_rules *rules, const struct sn_flow *f,
					  bool wanted, uint64_t now, struct sn_session **session)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard_of(partition->state, t, f->src, f->sport, f->proto));
	const struct client client = {t->owner, f->src, f->sport, f->proto};
	struct sessions all = sessions_of(partition->state, sh, &client), left = all;
	struct sn_session *s, *gone = NULL;

	while ((s = sessions_next(&left)) != NULL) {
		if (s->outside_addr != f->dst || s->outside_port != f->dport)
			continue;
		if (likely(counts(rules, s, now))) {
			*session = s;
			return SN_BALANCER_FOUND;
		}
		gone = s;
	}
	if (!wanted)
		return SN_BALANCER_NONE;
	if (gone && !sn_entry_live(&gone->entry, now)) {
		sn_entry_expire(partition, t, sh, &gone->entry);
		gone = NULL;
		all = sessions_of(partition->state, sh, &client);
	}
	return make(partition, t, rules, f, &all, now, gone, session);
}

struct sn_entry *sn_balancer_replaced(const struct sn_state *state, const struct sn_state_shard *sh,
				      const struct sn_entry *entry)
{
	const struct sn_session *s = (const struct sn_session *)entry;
	const struct client client = client_of(s);
	struct sessions all = sessions_of(state, sh, &client);
	struct sn_session *old = sessions_next(&all);

	while (old &&
	       (old == s || old->outside_addr != s->outside_addr || old->outside_port != s->outside_port))
		old = sessions_next(&all);
	return old ? &old->entry : NULL;
}

struct sn_session *sn_balancer_back(const struct sn_state *state, uint32_t table,
				    const struct sn_balancer_rules *rules, const struct sn_flow *f,
				    uint64_t now)
{
	const struct sn_state_table *t = state->tables[table];
	const struct sn_state_shard *sh = shard_at(t, shard_of(state, t, f->dst, f->dport, f->proto));
	const struct client client = {t->owner, f->dst, f->dport, f->proto};
	struct sessions all = sessions_of(state, sh, &client);
	struct sn_session *s;

	while ((s = sessions_next(&all)) != NULL)
		if (s->inside_addr == f->src && s->inside_port == f->sport && counts(rules, s, now))
			return s;
	return NULL;
}

/* A TCP opening that its backend has not answered for long enough. */
struct sn_entry *sn_balancer_victim(struct sn_partition *partition, struct sn_state_table *table,
				    struct sn_state_shard *sh, uint32_t owner, uint32_t class, uint64_t now)
{
	(void)partition;
	(void)table;
	(void)owner;
	for (uint32_t looks = 0; class == SN_PROTO_TCP && looks < LOOKED && looks < slab_used(sh); looks++) {
		struct sn_entry *e = used_entry(sh, turn(&sh->hand, slab_used(sh)));
		const struct sn_session *s = (const struct sn_session *)e;

		if (e->live && s->proto == SN_TCP && sn_session_is_stuck(s, now))
			return e;
	}
	return NULL;
}
