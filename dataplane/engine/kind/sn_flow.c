/* SPDX-License-Identifier: Apache-2.0 */
/* The shards of flows that several kinds of state know. */

#include "sn_flow.h"
#include "sn_napt_impl.h"
#include "sn_rss.h"

/* As NAPTs choose their ports. */
static uint32_t by_port(const struct sn_state *state, const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return portless_shard(f->dst);
	if (state->partitioning.by == SN_PARTITION_BY_RSS)
		return sn_rss_bucket(sn_rss_words(f->src, f->dst, f->sport, f->dport));
	return f->sport & (SN_SHARDS - 1);
}

uint32_t sn_flow_host_shard(const struct sn_state *state, const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return portless_shard(f->dst);
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
