/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OBSERVED_H
#define SN_OBSERVED_H

/* Where the packets of a short decision are counted, which has no cell of its own. */

#include "sn_continuation.h"
#include "sn_fast.h"

/* The interface by which packets of a key entered the chain. */
static inline uint32_t entered_by(const struct sn_program *p, uint64_t ports)
{
	uint32_t ingress = sn_cache_ingress(ports);

	return ingress < SN_CACHE_CONTINUATIONS ? ingress
						: sn_continuation_entry(p, ingress - SN_CACHE_CONTINUATIONS);
}

/* The flow of a short decision where it is observed: as it comes, or as it leaves. */
static inline struct sn_flow_cell flow_of_short(const struct sn_env *env, const struct sn_cache_entry *e)
{
	const struct sn_paths *paths = &env->counts->paths;
	struct sn_flow_cell flow = {.proto = (uint8_t)(e->ports_key >> 24),
				    .iface = (uint8_t)entered_by(env->program, e->ports_key)};
	uint32_t steps = paths->first[e->path + 1] - paths->first[e->path];

	if (sn_paths_observed(paths, e->path, steps) & SN_STEP_CHANGED) {
		flow.src = rte_be_to_cpu_32(e->src);
		flow.dst = rte_be_to_cpu_32(e->dst);
		flow.sport = rte_be_to_cpu_16(e->sport);
		flow.dport = rte_be_to_cpu_16(e->dport);
	} else {
		flow.src = (uint32_t)(e->addresses >> 32);
		flow.dst = (uint32_t)e->addresses;
		flow.sport = (uint16_t)(e->ports_key >> 48);
		flow.dport = (uint16_t)(e->ports_key >> 32);
	}
	return flow;
}

static inline void prefetch_observed(const struct sn_fast *f, const struct sn_cache_entry *e)
{
	struct sn_flow_cell flow = flow_of_short(&f->env, e);

	rte_prefetch0(sn_flow_cells_line(&f->env.counts->observer->own, &flow));
}

#endif /* SN_OBSERVED_H */
