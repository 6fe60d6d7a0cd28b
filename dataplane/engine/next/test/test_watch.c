/* SPDX-License-Identifier: Apache-2.0 */
/* A host that is a function of the chain, and is asked whether it is there. */
#include "arp.h"

#include "sn_parse.h"
#include "sn_watch.h"

/* Traffic for a time, and what became of it. */
struct seen {
	uint32_t unicasts, broadcasts; /* questions */
	uint32_t to_host, to_next, drops;
	uint64_t down_at, up_at, last_to_host; /* since the beginning; 0: never */
};

enum host {
	ANSWERS,
	GONE,
	ELSEWHERE, /* another device has the address */
};

static const struct sn_watch *gateway(const struct fixture *f)
{
	return sn_watches_of(f->watches, 1);
}

static bool is_down(const struct fixture *f)
{
	return atomic_load(&gateway(f)->down);
}

static void watched_gateway(struct fixture *f)
{
	f->msg->interfaces[1]->watched = GATEWAY2;
	unknown_gateway(f);
}

static void reply_from(struct fixture *f, const uint8_t *mac)
{
	uint8_t frame[ARP_FRAME];

	send_frame(f, 1, frame,
		   write_arp(frame, OUTSIDE_MAC, mac, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE));
}

static void count(struct fixture *f, struct seen *s, uint64_t at, bool *asks_host, bool *asks_all)
{
	s->drops += f->n_drops;
	for (uint32_t i = 0; i < f->n_out; i++) {
		const uint8_t *to = f->out[i].data;
		bool host = !memcmp(to, HOST_MAC, 6), all = !memcmp(to, ALL_MAC, 6);

		if (asked(&f->out[i])) {
			*asks_host |= host;
			*asks_all |= all;
			s->unicasts += host;
			s->broadcasts += all;
			continue;
		}
		s->to_host += host;
		s->to_next += !memcmp(to, NEXT_MAC, 6);
		if (host)
			s->last_to_host = at;
	}
}

/* Every 100 ms a tick, and with packets one of these. */
static struct seen pass(struct fixture *f, uint64_t time, enum host host, bool packets)
{
	struct packet p = outward(SN_UDP, 5000);
	struct seen s = {0};

	for (uint64_t at = SECOND / 10; at <= time; at += SECOND / 10) {
		bool asks_host = false, asks_all = false;

		tick(f, SECOND / 10);
		count(f, &s, at, &asks_host, &asks_all);
		if (packets) {
			send_packet(f, &p);
			count(f, &s, at, &asks_host, &asks_all);
		}
		if (host == ANSWERS && (asks_host || asks_all))
			reply_from(f, HOST_MAC);
		else if (host == ELSEWHERE && asks_all)
			reply_from(f, NEXT_MAC);
		if (!s.down_at && is_down(f))
			s.down_at = at;
		if (!s.up_at && !is_down(f))
			s.up_at = at;
	}
	return s;
}

static void it_is_asked_every_second_where_it_is(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watched_gateway(f);
	s = pass(f, 600 * SECOND, ANSWERS, false);
	assert_in_range(s.unicasts, 590, 600);
	assert_int_equal(s.broadcasts, 1); /* nobody knew where */
	assert_int_equal(s.down_at, 0);
	assert_in_range(atomic_load(&gateway(f)->questions), 595, 601);
	assert_in_range(atomic_load(&gateway(f)->answers), 595, 601);
	assert_true(knows(f, GATEWAY2));
}

static void without_a_watch_nobody_is_asked(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	unknown_gateway(f);
	s = pass(f, 10 * SECOND, ANSWERS, false);
	assert_int_equal(s.unicasts + s.broadcasts, 0);
	assert_int_equal(atomic_load(&gateway(f)->questions), 0);
}

static void one_that_never_answers_is_down_after_four_seconds(void **state)
{
	struct fixture *f = *state;

	watched_gateway(f);
	assert_in_range(pass(f, 10 * SECOND, GONE, false).down_at, 2 * SECOND, 4 * SECOND);
}

/* A neighbour without a watch is sent packets for up to a minute, which nobody counts. */
static void packets_for_one_that_is_gone_are_dropped_after_four_seconds(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watched_gateway(f);
	s = pass(f, 60 * SECOND, ANSWERS, true);
	assert_in_range(s.to_host, 590, 600);
	assert_int_equal(s.drops, 0);
	s = pass(f, 60 * SECOND, GONE, true);
	assert_in_range(s.down_at, 2 * SECOND, 4 * SECOND);
	assert_in_range(s.last_to_host, 2 * SECOND, s.down_at);
	assert_in_range(s.drops, 500, 600);
	s = pass(f, 20 * SECOND, ANSWERS, true);
	assert_in_range(s.up_at, SECOND / 10, 2 * SECOND);
	assert_in_range(s.to_host, 190, 240); /* with some that waited */
}

static void a_device_that_takes_its_place_is_found_without_an_announcement(void **state)
{
	struct fixture *f = *state;
	struct seen s;

	watched_gateway(f);
	(void)pass(f, 60 * SECOND, ANSWERS, true);
	s = pass(f, 10 * SECOND, ELSEWHERE, true);
	assert_in_range(s.last_to_host, SECOND, 3 * SECOND);
	assert_in_range(s.to_next, 70, 90);
	assert_int_equal(s.down_at, 0);
	assert_int_equal(s.drops, 0);
}

static void a_program_with_another_host_knows_nothing_of_it_yet(void **state)
{
	struct fixture *f = *state;

	watched_gateway(f);
	(void)pass(f, 10 * SECOND, GONE, true);
	assert_true(is_down(f));
	load(f); /* the same */
	(void)pass(f, 2 * SECOND, GONE, true);
	assert_true(is_down(f));
	f->msg->interfaces[1]->watched = GATEWAY2 + 1;
	load(f);
	(void)pass(f, 2 * SECOND, GONE, true);
	assert_false(is_down(f));
	(void)pass(f, 3 * SECOND, GONE, true);
	assert_true(is_down(f));
	f->msg->interfaces[1]->watched = 0;
	load(f);
	(void)pass(f, 20 * SECOND, ANSWERS, true);
	f->msg->interfaces[1]->watched = GATEWAY2 + 1;
	load(f);
	(void)pass(f, SECOND, GONE, true);
	assert_false(is_down(f));
}

static void a_watch_of_what_is_no_other_host_of_the_network_is_refused(void **state)
{
	static const struct {
		uint32_t address;
		const char *want;
	} cases[] = {
		{SN_SAMPLE_OUTSIDE, "want another host of the interface's network"},
		{SN_SAMPLE_OUTSIDE ^ 0x01000000, "want another host of the interface's network"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		struct sn_program *p;

		f->msg->interfaces[1]->watched = cases[i].address;
		p = sn_program_create(f->msg, NULL, &f->err);
		assert_null(p);
		assert_non_null(strstr(f->err.text, cases[i].want));
	}
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(it_is_asked_every_second_where_it_is),
		WITH_FIXTURE(without_a_watch_nobody_is_asked),
		WITH_FIXTURE(one_that_never_answers_is_down_after_four_seconds),
		WITH_FIXTURE(packets_for_one_that_is_gone_are_dropped_after_four_seconds),
		WITH_FIXTURE(a_device_that_takes_its_place_is_found_without_an_announcement),
		WITH_FIXTURE(a_program_with_another_host_knows_nothing_of_it_yet),
		WITH_FIXTURE(a_watch_of_what_is_no_other_host_of_the_network_is_refused),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
