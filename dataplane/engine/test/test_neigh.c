/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_neigh.h"
#include "sn_parse.h"
#include "sn_worker_impl.h"

#define HOST_MAC    ((const uint8_t[]){0x02, 0xbb, 0, 0, 0, 9})
#define NEXT_MAC    ((const uint8_t[]){0x02, 0xbb, 0, 0, 0, 10})
#define ALL_MAC	    ((const uint8_t[]){0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
#define OUTSIDE_MAC ((const uint8_t[]){0x02, 0x73, 0x6e, 0, 0, 1})
#define GATEWAY2    (SN_SAMPLE_OUTSIDE + 8)
#define ARP_REQUEST 1
#define ARP_REPLY   2

static uint32_t write_arp(uint8_t *f, const uint8_t *to, uint16_t tag, uint16_t op, uint32_t sender,
			  uint32_t target)
{
	uint32_t l3 = tag ? 18 : 14;
	uint8_t *a = f + l3;

	memset(f, 0, l3 + 28);
	memcpy(f, to, 6);
	memcpy(f + 6, HOST_MAC, 6);
	if (tag) {
		sn_store16(f + 12, 0x8100);
		sn_store16(f + 14, tag);
	}
	sn_store16(f + l3 - 2, 0x0806);
	sn_store16(a, 1);
	sn_store16(a + 2, 0x0800);
	a[4] = 6;
	a[5] = 4;
	sn_store16(a + 6, op);
	memcpy(a + 8, HOST_MAC, 6);
	sn_store32(a + 14, sender);
	sn_store32(a + 24, target);
	return l3 + 28;
}

static void send_arp(struct fixture *f, const uint8_t *to, uint16_t tag, uint16_t op, uint32_t sender,
		     uint32_t target)
{
	uint8_t frame[64];

	send_frame(f, 1, frame, write_arp(frame, to, tag, op, sender, target));
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_ARP);
}

/* A frame of another host, which took the place of the first. */
static void send_arp_of_next(struct fixture *f, const uint8_t *to, uint16_t op, uint32_t sender,
			     uint32_t target)
{
	uint8_t frame[64];
	uint32_t len = write_arp(frame, to, 0, op, sender, target);

	memcpy(frame + 6, NEXT_MAC, 6);
	memcpy(frame + 14 + 8, NEXT_MAC, 6);
	send_frame(f, 1, frame, len);
	assert_int_equal(f->n_out, 0);
}

static void tick(struct fixture *f, uint64_t by)
{
	f->now += by;
	f->n_out = f->n_drops = 0;
	sn_worker_tick(f->worker, f->now);
}

/* The gateway is not known. */
static void unknown_gateway(struct fixture *f)
{
	f->msg->interfaces[1]->gateway = GATEWAY2;
	load(f);
}

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

static void gateway_answers(struct fixture *f)
{
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);
}

/* What the frame, an ARP question, is sent to; NULL: it is none. */
static const uint8_t *asked(const struct sent *s)
{
	return sn_load16(s->data + 12) == 0x0806 && sn_load16(s->data + 14 + 6) == ARP_REQUEST ? s->data
											       : NULL;
}

/* vlan 0: without a tag. */
static void assert_asks(const struct sent *s, const uint8_t *to, uint16_t vlan)
{
	const uint8_t *arp = s->data + (vlan ? 18 : 14);

	assert_int_equal(sn_load16(arp - 2), 0x0806);
	assert_int_equal(sn_load16(arp + 6), ARP_REQUEST);
	if (vlan)
		assert_int_equal(sn_load16(s->data + 14), vlan);
	assert_memory_equal(s->data, to, 6);
	assert_int_equal(sn_load32(arp + 14), SN_SAMPLE_OUTSIDE);
	assert_int_equal(sn_load32(arp + 24), GATEWAY2);
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

/* Of 256 that wait an interface of two has 128. */
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

/* What came out is "host unreachable", to the inside. */
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
			uint8_t frame[64];
			uint32_t len =
				write_arp(frame, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);

			memcpy(frame + 14 + 8, NEXT_MAC, 6);
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

static void the_mac_of_a_known_neighbour_follows_what_it_says_whatever_it_asks(void **state)
{
	static const struct {
		uint16_t op;
		uint32_t target;
	} cases[] = {
		{ARP_REQUEST, GATEWAY2},	       /* an announcement */
		{ARP_REQUEST, SN_SAMPLE_OUTSIDE + 77}, /* a question to another host */
		{ARP_REPLY, GATEWAY2},		       /* an announcement as some make it */
	};
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct sn_neigh_info list[8];

	unknown_gateway(f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);
		for (int j = 0; j < 2; j++) { /* decided, and by the cache */
			send_packet(f, &p);
			assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
		}
		send_arp_of_next(f, ALL_MAC, cases[i].op, GATEWAY2, cases[i].target);
		send_packet(f, &p);
		assert_memory_equal(assert_sent(f, 1), NEXT_MAC, 6);
	}
	/* Who is not known is not learnt, and what is configured stays. */
	send_arp_of_next(f, ALL_MAC, ARP_REQUEST, SN_SAMPLE_OUTSIDE + 78, SN_SAMPLE_OUTSIDE + 78);
	send_arp_of_next(f, ALL_MAC, ARP_REQUEST, SN_SAMPLE_GATEWAY, SN_SAMPLE_GATEWAY);
	assert_int_equal(sn_worker_neighbors(f->worker, list, 8), 3);
	for (int i = 0; i < 3; i++)
		if (list[i].address != GATEWAY2)
			assert_memory_not_equal(list[i].mac, NEXT_MAC, 6);
}

static void an_announcement_answers_who_is_asked_for(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[64];

	unknown_gateway(f);
	send_packet(f, &p);
	send_frame(f, 1, frame, write_arp(frame, ALL_MAC, 0, ARP_REQUEST, GATEWAY2, GATEWAY2));
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

static void a_full_table_reuses_what_was_forgotten_and_no_cached_decision_follows_it(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	unknown_gateway(f);
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);
	for (uint32_t i = 0; i < 100; i++) /* more than there is room for */
		send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, SN_SAMPLE_OUTSIDE + 100 + i, SN_SAMPLE_OUTSIDE);
	for (int i = 0; i < 2; i++)
		send_packet(f, &p);
	assert_memory_equal(assert_sent(f, 1), HOST_MAC, 6);
	tick(f, 61 * SECOND);
	for (uint32_t i = 0; i < 100; i++)
		send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, SN_SAMPLE_OUTSIDE + 100 + i, SN_SAMPLE_OUTSIDE);
	send_packet(f, &p);
	assert_int_equal(f->n_out, 0); /* no room to ask */
	assert_int_equal(f->drops[0].reason, SN_REASON_NEIGHBOR_UNRESOLVED);
}

static void answer_of(struct fixture *f, uint32_t host)
{
	uint8_t frame[64];

	send_frame(f, 1, frame,
		   write_arp(frame, OUTSIDE_MAC, 0, ARP_REPLY, SN_SAMPLE_OUTSIDE + host, SN_SAMPLE_OUTSIDE));
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
	for (uint32_t i = 100; i < 106; i++) {
		p.dst = SN_SAMPLE_OUTSIDE + i;
		if (i == 101 || i == 103 || i == 104)
			assert_null(sn_neigh_find(&f->worker->neigh, sn_neigh_key(1, SN_VLAN_ABSENT, p.dst)));
		else
			assert_non_null(
				sn_neigh_find(&f->worker->neigh, sn_neigh_key(1, SN_VLAN_ABSENT, p.dst)));
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
	next = sn_program_create(f->msg, f->program, f->err, sizeof(f->err));
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

static void our_addresses_are_announced_three_times(void **state)
{
	static const uint32_t ours[] = {SN_SAMPLE_INSIDE, SN_SAMPLE_OUTSIDE, SN_SAMPLE_POOL};
	struct fixture *f = *state;

	load(f);
	tick(f, SECOND);
	assert_int_equal(f->n_out, 0); /* not unasked */
	sn_neigh_announce(f->worker, 3);
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
	sn_neigh_silence(f->worker, true);
	sn_neigh_announce(f->worker, 3);
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
	sn_neigh_silence(f->worker, false);
	ask_for_ours(f);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(sn_load16(f->out[0].data + 14 + 6), ARP_REPLY);
}

static void who_falls_silent_announces_no_more(void **state)
{
	struct fixture *f = *state;

	load(f);
	sn_neigh_announce(f->worker, 3);
	tick(f, SECOND);
	assert_int_equal(f->n_out, 3);
	sn_neigh_silence(f->worker, true);
	sn_neigh_silence(f->worker, false);
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
		WITH_FIXTURE(a_gateway_that_answers_probes_loses_no_packet_in_half_an_hour),
		WITH_FIXTURE(a_gateway_that_died_silently_is_sent_nothing_after_a_minute),
		WITH_FIXTURE(a_gateway_that_went_to_another_mac_is_found_there_without_loss),
		WITH_FIXTURE(a_neighbour_that_nobody_uses_is_not_probed_and_forgotten_after_a_minute),
		WITH_FIXTURE(static_and_foreign_neighbours_are_not_learnt),
		WITH_FIXTURE(the_mac_of_a_known_neighbour_follows_what_it_says_whatever_it_asks),
		WITH_FIXTURE(an_announcement_answers_who_is_asked_for),
		WITH_FIXTURE(what_is_learnt_stays_over_a_swap),
		WITH_FIXTURE(our_addresses_are_announced_three_times),
		WITH_FIXTURE(a_scan_of_addresses_that_nobody_has_costs_neither_decisions_nor_neighbours),
		WITH_FIXTURE(of_those_that_are_asked_for_the_first_gives_way),
		WITH_FIXTURE(a_warmed_up_decision_follows_no_neighbour_that_is_forgotten),
		WITH_FIXTURE(who_is_silent_gives_no_neighbour_a_reason_to_send_to_it),
		WITH_FIXTURE(neighbours_are_kept_per_vlan),
		WITH_FIXTURE(who_falls_silent_announces_no_more),
		WITH_FIXTURE(a_full_table_reuses_what_was_forgotten_and_no_cached_decision_follows_it),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
