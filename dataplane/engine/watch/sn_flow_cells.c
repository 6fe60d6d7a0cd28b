/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_flow_cells.h"

#define CROWD 4 /* so many-th part of all gave way while all were looked at: these are too few */

static size_t size_of(uint32_t n)
{
	return n * sizeof(struct sn_flow_cell);
}

static void use(struct sn_flow_cells *c, struct sn_stretch *stretch, uint32_t n)
{
	c->now = (struct sn_flow_cell_room){
		.cells = (struct sn_flow_cell *)stretch->base, .stretch = stretch, .n = n};
}

bool sn_flow_cells_init(struct sn_flow_cells *c, uint32_t flows)
{
	size_t all = size_of(SN_FLOW_CELLS_LEAST), at;
	uint32_t n, rooms = 1;

	memset(c, 0, sizeof(*c));
	c->seed = 0xd6e8feb86659fd93ull ^ (uintptr_t)c;
	for (n = SN_FLOW_CELLS_LEAST; n < SN_FLOW_CELLS_MOST && n / 2 < flows; rooms++) {
		n *= SN_FLOW_CELLS_STEP;
		all += size_of(n);
	}
	c->most = n;
	c->memory = sn_growing_map(all, rooms);
	if (!c->memory)
		return false;
	/* The largest first: each begins at a multiple of its size. */
	for (at = all, n = SN_FLOW_CELLS_LEAST; n <= c->most; n *= SN_FLOW_CELLS_STEP) {
		at -= size_of(n);
		sn_growing_add(c->memory, at, size_of(n), true);
	}
	sn_growing_begin(c->memory);
	use(c, c->memory->stretches, SN_FLOW_CELLS_LEAST);
	sn_stretch_whole(c->now.stretch);
	return true;
}

void sn_flow_cells_free(struct sn_flow_cells *c)
{
	sn_growing_free(c->memory);
}

void sn_flow_cells_round(struct sn_flow_cells *c)
{
	c->gave_way = 0;
}

void sn_flow_cells_tick(struct sn_flow_cells *c)
{
	struct sn_stretch *more = c->now.stretch + 1;

	if (likely(c->gave_way <= c->now.n / CROWD) || c->now.n == c->most || c->before.cells)
		return;
	if (!sn_stretch_whole(more))
		return; /* it is being brought */
	c->gave_way = 0;
	c->before = c->now;
	c->before.next = 0;
	use(c, more, SN_FLOW_CELLS_STEP * c->now.n);
}

void sn_flow_cells_leave(struct sn_flow_cells *c)
{
	sn_stretch_give_up(c->before.stretch);
	c->before = (struct sn_flow_cell_room){0};
}
