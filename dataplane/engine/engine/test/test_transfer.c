/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers that come to their end: what moves, which packets wait meanwhile, and for how long. */
#include "transfer_world.h"

#include <sys/resource.h>

#include "sn_napt.h"
#include "sn_request_shards.h"

static void all_sessions_move_and_no_binding_changes(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	send_all(w, 600, false);
	assert_int_equal(sessions_of(&w->sides[0]), 600);
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sessions_of(&w->sides[0]), 0);
	assert_int_equal(sessions_of(&w->sides[1]), 600);
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		assert_int_equal(place(&w->sides[0], i), SN_SHARD_AWAY);
		assert_int_equal(place(&w->sides[1], i), SN_SHARD_HERE);
	}
	send_all(w, 600, true);
	send_all(w, 700, false);
	assert_nothing_lost(w);
	assert_int_equal(sessions_of(&w->sides[1]), 700);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
	for (uint32_t i = 0; i < 3; i++)
		transfer(w, 1 - i % 2, 10, 50);
	send_all(w, 700, true);
	assert_nothing_lost(w);
	assert_int_equal(sessions_of(&w->sides[0]) + sessions_of(&w->sides[1]), 700);
}

static void a_session_keeps_its_age_and_what_was_seen_of_it(void **state)
{
	struct world *w = *state;
	struct sn_entry_info before[8], after[8];
	uint64_t later = 100 * SECOND;

	open_sides(w, 1);
	send_all(w, 3, false);
	for (uint32_t i = 0; i < 2; i++)
		let_pass(w->sides[i].engine, later);
	send_all(w, 1, true);
	assert_int_equal(sn_state_entries(sn_engine_state(w->sides[0].engine), 0, now_of(w->sides[0].engine),
					  before, 8),
			 3);
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sn_state_entries(sn_engine_state(w->sides[1].engine), 0, now_of(w->sides[1].engine),
					  after, 8),
			 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct sn_session *was = (const struct sn_session *)&before[i].line;
		const struct sn_session *is = (const struct sn_session *)&after[i].line;

		assert_string_equal(after[i].owner, before[i].owner);
		assert_int_equal(after[i].idle_ns, before[i].idle_ns);
		assert_int_equal(is->inside_port, was->inside_port);
		assert_int_equal(is->outside_port, was->outside_port);
		assert_int_equal(is->entry.shard, was->entry.shard);
	}
	/* UDP: 300 s in the sample. What was idle for 100 s ends 200 s later, at the new engine's clock. */
	let_pass(w->sides[1].engine, 250 * SECOND);
	for (uint32_t i = 0; i < 2 * SN_SHARDS; i++)
		sn_worker_tick(worker_of(w->sides[1].engine, 0), now_of(w->sides[1].engine));
	assert_int_equal(sessions_of(&w->sides[1]), 1);
}

/* One step of a transfer, or its end. */
static void go_on(struct journey *j)
{
	struct sn_taken taken;

	if (dice(40) == 0 && !j->taken) { /* the agents give up, in either order */
		if (dice(2))
			sn_take_abort(sn_engine_transfers(j->to->engine), j->id, &taken);
		give_abort(j);
		sn_take_abort(sn_engine_transfers(j->to->engine), j->id, &taken);
		assert_false(taken.committed);
		j->over = true;
	} else if (!j->read) {
		carry(j);
		if (dice(4) == 0) { /* the answer was lost */
			j->sequence--;
			OK(put_chunk(j));
			j->sequence++;
		}
	} else if (!j->sealed) {
		seal(j);
		j->sealed = true;
	} else if (!j->taken) {
		take_commit(j);
		j->taken = true;
	} else {
		give_commit(j);
		j->over = true;
	}
}

static void random_load(struct world *w)
{
	uint32_t index = dice(FLOWS), side = index / 7 % 2; /* which side a flow comes to stays */

	if (dice(3) == 0)
		deliver(&w->sides[dice(2)]);
	else if (dice(3) == 0)
		poll_side(&w->sides[dice(2)]);
	else
		send_to(w, (uint8_t)side, index, w->flows[index].outside_port && dice(2));
	if (w->sides[0].tail - w->sides[0].head + w->sides[1].tail - w->sides[1].head > 200)
		settle(w);
}

static void moves_back_and_forth_under_load_reorder_nothing_and_lose_what_they_count(uint32_t n_workers,
										     void **state)
{
	struct world *w = *state;
	uint64_t lost;

	w->msg->tables[0]->max_sessions = 100000;
	open_sides(w, n_workers);
	for (uint32_t n = 0; n < 3000; n++) {
		uint8_t from = (uint8_t)dice(2);
		uint32_t first = dice(SN_SHARDS), some = 1 + dice(RTE_MIN(8u, SN_SHARDS - first));
		struct journey j = journey(w, from, first, some);
		bool whole = true;

		for (uint32_t i = 0; i < some; i++)
			whole &= place(j.from, first + i) == SN_SHARD_HERE;
		if (!whole) {
			random_load(w);
			continue;
		}
		for (begin(&j); !j.over; go_on(&j))
			for (uint32_t i = dice(60); i > 0; i--) {
				random_load(w);
				assert_one_has_each(w);
			}
		random_load(w);
	}
	settle(w);
	lost = assert_counted(w);
	assert_in_range(lost, 0, w->n_sent / 20); /* what was on its way to a giver when it gave */
	assert_int_equal(
		w->sides[0].drops[SN_REASON_HANDOVER_FULL] + w->sides[1].drops[SN_REASON_HANDOVER_FULL], 0);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_int_equal(place(&w->sides[0], i) + place(&w->sides[1], i), SN_SHARD_AWAY);
	print_message("%lu packets, %lu lost and counted\n", (unsigned long)w->n_sent, (unsigned long)lost);
}

static void moves_between_engines_of_one_worker_are_exact(void **state)
{
	moves_back_and_forth_under_load_reorder_nothing_and_lose_what_they_count(1, state);
}

static void moves_between_engines_of_three_workers_are_exact(void **state)
{
	moves_back_and_forth_under_load_reorder_nothing_and_lose_what_they_count(3, state);
}

static void packets_that_wait_are_bounded_and_keep_their_order(void **state)
{
	struct world *w = *state;
	const uint32_t more = 10;
	struct journey j;
	uint32_t flow = 0;

	open_sides(w, 1);
	send_all(w, 1, false);
	j = journey(w, 0, shard_of(w, flow), 1);
	begin(&j);
	for (uint32_t i = 0; i < SN_EXCHANGE_HELD + more; i++)
		send_to(w, 0, flow, false);
	assert_int_equal(w->sides[0].drops[SN_REASON_HANDOVER_FULL], more);
	assert_int_equal(w->n_seen, 1);
	poll_side(&w->sides[0]);
	carry_all(&j);
	seal(&j);
	take_commit(&j);
	give_commit(&j);
	settle(w);
	assert_int_equal(w->n_seen, 1 + SN_EXCHANGE_HELD);
	assert_int_equal(sn_worker_stats(worker_of(w->sides[0].engine, 0))->shards[shard_of(w, flow)].passed,
			 SN_EXCHANGE_HELD);
}

static uint64_t page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_minflt;
}

/* Asks the first engine to say how much there is of some units, as its agent does. */
static int ask_layout(struct journey *j, size_t n_units, uint32_t *counts)
{
	Sinter__Control__V1__GiveShards give = SINTER__CONTROL__V1__GIVE_SHARDS__INIT;
	Sinter__Control__V1__Response response = SINTER__CONTROL__V1__RESPONSE__INIT;

	give.step = SINTER__CONTROL__V1__GIVE_SHARDS__STEP__LAYOUT;
	give.transfer = (ProtobufCBinaryData){SN_TRANSFER_ID, j->id};
	give.shards = j->units;
	give.n_shards = n_units;
	if (sn_answer_give(sn_engine_transfers(j->from->engine), &j->w->arena, &give, &response, ERR) != 0)
		return -1;
	assert_int_equal(response.given->n_counts, n_units);
	memcpy(counts, response.given->counts, n_units * sizeof(*counts));
	return 0;
}

static void memory_is_there_before_packets_wait(void **state)
{
	struct world *w = *state;
	uint64_t faults[2]; /* of a taker that knows how many sessions come, and one that does not */
	uint32_t counts[SN_SHARDS], sum = 0;

	/* More than is had in huge pages. */
	w->msg->tables[0]->pool[0]->last = w->msg->tables[0]->pool[0]->first + 4;
	w->msg->tables[0]->max_sessions = 0;
	open_sides(w, 1);
	send_all(w, FLOWS, false);
	for (uint32_t i = 0; i < 2; i++) {
		struct journey trip = journey(w, 0, i * SN_SHARDS / 2, SN_SHARDS / 2), *j = &trip;

		OK(ask_layout(j, SN_SHARDS / 2, counts));
		for (uint32_t s = 0; s < SN_SHARDS / 2; s++)
			sum += counts[s];
		j->order.counts = i == 0 ? counts : NULL;
		begin(j);
		faults[i] = page_faults();
		carry_all(j);
		faults[i] = page_faults() - faults[i];
		seal(j);
		take_commit(j);
		give_commit(j);
	}
	assert_int_equal(sum, FLOWS);
	assert_int_equal(sessions_of(&w->sides[1]), FLOWS);
	print_message("%lu page faults, %lu without knowing\n", (unsigned long)faults[0],
		      (unsigned long)faults[1]);
	assert_in_range(faults[0], 0, faults[1] / 2);
}

static void counts_that_are_none_are_refused(void **state)
{
	Sinter__Control__V1__TakeShards take = SINTER__CONTROL__V1__TAKE_SHARDS__INIT;
	Sinter__Control__V1__ShardLayout layout = SINTER__CONTROL__V1__SHARD_LAYOUT__INIT;
	Sinter__Control__V1__Response response = SINTER__CONTROL__V1__RESPONSE__INIT;
	struct world *w = *state;
	uint32_t counts[SN_SHARDS];
	struct journey trip = journey(w, 0, 0, 3), *j = &trip;

	open_sides(w, 1);
	take.transfer = (ProtobufCBinaryData){SN_TRANSFER_ID, j->id};
	take.layout = &layout;
	take.shards = j->units;
	take.n_shards = 3;
	take.counts = counts;
	take.n_counts = 2;
	assert_int_equal(sn_answer_take(sn_engine_transfers(j->to->engine), &w->arena, &take, &response, ERR),
			 -1);
	assert_string_equal(w->err.text,
			    "take: 2 counts of sessions, of 3 shards: want one of each, or none");
	j->units[2] = 128;
	assert_int_equal(ask_layout(j, 3, counts), -1);
	assert_string_equal(w->err.text, "give: shard 128, there are 128");
}

static void both_engines_say_how_long_packets_waited(void **state)
{
	struct world *w = *state;
	struct journey trip = journey(w, 0, 0, SN_SHARDS), *j = &trip;

	open_sides(w, 1);
	send_all(w, 10, false);
	OK(take_begin(j));
	let_pass(w->sides[1].engine, 1000);
	OK(sn_give_begin(sn_engine_transfers(j->from->engine), order_of(j), ERR));
	for (uint32_t i = 0; i < 2; i++)
		let_pass(w->sides[i].engine, 5000);
	carry_all(j);
	seal(j);
	take_commit(j);
	assert_int_equal(j->last.blocked_ns, 6000);
	let_pass(w->sides[0].engine, 2000);
	give_commit(j);
	assert_int_equal(j->blocked, 7000);
	take_commit(j);
	assert_int_equal(j->last.blocked_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(all_sessions_move_and_no_binding_changes),
		WITH_WORLD(a_session_keeps_its_age_and_what_was_seen_of_it),
		WITH_WORLD(moves_between_engines_of_one_worker_are_exact),
		WITH_WORLD(moves_between_engines_of_three_workers_are_exact),
		WITH_WORLD(packets_that_wait_are_bounded_and_keep_their_order),
		WITH_WORLD(memory_is_there_before_packets_wait),
		WITH_WORLD(counts_that_are_none_are_refused),
		WITH_WORLD(both_engines_say_how_long_packets_waited),
		WITH_RSS_WORLD(all_sessions_move_and_no_binding_changes),
		WITH_RSS_WORLD(moves_between_engines_of_three_workers_are_exact),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
