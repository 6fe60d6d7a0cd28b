/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of packets that leave for a function outside of the program, which gives nothing back. */

#include "stop_fixture.h"

static const uint8_t tap_mac[6] = {0x0a, 's', 'i', 'n', 't', 'r'};
static const uint8_t out_mac[6] = {0x02, 0x73, 0x6e, 0, 0, OUT};

/* The packets of a leg leave by the first wire from now on. */
static void turn_into_tap(struct fixture *f, leg_msg *leg)
{
	Sinter__Program__V1__Tap *tap = sn_arena_alloc(&f->arena, sizeof(*tap));

	sinter__program__v1__tap__init(tap);
	tap->out = OUT;
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_TAP;
	leg->tap = tap;
}

/* The program has the wires of a stop, at which no packet comes. */
static void add_wires(struct fixture *f)
{
	leg_msg leg = *leg_of(f, 0);

	add_stop(f, 0);
	*leg_of(f, 0) = leg;
}

/* Packets that come in by "a" are copied, too. */
static void add_tap(struct fixture *f)
{
	add_wires(f);
	add_leg(f, 0, 0);
	turn_into_tap(f, leg_of(f, 0));
}

/* The sample wire with a tap: packets that come in by "a" are copied to it, and leave by "b" to the gateway.
 */
static int open_tap(void **state)
{
	struct fixture *f;

	open_fixture(state);
	f = *state;
	f->msg = sn_sample_wire(&f->arena);
	add_tap(f);
	return 0;
}

static void a_copy_leaves_and_the_packet_goes_on(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	send_packet(f, &out);
	assert_int_equal(f->n_drops, 0);
	assert_int_equal(f->n_out, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const uint8_t *frame = f->out[i].data;

		assert_int_equal(sport_of(frame), 5000);
		assert_int_equal(ip_of(frame)[8], 64);
		if (f->out[i].iface == 1) {
			assert_memory_equal(frame, gateway_mac, 6);
			continue;
		}
		assert_int_equal(f->out[i].iface, OUT);
		assert_memory_equal(frame, tap_mac, 6);
		assert_memory_equal(frame + 6, out_mac, 6);
	}
	assert_int_not_equal(f->out[0].iface, f->out[1].iface);
}

static void a_copy_that_is_too_big_is_dropped_and_the_packet_goes_on(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg->interfaces[OUT]->mtu = 100;
	load(f);
	out.payload_len = 73;
	for (uint32_t df = 0; df < 2; df++) {
		out.frag = df ? 0x4000 : 0; /* nobody learns of a tap's MTU */
		send_packet(f, &out);
		assert_int_equal(f->n_out, 1);
		assert_int_equal(f->out[0].iface, 1);
		assert_int_equal(f->n_drops, 1);
		assert_int_equal(f->drops[0].reason, SN_REASON_TOO_BIG);
	}
	out.payload_len = 72;
	send_packet(f, &out);
	assert_int_equal(f->n_out, 2);
	assert_int_equal(f->n_drops, 0);
}

static void a_copy_has_the_tag_that_the_packet_has(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg = sn_sample_wire(&f->arena);
	sn_sample_vlan(&f->arena, f->msg, 5);
	add_tap(f);
	load(f);
	out.tag = 0x2005;
	send_packet(f, &out);
	assert_int_equal(f->n_out, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(sn_load32(f->out[i].data + 12), 0x81002005);
}

static void what_the_function_sends_goes_by_the_interface(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	send_packet(f, &out);
	out.iface = OUT;
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_LOCAL);
}

/* A copy is none of the chain's ends: what it met on its way is as if it had been dropped. */
static void a_copy_keeps_no_state(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg = sn_sample_napt(&f->arena);
	add_wires(f);
	load(f);
	send_packet(f, &out);
	assert_sent(f, 1);
	assert_int_equal(sessions(f), 1);

	turn_into_tap(f, leg_of(f, 0));
	load(f);
	out = outward(SN_UDP, 5001);
	send_packet(f, &out);
	assert_int_equal(src_of(assert_sent(f, OUT)), SN_SAMPLE_POOL);
	assert_int_equal(sessions(f), 1);
}

#define TAP_TEST(test) cmocka_unit_test_setup_teardown(test, open_tap, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TAP_TEST(a_copy_leaves_and_the_packet_goes_on),
		TAP_TEST(a_copy_that_is_too_big_is_dropped_and_the_packet_goes_on),
		TAP_TEST(a_copy_has_the_tag_that_the_packet_has),
		TAP_TEST(what_the_function_sends_goes_by_the_interface),
		TAP_TEST(a_copy_keeps_no_state),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
