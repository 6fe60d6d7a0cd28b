/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are loaded during transfers. */
#include "transfer_world.h"

static void a_new_program_ends_transfers_that_are_not_sealed(void **state)
{
	struct world *w = *state;
	struct journey open, sealed;
	static const uint8_t other[4] = {9};

	open_sides(w, 2);
	send_all(w, 100, false);
	open = journey(w, 0, 0, 64);
	sealed = journey(w, 0, 64, 64);
	begin(&open);
	carry(&open);
	begin(&sealed);
	carry_all(&sealed);
	seal(&sealed);
	w->msg->tables[0]->max_sessions = 5000; /* the tables are made again */
	load_hashed(&w->sides[0], other, 1);
	load_hashed(&w->sides[1], other, 1);
	assert_int_equal(place(&w->sides[0], 0), SN_SHARD_HERE);
	assert_int_equal(place(&w->sides[0], 64), SN_SHARD_GIVING);
	assert_int_equal(place(&w->sides[1], 0), SN_SHARD_AWAY);
	assert_int_equal(place(&w->sides[1], 64), SN_SHARD_AWAY);
	assert_int_equal(sessions_of(&w->sides[0]), 100);
	assert_int_equal(sessions_of(&w->sides[1]), 0);
	give_abort(&sealed);
	send_all(w, 100, true);
	assert_nothing_lost(w);
	assert_quotas(&w->sides[0]);
}

/* Both engines get a program with 64 units. */
static void load_fewer_units(struct world *w)
{
	w->msg->tables[0]->pool[0]->last = w->msg->tables[0]->pool[0]->first;
	w->msg->tables[0]->port_min = 1024;
	w->msg->tables[0]->port_max = 1024 + 64 * 64 - 1;
	for (uint32_t i = 0; i < 2; i++)
		load_hashed(&w->sides[i], program_hash, sizeof(program_hash));
	assert_int_equal(sn_state_units(sn_engine_state(w->sides[0].engine)), 64);
}

static void fewer_units_are_where_the_first_of_them_was(void **state)
{
	struct world *w = *state;
	uint64_t before;

	open_sides(w, 1);
	send_all(w, 300, false);
	transfer(w, 0, 64, 64);
	before = sessions_of(&w->sides[0]);
	load_fewer_units(w);
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		assert_int_equal(place(&w->sides[0], i), SN_SHARD_HERE);
		assert_int_equal(place(&w->sides[1], i), SN_SHARD_AWAY);
	}
	assert_in_range(sessions_of(&w->sides[0]), 1, before);
	assert_int_equal(sessions_of(&w->sides[1]), 0);
}

/* A transfer up to its seal, or the taker's commit. */
static struct journey sealed_journey(struct world *w, uint32_t first, uint32_t n, bool taken)
{
	struct journey j = journey(w, 0, first, n);

	begin(&j);
	carry_all(&j);
	seal(&j);
	if (taken)
		take_commit(&j);
	return j;
}

static void assert_unit_is_at(const struct world *w, uint32_t unit, uint8_t side)
{
	for (uint32_t i = unit; i < SN_SHARDS; i += 64) {
		assert_int_equal(place(&w->sides[side], i), SN_SHARD_HERE);
		assert_int_equal(place(&w->sides[1 - side], i), SN_SHARD_AWAY);
	}
}

/* The driver goes on by what the taker says. */
static void end_by_the_taker(struct journey *j)
{
	struct sn_taken taken;

	sn_take_abort(sn_engine_transfers(j->to->engine), j->id, &taken);
	if (taken.committed)
		give_commit(j);
	else
		give_abort(j);
}

static void a_sealed_transfer_of_units_that_became_part_of_others_is_over(bool taken, void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 2);
	send_all(w, 300, false);
	transfer(w, 0, 7, 1); /* the first shard of one of both is the other's */
	j = sealed_journey(w, 70, 2, taken);
	load_fewer_units(w);
	for (uint32_t after = 0; after < 2; after++) {
		assert_unit_is_at(w, 6, 0);
		assert_unit_is_at(w, 7, 1);
		assert_null(sn_transfer_of(sn_engine_transfers(w->sides[0].engine), 6));
		assert_false(sn_transfers_open(sn_engine_transfers(w->sides[0].engine)));
		end_by_the_taker(&j);
	}
	assert_int_equal(sn_peering_peers(sn_engine_peering(w->sides[0].engine))->at[71], 1);
	send_all(w, 300, true);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_int_equal(place(&w->sides[0], i) + place(&w->sides[1], i), SN_SHARD_AWAY);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
}

static void a_sealed_transfer_of_part_of_a_unit_is_over_before_the_takers_commit(void **state)
{
	a_sealed_transfer_of_units_that_became_part_of_others_is_over(false, state);
}

static void a_sealed_transfer_of_part_of_a_unit_is_over_after_the_takers_commit(void **state)
{
	a_sealed_transfer_of_units_that_became_part_of_others_is_over(true, state);
}

static void a_sealed_transfer_of_first_shards_takes_their_units_along(bool taken, void **state)
{
	struct world *w = *state;
	struct journey j;

	open_sides(w, 2);
	send_all(w, 300, false);
	j = sealed_journey(w, 5, 1, taken);
	load_fewer_units(w);
	for (uint32_t i = 5; i < SN_SHARDS; i += 64) {
		assert_int_equal(place(&w->sides[0], i), SN_SHARD_GIVING);
		assert_non_null(sn_transfer_of(sn_engine_transfers(w->sides[0].engine), i));
	}
	end_by_the_taker(&j);
	assert_unit_is_at(w, 5, taken);
	assert_quotas(&w->sides[0]);
	assert_quotas(&w->sides[1]);
}

static void a_sealed_transfer_takes_units_along_that_the_taker_commits(void **state)
{
	a_sealed_transfer_of_first_shards_takes_their_units_along(true, state);
}

static void a_sealed_transfer_leaves_units_here_that_the_taker_does_not_commit(void **state)
{
	a_sealed_transfer_of_first_shards_takes_their_units_along(false, state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(a_new_program_ends_transfers_that_are_not_sealed),
		WITH_WORLD(fewer_units_are_where_the_first_of_them_was),
		WITH_WORLD(a_sealed_transfer_of_part_of_a_unit_is_over_before_the_takers_commit),
		WITH_WORLD(a_sealed_transfer_of_part_of_a_unit_is_over_after_the_takers_commit),
		WITH_WORLD(a_sealed_transfer_takes_units_along_that_the_taker_commits),
		WITH_WORLD(a_sealed_transfer_leaves_units_here_that_the_taker_does_not_commit),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
