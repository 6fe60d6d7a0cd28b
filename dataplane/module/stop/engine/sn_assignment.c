/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_assignment.h"

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->assignment != NULL;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	const Sinter__Program__V1__Assignment *m = from->assignment;
	const uint32_t ms[] = {m->tcp_ms, m->tcp_transitory_ms, m->tcp_closing_ms, m->udp_ms, m->icmp_ms};

	to->rules = sn_build_array(1, sizeof(struct sn_flow_timeouts));
	if (!to->rules)
		return sn_build_no_memory(b);
	return sn_flow_timeouts_decode(b, to->rules, from->max_sessions, ms);
}

static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	memcpy(to->timeout_ms, ((const struct sn_flow_timeouts *)from->rules)->ms, sizeof(to->timeout_ms));
}

const struct sn_state_kind sn_assignment = {
	.name = "assignment",
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
	.misfit = sn_followed_misfit,
	.is_taken = sn_followed_is_there,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = sn_session_pack,
	.unpack = sn_session_unpack,
	.report = sn_followed_report,
};
SN_STATE_KIND(sn_assignment)
