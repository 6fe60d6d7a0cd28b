/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_outside_flows.h"

#define FLOWS_MAX (1u << 24)

int sn_flow_timeouts_decode(struct sn_builder *b, struct sn_flow_timeouts *to, uint32_t flows,
			    const uint32_t from[static 5])
{
	static const char *const fields[] = {"tcp_ms", "tcp_transitory_ms", "tcp_closing_ms", "udp_ms",
					     "icmp_ms"};

	for (uint32_t i = 0; i < RTE_DIM(fields); i++)
		if (!from[i])
			return sn_build_fail(b, "%s is 0, want at least 1", fields[i]);
	if (flows < 1 || flows > FLOWS_MAX)
		return sn_build_fail(b, "max_sessions is %u, want 1..%u flows", flows, FLOWS_MAX);
	to->ms[SN_SESSION_ESTABLISHED] = from[0];
	to->ms[SN_PROTO_TCP] = from[1];
	to->ms[SN_SESSION_CLOSING] = from[2];
	to->ms[SN_PROTO_UDP] = to->ms[SN_PROTO_OTHER] = from[3];
	to->ms[SN_PROTO_ICMP] = from[4];
	return 0;
}

int sn_outside_flows_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
			  struct sn_shard_size *size)
{
	uint32_t entries = sn_followed_entries(table, partitioning);

	*size = (struct sn_shard_size){SN_SHARDS, entries, entries / 8 + 1, 0, 0, 0};
	return 0;
}

struct sn_session *sn_outside_flows_find(struct sn_partition *partition, uint32_t table, uint32_t shard,
					 const struct sn_flow *f, bool from_outside, uint64_t now,
					 bool *is_return)
{
	return followed_find(partition, partition->state->tables[table], shard, f, from_outside, now,
			     is_return);
}

struct sn_session *sn_outside_flows_begin(struct sn_partition *partition, uint32_t table, uint32_t shard,
					  const struct sn_flow *f, bool from_outside, uint64_t now)
{
	struct sn_state_table *t = partition->state->tables[table];
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);

	if (unlikely(!has_room(partition, t, sh, t->owner, class_of(f->proto), now))) {
		sh->cold->exhausted++;
		return NULL;
	}
	return followed_begin(partition, t, shard, f, from_outside, now);
}

void sn_outside_flows_end(struct sn_partition *partition, uint32_t table, struct sn_session *s)
{
	const struct sn_state_table *t = partition->state->tables[table];

	sn_entry_expire(partition, t, shard_at(t, s->entry.shard & t->mask), &s->entry);
}
