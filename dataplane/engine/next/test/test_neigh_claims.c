/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever is on a network can say that an address is its own. Who had it is asked first. */
#include "arp.h"

#include "sn_parse.h"

#define ROUND (SECOND / 10)

/* A frame of another host, which says that it has the gateway's address. */
static void claim(struct fixture *f, uint16_t op, uint32_t target)
{
	uint8_t frame[ARP_FRAME];

	send_frame(
		f, 1, frame,
		write_arp(frame, op == ARP_REPLY ? OUTSIDE_MAC : ALL_MAC, NEXT_MAC, 0, op, GATEWAY2, target));
}

static void assert_sent_to(struct fixture *f, const uint8_t *mac)
{
	struct packet p = outward(SN_UDP, 5000);

	for (int i = 0; i < 2; i++) { /* decided, and by the cache */
		send_packet(f, &p);
		assert_memory_equal(assert_sent(f, 1), mac, 6);
	}
}

static const struct {
	uint16_t op;
	uint32_t target;
} claims[] = {
	{ARP_REQUEST, GATEWAY2},	       /* an announcement */
	{ARP_REQUEST, SN_SAMPLE_OUTSIDE + 77}, /* a question to another host */
	{ARP_REPLY, SN_SAMPLE_OUTSIDE},	       /* an answer that nobody asked for */
};

static void who_has_an_address_keeps_it_from_another_that_claims_it(void **state)
{
	struct fixture *f = *state;

	unknown_gateway(f);
	gateway_answers(f);
	assert_sent_to(f, HOST_MAC);
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		claim(f, claims[i].op, claims[i].target);
		assert_int_equal(f->n_out, 1);
		assert_asks(&f->out[0], HOST_MAC, 0);
		assert_sent_to(f, HOST_MAC);
		tick(f, ROUND); /* a question may get lost */
		assert_asks(&f->out[0], HOST_MAC, 0);
		gateway_answers(f);
		assert_sent_to(f, HOST_MAC);
		for (int j = 0; j < 9;
		     j++) { /* not again at once, or a flood of claims would be one of questions */
			claim(f, claims[i].op, claims[i].target);
			assert_int_equal(f->n_out, 0);
			tick(f, ROUND);
			assert_int_equal(f->n_out, 0);
		}
		assert_sent_to(f, HOST_MAC);
		tick(f, 2 * ROUND);
	}
}

static void who_claims_an_address_gets_it_if_the_one_that_had_it_is_silent(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		f->msg->interfaces[1]->name =
			(char *)(i % 2 ? "other" : "outside"); /* forgets what was learnt */
		unknown_gateway(f);
		gateway_answers(f);
		assert_sent_to(f, HOST_MAC);
		claim(f, claims[i].op, claims[i].target);
		assert_asks(&f->out[0], HOST_MAC, 0);
		for (int j = 0; j < 2; j++) {
			claim(f, claims[i].op, claims[i].target); /* as hosts repeat announcements */
			assert_int_equal(f->n_out, 0);
			tick(f, ROUND);
			assert_int_equal(f->n_out, 1);
			assert_asks(&f->out[0], HOST_MAC, 0);
			assert_sent_to(f, HOST_MAC);
		}
		tick(f, ROUND);
		assert_int_equal(f->n_out, 0);
		assert_sent_to(f, NEXT_MAC);
	}
}

static void nobody_claims_what_is_configured_or_not_known(void **state)
{
	struct fixture *f = *state;
	uint8_t frame[ARP_FRAME];

	load(f);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t address = i ? SN_SAMPLE_OUTSIDE + 78 : SN_SAMPLE_GATEWAY;

		send_frame(f, 1, frame,
			   write_arp(frame, ALL_MAC, NEXT_MAC, 0, ARP_REQUEST, address, address));
		assert_int_equal(f->n_out, 0);
		tick(f, SECOND);
		assert_int_equal(f->n_out, 0);
	}
	assert_false(knows(f, SN_SAMPLE_OUTSIDE + 78));
	assert_memory_not_equal(entry_of(f, SN_SAMPLE_GATEWAY).mac, NEXT_MAC, 6);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(who_has_an_address_keeps_it_from_another_that_claims_it),
		WITH_FIXTURE(who_claims_an_address_gets_it_if_the_one_that_had_it_is_silent),
		WITH_FIXTURE(nobody_claims_what_is_configured_or_not_known),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
