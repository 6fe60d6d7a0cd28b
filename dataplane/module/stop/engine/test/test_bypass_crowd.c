/* SPDX-License-Identifier: Apache-2.0 */
/* More flows than the decision cache has entries, and than a program of two functions shares entries of: each
 * has state in three functions, and is known all the same. */

#include "bypass_world.h"

#include "sn_state_impl.h"

#define FUNCTIONS 3u
#define FLOWS	  4000u	 /* the fixture's cache has 1024 entries */
#define MANY	  80000u /* bundles for 65,536 flows are few */

static struct packet packet_of(uint32_t i)
{
	struct packet p = out(i & 1 ? SN_TCP : SN_UDP, (uint16_t)(1000 + i % 60000));

	p.dport = (uint16_t)(2000 + i / 60000);
	p.ttl = (uint8_t)(3 + i % 250);
	return p;
}

/* All functions let it through. */
static void through_all(struct fixture *f, struct packet p)
{
	held_back(f, p);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		send_back(f, BACK);
		assert_sent(f, i + 1 < FUNCTIONS ? OUT : !p.iface);
	}
}

/* Packets of both directions go past, unchanged but for their TTL. */
static void all_past(struct fixture *f, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct packet p = packet_of(i), answer = back(p);
		const uint8_t *frame;

		if (i % 1000 == 0)
			tick(f, MS);
		send_packet(f, &p);
		frame = assert_sent(f, 1);
		assert_int_equal(src_of(frame), p.src);
		assert_int_equal(dst_of(frame), p.dst);
		assert_int_equal(sport_of(frame), p.sport);
		assert_int_equal(dport_of(frame), p.dport);
		send_packet(f, &answer);
		frame = assert_sent(f, 0);
		assert_int_equal(src_of(frame), p.dst);
		assert_int_equal(dst_of(frame), p.src);
		assert_int_equal(sport_of(frame), p.dport);
		assert_int_equal(dport_of(frame), p.sport);
	}
}

static void begin(struct fixture *f, uint32_t n)
{
	load_bypass(f, (struct bypass_options){.packets = 1, .functions = FUNCTIONS, .flows = 2 * MANY});
	for (uint32_t i = 0; i < n; i++)
		through_all(f, packet_of(i));
	for (uint32_t round = 0; round < 3; round++)
		all_past(f, n);
}

/* Nearly all packets of n flows are known. */
static void assert_known(struct fixture *f, uint32_t n)
{
	uint64_t before = hits(f);

	all_past(f, n);
	assert_in_range(hits(f) - before, 2 * n * 95ull / 100, 2 * n);
}

static void more_flows_than_entries_are_known(void **state)
{
	begin(*state, FLOWS);
	assert_known(*state, FLOWS);
}

static void room_is_for_the_flows_of_the_program(void **state)
{
	begin(*state, MANY);
	assert_known(*state, MANY);
}

/* One entry of a flow is used for all: none ends before the others would have. */
static void flows_end_when_they_are_idle(void **state)
{
	struct fixture *f = *state;

	begin(f, FLOWS);
	tick(f, 10 * SECOND);
	all_past(f, FLOWS);
	tick(f, 10 * SECOND);
	all_past(f, FLOWS);
	tick(f, 101 * SECOND);
	for (uint32_t i = 0; i < FLOWS; i++)
		through_all(f, packet_of(i));
}

/* Entries are for themselves again, and decisions that named a leader are nobody's. */
static void a_flow_that_begins_again_is_known_no_more(void **state)
{
	struct fixture *f = *state;

	begin(f, FLOWS);
	for (uint32_t i = 1; i < FLOWS; i += 2) {
		struct packet p = packet_of(i);

		through_all(f, with(p, SN_TCP_SYN));
		past(f, back(with(p, SN_TCP_SYN | SN_TCP_ACK)));
	}
	for (uint32_t round = 0; round < 3; round++)
		all_past(f, FLOWS);
	assert_known(f, FLOWS);
}

/* A program whose flows have less state has less room for it; flows are those that were. */
static void room_follows_the_program(void **state)
{
	struct fixture *f = *state;
	size_t most;

	begin(f, FLOWS);
	most = sn_state_most(f->state);
	load_bypass(f, (struct bypass_options){.packets = 1, .functions = 2, .flows = 2 * MANY});
	assert_true(sn_state_most(f->state) < most);
	for (uint32_t round = 0; round < 4; round++)
		all_past(f, FLOWS);
	assert_known(f, FLOWS);
	load_bypass(f, (struct bypass_options){.packets = 1, .functions = FUNCTIONS, .flows = 2 * MANY});
	assert_int_equal(sn_state_most(f->state), most);
	assert_int_equal(f->kept, 2 * FLOWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(more_flows_than_entries_are_known, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(room_is_for_the_flows_of_the_program, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(flows_end_when_they_are_idle, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_flow_that_begins_again_is_known_no_more, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(room_follows_the_program, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
