/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_exec.h"
#include "sn_fast.h"
#include "sn_output.h"

/* Decisions name next hops by their place. */
static void forget_decisions(void *fast)
{
	sn_fast_forget_all(fast);
}

static void tell_unreachable(void *fast, struct rte_mbuf *m, uint32_t iface, uint64_t now)
{
	struct sn_fast *f = fast;

	sn_exec_unreachable(&f->slow, m, iface, now);
}

int sn_fast_init(struct sn_fast *f, const struct sn_fast_sizes *sizes)
{
	const struct sn_neigh_hooks hooks = {
		.ctx = f, .renamed = forget_decisions, .unreachable = tell_unreachable};
	int rc = sn_neigh_init(&f->neighbors, &f->env, &hooks, sizes->neighbors, sizes->waiting);

	f->slow.env = &f->env;
	f->slow.neighbors = &f->neighbors;
	if (!rc)
		rc = sn_cache_init(&f->cache, sizes->entries);
	if (!rc)
		rc = sn_cache_init(&f->warm_up.cache, sizes->entries);
	if (!rc)
		(void)sn_cache_prepare(&f->cache, 0);
	return rc;
}

void sn_fast_free(struct sn_fast *f)
{
	sn_output_free(&f->env);
	sn_neigh_free(&f->neighbors);
	sn_cache_free(&f->cache);
	sn_cache_free(&f->warm_up.cache);
}

void sn_fast_forget(struct sn_fast *f)
{
	sn_cache_flush(&f->cache);
}

void sn_fast_forget_all(struct sn_fast *f)
{
	sn_cache_flush(&f->cache);
	sn_cache_flush(&f->warm_up.cache);
}

/* Counts some of what is in the cells of flows. */
static void sweep(struct sn_fast *f, uint64_t now)
{
	struct sn_cache *const caches[] = {&f->cache, &f->warm_up.cache};
	struct sn_observer *o = f->env.counts->observer;
	uint32_t ms = sn_observer_due(o, now);

	sn_observer_tick(o, now);
	for (uint32_t i = 0; i < RTE_DIM(caches); i++) {
		uint32_t cells = (caches[i]->mask + 1) * SN_CACHE_WAYS,
			 n = (cells + SN_SWEEP_MS - 1) / SN_SWEEP_MS * ms;

		if (sn_observer_sweep(o, caches[i]->cells, cells, n, n, &caches[i]->swept))
			o->rounds += i == 0;
	}
	sn_observer_sweep_own(o, ms);
}

void sn_fast_end_observer(struct sn_fast *f, const struct sn_counts *before, const struct sn_counts *next)
{
	struct sn_cache *const caches[] = {&f->cache, &f->warm_up.cache};

	if (!before || !before->observer || (next && next->observer == before->observer))
		return;
	for (uint32_t i = 0; i < RTE_DIM(caches); i++) {
		uint32_t cells = (caches[i]->mask + 1) * SN_CACHE_WAYS;

		sn_observer_sweep(before->observer, caches[i]->cells, cells, cells, cells, &caches[i]->swept);
	}
}

void sn_fast_tick(struct sn_fast *f, uint64_t now)
{
	if (f->cache.crowded || f->cache.before.buckets)
		sn_cache_tick(&f->cache, sn_partition_entries(f->env.partition), now);
	if (f->env.counts->observer)
		sweep(f, now);
}
