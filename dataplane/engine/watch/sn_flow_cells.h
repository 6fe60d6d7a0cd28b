/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FLOW_CELLS_H
#define SN_FLOW_CELLS_H

/*
 * Cells for the packets of flows, by the flows' hash: two flows of one hash have one each, and a third takes
 * the place of the one that has less. Where that happens often there are more of them, up to a bound. The
 * memory is there before it is used.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "sn_ahead.h"
#include "sn_hash.h"

#define SN_FLOW_CELLS_LEAST (1u << 15) /* 1 MiB */
#define SN_FLOW_CELLS_MOST  (1u << 21) /* 64 MiB */
#define SN_FLOW_CELLS_STEP  4	       /* times as many */

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

struct sn_flow_cell_room {
	struct sn_flow_cell *cells; /* NULL: none */
	struct sn_stretch *stretch;
	uint32_t n;    /* a power of two */
	uint32_t next; /* the one that is looked at next */
};

struct sn_flow_cells {
	struct sn_growing *memory;
	struct sn_flow_cell_room now;
	struct sn_flow_cell_room before; /* what it has is still to be taken */
	uint32_t most;
	uint32_t gave_way; /* cells to other flows, since all were looked at */
	uint64_t seed;
};

/* At most for so many flows, in both directions. False: no memory. */
bool sn_flow_cells_init(struct sn_flow_cells *c, uint32_t flows);
void sn_flow_cells_free(struct sn_flow_cells *c);

/* Where a flow's cell is, if it has one. */
static inline struct sn_flow_cell *sn_flow_cells_line(const struct sn_flow_cells *c,
						      const struct sn_flow_cell *flow)
{
	uint64_t addresses, ports;

	memcpy(&addresses, &flow->src, sizeof(addresses));
	memcpy(&ports, &flow->sport, sizeof(ports));
	return &c->now.cells[sn_hash2(addresses, ports, c->seed) & (c->now.n - 2)];
}

static inline bool sn_flow_cell_is(const struct sn_flow_cell *cell, const struct sn_flow_cell *flow)
{
	return ((cell->src ^ flow->src) | (cell->dst ^ flow->dst) | (cell->sport ^ flow->sport) |
		(cell->dport ^ flow->dport) | (cell->proto ^ flow->proto) | (cell->iface ^ flow->iface)) == 0;
}

/* The flow's cell, or the one that is to become it: what it has is to be taken first. */
static inline struct sn_flow_cell *sn_flow_cells_find(struct sn_flow_cells *c,
						      const struct sn_flow_cell *flow)
{
	struct sn_flow_cell *line = sn_flow_cells_line(c, flow);

	if (sn_flow_cell_is(&line[0], flow))
		return &line[0];
	if (likely(sn_flow_cell_is(&line[1], flow)))
		return &line[1];
	line += line[1].packets < line[0].packets;
	c->gave_way += line->packets > 0;
	return line;
}

/* All cells were looked at. */
void sn_flow_cells_round(struct sn_flow_cells *c);

/* There are more, if these are too few; whenever some were looked at. */
void sn_flow_cells_tick(struct sn_flow_cells *c);

/* Give back the cells that those before had. */
void sn_flow_cells_leave(struct sn_flow_cells *c);

#endif /* SN_FLOW_CELLS_H */
