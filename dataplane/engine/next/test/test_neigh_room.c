/* SPDX-License-Identifier: Apache-2.0 */
/* A table with room for 63 neighbours of two interfaces, of which two are configured, and more hosts than
 * that. */
#include "arp.h"

#include "sn_parse.h"

#define SHARE (63 / 2)
#define MS    1000000ull

/* The gateway is known, and used by decisions. */
static void begin(struct fixture *f)
{
	struct packet p = outward(SN_UDP, 5000);

	unknown_gateway(f);
	gateway_answers(f);
	for (int i = 0; i < 2; i++) {
		send_packet(f, &p);
		assert_sent(f, 1);
	}
}

/* A host of the inside answers us. */
static void inside_answers(struct fixture *f, uint32_t host)
{
	uint8_t frame[ARP_FRAME];

	send_frame(f, 0, frame,
		   write_arp(frame, INSIDE_MAC, HOST_MAC, 0, ARP_REPLY, SN_SAMPLE_INSIDE + host,
			     SN_SAMPLE_INSIDE));
}

static void in_a_full_table_who_was_heard_of_longest_ago_gives_way(void **state)
{
	struct fixture *f = *state;

	begin(f);
	for (uint32_t i = 0; i < 60; i++)
		answer_of(f, 100 + i);
	gateway_answers(f);
	for (uint32_t i = 60; i < 80; i++) {
		answer_of(f, 100 + i);
		for (uint32_t j = i - 50; j <= i; j++)
			assert_int_equal(knows(f, SN_SAMPLE_OUTSIDE + 100 + j), j + 60 > i);
	}
	assert_true(knows(f, GATEWAY2));
}

/* A host that sends ARP from many addresses does not cost packets to others their decisions. */
static void a_flood_of_answers_costs_no_decision_of_a_neighbour_that_answers(void **state)
{
	struct fixture *f = *state;
	const struct sn_worker_stats *stats = sn_worker_stats(f->worker);
	struct packet p = outward(SN_UDP, 5000);
	uint64_t hits;

	begin(f);
	hits = stats->cache_hits;
	for (uint32_t i = 0; i < 500; i++) {
		answer_of(f, 100 + i % 150);
		if (i % 40 == 0)
			gateway_answers(f);
		send_packet(f, &p);
		assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
	}
	assert_int_equal(stats->cache_hits, hits + 500);
}

/* The gateway answered once. Many others answer after it, and nobody sends to them. */
static void a_neighbour_that_packets_are_sent_to_does_not_give_way_to_many_others(void **state)
{
	struct fixture *f = *state;
	const struct sn_worker_stats *stats = sn_worker_stats(f->worker);
	struct packet p = outward(SN_UDP, 5000);
	uint64_t hits;

	begin(f);
	hits = stats->cache_hits;
	for (uint32_t i = 0; i < 600; i++) {
		answer_of(f, 100 + i % 150);
		f->now += 2 * MS;
		if (i % 40 == 0) {
			send_packet(f, &p);
			assert_int_equal(f->n_out, 1);
			assert_memory_equal(f->out[0].data, HOST_MAC, 6);
		}
	}
	assert_true(knows(f, GATEWAY2));
	assert_int_equal(stats->cache_hits, hits + 15);
}

static void of_neighbours_that_are_all_used_the_first_gives_way(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	load(f);
	for (uint32_t i = 0; i < 61; i++)
		answer_of(f, 100 + i);
	f->now += 2 * MS;
	for (uint32_t i = 0; i < 61; i++) {
		p.dst = SN_SAMPLE_OUTSIDE + 100 + i;
		send_packet(f, &p);
		assert_int_equal(f->n_drops, 0);
	}
	answer_of(f, 99);
	assert_true(knows(f, SN_SAMPLE_OUTSIDE + 99));
	for (uint32_t i = 0; i < 61; i++)
		assert_int_equal(knows(f, SN_SAMPLE_OUTSIDE + 100 + i), i != 0);
}

static void a_decision_does_not_follow_a_neighbour_whose_place_another_has(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	begin(f);
	for (uint32_t i = 0; i < 100; i++)
		answer_of(f, 100 + i);
	assert_false(knows(f, GATEWAY2));
	send_packet(f, &p);
	assert_int_equal(f->n_out, 1);
	assert_asks(&f->out[0], ALL_MAC, 0);
}

static void a_flood_of_answers_leaves_room_to_ask(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	load(f);
	for (uint32_t i = 0; i < 100; i++)
		answer_of(f, 100 + i);
	p.dst = SN_SAMPLE_OUTSIDE + 20;
	send_packet(f, &p);
	assert_int_equal(f->n_drops, 0);
	assert_int_equal(f->n_out, 1); /* the question */
	for (uint32_t i = 0; i < 100; i++)
		answer_of(f, 100 + i);
	answer_of(f, 20);
	assert_int_equal(f->n_out, 1);
	assert_memory_equal(f->out[0].data, HOST_MAC, 6);
}

static void a_scan_takes_an_eighth_of_the_room_at_most_from_neighbours_that_answer(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint32_t left = 0;

	load(f);
	for (uint32_t i = 0; i < 61; i++)
		answer_of(f, 100 + i);
	for (uint32_t i = 0; i < 60; i++) {
		p.dst = SN_SAMPLE_OUTSIDE + 20 + i;
		send_packet(f, &p);
	}
	for (uint32_t i = 0; i < 61; i++)
		left += knows(f, SN_SAMPLE_OUTSIDE + 100 + i);
	assert_int_equal(left, 61 - SHARE / 8);
}

static void an_interface_takes_no_others_share(void **state)
{
	struct fixture *f = *state;
	uint32_t inside = 0;

	load(f);
	for (uint32_t i = 0; i < 20; i++)
		inside_answers(f, 100 + i);
	for (uint32_t i = 0; i < 150; i++) /* who has the room that nobody else uses … */
		answer_of(f, 100 + i);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(knows(f, SN_SAMPLE_INSIDE + 100 + i));
	for (uint32_t i = 20; i < 100; i++) /* … gives it back */
		inside_answers(f, 100 + i);
	for (uint32_t i = 0; i < 100; i++)
		inside += knows(f, SN_SAMPLE_INSIDE + 100 + i);
	assert_int_equal(inside, SHARE - 1); /* and one that is configured */
	assert_true(knows(f, SN_SAMPLE_OUTSIDE + 249));
}

static void of_those_that_are_asked_for_the_first_gives_way(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	load(f);
	for (uint32_t i = 0; i < 61; i++) { /* the table has room for 63, of which two are configured */
		p.dst = SN_SAMPLE_OUTSIDE + 100 + i;
		send_packet(f, &p);
		assert_int_equal(f->n_drops, 0);
	}
	answer_of(f, 100);
	answer_of(f, 102);
	for (uint32_t i = 61; i < 64; i++) { /* in place of 101, 103 and 104 */
		p.dst = SN_SAMPLE_OUTSIDE + 100 + i;
		send_packet(f, &p);
		assert_int_equal(f->n_drops, 1);
		assert_int_equal(f->drops[0].reason, SN_REASON_NEIGHBOR_UNRESOLVED);
		assert_int_equal(f->n_out, 1); /* the question */
	}
	for (uint32_t i = 100; i < 106; i++)
		assert_int_equal(knows(f, SN_SAMPLE_OUTSIDE + i), i != 101 && i != 103 && i != 104);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(in_a_full_table_who_was_heard_of_longest_ago_gives_way),
		WITH_FIXTURE(a_flood_of_answers_costs_no_decision_of_a_neighbour_that_answers),
		WITH_FIXTURE(a_neighbour_that_packets_are_sent_to_does_not_give_way_to_many_others),
		WITH_FIXTURE(of_neighbours_that_are_all_used_the_first_gives_way),
		WITH_FIXTURE(a_decision_does_not_follow_a_neighbour_whose_place_another_has),
		WITH_FIXTURE(a_flood_of_answers_leaves_room_to_ask),
		WITH_FIXTURE(a_scan_takes_an_eighth_of_the_room_at_most_from_neighbours_that_answer),
		WITH_FIXTURE(an_interface_takes_no_others_share),
		WITH_FIXTURE(of_those_that_are_asked_for_the_first_gives_way),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
