/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that firewalls follow, as a kind of state. */

#include <stdlib.h>

#include "sn_napt_impl.h"
#include "sn_rss.h"
#include "sn_flow.h"

#define FLOWS_MAX (1u << 24)

struct timeouts {
	uint32_t ms[SN_OWNER_TIMEOUTS];
};

static const struct sn_session *session_of(const struct sn_entry *e)
{
	return (const struct sn_session *)e;
}

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->tracking != NULL;
}

static int check_timeout(struct sn_builder *b, const char *field, uint32_t ms)
{
	return ms ? 0 : sn_build_fail(b, "%s is 0, want at least 1", field);
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Tracking *k = from->tracking;
	struct timeouts *t = sn_build_array(1, sizeof(*t));
	int rc;

	to->rules = t;
	if (!t)
		return sn_build_no_memory(b);
	rc = check_timeout(b, "tcp_ms", k->tcp_ms);
	if (!rc)
		rc = check_timeout(b, "tcp_transitory_ms", k->tcp_transitory_ms);
	if (!rc)
		rc = check_timeout(b, "udp_ms", k->udp_ms);
	if (!rc)
		rc = check_timeout(b, "icmp_ms", k->icmp_ms);
	if (!rc && (from->max_sessions < 1 || from->max_sessions > FLOWS_MAX))
		rc = sn_build_fail(b, "max_sessions is %u, want 1..%u flows", from->max_sessions, FLOWS_MAX);
	t->ms[SN_PROTO_TCP] = k->tcp_transitory_ms;
	t->ms[SN_PROTO_UDP] = t->ms[SN_PROTO_OTHER] = k->udp_ms;
	t->ms[SN_PROTO_ICMP] = k->icmp_ms;
	t->ms[NAPT_ESTABLISHED] = k->tcp_ms;
	return rc;
}

static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	const struct timeouts *t = from->rules;

	memcpy(to->timeout_ms, t->ms, sizeof(to->timeout_ms));
}

/* Flows are spread evenly: twice as many as there are on the average is never reached. */
static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	uint32_t max = table->config.max_entries, even = 2 * (max / SN_SHARDS) + 64;

	(void)partitioning;
	even = even < max ? even : max;
	*size = (struct sn_shard_size){SN_SHARDS, even, even, 0, 0, 0};
	return 0;
}

/* ---- an entry ---- */

/* The ends of a flow in an order that both directions have. */
struct ends {
	uint64_t low, high; /* address and port */
};

static inline struct ends ends_of(const struct sn_flow *f)
{
	uint64_t src = (uint64_t)f->src << 16 | f->sport, dst = (uint64_t)f->dst << 16 | f->dport;

	return src < dst ? (struct ends){src, dst} : (struct ends){dst, src};
}

static struct sn_flow flow_of(const struct sn_session *s)
{
	return (struct sn_flow){s->inside_addr, s->remote_addr, s->inside_port, s->remote_port, s->proto};
}

static uint64_t hash_flow(const struct sn_state *state, uint32_t owner, const struct sn_flow *f)
{
	struct ends e = ends_of(f);

	return sn_hash2(e.low | (uint64_t)owner << 48, e.high << 8 | f->proto, state->seed);
}

static uint64_t hash(const struct sn_state *state, const struct sn_entry *e)
{
	struct sn_flow f = flow_of(session_of(e));

	return hash_flow(state, e->owner, &f);
}

static uint32_t quota_class(const struct sn_entry *e)
{
	return class_of(session_of(e)->proto);
}

static uint32_t timeout(const struct sn_state *state, const struct sn_entry *e)
{
	return timeout_of(&state->owners[e->owner], session_of(e)->proto, session_of(e)->seen);
}

/* The flow of a packet from the side that began, or from the other one. */
static bool is_along(const struct sn_session *s, const struct sn_flow *f, bool from_outside)
{
	return s->entry.own_bit == from_outside && s->inside_addr == f->src && s->remote_addr == f->dst &&
	       s->inside_port == f->sport && s->remote_port == f->dport;
}

static bool is_against(const struct sn_session *s, const struct sn_flow *f, bool from_outside)
{
	return s->entry.own_bit != from_outside && s->inside_addr == f->dst && s->remote_addr == f->src &&
	       s->inside_port == f->dport && s->remote_port == f->sport;
}

static struct sn_session *find(const struct sn_state_shard *sh, uint32_t owner, const struct sn_flow *f,
			       bool from_outside, uint64_t hash)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(sh, tier, hash); i > 0; i = at_index(sh, i)->hash_next) {
			struct sn_session *s = (struct sn_session *)at_index(sh, i);

			if ((is_along(s, f, from_outside) || is_against(s, f, from_outside)) &&
			    s->proto == f->proto && s->entry.owner == owner)
				return s;
		}
	}
	return NULL;
}

static bool is_there(const struct sn_state *state, const struct sn_state_table *t,
		     const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	struct sn_flow f = flow_of(session_of(e));

	(void)now;
	return find(sh, t->owner, &f, e->own_bit, hash_flow(state, t->owner, &f)) != NULL;
}

/* The shard of a flow in a table. */
static uint32_t shard_in(const struct sn_state *state, const struct sn_state_table *t,
			 const struct sn_flow *f, bool from_outside)
{
	const struct sn_table_cut *cut = &t->config.cut;
	struct sn_flow back;

	if (likely(cut->by == SN_CUT_BY_KIND))
		return sn_track_shard(state, f);
	if (from_outside == (bool)cut->outside)
		return sn_flow_shard(state, cut->by, f);
	back = sn_flow_turned(f);
	return sn_flow_shard(state, cut->by, &back);
}

static uint32_t place(const struct sn_state *state, const struct sn_state_table *t, const struct sn_entry *e)
{
	struct sn_flow f = flow_of(session_of(e));

	return shard_in(state, t, &f, e->own_bit);
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	const struct sn_session *s = session_of(e);

	if (s->outside_addr != s->inside_addr || s->outside_port != s->inside_port)
		return "it is translated, which flows that are followed are not";
	if (!sn_has_ports(s->proto) && (s->inside_port || s->remote_port))
		return "its protocol has no ports, but it has";
	if (((e->shard ^ place(state, table, e)) & table->mask) != 0)
		return "its flow is another shard's";
	return NULL;
}

static int report(const struct sn_entry_info *info, struct sn_arena *arena,
		  Sinter__Program__V1__Session *session)
{
	static char opening[] = "opening", established[] = "established", closing[] = "closing",
		    open[] = "open";
	const struct sn_session *s = session_of(&info->line.entry);

	(void)arena;
	session->proto = s->proto;
	session->inside_address = s->inside_addr;
	session->remote_address = s->remote_addr;
	session->inside_port = s->inside_port;
	session->remote_port = s->remote_port;
	session->from_outside = s->entry.own_bit;
	session->state = s->proto != SN_TCP	     ? open
			 : s->seen & SN_SEEN_CLOSING ? closing
			 : is_established(s->seen)   ? established
						     : opening;
	return 0;
}

const struct sn_state_kind sn_track = {
	.name = "tracking",
	.claims = claims,
	.decode = decode,
	.table_owner = table_owner,
	.table_size = sizeof(struct sn_state_table),
	.shard_size = 128,
	.table_init = table_init,
	.hash = hash,
	.quota_class = quota_class,
	.timeout = timeout,
	.place = place,
	.misfit = misfit,
	.is_taken = is_there,
	.victim = sn_napt_victim,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = sn_session_pack,
	.unpack = sn_session_unpack,
	.report = report,
};
SN_STATE_KIND(sn_track)

/* ---- the packet path ---- */

bool sn_track_flow(const struct sn_pkt *p, struct sn_flow *flow)
{
	*flow = (struct sn_flow){p->src, p->dst, 0, 0, p->proto};
	if (unlikely(p->frag != SN_FRAG_WHOLE))
		return false;
	if (likely(p->proto == SN_TCP || p->proto == SN_UDP)) {
		flow->sport = (uint16_t)p->sport;
		flow->dport = (uint16_t)p->dport;
		return p->sport != SN_PORT_ABSENT;
	}
	if (p->proto != SN_ICMP)
		return true;
	if (sn_is_query(p->icmp_type))
		flow->sport = p->id;
	else
		flow->dport = p->id;
	return sn_is_query(p->icmp_type) || sn_is_query_reply(p->icmp_type);
}

uint32_t sn_track_shard(const struct sn_state *state, const struct sn_flow *f)
{
	struct ends e;

	if (state->partitioning.by == SN_PARTITION_BY_RSS && (f->proto == SN_TCP || f->proto == SN_UDP))
		return sn_rss_bucket(sn_rss_words(f->src, f->dst, f->sport, f->dport));
	e = ends_of(f);
	return sn_hash2(e.low, e.high << 8 | f->proto, state->key) & (SN_SHARDS - 1);
}

uint32_t sn_track_shard_in(const struct sn_state *state, uint32_t table, const struct sn_flow *f,
			   bool from_outside)
{
	return shard_in(state, state->tables[table], f, from_outside);
}

struct sn_session *sn_track_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				 const struct sn_flow *f, bool from_outside, uint64_t now, bool *is_return)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	struct sn_session *s = find(sh, t->owner, f, from_outside, hash_flow(partition->state, t->owner, f));

	if (!s)
		return NULL;
	if (unlikely(!sn_entry_live(&s->entry, now))) {
		sn_entry_expire(partition, t, sh, &s->entry);
		return NULL;
	}
	*is_return = s->entry.own_bit != from_outside;
	return s;
}

static struct sn_session *make(struct sn_partition *partition, struct sn_state_table *t, uint32_t shard,
			       const struct sn_flow *f, bool from_outside, uint64_t now)
{
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	enum sn_proto_class class = class_of(f->proto);
	struct sn_session *s;

	if (unlikely(!has_room(partition, t, sh, t->owner, class, now))) {
		sh->exhausted++;
		return NULL;
	}
	s = session_begin(partition->state, sh, t->owner, shard, f->proto, now);
	s->entry.own_bit = from_outside;
	s->inside_addr = s->outside_addr = f->src;
	s->inside_port = s->outside_port = f->sport;
	s->remote_addr = f->dst;
	s->remote_port = f->dport;
	memset(s->ack, 0, sizeof(s->ack));
	memset(s->window, 0, sizeof(s->window));
	entry_settle(partition, t, sh, &s->entry, class, hash_flow(partition->state, t->owner, f));
	sh->created++;
	return s;
}

struct sn_session *sn_track_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
				  const struct sn_flow *f, bool from_outside, uint64_t now, bool *is_return,
				  bool *made)
{
	struct sn_session *s = sn_track_find(partition, table, shard, f, from_outside, now, is_return);

	*made = !s;
	if (s)
		return s;
	*is_return = false;
	return make(partition, partition->state->tables[table], shard, f, from_outside, now);
}

void sn_track_turn(const struct sn_state *state, struct sn_session *s)
{
	uint32_t address = s->inside_addr;
	uint16_t port = s->inside_port;

	s->inside_addr = s->outside_addr = s->remote_addr;
	s->inside_port = s->outside_port = s->remote_port;
	s->remote_addr = address;
	s->remote_port = port;
	s->entry.own_bit ^= 1;
	entry_outdate(state, &s->entry);
}
