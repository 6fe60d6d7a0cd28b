/* SPDX-License-Identifier: Apache-2.0 */
/* Short decisions about flows that have state in several functions. */

#include "shorts_world.h"

/* ---- two sessions ---- */

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
				     .how = SN_CACHE_TWO | SN_CACHE_OTHER_FIRST | SN_CACHE_BACK};
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
	assert_null(sn_cache_keep(&w->cache, &e, HASH, (struct sn_cache_told){s, s}, true));
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

/* ---- sessions of which one has the flow as it comes, and the other as it leaves ---- */

/* A client, a balancer's address, and its backend. */
static struct sn_session *balanced(struct world *w, uint32_t line)
{
	struct sn_session *s = begin(w, line, 0x0a000050);

	s->outside_addr = 0x0a0000fe;
	s->remote_addr = 0xc0a80001;
	s->inside_port = 8080;
	s->outside_port = 80;
	s->remote_port = 40000;
	return s;
}

/* The client has another address behind the balancer. */
static struct sn_session *translated(struct world *w, uint32_t line)
{
	struct sn_session *s = begin(w, line, 0xc0a80001);

	s->remote_addr = 0x0a000050;
	s->inside_port = 40000;
	s->remote_port = 8080;
	return s;
}

/* The decision about a packet of the client, or about one of the backend. */
static struct sn_cache_entry decision_of_both(bool reply, const struct sn_session *balancer,
					      const struct sn_session *napt)
{
	struct sn_pkt p = {.ttl0 = 64, .ttl = 63, .proto = SN_UDP};
	struct sn_cache_entry e = {
		.neigh = 4, .vlan = SN_CACHE_KEEP_VLAN, .dscp = SN_CACHE_KEEP_DSCP, .min_ttl = 1};

	p.src0 = reply ? 0x0a000050 : 0xc0a80001;
	p.dst0 = reply ? 0xcb007109 : 0x0a0000fe;
	p.sport0 = reply ? 8080 : 40000;
	p.dport0 = reply ? 5000 : 80;
	p.src = reply ? 0x0a0000fe : 0xcb007109;
	p.dst = reply ? 0xc0a80001 : 0x0a000050;
	p.sport = reply ? 80 : 5000;
	p.dport = reply ? 40000 : 8080;
	e.addresses = (uint64_t)p.src0 << 32 | p.dst0;
	e.ports_key = (uint64_t)p.sport0 << 48 | (uint64_t)p.dport0 << 32 | SN_UDP << 24;
	e.src = rte_cpu_to_be_32(p.src);
	e.dst = rte_cpu_to_be_32(p.dst);
	e.sport = rte_cpu_to_be_16(p.sport);
	e.dport = rte_cpu_to_be_16(p.dport);
	e.head_move = sn_head_move_of(1, sn_ip_diff(&p));
	e.l4_diff = rte_cpu_to_be_16(sn_l4_diff(&p));
	e.flags = reply ? SN_CACHE_RETURN0 : SN_CACHE_RETURN1;
	e.sessions[0] = sn_cache_entry_word(reply ? &napt->entry : &balancer->entry);
	e.sessions[1] = sn_cache_entry_word(reply ? &balancer->entry : &napt->entry);
	return e;
}

/* Keeps a decision short: what is found is that, byte by byte. */
static void kept_short(struct world *w, struct sn_cache_entry e, struct sn_cache_told told)
{
	struct sn_cache_entry same;
	struct sn_cache_short of;

	e.ports_key |= w->cache.generation;
	w->cache.turn = 0;
	assert_null(sn_cache_keep(&w->cache, &e, HASH, told, true));
	assert_true(sn_cache_find_short(&w->cache, HASH, &of));
	assert_true(sn_cache_expand(&w->cache, &of, &same));
	assert_memory_equal(&same, &e, sizeof(e));
}

static void a_flow_that_two_functions_translate_is_told_by_both(void **state)
{
	struct world *w = *state;
	struct sn_session *balancer = balanced(w, 0), *napt = translated(w, 1);

	for (uint32_t reply = 0; reply < 2; reply++) {
		struct sn_cache_told told = reply ? (struct sn_cache_told){napt, balancer}
						  : (struct sn_cache_told){balancer, napt};

		kept_short(w, decision_of_both(reply, balancer, napt), told);
		assert_int_equal(hop(w), 4);
		napt->seen |= SN_SEEN_CHECKED; /* it has an edge of a window in place of an address */
		assert_int_equal(hop(w), 0);
		napt->seen = 0;
		assert_int_equal(hop(w), 4);
		balancer->entry.generation++;
		assert_int_equal(hop(w), 0);
	}
}

/* Either may lead: its direction is that of the decision. */
static void a_flow_that_two_functions_translate_needs_no_other_leader(void **state)
{
	struct world *w = *state;
	struct sn_session *balancer = balanced(w, 0), *napt = translated(w, 1), *other = begin(w, 2, 1);

	follow(napt, balancer);
	for (uint32_t n = 0; n < 4; n++) {
		bool reply = n & 1;
		struct sn_session *leader = n & 2 ? napt : balancer;
		struct sn_cache_told told = reply ? (struct sn_cache_told){napt, balancer}
						  : (struct sn_cache_told){balancer, napt};
		struct sn_cache_entry e = decision_of_both(reply, balancer, napt);

		e.sessions[0] = sn_cache_entry_word(&leader->entry);
		e.sessions[1] = 0;
		e.shard = leader->entry.shard = n;
		e.flags = (leader == napt) == reply ? SN_CACHE_RETURN0 : 0;
		kept_short(w, e, told);
		/* Three entries are more than it can name. */
		e.sessions[0] = sn_cache_entry_word(&other->entry);
		e.ports_key |= w->cache.generation;
		w->cache.turn = 0;
		assert_non_null(sn_cache_keep(&w->cache, &e, HASH, told, true));
		fill(w);
		begin(w, 2, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_sessions_on_the_way_are_named_in_their_order, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(a_decision_about_two_sessions_ends_with_either, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(the_leader_is_used_for_a_session_that_follows, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(a_leader_is_decided_about_alone, open_world, close_world),
		cmocka_unit_test_setup_teardown(a_flow_that_two_functions_translate_is_told_by_both,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_flow_that_two_functions_translate_needs_no_other_leader,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_decision_about_sessions_that_part_is_of_nobody, open_world,
						close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
