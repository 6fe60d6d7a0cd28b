/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that may go past a function, as a kind of state. */

#include "sn_passing.h"

struct rules {
	struct sn_flow_timeouts timeouts;
	uint16_t packets;
};

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->passing != NULL;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Passing *m = from->passing;
	const uint32_t ms[] = {m->tcp_ms, m->tcp_transitory_ms, m->tcp_closing_ms, m->udp_ms, m->icmp_ms};
	struct rules *r = sn_build_array(1, sizeof(*r));

	to->rules = r;
	if (!r)
		return sn_build_no_memory(b);
	if (sn_flow_timeouts_decode(b, &r->timeouts, from->max_sessions, ms))
		return -EINVAL;
	r->packets = (uint16_t)m->packets;
	if (m->packets < 1 || m->packets > UINT16_MAX)
		return sn_build_fail(b, "packets is %u, want 1..%u", m->packets, UINT16_MAX);
	return 0;
}

static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	const struct rules *r = from->rules;

	memcpy(to->timeout_ms, r->timeouts.ms, sizeof(to->timeout_ms));
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
	.table_init = sn_outside_flows_init,
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

struct sn_session *sn_passing_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
				    const struct sn_flow *f, bool from_outside, uint16_t packets,
				    uint64_t now)
{
	struct sn_session *s = sn_outside_flows_begin(partition, table, shard, f, from_outside, now);

	if (likely(s))
		sn_session_count(s, packets);
	return s;
}
