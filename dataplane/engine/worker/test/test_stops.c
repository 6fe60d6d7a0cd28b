/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that leave for a function outside of the program, and come back. */

#include "arp.h"
#include "stop_fixture.h"

#include "sn_continuation.h"
#include "sn_parse.h"
#include "sn_tag.h"

static const uint8_t back_mac[6] = {0x02, 0x73, 0x6e, 0, 0, BACK};

static uint64_t rx(const struct fixture *f, uint32_t iface)
{
	return sn_worker_stats(f->worker)->ports[iface].rx.packets;
}

/* ---- out and back ---- */

static void a_packet_leaves_as_it_is_then_from_its_continuation_to_the_other_side(void **state)
{
	struct fixture *f = *state;
	const uint8_t *frame;
	struct sn_tag tag;

	lower_ttl(f, 0);
	note_hop(f, 0, OTHER);
	load(f);
	send_out(f, 5000);
	frame = f->out[0].data;
	assert_memory_equal(frame, back_mac, 6);
	assert_true(sn_tag_read(frame + 6, &tag));
	assert_int_equal(tag.nonce, f->program->nonce);
	assert_int_equal(tag.shard, 0);
	assert_int_equal(tag.continuation, sn_continuation_of(f->program, 0, OTHER, 0));
	assert_int_equal(ip_of(frame)[8], 63);
	assert_int_equal(sn_worker_stats(f->worker)->ports[OUT].tx.packets, 1);
}

static void it_goes_on_with_its_next_hop(void **state)
{
	struct fixture *f = *state;
	const uint8_t *frame;

	lower_ttl(f, BEHIND);
	note_hop(f, 0, OTHER);
	load(f);
	send_out(f, 5000);
	send_back(f, BACK);
	frame = assert_sent(f, 1);
	assert_memory_equal(frame, other_mac, 6);
	assert_memory_equal(frame + 6, OUTSIDE_MAC, 6);
	assert_int_equal(ip_of(frame)[8], 63);
	assert_int_equal(sport_of(frame), 5000);
	assert_int_equal(rx(f, BACK), 1);
	assert_int_equal(sn_worker_stats(f->worker)->packets, 2);
}

static void without_a_next_hop_it_goes_to_the_gateway(void **state)
{
	struct fixture *f = *state;

	load(f);
	send_out(f, 5000);
	send_back(f, BACK);
	assert_memory_equal(assert_sent(f, 1), gateway_mac, 6);
}

/* The function may have answered, or changed it. */
static void a_packet_is_classified_behind_the_stop_as_it_came_back(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__Segment *behind = f->msg->segments[BEHIND];

	behind->table = sn_sample_napt(&f->arena)->segments[0]->table; /* port 9 is of class 1 */
	behind->n_classes = 2;
	behind->classes =
		(Sinter__Program__V1__Class *[]){behind->classes[0], f->msg->segments[2]->classes[0]};
	load(f);
	send_out(f, 5000);
	sn_store16(l4_of(f->out[0].data) + 2, 9);
	send_back(f, BACK);
	assert_dropped(f, SN_REASON_LOCAL);
}

static void low_ttls_go_by_their_table_behind_a_stop(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__Segment *behind = f->msg->segments[BEHIND];
	struct packet out = outward(SN_UDP, 5000);

	behind->low = behind->table;
	behind->ttl_floor = 2;
	behind->table = f->msg->segments[2]->table;
	load(f);
	out.ttl = 1;
	send_packet(f, &out);
	send_back(f, BACK);
	assert_sent(f, 1);
}

static void a_packet_may_make_several_stops(void **state)
{
	struct fixture *f = *state;

	lower_ttl(f, 0);
	lower_ttl(f, BEHIND);
	add_stop(f, BEHIND);
	load(f);
	send_out(f, 5000);
	send_back(f, BACK);
	assert_int_equal(ip_of(assert_sent(f, OUT))[8], 62);
	send_back(f, BACK);
	assert_int_equal(ip_of(assert_sent(f, 1))[8], 62);
}

static void vlan_tags_stay(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg = sn_sample_wire(&f->arena);
	sn_sample_vlan(&f->arena, f->msg, 5);
	add_stop(f, 0);
	load(f);
	out.tag = 0x2005;
	send_packet(f, &out);
	assert_int_equal(sn_load32(assert_sent(f, OUT) + 12), 0x81002005);
	send_back(f, BACK);
	assert_int_equal(sn_load32(assert_sent(f, 1) + 12), 0x81002005);
	assert_memory_equal(f->out[0].data, gateway_mac, 6);
}

static void a_tag_is_put_on_and_taken_off_before_a_stop(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__SetField set = SINTER__PROGRAM__V1__SET_FIELD__INIT;
	struct packet out = outward(SN_UDP, 5000);

	f->msg = sn_sample_wire(&f->arena);
	sn_sample_vlan(&f->arena, f->msg, 5);
	add_stop(f, 0);
	add_op(f, 0, SINTER__PROGRAM__V1__OP__OP_SET)->set = &set;
	set.value = 5;
	load(f);
	send_packet(f, &out);
	assert_int_equal(sn_load32(assert_sent(f, OUT) + 12), 0x81000005);
	assert_memory_equal(f->out[0].data, back_mac, 6);
	send_back(f, BACK);
	assert_int_equal(sn_load32(assert_sent(f, 1) + 12), 0x81000005);
	set.value = SN_VLAN_ABSENT;
	load(f);
	out.tag = 5;
	send_packet(f, &out);
	assert_int_equal(sn_load16(assert_sent(f, OUT) + 12), 0x0800);
	assert_memory_equal(f->out[0].data, back_mac, 6);
	send_back(f, BACK);
	assert_int_equal(sn_load16(assert_sent(f, 1) + 12), 0x0800);
}

static void a_packet_too_big_for_the_wire_is_dropped_without_an_answer(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	f->msg->interfaces[OUT]->mtu = 100;
	load(f);
	out.payload_len = 72;
	out.frag = 0x4000;
	send_packet(f, &out);
	assert_sent(f, OUT);
	out.payload_len = 73;
	for (uint32_t df = 0; df < 2; df++) {
		out.frag = df ? 0x4000 : 0;
		send_packet(f, &out);
		assert_dropped(f, SN_REASON_TOO_BIG);
	}
}

/* ---- frames that do not go on ---- */

static void a_frame_without_a_continuation_goes_by_its_interface(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	load(f);
	p.iface = BACK;
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_LOCAL);
}

static void a_frame_of_the_program_before_goes_on_with_its_next_hop(void **state)
{
	struct fixture *f = *state;

	note_hop(f, 0, OTHER);
	load(f);
	send_out(f, 5000);
	leg_of(f, 0)->n_ops--; /* packets have no next hop from now on */
	lower_ttl(f, BEHIND);
	load(f);
	send_back(f, BACK);
	assert_memory_equal(assert_sent(f, 1), other_mac, 6);
	assert_int_equal(ip_of(f->out[0].data)[8], 63); /* as the new program has it */
}

/* Its next hop is none of the new program's. */
static void a_frame_of_the_program_before_may_make_a_further_stop(void **state)
{
	struct fixture *f = *state;

	note_hop(f, 0, OTHER);
	load(f);
	send_out(f, 5000);
	leg_of(f, 0)->n_ops--;
	add_stop(f, BEHIND);
	load(f);
	send_back(f, BACK);
	assert_sent(f, OUT);
	send_back(f, BACK);
	assert_memory_equal(assert_sent(f, 1), gateway_mac, 6);
}

static void a_frame_of_long_ago_goes_by_its_interface(void **state)
{
	struct fixture *f = *state;

	load(f);
	send_out(f, 5000);
	for (int i = 0; i <= SN_BEFORE_MAX; i++)
		load(f);
	send_back(f, BACK);
	assert_dropped(f, SN_REASON_LOCAL);
}

static void a_frame_that_comes_by_another_wire_goes_by_that(void **state)
{
	struct fixture *f = *state;

	load(f);
	send_out(f, 5000);
	f->out[0].data[5] = OUT;
	send_back(f, OUT);
	assert_dropped(f, SN_REASON_LOCAL);
}

/* It would go on by a wire: there is a station with an address that looks like a tag. */
static void a_tag_is_nothing_to_an_interface_that_is_no_wire(void **state)
{
	struct fixture *f = *state;

	load(f);
	send_out(f, 5000);
	f->out[0].data[5] = 0;
	send_back(f, 0);
	assert_sent(f, OUT);
}

static void entry_checks_what_comes_back(void **state)
{
	struct fixture *f = *state;
	uint8_t frame[FRAME_MAX] = {0};

	load(f);
	send_out(f, 5000);
	ip_of(f->out[0].data)[10] ^= 1;
	send_back(f, BACK);
	assert_dropped(f, SN_REASON_BAD_CHECKSUM);
	send_out(f, 5000);
	f->out[0].data[5] = 9;
	send_back(f, BACK);
	assert_dropped(f, SN_REASON_OTHER_HOST);
	for (uint32_t len = 1; len <= SN_ETHER_LEN; len++) {
		memcpy(frame, f->out[0].data, len);
		frame[5] = BACK;
		send_frame(f, BACK, frame, len);
		assert_dropped(f, SN_REASON_TRUNCATED);
	}
	assert_int_equal(rx(f, BACK), 2 + SN_ETHER_LEN);
}

static void arp_on_a_wire_is_neither_learnt_nor_answered(void **state)
{
	struct fixture *f = *state;
	uint8_t frame[ARP_FRAME];
	uint32_t len =
		write_arp(frame, ALL_MAC, HOST_MAC, 0, ARP_REQUEST, SN_SAMPLE_BACK + 1, SN_SAMPLE_BACK);

	load(f);
	send_frame(f, BACK, frame, len);
	assert_dropped(f, SN_REASON_ARP);
	assert_false(knows(f, SN_SAMPLE_BACK + 1));
	f->msg->interfaces[BACK]->wire = false; /* it would be, otherwise */
	leg_of(f, 0)->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT;
	leg_of(f, 0)->output = 1;
	load(f);
	send_frame(f, BACK, frame, len);
	assert_int_equal(f->n_out, 1);
	assert_true(knows(f, SN_SAMPLE_BACK + 1));
}

static void nothing_is_announced_on_a_wire(void **state)
{
	struct fixture *f = *state;
	uint32_t seen = 0;

	load(f);
	sn_worker_announce(f->worker, UINT64_MAX);
	tick(f, SECOND);
	for (uint32_t i = 0; i < f->n_out; i++)
		seen |= 1u << f->out[i].iface;
	assert_int_equal(seen, 1u << 0 | 1u << 1);
}

/* ---- bursts ---- */

/* Also of those from the other interface, whose continuation is another one. */
static void packets_of_several_continuations_keep_their_order(void **state)
{
	struct fixture *f = *state;
	struct packet burst[200];
	struct sent *from_b;

	note_hop(f, 0, OTHER);
	*leg_of(f, 1) = *leg_of(f, 0);
	leg_of(f, 1)->n_ops = 0;
	load(f);
	for (uint16_t i = 0; i < 200; i++) {
		burst[i] = outward(SN_UDP, i);
		burst[i].iface = i >= 100;
	}
	send_burst(f, burst, 100);
	assert_int_equal(f->n_out, 100);
	from_b = malloc(100 * sizeof(*from_b));
	assert_non_null(from_b);
	memcpy(from_b, f->out, 100 * sizeof(*from_b));
	send_burst(f, burst + 100, 100);
	assert_int_equal(f->n_out, 100);
	/* One from each interface in turn; then 100 from one, which is more than a burst. */
	for (uint32_t i = 0; i < 200; i++)
		f->out[200 + i] = i % 2 ? f->out[i / 2] : from_b[i / 2];
	memcpy(f->out + 400, from_b, 100 * sizeof(*from_b));
	memmove(f->out, f->out + 200, 300 * sizeof(*from_b));
	free(from_b);
	f->n_out = 300;
	send_back(f, BACK);
	assert_int_equal(f->n_drops, 0);
	assert_int_equal(f->n_out, 300);
	for (uint32_t i = 0; i < 300; i++) {
		const struct sent *s = &f->out[i];
		bool b = i < 200 && i % 2;

		assert_int_equal(s->iface, 1);
		assert_int_equal(s->source, i);
		assert_int_equal(sport_of(s->data), i < 200 ? i / 2 + 100 * b : i - 200);
		assert_memory_equal(s->data, b ? gateway_mac : other_mac, 6);
	}
	assert_int_equal(rx(f, BACK), 300);
	assert_int_equal(sn_worker_stats(f->worker)->packets, 500);
}

static void frames_with_and_without_a_continuation_may_come_in_one_burst(void **state)
{
	struct fixture *f = *state;
	struct packet burst[3];

	load(f);
	for (uint16_t i = 0; i < 3; i++)
		burst[i] = outward(SN_UDP, i);
	send_burst(f, burst, 3);
	f->out[1].data[6] = 0x06;
	send_back(f, BACK);
	assert_int_equal(f->n_out, 2);
	assert_int_equal(f->out[0].source, 0);
	assert_int_equal(f->out[1].source, 2);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].source, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_LOCAL);
}

#define STOP_TEST(test) cmocka_unit_test_setup_teardown(test, open_stop, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STOP_TEST(a_packet_leaves_as_it_is_then_from_its_continuation_to_the_other_side),
		STOP_TEST(it_goes_on_with_its_next_hop),
		STOP_TEST(without_a_next_hop_it_goes_to_the_gateway),
		STOP_TEST(a_packet_is_classified_behind_the_stop_as_it_came_back),
		STOP_TEST(low_ttls_go_by_their_table_behind_a_stop),
		STOP_TEST(a_packet_may_make_several_stops),
		STOP_TEST(vlan_tags_stay),
		STOP_TEST(a_tag_is_put_on_and_taken_off_before_a_stop),
		STOP_TEST(a_packet_too_big_for_the_wire_is_dropped_without_an_answer),
		STOP_TEST(a_frame_without_a_continuation_goes_by_its_interface),
		STOP_TEST(a_frame_of_the_program_before_goes_on_with_its_next_hop),
		STOP_TEST(a_frame_of_the_program_before_may_make_a_further_stop),
		STOP_TEST(a_frame_of_long_ago_goes_by_its_interface),
		STOP_TEST(a_frame_that_comes_by_another_wire_goes_by_that),
		STOP_TEST(a_tag_is_nothing_to_an_interface_that_is_no_wire),
		STOP_TEST(entry_checks_what_comes_back),
		STOP_TEST(arp_on_a_wire_is_neither_learnt_nor_answered),
		STOP_TEST(nothing_is_announced_on_a_wire),
		STOP_TEST(packets_of_several_continuations_keep_their_order),
		STOP_TEST(frames_with_and_without_a_continuation_may_come_in_one_burst),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
