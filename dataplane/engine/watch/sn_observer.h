/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OBSERVER_H
#define SN_OBSERVER_H

/*
 * What a worker sees of flows where a monitor asks for it: the heaviest keys, and records of flows for those
 * who export them.
 *
 * A known flow costs one write: its decision has a cell, in which its packets are counted. Cells are emptied
 * some at a time, SN_CELLS_PER_MS for each millisecond, or when their decision gives way to another;
 * only then are keys looked up. Packets that take the slow path are taken one by one. So all packets count,
 * each once, but up to a second late.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "sn_program.h"
#include "sn_top.h"

#define SN_CELLS_PER_MS	  64
#define SN_CELLS_PER_TICK 2048	/* at most */
#define SN_FLOW_RECORDS	  16384 /* in a ring */

/* A flow's packets, as they are where the monitor is; two cells share a cache line. */
struct sn_flow_cell {
	uint32_t src, dst;
	uint16_t sport, dport; /* of ICMP: 0, type << 8 */
	uint8_t proto;
	uint8_t iface; /* by which they came in */
	uint8_t tcp_flags;
	uint8_t pad;
	uint32_t packets; /* 0: the cell is empty */
	uint32_t bytes;	  /* of IP packets */
	uint32_t first_ms, last_ms;
};
_Static_assert(sizeof(struct sn_flow_cell) == 32, "two share a line");

/* Records of flows on their way from the worker to the control thread. A full ring takes no more. */
struct sn_flow_ring {
	_Alignas(64) _Atomic uint32_t head; /* written by the worker */
	_Alignas(64) _Atomic uint32_t tail; /* by the control thread */
	_Alignas(64) struct sn_flow_cell records[SN_FLOW_RECORDS];
};

/* What is counted within an interval of time. */
struct sn_top_window {
	uint64_t begin_ns, end_ns; /* end_ns 0: none */
	uint64_t packets, bytes;
	struct sn_top *tops[SN_TOPS_MAX];
};

struct sn_observer {
	struct sn_observation of; /* its own copy */
	uint32_t references;	  /* of plans; the control thread's */
	uint32_t until_sample;	  /* packets */
	uint64_t swept_ns;	  /* when cells were emptied last */
	uint64_t rounds;	  /* how often all were */
	struct sn_top_window running, last;
	struct sn_flow_ring *ring; /* NULL: flows are not exported */
	/* Since the beginning; of those that were lost for want of room in the ring, what they had. */
	uint64_t packets, bytes;
	uint64_t sampled;
	uint64_t records;
	uint64_t lost_records, lost_packets, lost_bytes;
};

/* For one worker. NULL: no memory. */
struct sn_observer *sn_observer_create(const struct sn_observation *of);
struct sn_observer *sn_observer_share(struct sn_observer *observer);
void sn_observer_free(struct sn_observer *observer); /* gives a reference up; NULL: nothing */

/* Counts what a cell has, and empties it. */
void sn_observer_take(struct sn_observer *o, struct sn_flow_cell *cell);

/* A cell is another flow's from now on. */
void sn_observer_place(struct sn_observer *o, struct sn_flow_cell *cell, const struct sn_flow_cell *flow);

/* How many cells are to be emptied now. */
uint32_t sn_observer_due(struct sn_observer *o, uint64_t now_ns);

/* Empties n of the cells from *next on. True: these were the last ones, and it begins with the first again.
 */
bool sn_observer_sweep(struct sn_observer *o, struct sn_flow_cell *cells, uint32_t all, uint32_t n,
		       uint32_t *next);

/* Time goes on: intervals end. */
void sn_observer_tick(struct sn_observer *o, uint64_t now_ns);

/* A packet of a flow is exported by itself: one in so many. */
void sn_observer_sample(struct sn_observer *o, const struct sn_flow_cell *flow, uint32_t bytes,
			uint8_t tcp_flags, uint64_t now_ns);

/* A packet of a flow that has no cell. */
void sn_observer_packet(struct sn_observer *o, const struct sn_flow_cell *flow, uint32_t bytes,
			uint8_t tcp_flags, uint64_t now_ns);

/* The oldest record of the ring; false: there is none. */
bool sn_flow_ring_take(struct sn_flow_ring *ring, struct sn_flow_cell *record);

/* A packet of a flow that has one. */
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

#endif /* SN_OBSERVER_H */
