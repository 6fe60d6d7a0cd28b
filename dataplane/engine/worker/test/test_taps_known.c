/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of packets whose flow is known: made by its decision, and as the slow path makes them. */

#include "stop_fixture.h"

static uint64_t hits(const struct fixture *f)
{
	return sn_worker_stats(f->worker)->cache_hits;
}

/* A segment's first class has a leg more, before the other one or behind it, whose packets leave as copies by
 * the first wire. With what the other leg has done before, unless it is early. */
static void add_tap(struct fixture *f, uint32_t segment, bool early, bool first)
{
	Sinter__Program__V1__Tap *tap = sn_arena_alloc(&f->arena, sizeof(*tap));
	leg_msg *leg;

	add_leg(f, segment, 0);
	leg = f->msg->segments[segment]->classes[0]->legs[first ? 0 : 1];
	sinter__program__v1__tap__init(tap);
	tap->out = OUT;
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_TAP;
	leg->tap = tap;
	if (early)
		leg->n_ops = 0;
}

/* The sample NAPT with the wires of a stop, at which no packet comes. */
static int open_napt(void **state)
{
	struct fixture *f;
	leg_msg leg;

	open_fixture(state);
	f = *state;
	f->msg = sn_sample_napt(&f->arena);
	leg = *leg_of(f, 0);
	add_stop(f, 0);
	*leg_of(f, 0) = leg;
	return 0;
}

#define ENOUGH 5 /* packets until a decision is kept, and some that go by it */

/* The copy and the packet that left, each by its interface. */
struct pair {
	struct sent copy, packet;
};

static struct pair pair_of(struct fixture *f, const struct packet *p)
{
	struct pair both = {0};

	send_packet(f, p);
	assert_int_equal(f->n_out, 2);
	assert_int_equal(f->n_drops, 0);
	for (uint32_t i = 0; i < 2; i++)
		*(f->out[i].iface == OUT ? &both.copy : &both.packet) = f->out[i];
	assert_int_equal(both.copy.iface, OUT);
	assert_int_not_equal(both.packet.iface, OUT);
	assert_checksums(both.copy.data, both.copy.len);
	assert_checksums(both.packet.data, both.packet.len);
	return both;
}

static void assert_same(const struct sent *a, const struct sent *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len);
}

/* Each of many equal packets leaves as the first one did, which nobody knew, and so do their copies. */
static struct pair assert_all_as_the_first(struct fixture *f, const struct packet *p, bool known)
{
	struct pair first = pair_of(f, p);
	uint64_t before = hits(f);

	for (uint32_t i = 0; i < ENOUGH; i++) {
		struct pair next = pair_of(f, p);

		assert_same(&next.copy, &first.copy);
		assert_same(&next.packet, &first.packet);
	}
	if (known)
		assert_in_range(hits(f) - before, ENOUGH - 2, ENOUGH);
	else
		assert_int_equal(hits(f), before);
	return first;
}

/* Packets of all protocols leave by a NAPT, and are copied before it or behind it. */
static void assert_copied(struct fixture *f, bool before)
{
	static const uint8_t protocols[] = {SN_UDP, SN_TCP, SN_ICMP};

	add_tap(f, 0, before, false);
	load(f);
	for (size_t i = 0; i < RTE_DIM(protocols); i++) {
		struct packet out = outward(protocols[i], 5000);
		struct pair both;

		out.type = 8;
		both = assert_all_as_the_first(f, &out, true);
		assert_int_equal(src_of(both.packet.data), SN_SAMPLE_POOL);
		if (before)
			assert_int_equal(src_of(both.copy.data), out.src);
		else
			assert_memory_equal(both.copy.data + 14, both.packet.data + 14, both.packet.len - 14);
	}
}

static void a_copy_before_a_napt_is_the_packet_as_it_came(void **state)
{
	assert_copied(*state, true);
}

static void a_copy_behind_a_napt_is_the_packet_as_it_leaves(void **state)
{
	assert_copied(*state, false);
}

static void a_copy_has_the_ttl_and_the_dscp_of_its_place(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000);
	struct pair both;
	Sinter__Program__V1__SetField *set = sn_arena_alloc(&f->arena, sizeof(*set));

	out.ttl = 10;
	lower_ttl(f, 0);
	add_tap(f, 0, false, true); /* the copy's leg ends here; the packet's goes on */
	sinter__program__v1__set_field__init(set);
	set->field = SINTER__PROGRAM__V1__FIELD__DSCP;
	set->value = 46;
	add_op(f, 0, SINTER__PROGRAM__V1__OP__OP_SET)->set = set;
	load(f);
	both = assert_all_as_the_first(f, &out, true);
	assert_int_equal(ip_of(both.copy.data)[8], 8); /* the sample lowers it, too */
	assert_int_equal(ip_of(both.copy.data)[1] >> 2, 46);
	assert_int_equal(ip_of(both.packet.data)[1] >> 2, 0);
	/* And of a packet of the flow that has options. */
	out.options = 2;
	(void)assert_all_as_the_first(f, &out, true);
}

static void a_copy_that_is_neither_leaves_its_packets_unknown(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	Sinter__Program__V1__SetField *set = sn_arena_alloc(&f->arena, sizeof(*set));
	struct pair both;

	add_tap(f, 0, true, true);
	sinter__program__v1__set_field__init(set);
	set->field = SINTER__PROGRAM__V1__FIELD__DST;
	set->value = 0xc6336407;
	add_op(f, 0, SINTER__PROGRAM__V1__OP__OP_SET)->set = set;
	load(f);
	both = assert_all_as_the_first(f, &out, false);
	assert_int_equal(dst_of(both.copy.data), 0xc6336407);
}

static void copies_of_a_known_flow_that_are_too_big_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	add_tap(f, 0, true, true);
	f->msg->interfaces[OUT]->mtu = 100;
	load(f);
	(void)assert_all_as_the_first(f, &out, true);
	out.payload_len = 200;
	for (uint32_t i = 0; i < ENOUGH; i++) {
		uint64_t before = hits(f);

		send_packet(f, &out);
		assert_int_equal(hits(f), before + 1);
		assert_int_equal(f->n_out, 1);
		assert_int_not_equal(f->out[0].iface, OUT);
		assert_int_equal(f->n_drops, 1);
		assert_int_equal(f->drops[0].reason, SN_REASON_TOO_BIG);
	}
}

static void replies_are_copied_as_well(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;
	struct pair both;

	add_tap(f, 0, true, false);
	add_tap(f, 1, false, true);
	load(f);
	both = assert_all_as_the_first(f, &out, true);
	in = inward(SN_UDP, sport_of(both.packet.data));
	both = assert_all_as_the_first(f, &in, true);
	assert_int_equal(dst_of(both.copy.data), SN_SAMPLE_POOL); /* the segment is before the NAPT */
	assert_int_equal(dst_of(both.packet.data), out.src);
}

#define NAPT_TEST(test) cmocka_unit_test_setup_teardown(test, open_napt, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAPT_TEST(a_copy_before_a_napt_is_the_packet_as_it_came),
		NAPT_TEST(a_copy_behind_a_napt_is_the_packet_as_it_leaves),
		NAPT_TEST(a_copy_has_the_ttl_and_the_dscp_of_its_place),
		NAPT_TEST(a_copy_that_is_neither_leaves_its_packets_unknown),
		NAPT_TEST(copies_of_a_known_flow_that_are_too_big_are_dropped),
		NAPT_TEST(replies_are_copied_as_well),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
