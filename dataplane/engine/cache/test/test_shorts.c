/* SPDX-License-Identifier: Apache-2.0 */
/* A short decision is its own flow's, and none that another session left. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

#include "sn_cache_impl.h"
#include "sn_napt.h"
#include "sn_rewrite.h"

#define HASH  0x1234567890abcdefull
#define LINES 64u

struct world {
	struct sn_cache cache; /* of one bucket, which is full: what is kept of a session is short */
	struct sn_session *lines;
};

/* A session of an inside host in a line; whatever the host, the remote sends to the same outside port. */
static struct sn_session *begin(struct world *w, uint32_t line, uint32_t inside)
{
	struct sn_session *s = &w->lines[line];

	s->entry.live = 1;
	s->inside_addr = inside;
	s->outside_addr = 0xcb007109;
	s->remote_addr = 0x08080808;
	s->inside_port = 4000;
	s->outside_port = 5000;
	s->remote_port = 53;
	s->proto = SN_UDP;
	return s;
}

static void end(struct sn_session *s)
{
	s->entry.live = 0;
	s->entry.generation++;
}

/* The decision about a packet that comes back to a session, by a next hop. */
static struct sn_cache_entry decision(struct world *w, const struct sn_session *s, uint16_t neigh)
{
	struct sn_cache_form form = {.neigh = neigh, .min_ttl = 1, .ttl_dec = 1, .flags = SN_CACHE_RETURN0};
	struct sn_cache_short as = {&form, s, NULL, s->entry.generation, 0};
	struct sn_cache_entry e;

	assert_true(sn_cache_expand(&w->cache, &as, &e));
	return e;
}

static void keep(struct world *w, const struct sn_session *s, uint16_t neigh, uint64_t hash)
{
	struct sn_cache_entry e = decision(w, s, neigh);

	w->cache.turn = 0; /* it is kept short */
	sn_cache_keep(&w->cache, &e, hash, s);
}

/* The next hop of what comes back; 0: none is remembered. */
static uint16_t hop(struct world *w)
{
	struct sn_cache_short found;
	struct sn_cache_entry e;

	return sn_cache_find_short(&w->cache, HASH, &found) && sn_cache_expand(&w->cache, &found, &e)
		       ? e.neigh
		       : 0;
}

/* Forgets all, and takes the places of whole decisions. */
static void fill(struct world *w)
{
	struct sn_cache_entry e;

	sn_cache_flush(&w->cache);
	e = decision(w, begin(w, LINES - 1, 0x0a000099), 9);
	for (uint32_t i = 0; i < SN_CACHE_WAYS; i++) {
		e.signature = i + 1;
		sn_cache_keep(&w->cache, &e, HASH ^ (uint64_t)(i + 1) << 50, NULL);
	}
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(sn_cache_init(&w->cache, SN_CACHE_WAYS), 0);
	w->lines = aligned_alloc(64, LINES * sizeof(*w->lines));
	assert_non_null(w->lines);
	memset(w->lines, 0, LINES * sizeof(*w->lines));
	fill(w);
	w->cache.crowded = true;
	for (uint32_t i = 0; i < 1000 && !w->cache.shorts.buckets; i++)
		sn_cache_tick(&w->cache, 1000, 1);
	assert_non_null(w->cache.shorts.buckets);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	sn_cache_free(&w->cache);
	free(w->lines);
	free(w);
	return 0;
}

/* The hash of a flow whose bucket is that of HASH, but not its tag. */
static uint64_t beside(uint32_t i)
{
	return HASH ^ (uint64_t)(i + 1) << 54;
}

/* The session that a hash leads to; NULL: none. Its decision is its own. */
static const struct sn_session *found(struct world *w, uint64_t hash)
{
	struct sn_cache_short of;
	struct sn_cache_entry e;

	if (!sn_cache_find_short(&w->cache, hash, &of) || !sn_cache_expand(&w->cache, &of, &e))
		return NULL;
	assert_int_equal(rte_be_to_cpu_32(e.dst), of.session->inside_addr);
	assert_int_equal(e.neigh, of.session - w->lines + 1);
	return of.session;
}

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

/* The same with another session on the way: behind the one, or before it. */
static struct sn_cache_entry decision_of_two(struct world *w, const struct sn_session *s,
					     const struct sn_session *other, bool before, uint16_t neigh)
{
	struct sn_cache_form form = {.neigh = neigh,
				     .min_ttl = 1,
				     .ttl_dec = 1,
				     .flags = before ? SN_CACHE_RETURN1 : SN_CACHE_RETURN0,
				     .kind = before ? SN_CACHE_SECOND : SN_CACHE_FIRST};
	struct sn_cache_short as = {&form, s, &other->entry, s->entry.generation, other->entry.generation};
	struct sn_cache_entry e;

	assert_true(sn_cache_expand(&w->cache, &as, &e));
	return e;
}

static void keep_two(struct world *w, const struct sn_session *s, const struct sn_session *other, bool before,
		     uint16_t neigh, uint64_t hash)
{
	struct sn_cache_entry e = decision_of_two(w, s, other, before, neigh);

	w->cache.turn = 0;
	sn_cache_keep(&w->cache, &e, hash, s);
}

static void two_sessions_on_the_way_are_named_in_their_order(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *other = begin(w, 1, 0x0a000002);

	for (uint32_t before = 0; before < 2; before++) {
		struct sn_cache_short of;
		struct sn_cache_entry e;

		keep_two(w, s, other, before, 3, HASH);
		assert_true(sn_cache_find_short(&w->cache, HASH, &of));
		assert_true(sn_cache_expand(&w->cache, &of, &e));
		assert_int_equal(e.neigh, 3);
		assert_int_equal(rte_be_to_cpu_32(e.dst), s->inside_addr);
		assert_ptr_equal(sn_cache_entry_of(e.sessions[before]), s);
		assert_ptr_equal(sn_cache_entry_of(e.sessions[!before]), other);
		assert_true(sn_cache_entry_same(e.sessions[!before], &other->entry));
	}
}

static void a_decision_about_two_sessions_ends_with_either(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *other = begin(w, 1, 0x0a000002);

	for (uint32_t i = 0; i < 2; i++) {
		keep_two(w, s, other, true, 3, HASH);
		assert_int_equal(hop(w), 3);
		end(i ? s : other);
		assert_int_equal(hop(w), 0);
		begin(w, i ? 0 : 1, 0x0a000001);
		assert_int_equal(hop(w), 0);
	}
}

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
		assert_int_equal(of.form->kind != SN_CACHE_ALONE, round % 2);
		assert_int_equal(hop(w), round % 2 ? 3 : 4);
	}
}

/* ---- sessions that are used together ---- */

/* They are so from now on: each has another generation. */
static void follow(struct sn_session *s, struct sn_session *leader)
{
	s->entry.follows = leader->entry.leads = 1;
	s->entry.leader = &leader->entry;
	s->entry.generation++;
	leader->entry.generation++;
}

/* They are for themselves again; the follower keeps its generation. */
static void part(struct sn_session *s, struct sn_session *leader)
{
	s->entry.follows = leader->entry.leads = 0;
	leader->entry.generation++;
}

/* A packet that comes back to a session which follows; the leader's outside may be its inside. */
static struct sn_cache_entry decision_of_follower(struct world *w, const struct sn_session *s,
						  const struct sn_session *leader, bool turned)
{
	struct sn_cache_form form = {.neigh = 3,
				     .min_ttl = 1,
				     .ttl_dec = 1,
				     .flags = turned ? 0 : SN_CACHE_RETURN0,
				     .kind = turned ? SN_CACHE_FOLLOWS_TURNED : SN_CACHE_FOLLOWS};
	struct sn_cache_short as = {&form, s, &leader->entry, s->entry.generation, leader->entry.generation};
	struct sn_cache_entry e;

	assert_true(sn_cache_expand(&w->cache, &as, &e));
	return e;
}

static void keep_follower(struct world *w, const struct sn_session *s, const struct sn_session *leader,
			  bool turned)
{
	struct sn_cache_entry e = decision_of_follower(w, s, leader, turned);

	w->cache.turn = 0;
	assert_null(sn_cache_keep(&w->cache, &e, HASH, s));
}

/* The flow is told by the one that has it, and the timer is the leader's. */
static void the_leader_is_used_for_a_session_that_follows(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *leader = begin(w, 1, 0x0a000002);

	leader->entry.shard = 7;
	follow(s, leader);
	for (uint32_t turned = 0; turned < 2; turned++) {
		struct sn_cache_short of;
		struct sn_cache_entry e;

		keep_follower(w, s, leader, turned);
		assert_true(sn_cache_find_short(&w->cache, HASH, &of));
		assert_true(sn_cache_expand(&w->cache, &of, &e));
		assert_int_equal(e.neigh, 3);
		assert_int_equal(rte_be_to_cpu_32(e.src), s->remote_addr);
		assert_int_equal(rte_be_to_cpu_32(e.dst), s->inside_addr);
		assert_int_equal(rte_be_to_cpu_16(e.dport), s->inside_port);
		assert_ptr_equal(sn_cache_entry_of(e.sessions[0]), leader);
		assert_true(sn_cache_entry_same(e.sessions[0], &leader->entry));
		assert_int_equal(e.sessions[1], 0);
		assert_int_equal(e.shard, 7);
		assert_int_equal(e.flags & SN_CACHE_RETURN0, turned ? 0 : SN_CACHE_RETURN0);
	}
}

static void a_leader_is_decided_about_alone(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *leader = begin(w, 1, 0x0a000002);

	keep(w, leader, 2, HASH);
	follow(s, leader);
	assert_int_equal(hop(w), 0);
	keep(w, leader, 2, HASH);
	assert_int_equal(hop(w), 2);
	part(s, leader);
	assert_int_equal(hop(w), 0);
}

/* Whatever ends it: the follower has the generation that it had. */
static void a_decision_about_sessions_that_part_is_of_nobody(void **state)
{
	struct world *w = *state;
	struct sn_session *s = begin(w, 0, 0x0a000001), *leader = begin(w, 1, 0x0a000002);

	keep_two(w, s, leader, true, 3, HASH);
	follow(s, leader);
	assert_int_equal(hop(w), 0);
	keep_follower(w, s, leader, false);
	assert_int_equal(hop(w), 3);
	part(s, leader);
	assert_int_equal(hop(w), 0);
	follow(s, leader);
	keep_follower(w, s, leader, false);
	assert_int_equal(hop(w), 3);
	end(s);
	assert_int_equal(hop(w), 0);
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
		cmocka_unit_test_setup_teardown(two_sessions_on_the_way_are_named_in_their_order, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(a_decision_about_two_sessions_ends_with_either, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(decisions_of_one_and_of_two_sessions_take_each_others_places,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_flow_that_has_a_further_session_is_decided_about_by_both,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(the_leader_is_used_for_a_session_that_follows, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(a_leader_is_decided_about_alone, open_world, close_world),
		cmocka_unit_test_setup_teardown(a_decision_about_sessions_that_part_is_of_nobody, open_world,
						close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
