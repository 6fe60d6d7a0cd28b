/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of short decisions come and go, and what is in them can be listed. */

#include "shorts_world.h"

#define SESSIONS 40u /* decisions of some buckets */

static uint32_t buckets(const struct world *w)
{
	return w->cache.shorts.buckets ? w->cache.shorts.mask + 1 : 0;
}

/* Another bucket for each, the neighbour of none. */
static uint64_t apart(uint32_t i)
{
	return beside(i) ^ (uint64_t)i << 17;
}

static void keep_some(struct world *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		keep(w, begin(w, i, 0x0a000001 + i), (uint16_t)(i + 1), apart(i));
}

/* How often each session is listed. */
static void list(const struct world *w, uint32_t times[LINES])
{
	memset(times, 0, LINES * sizeof(*times));
	for (uint32_t bucket = 0; bucket < sn_cache_n_shorts(&w->cache); bucket++) {
		struct sn_cache_short of[SN_CACHE_SHORTS];
		uint32_t n = sn_cache_list_shorts(&w->cache, bucket, of);

		for (uint32_t i = 0; i < n; i++) {
			struct sn_cache_entry e;

			assert_true(sn_cache_expand(&w->cache, &of[i], &e));
			assert_int_equal(e.neigh, of[i].session - w->lines + 1);
			times[of[i].session - w->lines]++;
		}
	}
}

static void grow(struct world *w, uint32_t sessions)
{
	w->cache.crowded = true;
	sn_cache_tick(&w->cache, sessions, 1);
	assert_false(w->cache.crowded);
}

static void decisions_are_listed_also_those_of_the_table_before(void **state)
{
	struct world *w = *state;
	uint32_t times[LINES];

	keep_some(w, 0, SESSIONS / 2);
	grow(w, 100000);
	keep_some(w, SESSIONS / 2, SESSIONS);
	list(w, times);
	for (uint32_t i = 0; i < LINES; i++)
		assert_int_equal(times[i], i < SESSIONS);
	/* One that has gone over is in both. */
	assert_ptr_equal(found(w, apart(0)), &w->lines[0]);
	list(w, times);
	assert_int_equal(times[0], 2);
	assert_int_equal(times[1], 1);
}

static void a_decision_of_two_sessions_is_listed_once(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *other = begin(w, 1, 0x0a000002);
	uint32_t times[LINES];

	keep_two(w, s, other, true, 1, HASH);
	list(w, times);
	assert_int_equal(times[0], 1);
	assert_int_equal(times[1], 0);
}

static void nothing_is_listed_that_was_forgotten(void **state)
{
	struct world *w = *state;
	uint32_t times[LINES];

	keep_some(w, 0, SESSIONS);
	fill(w);
	list(w, times);
	for (uint32_t i = 0; i < LINES; i++)
		assert_int_equal(times[i], 0);
}

/* Sessions have two decisions each, and four find room in a bucket with ease. */
static void a_table_has_half_a_bucket_to_one_for_each_session(void **state)
{
	struct world *w = *state;

	for (uint32_t sessions = 1; sessions < 5000000; sessions += 1 + sessions / 3) {
		sn_cache_rest(&w->cache);
		assert_true(sn_cache_prepare(&w->cache, sessions));
		assert_true(buckets(w) >= sessions / 2 || buckets(w) == SN_SHORTS_MAX);
		assert_true(buckets(w) < sessions || buckets(w) == sn_shorts_first(&w->cache));
	}
}

/* If decisions end as fast as others come, or sessions have more than two, a larger one is not for them. */
static void a_table_grows_with_the_sessions_alone(void **state)
{
	struct world *w = *state;
	uint32_t n;

	grow(w, 20000);
	n = buckets(w);
	for (uint32_t i = 0; i < 10; i++)
		grow(w, 2 * n);
	assert_int_equal(buckets(w), n);
	grow(w, 2 * n + 1);
	assert_int_equal(buckets(w), 2 * n);
}

/* A decision that had the room before is not found by it. */
static void a_cache_that_rested_begins_with_no_short_decision(void **state)
{
	struct world *w = *state;

	for (uint32_t round = 0; round < 5; round++) {
		keep_some(w, 0, SESSIONS);
		grow(w, 100000);
		sn_cache_rest(&w->cache);
		assert_false(sn_cache_has_shorts(&w->cache));
		assert_int_equal(sn_cache_n_shorts(&w->cache), 0);
		for (uint32_t i = 0; i < 1000 && !sn_cache_prepare(&w->cache, 1000); i++)
			;
		assert_true(sn_cache_has_shorts(&w->cache));
		for (uint32_t i = 0; i < SESSIONS; i++)
			assert_null(found(w, apart(i)));
	}
}

/* A program to come decides flows that all live: none is given up for another one. */
static void where_none_is_replaced_entries_stay(void **state)
{
	struct world *w = *state;
	struct sn_cache_entry before[SN_CACHE_WAYS], e;

	memcpy(before, w->cache.entries, sizeof(before));
	for (uint32_t i = 0; i < SESSIONS; i++) {
		struct sn_session *s = begin(w, i, 0x0a000001 + i);

		e = decision(w, s, (uint16_t)(i + 1));
		assert_null(sn_cache_keep(&w->cache, &e, apart(i), (struct sn_cache_told){s, s}, false));
		assert_ptr_equal(found(w, apart(i)), s);
	}
	assert_memory_equal(before, w->cache.entries, sizeof(before));
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(decisions_are_listed_also_those_of_the_table_before),
		IN_WORLD(a_decision_of_two_sessions_is_listed_once),
		IN_WORLD(nothing_is_listed_that_was_forgotten),
		IN_WORLD(a_table_has_half_a_bucket_to_one_for_each_session),
		IN_WORLD(a_table_grows_with_the_sessions_alone),
		IN_WORLD(a_cache_that_rested_begins_with_no_short_decision),
		IN_WORLD(where_none_is_replaced_entries_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
