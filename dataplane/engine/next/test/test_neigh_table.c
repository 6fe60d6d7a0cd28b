/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours: how it is learnt, kept, probed and forgotten. */
#include "arp.h"

#include "sn_parse.h"

/* A packet every 100 ms for a time, with what the gateway does meanwhile. */
struct half_hour {
	uint32_t to_host, to_next, broadcasts, probes, drops;
	uint64_t last_to_host; /* since the beginning */
};

static struct half_hour traffic(struct fixture *f, uint64_t time, bool answers, bool moved)
{
	struct half_hour seen = {0};
	struct packet p = outward(SN_UDP, 5000);

	for (uint64_t t = 0; t < time; t += SECOND / 10) {
		bool probed = false, wanted = false;

		tick(f, SECOND / 10);
		for (int half = 0; half < 2; half++) {
			if (half)
				send_packet(f, &p);
			seen.drops += f->n_drops;
			for (uint32_t i = 0; i < f->n_out; i++) {
				const uint8_t *to = f->out[i].data;
				bool host = !memcmp(to, HOST_MAC, 6), question = asked(&f->out[i]);

				probed |= host && question;
				wanted |= question && !host;
				seen.probes += host && question;
				seen.broadcasts += question && !memcmp(to, ALL_MAC, 6);
				seen.to_host += host && !question;
				seen.to_next += !question && !memcmp(to, NEXT_MAC, 6);
				if (host)
					seen.last_to_host = t;
			}
		}
		if (answers && probed)
			gateway_answers(f);
		if (moved && wanted) {
			uint8_t frame[ARP_FRAME];
			uint32_t len = write_arp(frame, OUTSIDE_MAC, NEXT_MAC, 0, ARP_REPLY, GATEWAY2,
						 SN_SAMPLE_OUTSIDE);

			send_frame(f, 1, frame, len);
			for (uint32_t i = 0; i < f->n_out; i++)
				seen.to_next += !memcmp(f->out[i].data, NEXT_MAC, 6);
		}
	}
	return seen;
}

#define HALF_AN_HOUR (1800 * SECOND)

static void a_gateway_that_answers_probes_loses_no_packet_in_half_an_hour(void **state)
{
	struct fixture *f = *state;
	struct half_hour seen;

	unknown_gateway(f);
	gateway_answers(f);
	seen = traffic(f, HALF_AN_HOUR, true, false);
	assert_int_equal(seen.to_host, 18000);
	assert_int_equal(seen.drops, 0);
	assert_int_equal(seen.broadcasts, 0);
	/* One after 15 to 45 seconds and 5 more. */
	assert_in_range(seen.probes, 1800 / 51, 1800 / 20);
}

static void a_gateway_that_died_silently_is_sent_nothing_after_a_minute(void **state)
{
	struct fixture *f = *state;
	struct half_hour seen;

	unknown_gateway(f);
	gateway_answers(f);
	seen = traffic(f, HALF_AN_HOUR, false, false);
	assert_in_range(seen.last_to_host, 20 * SECOND, 54 * SECOND);
	assert_int_equal(seen.probes, 3);
	/* Three questions in three seconds, and two without any. */
	assert_in_range(seen.broadcasts, 3 * 1740 / 6, 3 * 1780 / 5);
	assert_in_range(seen.to_host + seen.drops, 18000 - 30, 18000); /* the last ones may still wait */
}

static void a_gateway_that_went_to_another_mac_is_found_there_without_loss(void **state)
{
	struct fixture *f = *state;
	struct half_hour seen;

	unknown_gateway(f);
	gateway_answers(f);
	seen = traffic(f, 60 * SECOND, false, true);
	assert_int_equal(seen.drops, 0);
	assert_int_equal(seen.probes, 3);
	assert_int_equal(seen.broadcasts, 1);
	assert_int_equal(seen.to_host + seen.to_next, 600);
	assert_in_range(seen.to_next, 60, 400);
}

static void a_neighbour_that_nobody_uses_is_not_probed_and_forgotten_after_a_minute(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct sn_neigh_info list[8];

	unknown_gateway(f);
	send_arp(f, ALL_MAC, 0, ARP_REQUEST, GATEWAY2, SN_SAMPLE_OUTSIDE); /* learnt by its own question */
	send_packet(f, &p);
	assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
	for (int i = 0; i < 60; i++) {
		tick(f, SECOND);
		assert_int_equal(f->n_out, 0);
		assert_int_equal(sn_worker_neighbors(f->worker, list, 8), 3);
	}
	tick(f, SECOND);
	assert_int_equal(sn_worker_neighbors(f->worker, list, 8), 2);
	send_packet(f, &p);
	assert_memory_equal(f->out[0].data, ALL_MAC, 6);
}

static void static_and_foreign_neighbours_are_not_learnt(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct sn_neigh_info list[8];

	load(f);
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, SN_SAMPLE_GATEWAY, SN_SAMPLE_OUTSIDE);
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, 0x0b000001, SN_SAMPLE_OUTSIDE);
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, SN_SAMPLE_OUTSIDE, SN_SAMPLE_OUTSIDE);
	send_arp(f, ALL_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE); /* not to us */
	assert_int_equal(sn_worker_neighbors(f->worker, list, 8), 2);
	assert_string_equal(sn_neigh_state_name(list[0].state), "static");
	send_packet(f, &p);
	assert_memory_not_equal(assert_sent(f, 1), HOST_MAC, 6);
}

static void an_announcement_answers_who_is_asked_for(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[ARP_FRAME];

	unknown_gateway(f);
	send_packet(f, &p);
	send_frame(f, 1, frame, write_arp(frame, ALL_MAC, HOST_MAC, 0, ARP_REQUEST, GATEWAY2, GATEWAY2));
	assert_int_equal(f->n_out, 1);
	assert_memory_equal(f->out[0].data, HOST_MAC, 6);
}

static void what_is_learnt_stays_over_a_swap(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	unknown_gateway(f);
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);
	load(f);
	send_packet(f, &p);
	assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
	f->msg->interfaces[1]->name = (char *)"other";
	load(f);
	send_packet(f, &p);
	assert_memory_equal(f->out[0].data, ALL_MAC, 6);
}

static void a_scan_of_addresses_that_nobody_has_costs_neither_decisions_nor_neighbours(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000), scan = p;
	const struct sn_worker_stats *stats = sn_worker_stats(f->worker);

	load(f);
	for (int i = 0; i < 2; i++)
		send_packet(f, &p);
	for (uint32_t round = 0; round < 3; round++) {
		uint64_t hits = stats->cache_hits;

		for (uint32_t i = 0; i < 100; i++) { /* more than there is room for */
			scan.dst = SN_SAMPLE_OUTSIDE + 100 + i;
			send_packet(f, &scan);
			if (i == 90) /* the table is full */
				answer_of(f, 20 + round);
			send_packet(f, &p);
			assert_sent(f, 1);
		}
		assert_int_equal(stats->cache_hits, hits + 100);
		tick(f, 4 * SECOND); /* all are given up, and their entries used again */
	}
	for (uint32_t round = 0; round < 3; round++) {
		scan.dst = SN_SAMPLE_OUTSIDE + 20 + round;
		send_packet(f, &scan);
		assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
	}
}

static void a_warmed_up_decision_follows_no_neighbour_that_is_forgotten(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct sn_program *next;
	struct sn_counts *counts;

	unknown_gateway(f);
	for (uint32_t i = 0; i < 60; i++)
		answer_of(f, 100 + i);
	answer_of(f, GATEWAY2 - SN_SAMPLE_OUTSIDE); /* the last that there is room for */
	for (int i = 0; i < 2; i++) {
		send_packet(f, &p);
		assert_sent(f, 1);
	}
	next = sn_program_create(f->msg, f->program, &f->err);
	assert_non_null(next);
	counts = sn_counts_create(next);
	while (!sn_worker_warm_up(f->worker, next, counts, f->now))
		;
	tick(f, 61 * SECOND);
	answer_of(f, 50); /* has the gateway's place */
	sn_counts_free(sn_worker_set_program(f->worker, next, counts));
	sn_program_free(f->program);
	f->program = next;
	send_packet(f, &p);
	assert_int_equal(f->n_out, 1);
	assert_memory_equal(f->out[0].data, ALL_MAC, 6);
}

static void neighbours_are_kept_per_vlan(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct sn_neigh_info list[16];
	uint32_t seen = 0;

	f->msg->interfaces[1]->gateway = GATEWAY2;
	sn_sample_vlan(&f->arena, f->msg, 5);
	sn_sample_vlan(&f->arena, f->msg, 6);
	load(f);
	gateway_answers(f);
	for (uint16_t vlan = 5; vlan <= 6; vlan++) {
		p.tag = vlan;
		p.sport = 5000; /* a flow that the cache knows from the other VLAN */
		send_packet(f, &p);
		assert_asks(&f->out[0], ALL_MAC, vlan);
		send_arp(f, OUTSIDE_MAC, vlan, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);
		assert_int_equal(f->n_out, 1);
		for (int i = 0; i < 2; i++) {
			send_packet(f, &p);
			assert_int_equal(sn_load16(assert_sent(f, 1) + 14), vlan);
		}
	}
	for (size_t i = sn_worker_neighbors(f->worker, list, 16); i-- > 0;)
		seen += list[i].address == GATEWAY2 ? list[i].vlan : 0;
	assert_int_equal(seen, 5 + 6 + SN_VLAN_ABSENT);
	f->msg->interfaces[1]->n_vlans = 1; /* VLAN 6 no longer */
	f->msg->interfaces[1]->n_neighbors = 1;
	load(f);
	for (size_t i = sn_worker_neighbors(f->worker, list, 16); i-- > 0;)
		if (list[i].iface == 1)
			assert_int_not_equal(list[i].vlan, 6);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_gateway_that_answers_probes_loses_no_packet_in_half_an_hour),
		WITH_FIXTURE(a_gateway_that_died_silently_is_sent_nothing_after_a_minute),
		WITH_FIXTURE(a_gateway_that_went_to_another_mac_is_found_there_without_loss),
		WITH_FIXTURE(a_neighbour_that_nobody_uses_is_not_probed_and_forgotten_after_a_minute),
		WITH_FIXTURE(static_and_foreign_neighbours_are_not_learnt),
		WITH_FIXTURE(an_announcement_answers_who_is_asked_for),
		WITH_FIXTURE(what_is_learnt_stays_over_a_swap),
		WITH_FIXTURE(a_scan_of_addresses_that_nobody_has_costs_neither_decisions_nor_neighbours),
		WITH_FIXTURE(a_warmed_up_decision_follows_no_neighbour_that_is_forgotten),
		WITH_FIXTURE(neighbours_are_kept_per_vlan),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
