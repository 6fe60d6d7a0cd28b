/* SPDX-License-Identifier: Apache-2.0 */
/* Load balancers as a kind of state. */

#include "sn_balancer_impl.h"
#include "sn_carry.h"
#include "sn_parse.h"

#define WEIGHT_MAX   256
#define SESSIONS_MAX 8000000u
#define IDLE_MS_MAX  (7u * 24 * 3600000)

typedef Sinter__Program__V1__Balancer balancer_msg;

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->balancer != NULL;
}

static int decode_timeout(struct sn_builder *b, const char *field, uint32_t *to, uint32_t ms)
{
	*to = ms;
	if (ms < 1 || ms > IDLE_MS_MAX)
		return sn_build_fail(b, "%s is %u, want 1..%u", field, ms, IDLE_MS_MAX);
	return 0;
}

static int decode_timeouts(struct sn_builder *b, struct sn_balancer_rules *to, const balancer_msg *from)
{
	int rc = decode_timeout(b, "tcp_ms", &to->tcp_ms, from->tcp_ms);

	if (!rc)
		rc = decode_timeout(b, "tcp_transitory_ms", &to->tcp_transitory_ms, from->tcp_transitory_ms);
	return rc ? rc : decode_timeout(b, "udp_ms", &to->udp_ms, from->udp_ms);
}

static int decode_reason(struct sn_builder *b, const char *field, uint32_t *to, uint32_t reason)
{
	*to = SN_REASON_CHAIN + reason;
	return sn_build_index(b, field, reason, b->msg->n_reasons);
}

static int decode_reasons(struct sn_builder *b, struct sn_balancer_rules *to, const balancer_msg *from)
{
	int rc = decode_reason(b, "no_backend", &to->no_backend, from->no_backend);

	if (!rc)
		rc = decode_reason(b, "full", &to->full, from->full);
	return rc ? rc : decode_reason(b, "no_session", &to->no_session, from->no_session);
}

static uint64_t key_of(const Sinter__Program__V1__Backend *b)
{
	return (uint64_t)b->address << 16 | b->port;
}

static int decode_backends(struct sn_builder *b, struct sn_balancer_rules *to, const balancer_msg *from)
{
	if (from->n_backends > SN_BACKENDS_MAX)
		return sn_build_fail(b, "backends: there are %zu, want at most %d", from->n_backends,
				     SN_BACKENDS_MAX);
	for (uint32_t i = 0; i < from->n_backends; i++) {
		const Sinter__Program__V1__Backend *k = from->backends[i];

		if (k->port > 65535)
			return sn_build_fail(b, "backends[%u].port is %u, want at most 65535", i, k->port);
		if (k->weight > WEIGHT_MAX)
			return sn_build_fail(b, "backends[%u].weight is %u, want at most %d", i, k->weight,
					     WEIGHT_MAX);
		if (i > 0 && key_of(k) <= key_of(from->backends[i - 1]))
			return sn_build_fail(b, "backends[%u] is %#x port %u, want one above the one before",
					     i, k->address, k->port);
		to->backends[i] = (struct sn_backend){k->address, (uint16_t)k->port,
						      (uint16_t)(k->down ? 0 : k->weight), k->down};
	}
	to->n_backends = (uint32_t)from->n_backends;
	sn_maglev_fill(to->entries, to->backends, to->n_backends);
	return 0;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	struct sn_balancer_rules *rules = sn_build_array(1, sizeof(*rules));
	int rc;

	if (!rules)
		return sn_build_no_memory(b);
	to->rules = rules;
	rules->by_client = from->balancer->by_client;
	rules->direct = from->balancer->direct;
	rules->stateless = from->balancer->stateless;
	if (rules->stateless && !rules->direct)
		return sn_build_fail(b, "stateless without direct");
	if (from->max_sessions < 1 || from->max_sessions > SESSIONS_MAX)
		return sn_build_fail(b, "max_sessions is %u, want 1..%u", from->max_sessions, SESSIONS_MAX);
	rc = decode_timeouts(b, rules, from->balancer);
	if (!rc)
		rc = decode_reasons(b, rules, from->balancer);
	return rc ? rc : decode_backends(b, rules, from->balancer);
}

static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	const struct sn_balancer_rules *r = from->rules;

	to->timeout_ms[SN_PROTO_TCP] = r->tcp_transitory_ms;
	to->timeout_ms[SN_PROTO_UDP] = r->udp_ms;
	to->timeout_ms[SN_SESSION_ESTABLISHED] = r->tcp_ms;
	to->one_sided = r->direct;
}

/* ---- in memory ---- */

/*
 * Clients choose their ports, and with them the shards: an eighth of all sessions may be of one. Memory costs
 * only what is used of it.
 */
static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	uint32_t all = table->config.max_entries, entries = all / 8 + 1024;

	(void)partitioning;
	entries = entries < all ? entries : all;
	/* One more: the session of a backend that is gone stays until that which takes its place is used. */
	*size = (struct sn_shard_size){SN_SHARDS, entries + 1, entries / 8 + 1, 0, 0, 0};
	return 0;
}

/* ---- an entry ---- */

static uint64_t hash(const struct sn_state *state, const struct sn_entry *e)
{
	const struct client client = client_of(session_of(e));

	return hash_client(state, &client);
}

static uint32_t place(const struct sn_state *state, const struct sn_state_table *t, const struct sn_entry *e)
{
	const struct sn_session *s = session_of(e);

	return shard_of(state, t, s->remote_addr, s->remote_port, s->proto);
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	const struct sn_session *s = session_of(e);

	if (s->proto != SN_TCP && s->proto != SN_UDP)
		return "its protocol is not balanced";
	return e->shard == place(state, table, e) ? NULL : "its client's port is another shard's";
}

/* Whether the client's end has a session with the same service, or the same backend, if that replies. */
static bool is_known(const struct sn_state *state, const struct sn_state_table *table,
		     const struct sn_state_shard *shard, const struct sn_entry *e, uint64_t now)
{
	const struct sn_session *s = session_of(e), *other;
	struct client client = client_of(s);
	struct sessions all;

	client.owner = table->owner;
	all = sessions_of(state, shard, &client);
	while ((other = sessions_next(&all)) != NULL)
		if (sn_entry_live(&other->entry, now) &&
		    ((other->outside_addr == s->outside_addr && other->outside_port == s->outside_port) ||
		     (!state->owners[table->owner].one_sided && other->inside_addr == s->inside_addr &&
		      other->inside_port == s->inside_port)))
			return true;
	return false;
}

const struct sn_state_kind sn_balancer = {
	.name = "balancer",
	.claims = claims,
	.decode = decode,
	.table_owner = table_owner,
	.table_size = sizeof(struct sn_state_table),
	.shard_size = 128,
	.table_init = table_init,
	.hash = hash,
	.quota_class = sn_session_quota_class,
	.timeout = sn_session_timeout,
	.place = place,
	.misfit = misfit,
	.is_taken = is_known,
	.replaced = sn_balancer_replaced,
	.victim = sn_balancer_victim,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = sn_session_pack,
	.unpack = sn_session_unpack,
	.report = sn_session_report,
};
SN_STATE_KIND(sn_balancer)
