/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that leave for a stop and go on behind it by what is known of their flow, or of their class. */

#include "arp.h"
#include "stop_fixture.h"

#include "sn_continuation.h"
#include "sn_parse.h"
#include "sn_tag.h"
#include "sn_wires.h"

static uint64_t hits(const struct fixture *f)
{
	return sn_worker_stats(f->worker)->cache_hits;
}

/* The sample NAPT; packets from the inside note a next hop and make a stop behind it. */
static int open_napt(void **state)
{
	struct fixture *f;

	open_fixture(state);
	f = *state;
	f->msg = sn_sample_napt(&f->arena);
	add_other(&f->arena, f->msg->interfaces[1]);
	add_stop(f, 0);
	note_hop(f, 0, OTHER);
	return 0;
}

/* Packets enough that what can be kept of their flow is. */
#define ENOUGH 5

/* A packet goes out and comes back; the frame that leaves behind the stop. */
static const uint8_t *round_trip(struct fixture *f)
{
	send_out(f, 5000);
	send_back(f, BACK);
	return assert_sent(f, 1);
}

/* The frame that came out last comes back as if from another continuation. */
static void come_back_as(struct fixture *f, uint16_t nonce, uint32_t number)
{
	sn_tag_write(f->out[0].data + 6, (struct sn_tag){.nonce = nonce, .continuation = number});
	send_back(f, BACK);
}

static void a_known_flow_leaves_for_its_stop_and_goes_on_by_decisions(void **state)
{
	struct fixture *f = *state;
	uint8_t there[128], behind[128];
	uint64_t before;

	load(f);
	for (uint32_t i = 0; i < ENOUGH; i++) {
		send_out(f, 5000);
		if (i > 0)
			assert_memory_equal(f->out[0].data, there, f->out[0].len);
		memcpy(there, f->out[0].data, f->out[0].len);
		send_back(f, BACK);
		if (i > 0)
			assert_memory_equal(assert_sent(f, 1), behind, f->out[0].len);
		memcpy(behind, assert_sent(f, 1), f->out[0].len);
	}
	assert_memory_equal(behind, other_mac, 6);
	before = hits(f);
	send_out(f, 5000);
	assert_int_equal(hits(f), before + 1);
	assert_memory_equal(f->out[0].data, there, f->out[0].len);
	send_back(f, BACK);
	assert_int_equal(hits(f), before + 2);
	assert_memory_equal(assert_sent(f, 1), behind, f->out[0].len);
	assert_int_equal(sessions(f), 1);
}

/* The packets are equal, but for how they go on. */
static void one_flow_with_two_next_hops_has_two_decisions_behind_a_stop(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	load(f);
	for (uint32_t i = 0; i < 2 * ENOUGH; i++) {
		uint32_t hop = i % 3 ? 0 : OTHER;

		send_out(f, 5000);
		before = hits(f);
		come_back_as(f, f->program->nonce, sn_continuation_of(f->program, 0, hop, 0));
		assert_memory_equal(assert_sent(f, 1), hop ? other_mac : gateway_mac, 6);
		assert_true(i < ENOUGH || hits(f) == before + 1);
	}
}

/* The running program has no number for it that another packet could not have. */
static void a_next_hop_that_only_the_program_before_noted_is_in_no_decision(void **state)
{
	struct fixture *f = *state;
	uint16_t before;
	uint32_t number;

	load(f);
	round_trip(f);
	before = f->program->nonce;
	number = sn_continuation_of(f->program, 0, OTHER, 0);
	leg_of(f, 0)->n_ops--;
	load(f);
	for (uint32_t i = 0; i < ENOUGH; i++) {
		send_out(f, 5000);
		come_back_as(f, before, number);
		assert_memory_equal(assert_sent(f, 1), other_mac, 6);
	}
	for (uint32_t i = 0; i < ENOUGH; i++)
		assert_memory_equal(round_trip(f), gateway_mac, 6);
}

static void a_packet_of_the_program_before_goes_on_by_the_decision_of_those_now(void **state)
{
	struct fixture *f = *state;
	uint16_t before;
	uint64_t known;

	load(f);
	round_trip(f);
	before = f->program->nonce;
	load(f);
	for (uint32_t i = 0; i < ENOUGH; i++)
		round_trip(f);
	send_out(f, 5000);
	known = hits(f);
	come_back_as(f, before, sn_continuation_of(f->program, 0, OTHER, 0));
	assert_memory_equal(assert_sent(f, 1), other_mac, 6);
	assert_int_equal(hits(f), known + 1);
}

/* ---- a program to come ---- */

#define AHEAD_OF_OTHER 0x01010101 /* an address: next hops are numbered by theirs */

/* By decisions, of the running program. */
static void assert_is_known(struct fixture *f)
{
	uint64_t before = hits(f);
	struct sn_tag tag;

	send_out(f, 5000);
	assert_true(sn_tag_read(f->out[0].data + 6, &tag));
	assert_int_equal(tag.nonce, f->program->nonce);
	assert_int_equal(hits(f), before + 1);
	send_back(f, BACK);
	assert_memory_equal(assert_sent(f, 1), other_mac, 6);
	assert_int_equal(hits(f), before + 2);
}

static void the_next_program_knows_flows_at_stops_before_it_runs(void **state)
{
	struct fixture *f = *state;
	uint32_t number;

	load(f);
	for (uint32_t i = 0; i < ENOUGH; i++)
		round_trip(f);
	number = sn_continuation_of(f->program, 0, OTHER, 0);
	note_hop(f, 2, AHEAD_OF_OTHER);
	load_warmed_up(f);
	assert_int_not_equal(sn_continuation_of(f->program, 0, OTHER, 0), number);
	assert_is_known(f);
	for (uint32_t i = 0; i < 100; i++) { /* more than the table has entries */
		load_warmed_up(f);
		assert_is_known(f);
	}
}

/* ---- a function that is down ---- */

static void probe(struct fixture *f, uint32_t n, bool returned)
{
	while (n--) {
		tick(f, 10 * MS);
		if (returned)
			send_back(f, BACK);
	}
	forget(f);
}

/* A flow is known, and then its function is down. */
static void go_down(struct fixture *f, bool open)
{
	static char *reason = (char *)"ips/down", *counter = (char *)"ips/bypassed";

	f->msg->n_reasons = f->msg->n_counters = 1;
	f->msg->reasons = &reason;
	f->msg->counters = &counter;
	leg_of(f, 0)->stop->down_case =
		open ? SINTER__PROGRAM__V1__STOP__DOWN_BYPASS : SINTER__PROGRAM__V1__STOP__DOWN_DROP;
	load(f);
	for (uint32_t i = 0; i < ENOUGH; i++)
		round_trip(f);
	probe(f, (open ? SN_PROBES_LOST_OPEN : SN_PROBES_LOST_CLOSED) + 1, false);
}

static void a_known_flow_leaves_for_no_function_that_is_down(void **state)
{
	struct packet out = outward(SN_UDP, 5000);
	struct fixture *f = *state;
	uint64_t known;

	go_down(f, false);
	for (uint32_t i = 0; i < 3; i++) {
		send_packet(f, &out);
		assert_dropped(f, SN_REASON_CHAIN);
	}
	probe(f, SN_PROBES_BACK + 1, true);
	known = hits(f);
	round_trip(f);
	assert_int_equal(hits(f), known + 2);
}

static void a_known_flow_goes_past_an_open_function_that_is_down(void **state)
{
	struct packet out = outward(SN_UDP, 5000);
	struct fixture *f = *state;
	uint64_t known;

	go_down(f, true);
	known = hits(f);
	for (uint32_t i = 0; i < 3; i++) {
		send_packet(f, &out);
		assert_memory_equal(assert_sent(f, 1), other_mac, 6);
	}
	assert_int_equal(hits(f), known + 6); /* its decisions are those of before, … */
	probe(f, SN_PROBES_BACK + 1, true);
	assert_memory_equal(round_trip(f), other_mac, 6);
	assert_int_equal(hits(f), known + 8); /* … and hold afterwards */
}

static void flows_are_known_to_a_program_that_came_while_the_function_was_down(void **state)
{
	struct packet out = outward(SN_UDP, 5000);
	struct fixture *f = *state;

	go_down(f, false);
	load_warmed_up(f);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_CHAIN);
	probe(f, SN_PROBES_BACK + 1, true);
	send_out(f, 6000); /* the next frame may be checked, and has no tag */
	assert_is_known(f);
}

/* ---- many continuations ---- */

#define HOPS	6 /* and none */
#define NUMBERS (4 * (HOPS + 1))

/* Two stops in a row, and packets that come back from the first by any continuation. */
static void two_stops(struct fixture *f)
{
	for (uint32_t i = 0; i < HOPS; i++)
		note_hop(f, 0, OTHER + i);
	add_stop(f, BEHIND);
	load(f);
	assert_int_equal(f->program->n_hops, HOPS + 1);
}

static void leave_for_the_second_by(struct fixture *f, uint32_t number)
{
	struct sn_tag tag;

	send_out(f, 5000);
	come_back_as(f, f->program->nonce, number);
	assert_true(sn_tag_read(assert_sent(f, OUT) + 6, &tag));
	assert_int_equal(tag.nonce, f->program->nonce);
	assert_int_equal(tag.continuation, NUMBERS + number);
	assert_int_equal(f->out[0].data[5], BACK);
}

/* The table has 63 entries, a quarter for each interface. */
static void continuations_beyond_the_share_of_their_wire_leave_as_well(void **state)
{
	struct fixture *f = *state;

	two_stops(f);
	for (uint32_t i = 0; i < 3 * NUMBERS; i++)
		leave_for_the_second_by(f, i % NUMBERS);
}

static void they_leave_other_interfaces_their_neighbors(void **state)
{
	struct fixture *f = *state;

	two_stops(f);
	for (uint32_t i = 0; i < NUMBERS; i++)
		leave_for_the_second_by(f, i);
	for (uint32_t i = 0; i < 40; i++)
		answer_of(f, 100 + i);
	for (uint32_t i = 30; i < 40; i++)
		assert_true(knows(f, SN_SAMPLE_OUTSIDE + 100 + i));
	leave_for_the_second_by(f, 3);
}

static void stops_are_in_no_list_of_neighbors(void **state)
{
	struct sn_neigh_info list[64];
	struct fixture *f = *state;
	size_t before;

	load(f);
	before = sn_worker_neighbors(f->worker, list, 64);
	round_trip(f);
	assert_int_equal(sn_worker_neighbors(f->worker, list, 64), before);
}

#define STOP_TEST(test) cmocka_unit_test_setup_teardown(test, open_stop, close_fixture)
#define NAPT_TEST(test) cmocka_unit_test_setup_teardown(test, open_napt, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAPT_TEST(a_known_flow_leaves_for_its_stop_and_goes_on_by_decisions),
		NAPT_TEST(one_flow_with_two_next_hops_has_two_decisions_behind_a_stop),
		NAPT_TEST(a_next_hop_that_only_the_program_before_noted_is_in_no_decision),
		NAPT_TEST(a_packet_of_the_program_before_goes_on_by_the_decision_of_those_now),
		NAPT_TEST(the_next_program_knows_flows_at_stops_before_it_runs),
		NAPT_TEST(flows_are_known_to_a_program_that_came_while_the_function_was_down),
		NAPT_TEST(a_known_flow_leaves_for_no_function_that_is_down),
		NAPT_TEST(a_known_flow_goes_past_an_open_function_that_is_down),
		STOP_TEST(continuations_beyond_the_share_of_their_wire_leave_as_well),
		STOP_TEST(they_leave_other_interfaces_their_neighbors),
		STOP_TEST(stops_are_in_no_list_of_neighbors),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
