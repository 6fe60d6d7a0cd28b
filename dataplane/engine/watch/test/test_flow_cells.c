/* SPDX-License-Identifier: Apache-2.0 */
/* Flows whose decision has no cell: all their packets count, in few records where there is room for them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sn_observer.h"

#define MS	   1000000ull
#define PACKET_NS  200 /* between two packets */
#define BYTES	   100
#define SETTLED_MS 10000

/* An observer whose records are read as soon as they come. */
struct world {
	struct sn_observer *observer;
	uint64_t now, ticked;
	uint64_t records, packets, bytes; /* of records */
};

static struct world *open_world(uint32_t flows)
{
	const struct sn_observation of = {.name = (char *)(uintptr_t) "mon",
					  .interval_ns = 3600000 * MS,
					  .entries = 64,
					  .sampling = 1,
					  .n_tops = 1};
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->observer = sn_observer_create(&of, flows);
	assert_non_null(w->observer);
	w->now = w->ticked = 3600000 * MS;
	return w;
}

static void close_world(struct world *w)
{
	sn_observer_free(w->observer);
	free(w);
}

static void read_records(struct world *w)
{
	struct sn_flow_cell record;

	while (sn_flow_ring_take(w->observer->ring, &record)) {
		w->records++;
		w->packets += record.packets;
		w->bytes += record.bytes;
	}
}

static void pass(struct world *w, uint64_t ns)
{
	w->now += ns;
	if (w->now - w->ticked < MS)
		return;
	w->ticked = w->now;
	sn_observer_tick(w->observer, w->now);
	sn_observer_sweep_own(w->observer, sn_observer_due(w->observer, w->now));
	read_records(w);
}

static struct sn_flow_cell flow(uint32_t i)
{
	return (struct sn_flow_cell){.src = 0x0a000000 + i / 50,
				     .dst = 0xc6336401,
				     .sport = (uint16_t)(1024 + i % 50),
				     .dport = 443,
				     .proto = 6};
}

static void packet(struct world *w, uint32_t i)
{
	struct sn_flow_cell f = flow(i);

	sn_observer_packet(w->observer, &f, BYTES, 0, w->now);
	pass(w, PACKET_NS);
}

/* Flows in turn. Returns how many records were made. */
static uint64_t rounds(struct world *w, uint32_t flows, uint32_t n)
{
	uint64_t records = w->records;

	for (uint32_t round = 0; round < n; round++)
		for (uint32_t i = 0; i < flows; i++)
			packet(w, i);
	return w->records - records;
}

static void settle(struct world *w)
{
	for (uint32_t ms = 0; ms < SETTLED_MS; ms++)
		pass(w, MS);
}

/* Each packet counts, in the lists and in one record. */
static void assert_all(const struct world *w, uint64_t packets)
{
	const struct sn_observer *o = w->observer;

	assert_int_equal(o->packets, packets);
	assert_int_equal(o->bytes, packets * BYTES);
	assert_int_equal(o->running.packets, packets);
	assert_int_equal(o->lost_packets, 0);
	assert_int_equal(o->records, w->records);
	assert_int_equal(w->packets, packets);
	assert_int_equal(w->bytes, packets * BYTES);
}

/* Packets of a flow that come within a second are one record, as there are more cells soon. */
static void cells_become_as_many_as_flows_want(void **state)
{
	enum { FLOWS = 200000, ROUNDS = 40 };
	struct world *w = open_world(1000000);
	uint64_t records;

	(void)state;
	assert_int_equal(w->observer->own.now.n, SN_FLOW_CELLS_LEAST);
	rounds(w, FLOWS, ROUNDS);
	assert_true(w->observer->own.now.n >= 2 * FLOWS);
	assert_null(w->observer->own.before.cells);
	records = rounds(w, FLOWS, ROUNDS); /* 1.6 s */
	assert_true(records < 5 * FLOWS);
	settle(w);
	assert_all(w, 2 * FLOWS * ROUNDS);
	close_world(w);
}

/* However many flows come. */
static void cells_are_no_more_than_sessions_want(void **state)
{
	static const struct {
		uint32_t sessions, most;
	} cases[] = {{0, 1u << 15},
		     {1u << 14, 1u << 15},
		     {20000, 1u << 17},
		     {1u << 20, 1u << 21},
		     {UINT32_MAX, 1u << 21}};
	struct world *w = open_world(20000);

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_flow_cells cells;

		assert_true(sn_flow_cells_init(&cells, cases[i].sessions));
		assert_int_equal(cells.most, cases[i].most);
		sn_flow_cells_free(&cells);
	}
	rounds(w, 1000000, 3);
	assert_int_equal(w->observer->own.now.n, 1u << 17);
	settle(w);
	assert_all(w, 3000000);
	close_world(w);
}

/* A flow that keeps coming keeps its cell beside those that come once. */
static void a_heavy_flow_stays_in_its_cell(void **state)
{
	struct world *w = open_world(0);
	uint32_t before = 0, lost_it = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		struct sn_flow_cell heavy = flow(0), *cell;

		packet(w, 0);
		cell = sn_flow_cells_find(&w->observer->own, &heavy);
		lost_it += cell->packets < before;
		before = cell->packets;
		packet(w, 1 + i);
	}
	assert_true(lost_it < 5); /* when it was looked at */
	settle(w);
	assert_all(w, 2000000);
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_become_as_many_as_flows_want),
		cmocka_unit_test(cells_are_no_more_than_sessions_want),
		cmocka_unit_test(a_heavy_flow_stays_in_its_cell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
