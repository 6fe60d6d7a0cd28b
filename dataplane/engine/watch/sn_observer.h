/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OBSERVER_H
#define SN_OBSERVER_H

/*
 * What a worker sees of flows where a monitor asks for it: the heaviest keys, and records of flows for those
 * who export them.
 *
 * Packets are counted in cells, which is one write; only when a cell is emptied are keys looked up. The
 * decision of a known flow has a cell. Flows whose decision is kept short, and those that take the slow path,
 * have cells of the observer's own, by their hash. A cell is emptied in its turn, all of them in a second or
 * so, and when its flow gives way to another. So all packets count, each once, but late.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "sn_flow_cells.h"
#include "sn_program.h"
#include "sn_top.h"

#define SN_SWEEP_MS	   1024	 /* in which all cells are looked at */
#define SN_SWEEP_BEFORE_MS 64	 /* those that were too few */
#define SN_SWEEP_TICK_MS   32	 /* of them as many in a tick, at most */
#define SN_SWEEP_TAKES	   256	 /* per ms: cells of the observer's own that are emptied, at most */
#define SN_FLOW_RECORDS	   16384 /* in a ring */

/* Records of flows on their way from the worker to the control thread. A full ring takes no more. */
struct sn_flow_ring {
	_Alignas(64) _Atomic uint32_t head; /* written by the worker */
	_Alignas(64) _Atomic uint32_t tail; /* by the control thread */
	_Alignas(64) struct sn_flow_cell records[SN_FLOW_RECORDS];
};

/* Counts within an interval of time. */
struct sn_top_window {
	uint64_t begin_ns, end_ns; /* end_ns 0: none */
	uint64_t packets, bytes;
	struct sn_top *tops[SN_TOPS_MAX];
};

struct sn_observer {
	struct sn_observation of; /* its own copy */
	uint32_t references;	  /* of plans; the control thread's */
	uint32_t until_sample;	  /* packets */
	uint64_t swept_ns;	  /* when cells were looked at last */
	uint64_t rounds;	  /* of the cells of decisions: how often all were */
	struct sn_flow_cells own; /* of flows whose decision has none */
	uint64_t own_rounds;
	struct sn_top_window running, last;
	struct sn_flow_ring *ring; /* NULL: flows are not exported */
	/* Since the beginning; of those that were lost for want of room in the ring, what they had. */
	uint64_t packets, bytes;
	uint64_t sampled;
	uint64_t records;
	uint64_t lost_records, lost_packets, lost_bytes;
};

/* For one worker, whose program has sessions for so many flows. NULL: no memory. */
struct sn_observer *sn_observer_create(const struct sn_observation *of, uint32_t flows);
struct sn_observer *sn_observer_share(struct sn_observer *observer);
void sn_observer_free(struct sn_observer *observer); /* gives a reference up; NULL: nothing */

/* Counts what a cell has, and empties it. */
void sn_observer_take(struct sn_observer *o, struct sn_flow_cell *cell);

/* A cell is another flow's from now on. */
void sn_observer_place(struct sn_observer *o, struct sn_flow_cell *cell, const struct sn_flow_cell *flow);

/* For how many milliseconds cells are to be looked at now. */
uint32_t sn_observer_due(struct sn_observer *o, uint64_t now_ns);

/* Empties the next n of an array of cells, of which `takes` may have something. True: the last one was among
 * them, and it begins with the first again. */
bool sn_observer_sweep(struct sn_observer *o, struct sn_flow_cell *cells, uint32_t all, uint32_t n,
		       uint32_t takes, uint32_t *next);

/* The same of the observer's own, for so many milliseconds. */
void sn_observer_sweep_own(struct sn_observer *o, uint32_t ms);

/* How often all cells were looked at. */
uint64_t sn_observer_rounds(const struct sn_observer *o);

/* Time goes on: intervals end. */
void sn_observer_tick(struct sn_observer *o, uint64_t now_ns);

/* A packet of a flow is exported by itself: one in so many. */
void sn_observer_sample(struct sn_observer *o, const struct sn_flow_cell *flow, uint32_t bytes,
			uint8_t tcp_flags, uint64_t now_ns);

/* The oldest record of the ring; false: there is none. */
bool sn_flow_ring_take(struct sn_flow_ring *ring, struct sn_flow_cell *record);

/* A packet of a cell's flow. */
static inline void sn_observer_count(struct sn_observer *o, struct sn_flow_cell *cell, uint32_t bytes,
				     uint8_t tcp_flags, uint64_t now_ns)
{
	uint32_t ms = (uint32_t)(now_ns / 1000000);

	if (cell->packets++ == 0)
		cell->first_ms = ms;
	cell->last_ms = ms;
	cell->bytes += bytes;
	cell->tcp_flags |= tcp_flags;
	if (o->of.sampling > 1 && --o->until_sample == 0)
		sn_observer_sample(o, cell, bytes, tcp_flags, now_ns);
	if (unlikely(cell->bytes >> 31))
		sn_observer_take(o, cell);
}

/* A packet of a flow whose decision has no cell. */
void sn_observer_packet(struct sn_observer *o, const struct sn_flow_cell *flow, uint32_t bytes,
			uint8_t tcp_flags, uint64_t now_ns);

#endif /* SN_OBSERVER_H */
