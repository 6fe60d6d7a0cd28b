/* SPDX-License-Identifier: Apache-2.0 */
/* Shards that move between workers, and programs that are loaded meanwhile. */
#include "shards_world.h"

/* A move goes on beside packets: nobody may have any, and it is not over yet. */
static void end_move(struct world *w)
{
	uint64_t blocked;

	settle(w);
	for (uint32_t i = 0; i < 5 && !sn_shards_end(sn_engine_shards(w->engine), &blocked); i++)
		settle(w);
	assert_false(is_moving(w->engine));
}

/* One step of something that goes on: packets at some worker, or a look at what others handed over. */
static void step(struct world *w, uint32_t n_flows)
{
	uint32_t worker = dice(w->n_workers), n = dice(16) + 1;
	struct rte_mbuf *burst[16];
	bool back = dice(2);

	if (dice(5) < 2) {
		poll_worker(w, worker);
		return;
	}
	/* A device keeps a flow's direction to one queue, which need not be the owner's. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = dice(n_flows);

		flow -= flow % w->n_workers;
		flow += back ? (worker + flow / w->n_workers) % w->n_workers : worker;
		burst[i] = next_packet(w, flow, back);
	}
	receive(w, worker, back, burst, n);
	let_pass(w->engine, 1000);
}

static void moves_under_load_lose_reorder_and_change_nothing(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 3000, n_moves = 10000;
	uint32_t moves = 0, wandered = 0;
	uint64_t blocked, steps = 0;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++)
		send_flow(w, i % WORKERS, i, false);
	while (moves < n_moves) {
		step(w, n_flows);
		steps++;
		if (!sn_shards_end(sn_engine_shards(w->engine), &blocked))
			continue;
		if (sn_shards_begin(sn_engine_shards(w->engine), dice(SN_SHARDS), dice(WORKERS), &w->err) !=
		    0)
			fail_msg("%s", w->err.text);
		moves += is_moving(w->engine);
	}
	end_move(w);
	all_packets_came(w, n_flows);
	for (uint32_t i = 0; i < n_flows; i++)
		wandered += w->flows[i].wandered;
	assert_in_range(wandered, n_flows * 9 / 10, n_flows); /* the moves did happen */
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		for (uint32_t j = 0; j < WORKERS; j++)
			assert_int_equal(sn_state_partition(sn_engine_state(w->engine), j)->owned[i],
					 sn_state_owner(sn_engine_state(w->engine), i) == j);
	print_message("%u moves, %lu steps, %lu packets\n", moves, (unsigned long)steps,
		      (unsigned long)w->n_out);
}

static void moves_and_swaps_of_the_program_may_meet(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 600;
	uint32_t swaps = 0;
	uint64_t blocked;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++)
		send_flow(w, i % WORKERS, i, false);
	for (uint32_t moves = 0; moves < 500;) {
		step(w, n_flows);
		if (!sn_shards_end(sn_engine_shards(w->engine), &blocked))
			continue;
		if (moves % 5 == 0) {	 /* packets are in the rings */
			if (swaps++ % 2) /* else the state fits as it is: the swap is warmed up */
				w->msg->tables[0]->max_sessions = 10000 + swaps % 3;
			load_message(w);
		}
		assert_int_equal(
			sn_shards_begin(sn_engine_shards(w->engine), dice(SN_SHARDS), dice(WORKERS), &w->err),
			0);
		moves++;
	}
	end_move(w);
	all_packets_came(w, n_flows);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
}

/* Another table, which no packet meets; its pool has ports for four shards only. */
static void add_small_table(struct world *w)
{
	Sinter__Program__V1__StateTable **tables = sn_arena_alloc(&w->arena, 2 * sizeof(*tables));
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(&w->arena, sizeof(*table));

	*table = *w->msg->tables[0];
	table->name = (char *)"small";
	table->port_min = 2000;
	table->port_max = 2255;
	tables[0] = w->msg->tables[0];
	tables[1] = table;
	w->msg->tables = tables;
}

enum change {
	CHANGE_NOTHING, /* the swap is warmed up */
	CHANGE_LIMIT,	/* sessions are visited */
	CHANGE_UNITS,	/* 128 or four */
	CHANGES,
};

static void load_changed(struct world *w, enum change change)
{
	if (change == CHANGE_LIMIT)
		w->msg->tables[0]->max_sessions = 10000 + w->msg->tables[0]->max_sessions % 7;
	if (change == CHANGE_UNITS)
		w->msg->n_tables = 3 - w->msg->n_tables;
	load_message(w);
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), w->msg->n_tables == 1 ? SN_SHARDS : 4);
}

static void a_program_may_be_loaded_at_each_step_of_a_move(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 600, most = 40, n_programs = CHANGES * most * (IS_WATCHED ? 2 : 5);
	uint32_t under_way = 0, in_rings = 0;
	uint64_t blocked;

	add_small_table(w);
	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++)
		send_flow(w, i % WORKERS, i, false);
	for (uint32_t i = 0; i < n_programs; i++) {
		uint64_t handed = 0, taken = 0;

		assert_int_equal(sn_shards_begin(sn_engine_shards(w->engine),
						 dice(sn_state_units(sn_engine_state(w->engine))),
						 dice(WORKERS), &w->err),
				 0);
		for (uint32_t n = 0; n < i / CHANGES % most; n++) {
			step(w, n_flows);
			sn_shards_end(sn_engine_shards(w->engine), &blocked);
		}
		under_way += is_moving(w->engine);
		for (uint32_t j = 0; j < WORKERS; j++) {
			handed += stats_of(w, j)->handed;
			taken += stats_of(w, j)->taken;
		}
		in_rings += handed > taken;
		load_changed(w, i % CHANGES);
		for (uint32_t n = 0; n < 20; n++)
			step(w, n_flows);
		while (!sn_shards_end(sn_engine_shards(w->engine), &blocked))
			step(w, n_flows);
	}
	settle(w);
	all_packets_came(w, n_flows);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
	assert_in_range(under_way, n_programs / 4, n_programs);
	assert_in_range(in_rings, n_programs / 2, n_programs);
	print_message("%u programs, %u of them during a move, %u with packets in the rings\n", n_programs,
		      under_way, in_rings);
}

static void packets_for_a_shard_on_its_way_wait_for_it(void **state)
{
	struct world *w = *state;
	struct rte_mbuf *m;
	uint32_t flow, unit;
	uint64_t blocked;

	open_workers(w, WORKERS);
	load_message(w);
	flow = flow_of_worker(w, 0, 0);
	unit = shard_of(w, flow);
	w->n_out = 0;
	m = next_packet(w, flow, false);
	receive(w, 1, 0, &m, 1); /* in the ring to worker 0 */
	assert_int_equal(sn_shards_begin(sn_engine_shards(w->engine), unit, 2, &w->err), 0);
	poll_worker(w, 2);
	m = next_packet(w, flow, false);
	receive(w, 2, 0, &m, 1); /* held */
	poll_worker(w, 1);
	m = next_packet(w, flow, false);
	receive(w, 1, 0, &m, 1); /* in the ring to worker 2, */
	poll_worker(w, 2);	 /* then held */
	assert_int_equal(w->n_out, 0);
	assert_false(sn_shards_end(sn_engine_shards(w->engine), &blocked));
	let_pass(w->engine, 5000);
	poll_worker(w, 0); /* gives, having sent the first */
	assert_int_equal(w->n_out, 1);
	assert_false(sn_shards_end(sn_engine_shards(w->engine), &blocked));
	poll_worker(w, 2);
	assert_int_equal(w->n_out, 3);
	assert_true(sn_shards_end(sn_engine_shards(w->engine), &blocked));
	assert_int_equal(blocked, 5000);
	assert_int_equal(w->n_drops, 0);
}

static void a_move_says_what_is_wrong_with_it(void **state)
{
	struct world *w = *state;
	uint64_t blocked;

	open_workers(w, 2);
	assert_int_equal(sn_shards_move(sn_engine_shards(w->engine), 0, 0, &blocked, &w->err), -1);
	assert_string_equal(w->err.text, "move: the engine runs no program that keeps state");
	load_message(w);
	assert_int_equal(sn_shards_move(sn_engine_shards(w->engine), 128, 0, &blocked, &w->err), -1);
	assert_string_equal(w->err.text, "move: shard 128, there are 128");
	assert_int_equal(sn_shards_move(sn_engine_shards(w->engine), 0, 2, &blocked, &w->err), -1);
	assert_string_equal(w->err.text, "move: worker 2, there are 2");
	assert_int_equal(sn_shards_move(sn_engine_shards(w->engine), 0, 0, &blocked, &w->err), 0);
	assert_int_equal(blocked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(moves_under_load_lose_reorder_and_change_nothing),
		WITH_WORLD(moves_and_swaps_of_the_program_may_meet),
		WITH_WORLD(a_program_may_be_loaded_at_each_step_of_a_move),
		WITH_RSS_WORLD(a_program_may_be_loaded_at_each_step_of_a_move),
		WITH_WORLD(packets_for_a_shard_on_its_way_wait_for_it),
		WITH_RSS_WORLD(moves_under_load_lose_reorder_and_change_nothing),
		WITH_RSS_WORLD(moves_and_swaps_of_the_program_may_meet),
		WITH_WORLD(a_move_says_what_is_wrong_with_it),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
