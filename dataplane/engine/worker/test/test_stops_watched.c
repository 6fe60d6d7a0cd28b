/* SPDX-License-Identifier: Apache-2.0 */
/* Functions outside of the program that get probes, and what becomes of packets while they are down. */

#include "arp.h"
#include "stop_fixture.h"

#include "sn_parse.h"
#include "sn_tag.h"
#include "sn_wires.h"

static const uint8_t back_mac[6] = {0x02, 0x73, 0x6e, 0, 0, BACK};

static void watch(struct fixture *f, Sinter__Program__V1__Stop *stop, bool bypass)
{
	static char *reason = (char *)"ips/down", *counter = (char *)"ips/bypassed";

	f->msg->n_reasons = f->msg->n_counters = 1;
	f->msg->reasons = &reason;
	f->msg->counters = &counter;
	stop->down_case =
		bypass ? SINTER__PROGRAM__V1__STOP__DOWN_BYPASS : SINTER__PROGRAM__V1__STOP__DOWN_DROP;
}

static int open_watched(void **state, bool bypass)
{
	struct fixture *f;

	open_stop(state);
	f = *state;
	watch(f, leg_of(f, 0)->stop, bypass);
	note_hop(f, 0, OTHER);
	lower_ttl(f, BEHIND);
	load(f);
	return 0;
}

static int open_closed(void **state)
{
	return open_watched(state, false);
}

static int open_bypassed(void **state)
{
	return open_watched(state, true);
}

static const struct sn_wire *wire(const struct fixture *f, uint32_t back)
{
	return sn_wires_of(f->wires, (uint16_t)back);
}

/* Time for a probe, and whether the function returns it. */
static void probe(struct fixture *f, bool returned)
{
	tick(f, 10 * MS);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, OUT);
	if (returned)
		send_back(f, BACK);
}

/* Probes, until it is known that nobody returns them. */
static void lose(struct fixture *f, uint32_t n)
{
	for (uint32_t i = 0; i <= n; i++)
		probe(f, false);
	forget(f);
}

/* A packet leaves for the function, as it is not down. */
static void assert_is_up(struct fixture *f)
{
	forget(f);
	send_out(f, 5000);
	forget(f);
}

static void a_probe_leaves_every_ten_milliseconds_as_packets_do(void **state)
{
	struct fixture *f = *state;
	struct sn_tag tag;

	tick(f, MS);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, OUT);
	assert_int_equal(f->out[0].len, 60);
	assert_memory_equal(f->out[0].data, back_mac, 6);
	assert_true(sn_tag_read(f->out[0].data + 6, &tag));
	assert_int_equal(tag.nonce, f->program->nonce);
	assert_int_equal(sn_load16(f->out[0].data + 12), 0x88b6);
	for (uint32_t ms = 1; ms < 10; ms++) {
		tick(f, MS);
		assert_int_equal(f->n_out, 0);
	}
	tick(f, MS);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(atomic_load(&wire(f, BACK)->probes), 2);
}

static void a_probe_that_comes_back_is_no_packet_of_the_chain(void **state)
{
	struct fixture *f = *state;
	const struct sn_worker_stats *stats = sn_worker_stats(f->worker);

	probe(f, true);
	assert_int_equal(f->n_out, 0);
	assert_int_equal(f->n_drops, 0);
	assert_int_equal(stats->packets, 0);
	assert_int_equal(stats->ports[BACK].rx.packets, 1);
	assert_int_equal(stats->ports[BACK].rx.bytes, 60);
	assert_int_equal(stats->ports[OUT].tx.packets, 1);
	assert_int_equal(atomic_load(&wire(f, BACK)->answers), 1);
}

static void packets_beside_a_probe_go_on(void **state)
{
	struct fixture *f = *state;
	struct packet out[3] = {outward(SN_UDP, 5000), outward(SN_UDP, 5001), outward(SN_UDP, 5002)};
	struct sent sent;

	tick(f, 10 * MS);
	sent = f->out[0];
	send_burst(f, out, 3);
	f->out[3] = f->out[1]; /* the probe comes between them */
	f->out[1] = sent;
	f->n_out = 4;
	send_back(f, BACK);
	assert_int_equal(f->n_out, 3);
	assert_int_equal(sport_of(f->out[0].data), 5000);
	assert_int_equal(sport_of(f->out[1].data), 5002);
	assert_int_equal(sport_of(f->out[2].data), 5001);
	assert_int_equal(sn_worker_stats(f->worker)->ports[BACK].rx.packets, 4);
	assert_int_equal(atomic_load(&wire(f, BACK)->answers), 1);
}

static void packets_are_dropped_while_a_closed_function_is_silent(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	probe(f, true);
	for (uint32_t i = 0; i < SN_PROBES_LOST_CLOSED; i++) {
		probe(f, false);
		assert_is_up(f);
	}
	probe(f, false); /* the one before is lost, too */
	forget(f);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_CHAIN);
	assert_string_equal(sn_program_reason(f->program, f->drops[0].reason), "ips/down");
}

static void an_open_one_is_down_within_a_tenth_of_a_second(void **state)
{
	struct fixture *f = *state;
	uint64_t since;

	for (uint32_t i = 0; i < 100; i++)
		probe(f, true);
	since = f->now;
	while (!atomic_load(&wire(f, BACK)->down))
		tick(f, MS);
	assert_in_range(f->now - since, 50 * MS, 70 * MS);
}

static void packets_go_on_at_once_while_an_open_function_is_silent(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct sn_count classes[16] = {0}, counters[1] = {0}, reasons[1] = {0};
	const uint8_t *frame;
	uint64_t probes;

	lose(f, SN_PROBES_LOST_OPEN);
	probes = sn_worker_stats(f->worker)->ports[OUT].tx.packets;
	for (uint32_t i = 0; i < 3; i++) {
		send_packet(f, &out);
		frame = assert_sent(f, 1);
		assert_memory_equal(frame, other_mac, 6);
		assert_int_equal(ip_of(frame)[8], 63);
	}
	sn_counts_add(sn_worker_counts(f->worker), classes, counters, reasons);
	assert_int_equal(counters[0].packets, 3);
	assert_int_equal(sn_worker_stats(f->worker)->packets, 6); /* as if each had come back */
	assert_int_equal(sn_worker_stats(f->worker)->ports[OUT].tx.packets, probes);
	assert_int_equal(sn_worker_stats(f->worker)->ports[BACK].rx.packets, 0);
}

static void a_function_is_up_again_after_three_probes(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	lose(f, SN_PROBES_LOST_CLOSED);
	for (uint32_t i = 0; i < SN_PROBES_BACK; i++) {
		probe(f, true);
		forget(f);
		send_packet(f, &out);
		assert_dropped(f, SN_REASON_CHAIN);
	}
	probe(f, true);
	assert_is_up(f);
}

/* It keeps probes for longer than it takes until the next one. */
static void a_slow_function_is_up(void **state)
{
	struct fixture *f = *state;
	struct sent kept[4];

	for (uint32_t i = 0; i < 40; i++) {
		probe(f, false);
		if (i >= 4) {
			struct sent last = f->out[0];

			f->out[0] = kept[i % 4];
			kept[i % 4] = last;
			send_back(f, BACK);
		} else {
			kept[i] = f->out[0];
		}
	}
	assert_is_up(f);
}

static void who_loses_one_probe_in_two_is_up(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 40; i++)
		probe(f, i % 2);
	assert_is_up(f);
}

/* Packets and probes fill it, and it loses all of these. */
static void one_that_gives_packets_back_is_up_though_it_loses_probes(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 4 * SN_PROBES_LOST_OPEN; i++) {
		probe(f, false);
		forget(f);
		send_out(f, 5000);
		send_back(f, BACK);
		assert_sent(f, 1);
	}
	assert_int_equal(atomic_load(&wire(f, BACK)->answers), 0);
	for (uint32_t i = 0; i <= SN_PROBES_LOST_OPEN; i++) {
		assert_false(atomic_load(&wire(f, BACK)->down));
		probe(f, false);
	}
	assert_true(atomic_load(&wire(f, BACK)->down));
}

static void packets_that_it_had_kept_do_not_make_it_up_again(void **state)
{
	struct fixture *f = *state;
	struct sent kept;

	send_out(f, 5000);
	kept = f->out[0];
	lose(f, SN_PROBES_LOST_OPEN);
	for (uint32_t i = 0; i < 2 * SN_PROBES_BACK; i++) {
		probe(f, false);
		f->out[0] = kept;
		send_back(f, BACK);
		assert_sent(f, 1);
		assert_true(atomic_load(&wire(f, BACK)->down));
	}
}

/* Whoever sends the same packet without its continuation shows nothing. */
static void packets_of_its_own_do_not_show_that_it_is_up(void **state)
{
	struct fixture *f = *state;
	struct packet in = outward(SN_UDP, 5000);

	in.iface = BACK;
	for (uint32_t i = 0; i <= SN_PROBES_LOST_OPEN; i++) {
		probe(f, false);
		send_packet(f, &in);
	}
	assert_true(atomic_load(&wire(f, BACK)->down));
}

static void packets_that_go_past_it_do_not_make_it_up(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	lose(f, SN_PROBES_LOST_OPEN);
	for (uint32_t i = 0; i < 10; i++) {
		probe(f, false);
		send_packet(f, &out);
		assert_sent(f, 1);
		assert_false(atomic_load(&wire(f, BACK)->passed));
		assert_true(atomic_load(&wire(f, BACK)->down));
	}
}

/* It is silent for as long as nobody asked it. */
static void an_engine_that_stood_still_takes_nobody_for_down(void **state)
{
	struct fixture *f = *state;

	probe(f, true);
	f->now += SECOND / 2;
	for (uint32_t i = 0; i < SN_PROBES_LOST_OPEN - 1; i++)
		probe(f, false);
	assert_is_up(f);
}

static void a_forged_probe_is_no_answer(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i <= SN_PROBES_LOST_CLOSED; i++) {
		probe(f, false);
		f->out[0].data[14 + i % 10] ^= 1; /* the key, or the port */
		send_back(f, BACK);
		assert_int_equal(f->n_drops, 1);
	}
	assert_true(atomic_load(&wire(f, BACK)->down));
	assert_int_equal(atomic_load(&wire(f, BACK)->answers), 0);
}

static void a_probe_that_comes_back_by_the_side_it_left_by_is_no_answer(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i <= SN_PROBES_LOST_CLOSED; i++) {
		probe(f, false);
		send_back(f, OUT);
	}
	assert_true(atomic_load(&wire(f, BACK)->down));
}

static void both_ways_are_watched_apart(void **state)
{
	struct fixture *f = *state;
	struct packet in = inward(SN_UDP, 5000), out = outward(SN_UDP, 5000);
	Sinter__Program__V1__Stop *other = add_stop(f, 1);

	other->out = BACK;
	other->back = OUT;
	watch(f, other, false);
	load(f);
	for (uint32_t i = 0; i <= SN_PROBES_LOST_CLOSED; i++) {
		tick(f, 10 * MS);
		assert_int_equal(f->n_out, 2);
		f->out[0] = f->out[f->out[1].iface == BACK]; /* the other way's comes back alone */
		f->n_out = 1;
		send_back(f, OUT);
	}
	forget(f);
	send_packet(f, &in);
	assert_sent(f, BACK);
	forget(f);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_CHAIN);
}

static void the_next_program_knows_who_is_down(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	lose(f, SN_PROBES_LOST_CLOSED);
	load(f);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_CHAIN);
}

static void a_function_that_was_not_watched_begins_as_one_that_is_up(void **state)
{
	struct fixture *f = *state;

	lose(f, SN_PROBES_LOST_CLOSED);
	leg_of(f, 0)->stop->down_case = SINTER__PROGRAM__V1__STOP__DOWN__NOT_SET;
	load(f);
	for (uint32_t i = 0; i < 3; i++) {
		tick(f, SN_PROBES_PAST_NS / 2);
		assert_int_equal(f->n_out, 0);
		assert_is_up(f);
	}
	watch(f, leg_of(f, 0)->stop, false);
	load(f);
	probe(f, false);
	assert_is_up(f);
}

static void a_probe_that_the_port_does_not_take_is_no_lost_packet(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->tx_limit = 0;
	tick(f, 10 * MS);
	assert_int_equal(f->n_out, 0);
	assert_int_equal(f->n_drops, 0);
	assert_int_equal(atomic_load(&wire(f, BACK)->probes), 0);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_TX_FULL);
}

static void a_packet_that_a_wire_does_not_take_is_lost_under_its_functions_name(void **state)
{
	static char *reasons[] = {(char *)"ips/down", (char *)"ips/full"};
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg->n_reasons = 2;
	f->msg->reasons = reasons;
	f->msg->interfaces[OUT]->full = 2;
	load(f);
	f->tx_limit = 0;
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_CHAIN + 1);
	assert_int_equal(sn_program_reason_kind(f->program, SN_REASON_CHAIN + 1), SN_REASON_LOSS);
	assert_int_equal(sn_program_reason_kind(f->program, SN_REASON_CHAIN), SN_REASON_DECISION);
	assert_int_equal(sn_program_reason_kind(f->program, SN_REASON_CHAIN + 2), 0);
}

static void without_a_buffer_no_probe_is_answered(void **state)
{
	struct fixture *f = *state;
	struct rte_mempool *pool = rte_mempool_lookup("test");
	struct rte_mbuf *all[2048];
	uint32_t n = 0;

	while (n < 2048 && (all[n] = rte_pktmbuf_alloc(pool)))
		n++;
	tick(f, 10 * MS);
	assert_int_equal(f->n_out, 0);
	assert_int_equal(atomic_load(&wire(f, BACK)->probes), 0);
	rte_pktmbuf_free_bulk(all, n);
	probe(f, true);
}

#define CLOSED_TEST(test) cmocka_unit_test_setup_teardown(test, open_closed, close_fixture)
#define OPEN_TEST(test)	  cmocka_unit_test_setup_teardown(test, open_bypassed, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLOSED_TEST(a_probe_leaves_every_ten_milliseconds_as_packets_do),
		CLOSED_TEST(a_probe_that_comes_back_is_no_packet_of_the_chain),
		CLOSED_TEST(packets_beside_a_probe_go_on),
		CLOSED_TEST(packets_are_dropped_while_a_closed_function_is_silent),
		OPEN_TEST(an_open_one_is_down_within_a_tenth_of_a_second),
		OPEN_TEST(packets_go_on_at_once_while_an_open_function_is_silent),
		CLOSED_TEST(a_function_is_up_again_after_three_probes),
		OPEN_TEST(a_slow_function_is_up),
		OPEN_TEST(who_loses_one_probe_in_two_is_up),
		OPEN_TEST(one_that_gives_packets_back_is_up_though_it_loses_probes),
		OPEN_TEST(packets_that_it_had_kept_do_not_make_it_up_again),
		OPEN_TEST(packets_of_its_own_do_not_show_that_it_is_up),
		OPEN_TEST(packets_that_go_past_it_do_not_make_it_up),
		OPEN_TEST(an_engine_that_stood_still_takes_nobody_for_down),
		CLOSED_TEST(a_forged_probe_is_no_answer),
		CLOSED_TEST(a_probe_that_comes_back_by_the_side_it_left_by_is_no_answer),
		CLOSED_TEST(both_ways_are_watched_apart),
		CLOSED_TEST(the_next_program_knows_who_is_down),
		CLOSED_TEST(a_function_that_was_not_watched_begins_as_one_that_is_up),
		CLOSED_TEST(a_probe_that_the_port_does_not_take_is_no_lost_packet),
		CLOSED_TEST(a_packet_that_a_wire_does_not_take_is_lost_under_its_functions_name),
		CLOSED_TEST(without_a_buffer_no_probe_is_answered),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
