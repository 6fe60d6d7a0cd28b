/* SPDX-License-Identifier: Apache-2.0 */
/* A short decision is its own flow's, and none that another session left. */

#include "shorts_world.h"

/* A full bucket gives to the one beside; if that is full, too, the entry takes the place of
 * another. */
static void a_bucket_and_the_one_beside_are_full_before_one_is_given_up(void **state)
{
	struct world *w = *state;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 2 * SN_CACHE_SHORTS; i++) {
		struct sn_session *s = begin(w, i, 0x0a000001 + i);

		s->entry.generation = SN_GENERATIONS - 1 - i;
		keep(w, s, (uint16_t)(i + 1), beside(i));
	}
	for (uint32_t i = 0; i < 2 * SN_CACHE_SHORTS; i++)
		assert_ptr_equal(found(w, beside(i)), &w->lines[i]);
	keep(w, begin(w, 20, 0x0a000020), 21, beside(20));
	assert_ptr_equal(found(w, beside(20)), &w->lines[20]);
	for (uint32_t i = 0; i < 2 * SN_CACHE_SHORTS; i++)
		n += found(w, beside(i)) != NULL;
	assert_int_equal(n, 2 * SN_CACHE_SHORTS - 1);
}

static uint32_t guests(const struct sn_cache_shorts *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SN_CACHE_SHORTS; i++)
		n += b->slots[i].guest;
	return n;
}

/* An entry that takes the place of all guests leaves none that look-ups would look for. */
static void guests_are_counted(void **state)
{
	struct world *w = *state;
	struct sn_cache_shorts *own, *other;

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 3 * SN_CACHE_SHORTS; i++) {
			uint64_t hash = beside(i) ^ (uint64_t)(dice(2)) << 16;

			keep(w, begin(w, i, 0x0a000001 + i), (uint16_t)(i + 1), hash);
			assert_ptr_equal(found(w, hash), &w->lines[i]);
			own = &w->cache.shorts.buckets[hash >> 16 & w->cache.shorts.mask];
			other = &w->cache.shorts.buckets[(hash >> 16 & w->cache.shorts.mask) ^ 1];
			assert_int_equal(own->away, guests(other));
			assert_int_equal(other->away, guests(own));
		}
	}
}

static void a_port_that_another_host_has_now_leads_by_its_next_hop(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001);

	keep(w, s, 1, HASH);
	assert_int_equal(hop(w), 1);
	for (uint32_t i = 0; i < 2 * SN_CACHE_SHORTS - 1; i++) /* no slot is free: others' are used again */
		keep(w, begin(w, i + 1, 0x0a000010 + i), 10, beside(i));
	end(s);
	assert_int_equal(hop(w), 0);
	keep(w, begin(w, 20, 0x0a000002), 2, HASH);
	assert_int_equal(hop(w), 2);
}

static void a_line_that_another_session_has_now_is_not_decided_about(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001);

	keep(w, s, 1, HASH);
	for (uint32_t i = 1; i < 1000; i++) { /* also after more sessions than fit into eight bits */
		end(s);
		begin(w, 0, 0x0a000001 + i);
		assert_int_equal(hop(w), 0);
	}
}

static void a_session_of_another_owner_is_not_decided_about(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001);

	keep(w, s, 1, HASH);
	assert_int_equal(hop(w), 1);
	s->entry.owner = 1;
	assert_int_equal(hop(w), 0);
}

/* In a session whose segments are checked, an edge of a window lies where others have an address. */
static void a_session_that_is_checked_is_not_decided_about(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001);

	keep(w, s, 1, HASH);
	assert_int_equal(hop(w), 1);
	s->seen |= SN_SEEN_CHECKED;
	assert_int_equal(hop(w), 0);
}

/* Hosts on the inside network are next hops, each of which has its form: it is found again, not made again.
 */
static void hundreds_of_next_hops_are_remembered_for_good(void **state)
{
	enum { HOPS = 300, KEPT = 100000 };
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001);

	for (uint32_t i = 0; i < KEPT; i++) {
		uint16_t neigh = (uint16_t)(1 + i % HOPS);

		keep(w, s, neigh, HASH);
		assert_int_equal(hop(w), neigh);
	}
	assert_int_equal(w->cache.n_forms, HOPS);
}

/* A forgotten entry is not found, though the next hops are the same, and however often. */
static void forms_outlive_no_flush(void **state)
{
	enum { HOPS = 300 };
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001);

	for (uint32_t flush = 0; flush < 3 * SN_FORMS / HOPS; flush++) {
		for (uint16_t neigh = 1; neigh <= HOPS; neigh++)
			keep(w, s, neigh, HASH);
		assert_int_equal(hop(w), HOPS);
		assert_int_equal(w->cache.n_forms, HOPS);
		fill(w);
		assert_int_equal(hop(w), 0);
		assert_int_equal(w->cache.n_forms, 0);
	}
}

/* ---- two sessions ---- */

/* The slot of the other session may be given up alone: then there is no decision. */
static void decisions_of_one_and_of_two_sessions_take_each_others_places(void **state)
{
	enum { FLOWS = 4 * SN_CACHE_SHORTS, ROUNDS = 20000 };
	struct world *w = *state;
	uint32_t still = 0;

	for (uint32_t i = 0; i < FLOWS; i++)
		begin(w, i, 0x0a000001 + i);
	begin(w, FLOWS, 0x0a0000ff);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t i = dice(FLOWS), side = dice(2), check = dice(FLOWS);
		uint64_t hash = beside(i) ^ (uint64_t)side << 16;
		const struct sn_session *s = &w->lines[i], *was;
		struct sn_cache_shorts *own = &w->cache.shorts.buckets[hash >> 16 & w->cache.shorts.mask],
				       *other = (struct sn_cache_shorts *)((uintptr_t)own ^ sizeof(*own));

		if (dice(2))
			keep_two(w, s, &w->lines[FLOWS], dice(2), (uint16_t)(i + 1), hash);
		else
			keep(w, s, (uint16_t)(i + 1), hash);
		assert_ptr_equal(found(w, hash), s);
		was = found(w, beside(check) ^ (uint64_t)side << 16);
		assert_true(!was || was == &w->lines[check]);
		still += was != NULL;
		assert_int_equal(own->away, guests(other));
		assert_int_equal(other->away, guests(own));
	}
	assert_in_range(still, ROUNDS / 10, ROUNDS / 2);
}

/* Whether a flow's decision has one session or two is what was kept last. */
static void a_flow_that_has_a_further_session_is_decided_about_by_both(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *other = begin(w, 1, 0x0a000002);

	for (uint32_t i = 0; i < 2 * SN_CACHE_SHORTS; i++) /* no slot is free */
		keep(w, begin(w, 10 + i, 0x0a000010 + i), 10, beside(i));
	for (uint32_t round = 0; round < 100; round++) {
		struct sn_cache_short of;

		if (round % 2)
			keep_two(w, s, other, round % 4 == 1, 3, HASH);
		else
			keep(w, s, 4, HASH);
		assert_true(sn_cache_find_short(&w->cache, HASH, &of));
		assert_int_equal(of.form->how & SN_CACHE_TWO, round % 2);
		assert_int_equal(hop(w), round % 2 ? 3 : 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_bucket_and_the_one_beside_are_full_before_one_is_given_up,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(guests_are_counted, open_world, close_world),
		cmocka_unit_test_setup_teardown(a_port_that_another_host_has_now_leads_by_its_next_hop,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_line_that_another_session_has_now_is_not_decided_about,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_session_of_another_owner_is_not_decided_about, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(a_session_that_is_checked_is_not_decided_about, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(hundreds_of_next_hops_are_remembered_for_good, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(forms_outlive_no_flush, open_world, close_world),
		cmocka_unit_test_setup_teardown(decisions_of_one_and_of_two_sessions_take_each_others_places,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_flow_that_has_a_further_session_is_decided_about_by_both,
						open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
