/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for neighbours and by them, what waits for the answer, and announcements. */
#include "arp.h"

#include "sn_neigh.h"
#include "sn_parse.h"

static void requests_for_our_addresses_are_answered_with_their_tag(void **state)
{
	static const uint32_t ours[] = {SN_SAMPLE_OUTSIDE, SN_SAMPLE_POOL};
	struct fixture *f = *state;

	sn_sample_vlan(&f->arena, f->msg, 5);
	load(f);
	for (int i = 0; i < 2; i++) {
		for (int tagged = 0; tagged < 2; tagged++) {
			uint16_t tag = tagged ? 0x6005 : 0;
			uint32_t l3 = tagged ? 18 : 14;
			const uint8_t *got = f->out[0].data;

			send_arp(f, ALL_MAC, tag, ARP_REQUEST, SN_SAMPLE_OUTSIDE + 9, ours[i]);
			assert_int_equal(f->n_out, 1);
			assert_int_equal(f->out[0].len, l3 + 28);
			assert_memory_equal(got, HOST_MAC, 6);
			assert_memory_equal(got + 6, OUTSIDE_MAC, 6);
			if (tagged)
				assert_int_equal(sn_load16(got + 14), tag);
			assert_int_equal(sn_load16(got + l3 + 6), ARP_REPLY);
			assert_memory_equal(got + l3 + 8, OUTSIDE_MAC, 6);
			assert_int_equal(sn_load32(got + l3 + 14), ours[i]);
			assert_memory_equal(got + l3 + 18, HOST_MAC, 6);
			assert_int_equal(sn_load32(got + l3 + 24), SN_SAMPLE_OUTSIDE + 9);
		}
	}
	send_arp(f, ALL_MAC, 0, ARP_REQUEST, SN_SAMPLE_OUTSIDE + 9, SN_SAMPLE_OUTSIDE + 77);
	assert_int_equal(f->n_out, 0);
}

static void packets_wait_for_the_answer_and_then_leave_in_order(void **state)
{
	struct fixture *f = *state;
	struct packet burst[60];

	unknown_gateway(f);
	for (int i = 0; i < 60; i++)
		burst[i] = outward(SN_UDP, 5000 + i);
	send_burst(f, burst, 60);
	assert_int_equal(f->n_out, 1); /* one question */
	assert_asks(&f->out[0], ALL_MAC, 0);
	assert_int_equal(f->n_drops, 0);
	gateway_answers(f);
	assert_int_equal(f->n_out, 60);
	for (uint32_t i = 0; i < 60; i++) {
		assert_int_equal(f->out[i].source, i);
		assert_memory_equal(f->out[i].data, HOST_MAC, 6);
		assert_checksums(f->out[i].data, f->out[i].len);
	}
	send_packet(f, burst);
	assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
}

/* An interface of two has 128 of the 256 places. */
static void of_too_many_packets_the_one_that_has_waited_longest_gives_way(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	unknown_gateway(f);
	send_packet(f, &p);
	for (int i = 1; i < 128; i++) {
		p.sport++;
		send_packet(f, &p);
		assert_int_equal(f->n_drops, 0);
	}
	for (int i = 0; i < 3; i++) {
		p.sport++;
		send_packet(f, &p);
		assert_dropped(f, SN_REASON_NEIGHBOR_UNRESOLVED);
	}
	gateway_answers(f);
	assert_int_equal(f->n_out, 128);
	send_packet(f, &p);
	assert_sent(f, 1);
}

/* The packet that came out is "host unreachable", to the inside. */
static const uint8_t *assert_told(struct fixture *f)
{
	const uint8_t *icmp = l4_of(f->out[0].data);

	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, 0);
	assert_checksums(f->out[0].data, f->out[0].len);
	assert_int_equal(icmp[0], 3);
	assert_int_equal(icmp[1], 1);
	assert_int_equal(src_of(f->out[0].data), SN_SAMPLE_INSIDE);
	return icmp;
}

static void a_question_is_asked_three_times_and_then_the_sender_is_told(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	const uint8_t *icmp;

	unknown_gateway(f);
	send_packet(f, &p);
	assert_int_equal(f->n_out, 1);
	tick(f, SECOND / 2);
	assert_int_equal(f->n_out, 0);
	for (int i = 0; i < 2; i++) {
		tick(f, i ? SECOND : SECOND / 2);
		assert_int_equal(f->n_out, 1);
		assert_asks(&f->out[0], ALL_MAC, 0);
		assert_int_equal(f->out[0].source, SN_SOURCE_NONE);
	}
	tick(f, SECOND);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_HOST_UNREACHABLE);
	icmp = assert_told(f);
	assert_int_equal(dst_of(f->out[0].data), p.src);
	assert_int_equal(sn_load32(icmp + 8 + 12), p.src); /* it quotes the packet as the host had sent it */
	assert_int_equal(sn_load16(icmp + 8 + 20), p.sport);
}

static void who_has_just_not_answered_is_not_asked_for_two_seconds(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	unknown_gateway(f);
	send_packet(f, &p);
	for (int i = 0; i < 3; i++)
		tick(f, SECOND);
	for (int i = 0; i < 19; i++) {
		tick(f, SECOND / 10);
		assert_int_equal(f->n_out, 0);
		send_packet(f, &p);
		assert_int_equal(f->n_drops, 1);
		assert_int_equal(f->drops[0].reason, SN_REASON_HOST_UNREACHABLE);
		assert_told(f);
	}
	tick(f, SECOND / 10);
	send_packet(f, &p);
	assert_int_equal(f->n_out, 1);
	assert_asks(&f->out[0], ALL_MAC, 0);
	/* It comes back by itself. */
	for (int i = 0; i < 3; i++)
		tick(f, SECOND);
	gateway_answers(f);
	send_packet(f, &p);
	assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
}

static void no_more_senders_are_told_than_icmp_errors_may_be_sent(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint32_t told = 0;

	f->msg->icmp_rate = 2;
	unknown_gateway(f);
	for (int i = 0; i < 5; i++) {
		p.sport++;
		send_packet(f, &p);
	}
	for (int i = 0; i < 3; i++)
		tick(f, SECOND);
	assert_int_equal(f->n_drops, 5);
	for (uint32_t i = 0; i < 5; i++)
		told += f->drops[i].reason == SN_REASON_HOST_UNREACHABLE;
	assert_int_equal(told, 2);
	assert_int_equal(f->n_out, 2);
	assert_int_equal(f->drops[4].reason, SN_REASON_NEIGHBOR_UNRESOLVED);
}

static void a_flood_of_addresses_asks_a_thousand_times_a_second(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint32_t asks[3] = {0};

	f->msg->interfaces[1]->prefix_len = 16;
	p.dst = SN_SAMPLE_OUTSIDE + 100;
	load(f);
	for (int second = 0; second < 3; second++) {
		for (uint32_t i = 0; i < 2000; i++) {
			p.dst++;
			p.src++; /* of another shard, which has ports left */
			send_packet(f, &p);
			for (uint32_t j = 0; j < f->n_out; j++)
				asks[second] += asked(&f->out[j]) != NULL;
		}
		f->now += SECOND;
	}
	for (int second = 0; second < 3; second++)
		assert_int_equal(asks[second], 1000);
}

static void our_addresses_are_announced_three_times(void **state)
{
	static const uint32_t ours[] = {SN_SAMPLE_INSIDE, SN_SAMPLE_OUTSIDE, SN_SAMPLE_POOL};
	struct fixture *f = *state;

	load(f);
	tick(f, SECOND);
	assert_int_equal(f->n_out, 0); /* not unasked */
	sn_worker_announce(f->worker, 3);
	for (int round = 0; round < 3; round++) {
		tick(f, 2 * SECOND);
		assert_int_equal(f->n_out, 3);
		for (int i = 0; i < 3; i++) {
			const uint8_t *arp = f->out[i].data + 14;

			assert_memory_equal(f->out[i].data, ALL_MAC, 6);
			assert_int_equal(f->out[i].iface, i > 0);
			assert_int_equal(sn_load16(arp + 6), ARP_REQUEST);
			assert_memory_equal(arp + 8, f->out[i].data + 6, 6);
			assert_int_equal(sn_load32(arp + 14), ours[i]);
			assert_int_equal(sn_load32(arp + 24), ours[i]);
		}
		tick(f, SECOND);
		assert_int_equal(f->n_out, 0);
	}
	tick(f, 2 * SECOND);
	assert_int_equal(f->n_out, 0);
}

/* The gateway asks for our address. */
static void ask_for_ours(struct fixture *f)
{
	send_arp(f, ALL_MAC, 0, ARP_REQUEST, GATEWAY2, SN_SAMPLE_OUTSIDE);
}

static void who_is_silent_gives_no_neighbour_a_reason_to_send_to_it(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	unknown_gateway(f);
	sn_worker_silence(f->worker, true);
	sn_worker_announce(f->worker, 3);
	tick(f, 2 * SECOND);
	assert_int_equal(f->n_out, 0);
	send_packet(f, &p);
	assert_int_equal(f->n_out, 1); /* it asks, as nobody */
	assert_int_equal(sn_load16(f->out[0].data + 14 + 6), ARP_REQUEST);
	assert_int_equal(sn_load32(f->out[0].data + 14 + 14), 0);
	assert_int_equal(sn_load32(f->out[0].data + 14 + 24), GATEWAY2);
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, 0);
	assert_int_equal(f->n_out, 1);
	assert_memory_equal(f->out[0].data, HOST_MAC, 6);
	ask_for_ours(f);
	assert_int_equal(f->n_out, 0);
	tick(f, 61 * SECOND);
	ask_for_ours(f); /* from which it learns */
	send_packet(f, &p);
	assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
	sn_worker_silence(f->worker, false);
	ask_for_ours(f);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(sn_load16(f->out[0].data + 14 + 6), ARP_REPLY);
}

static void who_falls_silent_announces_no_more(void **state)
{
	struct fixture *f = *state;

	load(f);
	sn_worker_announce(f->worker, 3);
	tick(f, SECOND);
	assert_int_equal(f->n_out, 3);
	sn_worker_silence(f->worker, true);
	sn_worker_silence(f->worker, false);
	tick(f, 10 * SECOND);
	assert_int_equal(f->n_out, 0);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(requests_for_our_addresses_are_answered_with_their_tag),
		WITH_FIXTURE(packets_wait_for_the_answer_and_then_leave_in_order),
		WITH_FIXTURE(of_too_many_packets_the_one_that_has_waited_longest_gives_way),
		WITH_FIXTURE(a_question_is_asked_three_times_and_then_the_sender_is_told),
		WITH_FIXTURE(who_has_just_not_answered_is_not_asked_for_two_seconds),
		WITH_FIXTURE(no_more_senders_are_told_than_icmp_errors_may_be_sent),
		WITH_FIXTURE(a_flood_of_addresses_asks_a_thousand_times_a_second),
		WITH_FIXTURE(our_addresses_are_announced_three_times),
		WITH_FIXTURE(who_is_silent_gives_no_neighbour_a_reason_to_send_to_it),
		WITH_FIXTURE(who_falls_silent_announces_no_more),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
