/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that may go past a function, as a kind of state. */

#include "sn_passing.h"

#define FLOWS_MAX (1u << 24)

struct rules {
	uint32_t timeout_ms[SN_OWNER_TIMEOUTS];
	uint16_t packets;
};

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->passing != NULL;
}

static int check(struct sn_builder *b, const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Passing *m = from->passing;
	const struct {
		const char *field;
		uint32_t ms;
	} timeouts[] = {
		{"tcp_ms", m->tcp_ms},
		{"tcp_transitory_ms", m->tcp_transitory_ms},
		{"tcp_closing_ms", m->tcp_closing_ms},
		{"udp_ms", m->udp_ms},
		{"icmp_ms", m->icmp_ms},
	};

	for (uint32_t i = 0; i < RTE_DIM(timeouts); i++)
		if (!timeouts[i].ms)
			return sn_build_fail(b, "%s is 0, want at least 1", timeouts[i].field);
	if (from->max_sessions < 1 || from->max_sessions > FLOWS_MAX)
		return sn_build_fail(b, "max_sessions is %u, want 1..%u flows", from->max_sessions,
				     FLOWS_MAX);
	if (m->packets < 1 || m->packets > UINT16_MAX)
		return sn_build_fail(b, "packets is %u, want 1..%u", m->packets, UINT16_MAX);
	return 0;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Passing *m = from->passing;
	struct rules *r = sn_build_array(1, sizeof(*r));

	to->rules = r;
	if (!r)
		return sn_build_no_memory(b);
	r->timeout_ms[SN_PROTO_TCP] = m->tcp_transitory_ms;
	r->timeout_ms[SN_PROTO_UDP] = r->timeout_ms[SN_PROTO_OTHER] = m->udp_ms;
	r->timeout_ms[SN_PROTO_ICMP] = m->icmp_ms;
	r->timeout_ms[SN_SESSION_ESTABLISHED] = m->tcp_ms;
	r->timeout_ms[SN_SESSION_CLOSING] = m->tcp_closing_ms;
	r->packets = (uint16_t)m->packets;
	return check(b, from);
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

uint16_t sn_passing_packets(const struct sn_table_config *table)
{
	return ((const struct rules *)table->rules)->packets;
}

/* ---- an entry ---- */

static void unpack(struct sn_entry *e, uint64_t now, const uint8_t *record)
{
	sn_session_unpack(e, now, record);
	((struct sn_session *)e)->seen |= record[21] & SN_SEEN_COUNTED;
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	return !sn_passing_is_past(session_of(e)) && session_of(e)->remaining == 0
		       ? "it counts packets, of which none is to come"
		       : sn_followed_misfit(state, table, e);
}

static int report(const struct sn_entry_info *info, struct sn_arena *arena,
		  Sinter__Program__V1__Session *session)
{
	static char through[] = "through", past[] = "past";
	int rc = sn_followed_report(info, arena, session);

	session->state = sn_passing_is_past(session_of(&info->line.entry)) ? past : through;
	return rc;
}

const struct sn_state_kind sn_passing = {
	.name = "passing",
	.claims = claims,
	.decode = decode,
	.table_owner = table_owner,
	.table_size = sizeof(struct sn_state_table),
	.shard_size = sizeof(struct sn_state_shard),
	.table_init = table_init,
	.hash = sn_followed_hash,
	.quota_class = sn_session_quota_class,
	.timeout = sn_session_timeout,
	.place = sn_followed_place,
	.misfit = misfit,
	.is_taken = sn_followed_is_there,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = sn_session_pack,
	.unpack = unpack,
	.report = report,
};
SN_STATE_KIND(sn_passing)

/* ---- packets ---- */

struct sn_session *sn_passing_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
				   const struct sn_flow *f, bool from_outside, uint64_t now, bool *is_return)
{
	return followed_find(partition, partition->state->tables[table], shard, f, from_outside, now,
			     is_return);
}

struct sn_session *sn_passing_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
				    const struct sn_flow *f, bool from_outside, uint16_t packets,
				    uint64_t now)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	struct sn_session *s;

	if (unlikely(!has_room(partition, t, sh, t->owner, class_of(f->proto), now))) {
		sh->cold->exhausted++;
		return NULL;
	}
	s = followed_begin(partition, t, shard, f, from_outside, now);
	sn_session_count(s, packets);
	return s;
}

void sn_passing_end(struct sn_partition *partition, uint32_t table, struct sn_session *s)
{
	const struct sn_state_table *t = partition->state->tables[table];

	sn_entry_expire(partition, t, shard_at(t, s->entry.shard & t->mask), &s->entry);
}
