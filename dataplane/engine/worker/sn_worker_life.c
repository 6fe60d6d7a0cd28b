/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <rte_errno.h>

#include "sn_worker_impl.h"

/* How workers begin and end, and what they are told: nothing of this is on a packet's way. */

#define SECOND	      1000000000ull
#define CACHE_ENTRIES 65536u
#define NEIGHBORS     16384u
#define NEIGHBORS_MAX 65536u

static bool is_dispatching(const struct sn_worker *w)
{
	return w->mailbox && w->program && w->program->n_tables > 0;
}

void sn_worker_set_mailbox(struct sn_worker *w, struct sn_mailbox *mailbox)
{
	w->mailbox = mailbox;
	w->dispatching = is_dispatching(w);
}

void sn_worker_forget(struct sn_worker *w)
{
	sn_cache_flush(&w->cache);
}

void sn_worker_observe(struct sn_worker *w, uint64_t now)
{
	struct sn_cache *const caches[] = {&w->cache, &w->warm_up.cache};
	struct sn_observer *o = w->counts->observer;
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

/* What is in cells is the observer's that goes. */
static void end_observer(struct sn_worker *w, const struct sn_counts *before, const struct sn_counts *next)
{
	struct sn_cache *const caches[] = {&w->cache, &w->warm_up.cache};

	if (!before || !before->observer || (next && next->observer == before->observer))
		return;
	for (uint32_t i = 0; i < RTE_DIM(caches); i++) {
		uint32_t cells = (caches[i]->mask + 1) * SN_CACHE_WAYS;

		sn_observer_sweep(before->observer, caches[i]->cells, cells, cells, cells, &caches[i]->swept);
	}
}

struct sn_counts *sn_worker_set_program(struct sn_worker *w, const struct sn_program *program,
					struct sn_counts *counts)
{
	const struct sn_program *old = w->program;
	struct sn_counts *before = w->counts;

	if (w->trace)
		sn_trace_program_gone(w->trace);
	w->program = program;
	w->caching = program && program->stateful && program->cacheable;
	for (uint32_t i = 0; program && i < program->n_interfaces; i++) {
		w->addresses.macs[i] = program->interfaces[i].has_mac
					       ? sn_mac_number(program->interfaces[i].mac)
					       : w->addresses.device_macs[i];
		w->addresses.mtus[i] = (uint16_t)RTE_MIN(program->interfaces[i].mtu, (uint32_t)UINT16_MAX);
	}
	w->dispatching = is_dispatching(w);
	if (program) {
		w->icmp.rate =
			program->icmp_rate / w->n_workers + (w->number < program->icmp_rate % w->n_workers);
		w->icmp.tokens = w->icmp.rate * SECOND;
	}
	sn_neigh_apply(w, old);
	if (!sn_warm_up_end(w, program))
		sn_cache_flush(&w->cache);
	sn_worker_flush_all(w);
	end_observer(w, before, counts);
	w->counts = counts;
	return before;
}

void sn_worker_set_mac(struct sn_worker *w, uint16_t iface, const uint8_t mac[6])
{
	if (iface < SN_IFACES_MAX)
		w->addresses.device_macs[iface] = sn_mac_number(mac);
}

void sn_worker_set_port(struct sn_worker *w, uint16_t iface, uint16_t port)
{
	if (iface < SN_IFACES_MAX)
		w->addresses.ports[iface] = port;
}

void sn_worker_set_rules(struct sn_worker *w, uint16_t iface, bool watched, bool believed)
{
	uint64_t bit = 1ull << iface;

	if (iface >= SN_IFACES_MAX)
		return;
	w->devices.watched =
		watched && w->devices.samples ? w->devices.watched | bit : w->devices.watched & ~bit;
	w->devices.believed = believed && w->devices.marks.shift > 0 ? w->devices.believed | bit
								     : w->devices.believed & ~bit;
}

void sn_worker_set_marks(struct sn_worker *w, struct sn_marks marks)
{
	w->devices.marks = marks;
	if (marks.shift == 0)
		w->devices.believed = 0;
}

/* The sizes that a worker has where its configuration leaves them out. */
struct sizes {
	uint32_t entries, neighbors;
	uint16_t waiting;
};

static bool sizes_are_right(const struct sizes *is, struct sn_error *err)
{
	if (is->entries < SN_CACHE_WAYS || is->entries & (is->entries - 1)) {
		sn_fail(err, "cache_entries is %u, want a power of two of at least %d", is->entries,
			SN_CACHE_WAYS);
		return false;
	}
	if (is->neighbors < 2 || is->neighbors > NEIGHBORS_MAX) {
		sn_fail(err, "neighbors is %u, want 2..%u", is->neighbors, NEIGHBORS_MAX);
		return false;
	}
	if (is->waiting < SN_IFACES_MAX) {
		sn_fail(err, "waiting is %u, want %d or more", is->waiting, SN_IFACES_MAX);
		return false;
	}
	return true;
}

static void configure(struct sn_worker *w, const struct sn_worker_config *config)
{
	w->state = config->state;
	w->partition = sn_state_partition(config->state, config->number);
	w->mailbox = config->mailbox;
	w->peers = config->peers;
	w->devices.samples = config->samples;
	w->number = config->number;
	w->n_workers = config->n_workers ? config->n_workers : 1;
	for (uint16_t i = 0; i < SN_IFACES_MAX; i++)
		w->addresses.ports[i] = i;
	w->pool = config->pool;
	w->sending.tx = config->tx;
	w->sending.ctx = config->tx_ctx;
	w->hooks.drop = config->drop;
	w->hooks.ctx = config->drop_ctx;
	w->hooks.tell = config->tell;
	if (w->hooks.tell != NULL)
		w->partition->events = &w->events;
	w->lcore = config->lcore;
	w->sending.wake = SN_BURST_MAX;
}

_Static_assert(sizeof(struct sn_worker) % 64 == 0, "workers share no line");

struct sn_worker *sn_worker_create(const struct sn_worker_config *config, struct sn_error *err)
{
	struct sizes sizes = {
		.entries = config->cache_entries ? config->cache_entries : CACHE_ENTRIES,
		.neighbors = config->neighbors ? config->neighbors : NEIGHBORS,
		.waiting = config->waiting ? config->waiting : SN_WAIT_PACKETS,
	};
	struct sn_worker *w;

	if (!sizes_are_right(&sizes, err))
		return NULL;
	if (sn_source_register()) {
		sn_fail(err, "packet buffers have no room for the source's number: %s",
			rte_strerror(rte_errno));
		return NULL;
	}
	w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);
	if (!w)
		goto no_memory;
	memset(w, 0, sizeof(*w));
	configure(w, config);
	if (sn_cache_init(&w->cache, sizes.entries) || sn_cache_init(&w->warm_up.cache, sizes.entries) ||
	    sn_neigh_init(&w->neigh, sizes.neighbors, sizes.waiting, config->number)) {
		sn_worker_free(w);
		goto no_memory;
	}
	(void)sn_cache_prepare(&w->cache);
	return w;
no_memory:
	sn_fail(err, "no memory for a worker with %u cache entries and %u neighbors", sizes.entries,
		sizes.neighbors);
	return NULL;
}

void sn_worker_free(struct sn_worker *w)
{
	if (!w)
		return;
	rte_pktmbuf_free_bulk(w->sending.dead, w->sending.n_dead);
	for (uint32_t i = 0; i < SN_IFACES_MAX; i++)
		rte_pktmbuf_free_bulk(w->sending.out[i].pkts, w->sending.out[i].n);
	sn_neigh_free(&w->neigh);
	sn_cache_free(&w->cache);
	sn_cache_free(&w->warm_up.cache);
	free(w);
}

struct sn_worker_stats *sn_worker_stats(struct sn_worker *w)
{
	return &w->stats;
}

struct sn_counts *sn_worker_counts(struct sn_worker *w)
{
	return w->counts;
}

void sn_worker_set_profile(struct sn_worker *w, bool on)
{
	w->profile = on;
}

void sn_worker_set_trace(struct sn_worker *w, struct sn_trace *trace)
{
	w->trace = trace;
	w->sending.wake = trace ? 1 : SN_BURST_MAX;
}

void sn_worker_blocks(const struct sn_worker *w, const void *blocks[SN_WORKER_BLOCKS])
{
	const void *all[SN_WORKER_BLOCKS] = {
		w,
		w->counts,
		w->cache.tags,
		w->cache.entries,
		w->cache.cells,
		w->neigh.entries,
		w->neigh.wait.slots,
		w->neigh.gone,
		w->neigh.buckets,
	};

	memcpy(blocks, all, sizeof(all));
}
