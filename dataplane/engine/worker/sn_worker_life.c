/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <rte_errno.h>

#include "sn_output.h"
#include "sn_trace_mark.h"
#include "sn_wires.h"
#include "sn_worker_private.h"

/* How workers begin and end, and what they are told: nothing of this is on a packet's way. */

#define CACHE_ENTRIES 65536u
#define NEIGHBORS     16384u
#define NEIGHBORS_MAX 65536u

static bool is_dispatching(const struct sn_worker *w)
{
	return w->mailbox && w->fast.env.program && w->fast.env.program->n_tables > 0;
}

void sn_worker_set_mailbox(struct sn_worker *w, struct sn_mailbox *mailbox)
{
	w->mailbox = mailbox;
	w->dispatching = is_dispatching(w);
}

void sn_worker_forget(struct sn_worker *w)
{
	sn_fast_forget(&w->fast);
}

bool sn_worker_warm_up(struct sn_worker *w, const struct sn_program *program, struct sn_counts *counts,
		       uint64_t now)
{
	return sn_warm_up_step(&w->fast, program, counts, now);
}

struct sn_counts *sn_worker_set_program(struct sn_worker *w, const struct sn_program *program,
					struct sn_counts *counts)
{
	const struct sn_program *old = w->fast.env.program;
	struct sn_counts *before = w->fast.env.counts;

	if (w->fast.env.trace)
		sn_trace_program_gone(w->fast.env.trace);
	w->fast.env.program = program;
	w->fast.env.caching = program && program->stateful && program->cacheable;
	for (uint32_t i = 0; program && i < program->n_interfaces; i++) {
		w->fast.env.addresses.macs[i] = program->interfaces[i].has_mac
							? sn_mac_number(program->interfaces[i].mac)
							: w->fast.env.addresses.device_macs[i];
		w->fast.env.addresses.mtus[i] =
			(uint16_t)RTE_MIN(program->interfaces[i].mtu, (uint32_t)UINT16_MAX);
	}
	w->dispatching = is_dispatching(w);
	w->fast.env.spotted = 0;
	sn_wires_look(&w->fast.env);
	if (program)
		sn_slow_apply(&w->fast.slow, w->n_workers);
	sn_neigh_apply(&w->fast.neighbors, old);
	if (!sn_warm_up_end(&w->fast, program))
		sn_fast_forget(&w->fast);
	sn_output_flush(&w->fast.env);
	sn_fast_end_observer(&w->fast, before, counts);
	w->fast.env.counts = counts;
	return before;
}

void sn_worker_set_mac(struct sn_worker *w, uint16_t iface, const uint8_t mac[6])
{
	if (iface < SN_IFACES_MAX)
		w->fast.env.addresses.device_macs[iface] = sn_mac_number(mac);
}

void sn_worker_set_port(struct sn_worker *w, uint16_t iface, uint16_t port)
{
	if (iface < SN_IFACES_MAX)
		w->fast.env.addresses.ports[iface] = port;
}

void sn_worker_set_rules(struct sn_worker *w, uint16_t iface, bool watched, bool believed)
{
	uint64_t bit = 1ull << iface;

	if (iface >= SN_IFACES_MAX)
		return;
	w->fast.env.devices.watched = watched && w->fast.env.devices.samples
					      ? w->fast.env.devices.watched | bit
					      : w->fast.env.devices.watched & ~bit;
	w->fast.env.devices.believed = believed && w->fast.env.devices.marks.shift > 0
					       ? w->fast.env.devices.believed | bit
					       : w->fast.env.devices.believed & ~bit;
}

void sn_worker_set_marks(struct sn_worker *w, struct sn_marks marks)
{
	w->fast.env.devices.marks = marks;
	if (marks.shift == 0)
		w->fast.env.devices.believed = 0;
}

static bool sizes_are_right(const struct sn_fast_sizes *is, struct sn_error *err)
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
	w->fast.env.state = config->state;
	w->fast.env.partition = sn_state_partition(config->state, config->number);
	w->mailbox = config->mailbox;
	w->peers = config->peers;
	w->fast.env.devices.samples = config->samples;
	w->fast.env.wires = config->wires;
	w->fast.env.watches = config->watches;
	w->fast.env.number = config->number;
	w->n_workers = config->n_workers ? config->n_workers : 1;
	for (uint16_t i = 0; i < SN_IFACES_MAX; i++)
		w->fast.env.addresses.ports[i] = i;
	w->fast.env.pool = config->pool;
	w->fast.env.sending.tx = config->tx;
	w->fast.env.sending.ctx = config->tx_ctx;
	w->fast.env.hooks.drop = config->drop;
	w->fast.env.hooks.ctx = config->drop_ctx;
	w->fast.env.hooks.tell = config->tell;
	if (w->fast.env.hooks.tell != NULL)
		w->fast.env.partition->events = &w->fast.env.events;
	w->lcore = config->lcore;
	w->fast.env.sending.wake = SN_BURST_MAX;
}

_Static_assert(sizeof(struct sn_worker) % 64 == 0, "workers share no line");

struct sn_worker *sn_worker_create(const struct sn_worker_config *config, struct sn_error *err)
{
	struct sn_fast_sizes sizes = {
		.entries = config->cache_entries ? config->cache_entries : CACHE_ENTRIES,
		.neighbors = config->neighbors ? config->neighbors : NEIGHBORS,
		.waiting = config->waiting ? config->waiting : SN_WAIT_PACKETS,
	};
	struct sn_worker *w;

	if (!sizes_are_right(&sizes, err))
		return NULL;
	if (sn_source_register() || sn_trace_mark_register()) {
		sn_fail(err, "packet buffers have no room for their source and a mark: %s",
			rte_strerror(rte_errno));
		return NULL;
	}
	w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);
	if (!w)
		goto no_memory;
	memset(w, 0, sizeof(*w));
	configure(w, config);
	if (!sn_fast_init(&w->fast, &sizes))
		return w;
	sn_worker_free(w);
no_memory:
	sn_fail(err, "no memory for a worker with %u cache entries and %u neighbors", sizes.entries,
		sizes.neighbors);
	return NULL;
}

void sn_worker_free(struct sn_worker *w)
{
	if (!w)
		return;
	sn_fast_free(&w->fast);
	free(w);
}

struct sn_worker_stats *sn_worker_stats(struct sn_worker *w)
{
	return &w->fast.env.stats;
}

struct sn_counts *sn_worker_counts(struct sn_worker *w)
{
	return w->fast.env.counts;
}

void sn_worker_set_profile(struct sn_worker *w, bool on)
{
	w->profile = on;
}

void sn_worker_set_trace(struct sn_worker *w, struct sn_trace *trace)
{
	w->fast.env.trace = trace;
	w->fast.env.sending.wake = trace ? 1 : SN_BURST_MAX;
}

void sn_worker_blocks(const struct sn_worker *w, const void *blocks[SN_WORKER_BLOCKS])
{
	const void *all[SN_WORKER_BLOCKS] = {
		w,
		w->fast.env.counts,
		w->fast.cache.tags,
		w->fast.cache.entries,
		w->fast.cache.cells,
		w->fast.neighbors.entries,
		w->fast.neighbors.wait.slots,
		w->fast.neighbors.gone,
		w->fast.neighbors.buckets,
	};

	memcpy(blocks, all, sizeof(all));
}

size_t sn_worker_neighbors(const struct sn_worker *w, struct sn_neigh_info *out, size_t max)
{
	return sn_neigh_list(&w->fast.neighbors, out, max);
}

void sn_worker_silence(struct sn_worker *w, bool silent)
{
	sn_neigh_silence(&w->fast.neighbors, silent);
}

void sn_worker_announce(struct sn_worker *w, uint64_t ifaces)
{
	sn_neigh_announce(&w->fast.neighbors, ifaces);
}
