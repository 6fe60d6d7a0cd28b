/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of hosts, as a kind of state. */

#include "sn_connlimit.h"

#define CONNECTIONS_MAX (1u << 24)

struct rules {
	uint32_t timeout_ms[SN_OWNER_TIMEOUTS];
};

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->connection_limit != NULL;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__ConnectionLimit *c = from->connection_limit;
	const struct {
		const char *field;
		uint32_t ms;
	} timeouts[] = {
		{"tcp_ms", c->tcp_ms},
		{"tcp_transitory_ms", c->tcp_transitory_ms},
		{"tcp_closing_ms", c->tcp_closing_ms},
		{"udp_ms", c->udp_ms},
		{"icmp_ms", c->icmp_ms},
	};
	struct rules *r = sn_build_array(1, sizeof(*r));

	to->rules = r;
	if (!r)
		return sn_build_no_memory(b);
	for (uint32_t i = 0; i < RTE_DIM(timeouts); i++)
		if (!timeouts[i].ms)
			return sn_build_fail(b, "%s is 0, want at least 1", timeouts[i].field);
	if (from->max_sessions < 1 || from->max_sessions > CONNECTIONS_MAX)
		return sn_build_fail(b, "max_sessions is %u, want 1..%u connections", from->max_sessions,
				     CONNECTIONS_MAX);
	r->timeout_ms[SN_PROTO_TCP] = c->tcp_transitory_ms;
	r->timeout_ms[SN_PROTO_UDP] = r->timeout_ms[SN_PROTO_OTHER] = c->udp_ms;
	r->timeout_ms[SN_PROTO_ICMP] = c->icmp_ms;
	r->timeout_ms[SN_SESSION_ESTABLISHED] = c->tcp_ms;
	r->timeout_ms[SN_SESSION_CLOSING] = c->tcp_closing_ms;
	return sn_build_table_subscribers(b, to, c->subscribers);
}

static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	const struct rules *r = from->rules;

	memcpy(to->timeout_ms, r->timeout_ms, sizeof(to->timeout_ms));
}

static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	uint32_t entries = sn_followed_entries(table, partitioning);

	*size = (struct sn_shard_size){SN_SHARDS, entries, entries / 8 + 1, 0, 0, 0};
	return 0;
}

static void count_subscribers(const struct sn_state *state, const struct sn_state_table *t)
{
	for (uint32_t i = 0; i <= t->mask; i++) {
		const struct sn_state_shard *sh = shard_at(t, i);

		for (uint32_t j = 0; j < slab_used(sh); j++) {
			const struct sn_entry *e = at_index(sh, used_index(sh, j));

			if (e->live)
				subscriber_count(state, session_of(e), 1, 0);
		}
	}
}

/* ---- a connection ---- */

static void hold(const struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		 struct sn_entry *e)
{
	(void)t;
	(void)sh;
	subscriber_count(state, session_of(e), 1, 0);
}

static void release(const struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		    struct sn_entry *e, bool unused)
{
	(void)t;
	(void)sh;
	(void)unused;
	subscriber_count(state, session_of(e), -1, 0);
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	return e->own_bit ? "it began outside, where no connection does"
			  : sn_followed_misfit(state, table, e);
}

const struct sn_state_kind sn_connlimit = {
	.name = "connections",
	.claims = claims,
	.decode = decode,
	.table_owner = table_owner,
	.table_size = sizeof(struct sn_state_table),
	.shard_size = sizeof(struct sn_state_shard),
	.table_init = table_init,
	.count_subscribers = count_subscribers,
	.hash = sn_followed_hash,
	.quota_class = sn_session_quota_class,
	.timeout = sn_session_timeout,
	.place = sn_followed_place,
	.misfit = misfit,
	.is_taken = sn_followed_is_there,
	.hold = hold,
	.release = release,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = sn_session_pack,
	.unpack = sn_session_unpack,
	.report = sn_followed_report,
};
SN_STATE_KIND(sn_connlimit)

/* ---- packets ---- */

bool sn_connlimit_flow(const struct sn_pkt *p, bool from_outside, struct sn_flow *flow)
{
	return sn_followed_flow(p, flow) &&
	       (p->proto != SN_ICMP || sn_is_query(p->icmp_type) == !from_outside);
}

struct sn_session *sn_connlimit_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				     const struct sn_flow *f, bool from_outside, uint64_t now)
{
	bool is_return;

	return followed_find(partition, partition->state->tables[table], shard, f, from_outside, now,
			     &is_return);
}

/* One more of its host's. */
static bool take(struct sn_partition *partition, const struct sn_subscriber_change *c, uint64_t now)
{
	struct sn_subscribers *s = partition->state->subscribers;

	if (likely(sn_subscribers_take(s, c)))
		return true;
	sn_state_reap_counted(partition, now);
	if (sn_subscribers_take(s, c))
		return true;
	sn_subscribers_refuse(s, c->set, c->address);
	return false;
}

enum sn_connlimit_result sn_connlimit_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
					    const struct sn_flow *f, uint64_t now,
					    struct sn_session **session)
{
	const struct sn_state *state = partition->state;
	struct sn_state_table *t = state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	enum sn_proto_class class = class_of(f->proto);
	struct sn_subscriber_change c = subscriber_change(state, t->owner, f->src, class, shard, 1, 0);

	if (unlikely(!take(partition, &c, now)))
		return SN_CONNLIMIT_LIMITED;
	if (unlikely(!has_room(partition, t, sh, t->owner, class, now))) {
		sh->cold->exhausted++;
		c.sessions = -1;
		sn_subscribers_count(state->subscribers, &c);
		return SN_CONNLIMIT_FULL;
	}
	*session = followed_begin(partition, t, shard, f, false, now);
	return SN_CONNLIMIT_MADE;
}

uint32_t sn_connlimit_reason(const struct sn_state *state, uint32_t table)
{
	return state->owners[state->tables[table]->owner].limit_reason;
}
