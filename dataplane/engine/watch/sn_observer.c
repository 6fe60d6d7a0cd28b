/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_observer.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "sn_lines.h"

static bool create_windows(struct sn_observer *o)
{
	for (uint32_t i = 0; i < o->of.n_tops; i++) {
		uint64_t seed = 0x9fb21c651e98df25ull ^ (uintptr_t)o ^ i;

		o->running.tops[i] = sn_top_create(o->of.entries, seed);
		o->last.tops[i] = sn_top_create(o->of.entries, seed);
		if (!o->running.tops[i] || !o->last.tops[i])
			return false;
	}
	return true;
}

struct sn_observer *sn_observer_create(const struct sn_observation *of, uint32_t flows)
{
	struct sn_observer *o = sn_lines(1, sizeof(*o));

	if (!o)
		return NULL;
	o->of = *of;
	o->of.name = strdup(of->name);
	o->references = 1;
	o->until_sample = of->sampling;
	if (of->sampling > 0)
		o->ring = sn_lines(1, sizeof(*o->ring));
	if (!o->of.name || (of->sampling > 0 && !o->ring) || !create_windows(o) ||
	    !sn_flow_cells_init(&o->own, flows)) {
		sn_observer_free(o);
		return NULL;
	}
	return o;
}

struct sn_observer *sn_observer_share(struct sn_observer *o)
{
	o->references++;
	return o;
}

void sn_observer_free(struct sn_observer *o)
{
	if (!o || --o->references > 0)
		return;
	for (uint32_t i = 0; i < o->of.n_tops; i++) {
		sn_top_free(o->running.tops[i]);
		sn_top_free(o->last.tops[i]);
	}
	sn_flow_cells_free(&o->own);
	free(o->ring);
	free(o->of.name);
	free(o);
}

/* ---- the heaviest ---- */

static uint32_t prefix_of(uint32_t address, uint32_t len)
{
	return len == 0 ? 0 : address >> (32 - len) << (32 - len);
}

static struct sn_top_key key_of(const struct sn_observe_by *by, const struct sn_flow_cell *f)
{
	switch (by->what) {
	case SN_BY_SOURCE:
		return (struct sn_top_key){{prefix_of(f->src, by->prefix_len), 0}};
	case SN_BY_DESTINATION:
		return (struct sn_top_key){{prefix_of(f->dst, by->prefix_len), 0}};
	default:
		return (struct sn_top_key){{(uint64_t)f->src << 32 | f->dst,
					    (uint64_t)f->sport << 32 | (uint64_t)f->dport << 16 | f->proto}};
	}
}

static void weigh(struct sn_observer *o, const struct sn_flow_cell *f)
{
	o->running.packets += f->packets;
	o->running.bytes += f->bytes;
	for (uint32_t i = 0; i < o->of.n_tops; i++)
		sn_top_add(o->running.tops[i], key_of(&o->of.tops[i], f), f->packets, f->bytes);
}

/* The interval that ends is kept until the next one does. */
static void end_interval(struct sn_observer *o)
{
	struct sn_top_window ended = o->running;

	o->running = o->last;
	o->last = ended;
	o->running.packets = o->running.bytes = 0;
	for (uint32_t i = 0; i < o->of.n_tops; i++)
		sn_top_clear(o->running.tops[i]);
}

void sn_observer_tick(struct sn_observer *o, uint64_t now)
{
	if (likely(now < o->running.end_ns))
		return;
	if (o->running.end_ns > 0)
		end_interval(o);
	/* Multiples of it: those of all workers end together. */
	o->running.begin_ns = now / o->of.interval_ns * o->of.interval_ns;
	o->running.end_ns = o->running.begin_ns + o->of.interval_ns;
}

/* ---- records ---- */

static void export(struct sn_observer *o, const struct sn_flow_cell *f)
{
	uint32_t head = atomic_load_explicit(&o->ring->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&o->ring->tail, memory_order_acquire) == SN_FLOW_RECORDS) {
		o->lost_records++;
		o->lost_packets += f->packets;
		o->lost_bytes += f->bytes;
		return;
	}
	o->ring->records[head % SN_FLOW_RECORDS] = *f;
	atomic_store_explicit(&o->ring->head, head + 1, memory_order_release);
	o->records++;
}

bool sn_flow_ring_take(struct sn_flow_ring *ring, struct sn_flow_cell *record)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
		return false;
	*record = ring->records[tail % SN_FLOW_RECORDS];
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}

void sn_observer_sample(struct sn_observer *o, const struct sn_flow_cell *flow, uint32_t bytes,
			uint8_t tcp_flags, uint64_t now)
{
	struct sn_flow_cell one = *flow;

	one.packets = 1;
	one.bytes = bytes;
	one.tcp_flags = tcp_flags;
	one.first_ms = one.last_ms = (uint32_t)(now / 1000000);
	o->until_sample = o->of.sampling;
	o->sampled++;
	export(o, &one);
}

/* ---- packets ---- */

void sn_observer_take(struct sn_observer *o, struct sn_flow_cell *cell)
{
	o->packets += cell->packets;
	o->bytes += cell->bytes;
	weigh(o, cell);
	if (o->of.sampling == 1) {
		o->sampled += cell->packets;
		export(o, cell);
	}
	cell->packets = cell->bytes = 0;
	cell->tcp_flags = 0;
}

void sn_observer_place(struct sn_observer *o, struct sn_flow_cell *cell, const struct sn_flow_cell *flow)
{
	if (o && cell->packets > 0)
		sn_observer_take(o, cell);
	*cell = *flow;
}

/* ---- cells ---- */

uint32_t sn_observer_due(struct sn_observer *o, uint64_t now)
{
	uint64_t ms = (now - o->swept_ns) / 1000000;

	/* A worker that gets little time comes by seldom. */
	o->swept_ns = now;
	return (uint32_t)RTE_MIN(RTE_MAX(ms, 1u), (uint64_t)SN_SWEEP_TICK_MS);
}

bool sn_observer_sweep(struct sn_observer *o, struct sn_flow_cell *cells, uint32_t all, uint32_t n,
		       uint32_t takes, uint32_t *next)
{
	bool over = false;

	for (; n > 0 && takes > 0; n--) {
		if (cells[*next].packets > 0) {
			sn_observer_take(o, &cells[*next]);
			takes--;
		}
		if (++*next < all)
			continue;
		*next = 0;
		over = true;
	}
	return over;
}

static bool sweep_room(struct sn_observer *o, struct sn_flow_cell_room *room, uint32_t n, uint32_t ms)
{
	return sn_observer_sweep(o, room->cells, room->n, n, ms * SN_SWEEP_TAKES, &room->next);
}

void sn_observer_sweep_own(struct sn_observer *o, uint32_t ms)
{
	struct sn_flow_cells *own = &o->own;

	if (sweep_room(o, &own->now, ms * (own->now.n / SN_SWEEP_MS), ms)) {
		o->own_rounds++;
		sn_flow_cells_round(own);
	}
	if (own->before.cells && sweep_room(o, &own->before, ms * (own->before.n / SN_SWEEP_BEFORE_MS), ms))
		sn_flow_cells_leave(own);
	sn_flow_cells_tick(own);
}

uint64_t sn_observer_rounds(const struct sn_observer *o)
{
	return RTE_MIN(o->rounds, o->own_rounds);
}

void sn_observer_packet(struct sn_observer *o, const struct sn_flow_cell *flow, uint32_t bytes,
			uint8_t tcp_flags, uint64_t now)
{
	struct sn_flow_cell *cell = sn_flow_cells_find(&o->own, flow);

	if (!sn_flow_cell_is(cell, flow))
		sn_observer_place(o, cell, flow);
	sn_observer_count(o, cell, bytes, tcp_flags, now);
}
