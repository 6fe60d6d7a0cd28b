/* SPDX-License-Identifier: Apache-2.0 */
/* Knowledge of engines about each other: who has which shard, who announces addresses, and where packets go
 * by it.
 */
#include "transfer_world.h"

#include "sn_request_shards.h"

static void a_packet_that_no_engine_wants_goes_to_and_fro_at_most_once(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	send_all(w, 10, false);
	transfer(w, 0, 0, SN_SHARDS);
	/* The second loses them as if it had been restarted. */
	sn_engine_free(w->sides[1].engine);
	open_side(w, 1, true);
	introduce(&w->sides[1], true);
	send_all(w, 10, false);
	assert_int_equal(dropped(w, SN_REASON_NOT_HERE), 10);
	/* Nobody is known to have them. */
	assert_int_equal(introduce_with(&w->sides[0], "outside", 0, false), 0);
	for (uint32_t i = 0; i < 10; i++)
		send_to(w, 0, i, false);
	poll_side(&w->sides[0]);
	assert_int_equal(w->sides[0].drops[SN_REASON_NOT_HERE], 5 + 10);
}

static void packets_for_a_shard_on_its_way_here_go_to_who_has_it_still(void **state)
{
	struct world *w = *state;

	open_sides(w, 2);
	introduce(&w->sides[1], false); /* nobody but itself is to have them */
	for (uint32_t i = 0; i < 10; i++)
		send_to(w, 1, i, false);
	settle(w);
	assert_nothing_lost(w);
	assert_int_equal(sessions_of(&w->sides[0]), 10);
	assert_int_equal(introduce_with(&w->sides[1], "outside", 0, false), 0);
	for (uint32_t i = 0; i < 10; i++)
		send_to(w, 1, i, false);
	settle(w);
	assert_int_equal(dropped(w, SN_REASON_NOT_HERE), 10); /* the peer is gone, and so may they be */
}

static void an_assignment_takes_no_session_away(void **state)
{
	struct world *w = *state;
	static const uint8_t key[] = "sixteen bytes or more", brief[] = "too few";
	struct sn_shards *e;
	uint32_t all[SN_SHARDS];
	struct journey j;

	open_sides(w, 2);
	e = sn_engine_shards(w->sides[0].engine);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		all[i] = i;
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, brief, sizeof(brief) - 1, &w->err), -1);
	assert_string_equal(w->err.text, "assign: key of 7 bytes, want 16 to 64");
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(sn_shards_assign(sn_engine_shards(w->sides[i].engine), all,
						  i == 0 ? SN_SHARDS : 0, key, sizeof(key), &w->err),
				 0);
	send_all(w, 400, false);
	assert_int_equal(sn_shards_assign(e, all, 1, NULL, 0, &w->err), -1);
	assert_non_null(strstr(w->err.text, "sessions: give it to a peer"));
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, key, 16, &w->err), -1);
	assert_non_null(strstr(w->err.text, "sessions: the key stays"));
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, key, sizeof(key), &w->err), 0);
	j = journey(w, 0, 7, 1);
	begin(&j);
	assert_int_equal(sn_shards_assign(e, all, SN_SHARDS, NULL, 0, &w->err), -1);
	assert_string_equal(w->err.text, "assign: shard 7 is being given away");
	give_abort(&j);
	sn_take_abort(sn_engine_transfers(w->sides[1].engine), j.id, &j.last);
	transfer(w, 0, 0, SN_SHARDS);
	assert_int_equal(sn_shards_assign(e, all, 0, NULL, 0, &w->err), 0);
	send_all(w, 400, true);
	assert_nothing_lost(w);
}

static void a_shard_that_is_not_here_is_not_moved_between_workers(void **state)
{
	struct world *w = *state;
	uint64_t blocked;

	open_sides(w, 2);
	transfer(w, 0, 0, 1);
	assert_int_equal(sn_shards_move(sn_engine_shards(w->sides[0].engine), 0, 1, &blocked, &w->err), -1);
	assert_string_equal(w->err.text, "move: shard 0 is not here");
}

static void peers_say_what_is_wrong_with_them(void **state)
{
	struct world *w = *state;

	open_sides(w, 1);
	assert_int_equal(introduce_with(&w->sides[0], "elsewhere", 1, false), -1);
	assert_string_equal(w->err.text, "peer peer: interface elsewhere is none of this engine");
}

/* The addresses that a side announces within seconds. */
static uint32_t announced(struct world *w, uint8_t number, uint32_t seconds)
{
	struct side *side = &w->sides[number];

	side->announced = 0;
	for (uint32_t i = 0; i < seconds; i++) {
		let_pass(side->engine, SECOND);
		tick_workers(side->engine, w->n_workers);
	}
	return side->announced;
}

static void tell_front(struct world *w, uint8_t number, size_t n_peers, bool front)
{
	if (introduce_with(&w->sides[number], "outside", n_peers, front) != 0)
		fail_msg("%s", w->err.text);
}

static void the_front_alone_announces_the_addresses_and_again_when_a_peer_goes(void **state)
{
	const uint32_t addresses = 3, times = 3;
	struct world *w = *state;

	open_sides(w, 2);
	assert_int_equal(announced(w, 0, 10), 0); /* neither is it */
	assert_int_equal(announced(w, 1, 10), 0);
	tell_front(w, 1, 1, true);
	assert_int_equal(announced(w, 1, 10), times * addresses);
	tell_front(w, 1, 1, true);
	assert_int_equal(announced(w, 1, 10), 0);
	tell_front(w, 0, 1, true);
	assert_int_equal(announced(w, 0, 1), addresses);
	tell_front(w, 0, 1, false); /* while it has some left to do */
	assert_int_equal(announced(w, 0, 10), 0);
	tell_front(w, 0, 0, false);
	assert_int_equal(announced(w, 0, 10), 0);
	tell_front(w, 1, 0, true);
	assert_int_equal(announced(w, 1, 10), times * addresses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(a_packet_that_no_engine_wants_goes_to_and_fro_at_most_once),
		WITH_WORLD(packets_for_a_shard_on_its_way_here_go_to_who_has_it_still),
		WITH_WORLD(an_assignment_takes_no_session_away),
		WITH_WORLD(a_shard_that_is_not_here_is_not_moved_between_workers),
		WITH_WORLD(peers_say_what_is_wrong_with_them),
		WITH_WORLD(the_front_alone_announces_the_addresses_and_again_when_a_peer_goes),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
