/* SPDX-License-Identifier: Apache-2.0 */
/* The shards of flows that several kinds of state know. */

#include "sn_flow.h"
#include "sn_rss.h"
#include "sn_state_impl.h"

/*
 * Where NAPTs tell shards by both ends, too: what comes back to one knows the remote alone, which of a flow
 * that passes a firewall twice is first the one end and then the other.
 */
uint32_t sn_flow_portless_shard(const struct sn_state *state, uint32_t remote)
{
	return unlikely(state->by_ends) ? 0 : sn_mum(remote, 0x9e3779b97f4a7c15ull) & (SN_SHARDS - 1);
}

/* As NAPTs choose their ports. */
static uint32_t by_port(const struct sn_state *state, const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return sn_flow_portless_shard(state, f->dst);
	if (state->partitioning.by == SN_PARTITION_BY_RSS)
		return sn_rss_bucket(sn_rss_words(f->src, f->dst, f->sport, f->dport));
	return f->sport & (SN_SHARDS - 1);
}

uint32_t sn_flow_host_shard(const struct sn_state *state, const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return sn_flow_portless_shard(state, f->dst);
	if (likely(state->partitioning.by == SN_PARTITION_BY_HOST))
		return sn_mum(((uint64_t)f->src << 16 | f->sport) ^ state->key, 0x9e3779b97f4a7c15ull) &
		       (SN_SHARDS - 1);
	if (state->partitioning.by == SN_PARTITION_BY_ADDRESS)
		return f->src >> state->partitioning.shift & (SN_SHARDS - 1);
	return sn_rss_bucket(sn_rss_words(f->src, f->dst, f->sport, f->dport));
}

uint32_t sn_flow_shard(const struct sn_state *state, enum sn_cut_by by, const struct sn_flow *f)
{
	return by == SN_CUT_BY_PORT ? by_port(state, f) : sn_flow_host_shard(state, f);
}

uint32_t sn_flow_both_shard(const struct sn_state *state, const struct sn_flow *f)
{
	struct sn_flow_ends e;

	if (state->partitioning.by == SN_PARTITION_BY_RSS && (f->proto == SN_TCP || f->proto == SN_UDP))
		return sn_rss_bucket(sn_rss_words(f->src, f->dst, f->sport, f->dport));
	if (unlikely(state->by_ends) && !sn_has_ports(f->proto))
		return sn_flow_portless_shard(state, f->dst);
	e = sn_flow_ends(f);
	return sn_hash2(e.low, e.high << 8 | f->proto, state->key) & (SN_SHARDS - 1);
}

uint32_t sn_flow_table_shard(const struct sn_state *state, const struct sn_state_table *t,
			     const struct sn_flow *f, bool from_outside)
{
	const struct sn_table_cut *cut = cut_of(state, t);
	struct sn_flow back;

	if (likely(cut->by == SN_CUT_BY_KIND))
		return sn_flow_both_shard(state, f);
	if (from_outside == (bool)cut->outside)
		return sn_flow_shard(state, cut->by, f);
	back = sn_flow_turned(f);
	return sn_flow_shard(state, cut->by, &back);
}

uint32_t sn_flow_shard_in(const struct sn_state *state, uint32_t table, const struct sn_flow *f,
			  bool from_outside)
{
	return sn_flow_table_shard(state, state->tables[table], f, from_outside);
}
