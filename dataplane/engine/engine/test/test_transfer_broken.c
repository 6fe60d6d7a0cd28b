/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers that fail, are given up or resumed, and what each side knows of them then. */
#include "transfer_world.h"

#include "sn_parse.h"
#include "sn_state_impl.h"

/* Up to a step, then the agents give up. */
static void abort_after(struct world *w, uint32_t step)
{
	struct journey j = journey(w, 0, 0, SN_SHARDS);
	struct sn_taken taken;

	begin(&j);
	if (step > 0)
		carry(&j);
	if (step > 1)
		carry_all(&j);
	if (step > 2)
		seal(&j);
	send_to(w, 0, 5, false); /* they wait, */
	send_to(w, 1, 6, false);
	poll_side(&w->sides[0]);
	sn_take_abort(sn_engine_transfers(w->sides[1].engine), j.id, &taken);
	assert_false(taken.committed);
	assert_int_equal(
		sn_take_commit(sn_engine_transfers(w->sides[1].engine), j.id, j.count, &taken, &w->err), -1);
	assert_string_equal(w->err.text, "the transfer is not known, or ended");
	give_abort(&j);
	give_abort(&j); /* again: nothing to do */
	settle(w);	/* and go on */
}

static void a_transfer_that_is_given_up_at_any_step_changes_nothing(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	send_all(w, 200, false);
	for (uint32_t step = 0; step < 4; step++) {
		abort_after(w, step);
		assert_int_equal(sessions_of(&w->sides[0]), 200);
		assert_int_equal(sessions_of(&w->sides[1]), 0);
		assert_quotas(&w->sides[0]);
		assert_quotas(&w->sides[1]);
		send_all(w, 200, true);
		assert_nothing_lost(w);
	}
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sessions_of(&w->sides[1]), 200);
}

static void a_giver_that_asks_after_the_end_learns_what_the_taker_did(void **state)
{
	struct world *w = *state;
	struct journey j;
	struct sn_taken taken;

	open_sides(w, 1);
	send_all(w, 50, false);
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	carry_all(&j);
	assert_int_equal(sn_give_commit(sn_engine_transfers(w->sides[0].engine), j.id, &j.blocked, &w->err),
			 -1);
	assert_string_equal(w->err.text, "the transfer is not sealed: it may have ended at the peer");
	seal(&j);
	take_commit(&j);
	take_commit(&j); /* the answer was lost */
	sn_take_abort(sn_engine_transfers(w->sides[1].engine), j.id, &taken);
	assert_true(taken.committed);
	assert_int_equal(sn_give_begin(sn_engine_transfers(w->sides[0].engine), order_of(&j), &w->err), 0);
	give_commit(&j);
	give_commit(&j);
	assert_int_equal(j.blocked, 0);
	assert_int_equal(sn_give_abort(sn_engine_transfers(w->sides[0].engine), j.id, &j.blocked, &w->err),
			 -1);
	assert_string_equal(w->err.text, "the transfer is committed");
	assert_int_equal(take_begin(&j), 0);
	assert_true(j.last.committed);
	assert_int_equal(sessions_of(&w->sides[1]), 50);
	assert_int_equal(place(&w->sides[0], 0), SN_SHARD_AWAY);
}

static void a_broken_connection_is_resumed_where_it_was(void **state)
{
	struct world *w = *state;
	struct journey j;
	uint8_t first[CHUNK * SN_CARRY_BYTES];
	uint64_t cursor = 0;
	size_t n;

	open_sides(w, 1);
	send_all(w, 300, false);
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	carry(&j);
	memcpy(first, j.chunk, sizeof(first));
	carry(&j);
	assert_int_equal(sn_give_read(sn_engine_transfers(w->sides[0].engine), j.id, &cursor, j.chunk, CHUNK,
				      &n, &w->err),
			 0);
	assert_memory_equal(j.chunk, first, sizeof(first));
	j.sequence = 0;
	assert_int_equal(put_chunk(&j), 0); /* came already */
	assert_int_equal(j.last.sequence, 2);
	assert_int_equal(j.last.count, 2 * CHUNK);
	j.sequence = 3;
	assert_int_equal(put_chunk(&j), -1);
	assert_string_equal(w->err.text, "chunk 3, want 2");
	assert_int_equal(take_begin(&j), 0);
	assert_int_equal(j.last.sequence, 2);
	j.sequence = 2;
	carry_all(&j);
	seal(&j);
	assert_int_equal(sn_take_commit(sn_engine_transfers(w->sides[1].engine), j.id, 299, &j.last, &w->err),
			 -1);
	assert_string_equal(w->err.text, "300 sessions came, the giver has put 299");
	take_commit(&j);
	give_commit(&j);
	send_all(w, 300, true);
	assert_nothing_lost(w);
}

static void what_is_read_again_is_what_was_read(void **state)
{
	struct world *w = *state;
	struct side *giver = &w->sides[0];
	uint8_t first[CHUNK * SN_CARRY_BYTES];
	struct journey j;

	open_sides(w, 1);
	send_all(w, CHUNK, false);
	for (uint32_t i = 0; i < 2; i++)
		let_pass(w->sides[i].engine, 299 * SECOND);
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	for (uint32_t i = 0; i < 3; i++) {
		j.cursor = 0;
		read_chunk(&j);
		assert_int_equal(j.n, CHUNK);
		if (i == 0)
			memcpy(first, j.chunk, sizeof(first));
		assert_memory_equal(j.chunk, first, sizeof(first));
		let_pass(giver->engine, SECOND); /* the third time they would have expired */
	}
	give_abort(&j);
}

static void what_was_given_up_at_the_taker_never_commits(void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 1);
	j = journey(w, 0, 0, SN_SHARDS);
	assert_int_equal(sn_give_begin(sn_engine_transfers(w->sides[0].engine), order_of(&j), &w->err), 0);
	/* The beginning is on its way when the driver gives up; there are no sessions. */
	sn_take_abort(sn_engine_transfers(w->sides[1].engine), j.id, &j.last);
	assert_false(j.last.committed);
	give_abort(&j);
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(w->err.text, "the transfer was given up");
	assert_int_equal(sn_take_commit(sn_engine_transfers(w->sides[1].engine), j.id, 0, &j.last, &w->err),
			 -1);
	assert_int_equal(place(&w->sides[1], 0), SN_SHARD_AWAY);
	transfer(w, 0, 0, SN_SHARDS);
}

/* A transfer of which the first session of the first chunk is spoilt. */
static void refuse_spoilt(struct world *w, uint32_t at, uint8_t with, const char *why)
{
	struct journey j = journey(w, 0, 0, SN_SHARDS);

	begin(&j);
	read_chunk(&j);
	j.chunk[at] = with;
	assert_int_equal(put_chunk(&j), -1);
	if (!strstr(w->err.text, why))
		fail_msg("\"%s\", want \"…%s…\"", w->err.text, why);
	assert_int_equal(place(&w->sides[1], 0), SN_SHARD_AWAY);
	assert_int_equal(sessions_of(&w->sides[1]), 0);
	give_abort(&j);
}

static void a_session_that_cannot_be_is_refused_and_ends_the_transfer(void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 1);
	send_all(w, 100, false);
	refuse_spoilt(w, 18, 0xff, "which the program does not have so");
	refuse_spoilt(w, 23, 7, "entry of table 7");
	refuse_spoilt(w, 20, SN_AH, "its protocol is not translated");
	refuse_spoilt(w, 22, 200, "napt entry of shard 200");
	refuse_spoilt(w, 4, 77, "its outside address and port are not the pool's");
	j = journey(w, 0, 0, SN_SHARDS);
	begin(&j);
	read_chunk(&j);
	memcpy(j.chunk + SN_CARRY_BYTES, j.chunk, SN_CARRY_BYTES);
	assert_int_equal(put_chunk(&j), -1);
	assert_non_null(strstr(w->err.text, "holds what another one has"));
	give_abort(&j);
	send_all(w, 100, true);
	assert_nothing_lost(w);
}

static void engines_that_are_not_alike_hand_nothing_over(void **state)
{
	struct world *w = *state;
	struct journey j;
	static const uint8_t other[4] = {9, 8, 7, 6}, key[] = "a key of 16 bytes or more";

	open_sides(w, 1);
	j = journey(w, 0, 0, 1);
	load_hashed(&w->sides[1], other, sizeof(other));
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(w->err.text,
			    "the giver runs program 01020304, this engine 09080706: load the same first");
	load_hashed(&w->sides[1], program_hash, sizeof(program_hash));
	sn_engine_state(w->sides[1].engine)->by_ends = true;
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(w->err.text,
			    "the giver cuts its state with --shards host, this engine with host, by ends");
	sn_engine_state(w->sides[1].engine)->by_ends = false;
	assert_int_equal(
		sn_shards_assign(sn_engine_shards(w->sides[1].engine), NULL, 0, key, sizeof(key), &w->err),
		0);
	assert_int_equal(take_begin(&j), -1);
	assert_string_equal(
		w->err.text,
		"the giver tells shards by another key: assign one key to all engines of the chain");
	j.units[0] = 128;
	assert_int_equal(sn_give_begin(sn_engine_transfers(w->sides[0].engine), order_of(&j), &w->err), -1);
	assert_string_equal(w->err.text, "shard 128, there are 128");
	j.units[0] = 3;
	assert_int_equal(sn_give_begin(sn_engine_transfers(w->sides[1].engine), order_of(&j), &w->err), -1);
	assert_string_equal(w->err.text, "shard 3 is away, want one that is here");
}

static void transfers_that_nobody_goes_on_with_end_unless_the_taker_decides(void **state)
{
	struct world *w = *state;
	struct journey open, sealed;

	open_sides(w, 1);
	send_all(w, 100, false);
	open = journey(w, 0, 0, 64);
	sealed = journey(w, 0, 64, 64);
	begin(&open);
	carry(&open);
	begin(&sealed);
	carry_all(&sealed);
	seal(&sealed);
	for (uint32_t i = 0; i < 2; i++) {
		let_pass(w->sides[i].engine, SN_TRANSFER_LEASE - 1);
		sn_transfers_tick(sn_engine_transfers(w->sides[i].engine));
		assert_int_equal(place(&w->sides[i], 0), i == 0 ? SN_SHARD_GIVING : SN_SHARD_TAKING);
		let_pass(w->sides[i].engine, 1);
		sn_transfers_tick(sn_engine_transfers(w->sides[i].engine));
		assert_int_equal(place(&w->sides[i], 0), i == 0 ? SN_SHARD_HERE : SN_SHARD_AWAY);
	}
	assert_int_equal(place(&w->sides[0], 64), SN_SHARD_GIVING); /* the taker might have committed */
	assert_int_equal(place(&w->sides[1], 64), SN_SHARD_AWAY);
	assert_true(sn_transfers_open(sn_engine_transfers(w->sides[0].engine)));
	assert_int_equal(sn_transfer_of(sn_engine_transfers(w->sides[0].engine), 64)->sealed, true);
	give_abort(&sealed);
	assert_false(sn_transfers_open(sn_engine_transfers(w->sides[0].engine)));
	send_all(w, 100, true);
	assert_nothing_lost(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(a_transfer_that_is_given_up_at_any_step_changes_nothing),
		WITH_WORLD(a_giver_that_asks_after_the_end_learns_what_the_taker_did),
		WITH_WORLD(a_broken_connection_is_resumed_where_it_was),
		WITH_WORLD(what_is_read_again_is_what_was_read),
		WITH_WORLD(what_was_given_up_at_the_taker_never_commits),
		WITH_WORLD(a_session_that_cannot_be_is_refused_and_ends_the_transfer),
		WITH_WORLD(engines_that_are_not_alike_hand_nothing_over),
		WITH_WORLD(transfers_that_nobody_goes_on_with_end_unless_the_taker_decides),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
