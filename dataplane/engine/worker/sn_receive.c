/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as a worker gets them: from ports and from other workers, from functions outside of the program, and
 * past these. */

#include "sn_devices.h"
#include "sn_output.h"
#include "sn_spot.h"
#include "sn_watch_tick.h"
#include "sn_wires.h"
#include "sn_worker_private.h"

/* ---- from stops ---- */

/* The source address of a frame; 0: it is too short to have one. */
static uint64_t source_of(const struct rte_mbuf *m)
{
	return m->data_len < SN_ETHER_LEN ? 0 : sn_mac_number(rte_pktmbuf_mtod_offset(m, const uint8_t *, 6));
}

/* The frame's source address is no continuation's, but may be one that is checked. */
static __rte_noinline bool find_checked(struct sn_worker *w, uint16_t iface, struct rte_mbuf *m, uint64_t now,
					struct sn_continuation *on)
{
	if (m->data_len < SN_ETHER_LEN || !sn_spot_back(&w->fast.env, iface, m, now))
		return false;
	return sn_continuation_find(w->fast.env.program, iface,
				    rte_pktmbuf_mtod_offset(m, const uint8_t *, 6), on);
}

/* How many of the frames from the first on go on in one segment, or by their interface: those that do not
 * know how. *known: which. */
static uint32_t alike(struct sn_worker *w, uint16_t iface, struct rte_mbuf *const *frames, uint32_t n,
		      uint64_t now, bool *known)
{
	struct sn_continuation *ons = w->ons;
	uint64_t last = 0;
	uint32_t k;

	for (k = 0; k < n && k < SN_BURST_MAX; k++) {
		uint64_t source = source_of(frames[k]);
		bool has;

		if (k && source == last) {
			ons[k] = ons[k - 1];
			continue;
		}
		last = source;
		has = sn_continuation_find(w->fast.env.program, iface, (const uint8_t *)&source, &ons[k]);
		if (unlikely(!has) && find_checked(w, iface, frames[k], now, &ons[k])) {
			has = true;
			last = 0; /* the next one may have been checked, too */
		}
		if (!k)
			*known = has;
		else if (has != *known || (has && ons[k].segment != ons[0].segment))
			break;
	}
	return k;
}

static void run_untagged(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n,
			 uint64_t now)
{
	sn_spot_untagged(&w->fast.env, iface, frames, n, now);
	sn_worker_run(w, iface, frames, n, now);
}

/* Any number of frames that came by a wire, in their order. */
static __rte_noinline void burst_of_wire(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames,
					 uint32_t n, uint64_t now)
{
	uint32_t copies = 0;

	while (n) {
		bool known = false;
		uint32_t part = alike(w, iface, frames, n, now, &known);

		if (known) {
			sn_wires_passed(&w->fast.env, iface, frames[0]);
			sn_worker_run_returned(w, iface, frames, part, now);
		} else {
			run_untagged(w, iface, frames, part, now);
		}
		copies += w->copies; /* counted by part */
		w->copies = 0;
		frames += part;
		n -= part;
	}
	w->copies = copies;
}

static inline bool is_wire(const struct sn_worker *w, uint32_t iface)
{
	return w->fast.env.program->interfaces[iface].wire;
}

/* A burst that came by an interface. */
static void burst_of_port(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n,
			  uint64_t now)
{
	if (unlikely(is_wire(w, iface)))
		burst_of_wire(w, iface, frames, n, now);
	else
		sn_worker_run(w, iface, frames, n, now);
}

/* ---- past stops ---- */

/* Frames. A burst that goes in circles ends by its TTL, or here. */
#define PAST_AT_ONCE (256 * SN_BURST_MAX)

static __rte_noinline void go_past(struct sn_worker *w, uint64_t now)
{
	struct sn_env *env = &w->fast.env;
	struct rte_mbuf *frames[SN_BURST_MAX];
	uint32_t done = 0;

	env->passing = true;
	while (env->past.n > 0) {
		uint32_t iface, n = sn_past_next(env, frames, &iface);

		done += n;
		if (likely(done < PAST_AT_ONCE)) {
			burst_of_wire(w, (uint16_t)iface, frames, n, now);
			continue;
		}
		for (uint32_t i = 0; i < n; i++)
			sn_output_drop(env, frames[i], SN_REASON_DEPTH);
	}
	env->passing = false;
	sn_output_flush(env);
}

/* Functions that are down have given back what they got. */
static inline void end_burst(struct sn_worker *w, uint64_t now)
{
	if (unlikely(w->fast.env.past_wires) && w->fast.env.past.n > 0)
		go_past(w, now);
}

/* ---- from ports, and from other workers ---- */

static __rte_noinline void receive_of_wire(struct sn_worker *w, uint16_t iface, struct rte_mbuf **pkts,
					   uint32_t n, uint64_t now)
{
	if (w->fast.env.program->probed >> iface & 1)
		n = sn_wires_hear(&w->fast.env, iface, pkts, n);
	while (n) {
		uint32_t part = RTE_MIN(n, SN_BURST_MAX);

		burst_of_wire(w, iface, pkts, part, now);
		end_burst(w, now);
		pkts += part;
		n -= part;
	}
}

void sn_worker_burst(struct sn_worker *w, uint16_t iface, struct rte_mbuf **pkts, uint16_t n, uint64_t now)
{
	if (unlikely(!w->fast.env.program || iface >= w->fast.env.program->n_interfaces)) {
		for (uint16_t i = 0; i < n; i++)
			sn_output_drop(&w->fast.env, pkts[i], SN_REASON_NONE);
		sn_output_flush(&w->fast.env);
		return;
	}
	if (unlikely(is_wire(w, iface))) {
		receive_of_wire(w, iface, pkts, n, now);
		return;
	}
	while (n) {
		uint16_t part = RTE_MIN(n, SN_BURST_MAX);

		sn_worker_run(w, iface, pkts, part, now);
		end_burst(w, now);
		pkts += part;
		n -= part;
	}
}

void sn_worker_take(struct sn_worker *w, struct rte_mbuf **pkts, uint32_t n, uint64_t now)
{
	for (uint32_t first = 0, i = 1; i <= n; i++) {
		uint32_t iface;

		if (i < n && i - first < SN_BURST_MAX && pkts[i]->port == pkts[first]->port)
			continue;
		iface = sn_env_iface_of(&w->fast.env, pkts[first]->port);
		w->fast.env.taking = true;
		if (iface == SN_NO_INDEX) /* the program was swapped on the way */
			sn_worker_burst(w, SN_IFACES_MAX, pkts + first, i - first, now);
		else
			burst_of_port(w, (uint16_t)iface, pkts + first, i - first, now);
		w->fast.env.taking = false;
		w->fast.env.stats.taken += i - first - w->copies;
		w->copies = 0;
		first = i;
		end_burst(w, now);
	}
}

void sn_worker_tick(struct sn_worker *w, uint64_t now)
{
	uint64_t down;

	if (!w->fast.env.program)
		return;
	if (w->fast.env.trace)
		sn_trace_tick(w->fast.env.trace, now);
	w->fast.env.devices.samples_left = w->fast.env.devices.samples ? SN_SAMPLES_PER_TICK : 0;
	w->fast.env.devices.until_mark_check = 0;
	sn_partition_tick(w->fast.env.partition, now);
	sn_fast_tick(&w->fast, now);
	sn_neigh_tick(&w->fast.neighbors, now);
	sn_watch_tick(&w->fast.neighbors, now);
	down = w->fast.env.down;
	sn_wires_tick(&w->fast.env, now);
	if (unlikely(w->fast.env.down != down))
		sn_neigh_turn_stops(&w->fast.neighbors);
	sn_output_flush(&w->fast.env);
	end_burst(w, now);
}
