/* SPDX-License-Identifier: Apache-2.0 */
/* Spot checks of functions outside of the program. */

#include "arp.h"
#include "stop_fixture.h"

#include "sn_parse.h"
#include "sn_rewrite.h"
#include "sn_spot.h"
#include "sn_tag.h"
#include "sn_wires.h"

static int open_checked(void **state)
{
	open_stop(state);
	load(*state);
	return 0;
}

static const struct sn_spots *spots(const struct fixture *f)
{
	return &sn_wires_of(f->wires, BACK)->spots;
}

static bool is_checked(const struct sent *out)
{
	return out->data[6] == SN_SPOT_FIRST;
}

static struct packet outward_from(uint16_t port)
{
	struct packet p = outward(SN_UDP, port);

	p.payload_len = 100;
	return p;
}

/* With a header whose identification is a number. */
static uint32_t write_numbered(const struct packet *p, uint16_t id, uint8_t *frame)
{
	uint32_t len = write_frame(p, frame);
	uint8_t *ip = ip_of(frame);

	sn_store16(ip + 4, id);
	sn_store16(ip + 10, 0);
	sn_store16(ip + 10, sn_sum_afresh(ip, 20));
	return len;
}

/* A frame leaves that is checked. */
static void send_checked_as(struct fixture *f, const struct packet *p, uint16_t id)
{
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_numbered(p, id, frame);

	tick(f, 10 * MS);
	send_frame(f, 0, frame, len);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, OUT);
	assert_true(is_checked(&f->out[0]));
}

static void send_checked(struct fixture *f, const struct packet *p)
{
	send_checked_as(f, p, 0);
}

/* The frame that left comes back as another packet. */
static void come_back_numbered(struct fixture *f, const struct packet *p, uint16_t id)
{
	uint8_t frame[FRAME_MAX], addresses[12];
	uint32_t len = write_numbered(p, id, frame);

	memcpy(addresses, f->out[0].data, 12);
	memcpy(f->out[0].data, frame, len);
	memcpy(f->out[0].data, addresses, 12);
	f->out[0].len = len;
	send_back(f, BACK);
}

static void come_back_as(struct fixture *f, const struct packet *p)
{
	come_back_numbered(f, p, 0);
}

/* These changes were found in one packet, and no others. */
static void assert_changes(const struct fixture *f, uint32_t changes)
{
	for (uint32_t i = 0; i < SN_SPOT_CONTRADICTIONS; i++)
		if (atomic_load(&spots(f)->contradicted[i]) != (changes >> i & 1))
			fail_msg("field %u was changed %llu times, want %u", i,
				 (unsigned long long)atomic_load(&spots(f)->contradicted[i]),
				 changes >> i & 1);
}

/* ---- which are checked ---- */

static void one_frame_of_ten_milliseconds_is_checked(void **state)
{
	struct fixture *f = *state;
	struct sn_tag tag;

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t checked = 0;

		for (uint32_t ms = 0; ms < 10; ms++) {
			struct packet out[3] = {outward_from(5000), outward_from(5001), outward_from(5002)};

			tick(f, MS);
			send_burst(f, out, 3);
			for (uint32_t k = 0; k < 3; k++) {
				checked += is_checked(&f->out[k]);
				assert_true(is_checked(&f->out[k]) || sn_tag_read(f->out[k].data + 6, &tag));
			}
			send_back(f, BACK);
			assert_int_equal(f->n_out, 3);
			for (uint32_t k = 0; k < 3; k++) {
				assert_int_equal(sport_of(f->out[k].data), 5000 + k);
				assert_memory_equal(f->out[k].data, gateway_mac, 6);
			}
		}
		assert_int_equal(checked, 1);
	}
	assert_int_equal(atomic_load(&spots(f)->checked), 100);
	assert_int_equal(atomic_load(&spots(f)->returned), 100);
	assert_changes(f, 0);
}

static void fragments_and_probes_are_not(void **state)
{
	struct fixture *f = *state;
	struct packet first = outward_from(5000);

	first.frag = 0x2000;
	tick(f, 10 * MS);
	send_packet(f, &first);
	assert_int_equal(f->n_out, 1);
	assert_false(is_checked(&f->out[0]));
	send_out(f, 5001);
	assert_true(is_checked(&f->out[0]));
}

static void those_that_are_not_sent_are_not(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);

	f->tx_limit = 0;
	tick(f, 10 * MS);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_TX_FULL);
	assert_int_equal(atomic_load(&spots(f)->checked), 0);
}

static void frames_that_are_lost_are_waited_for_and_then_forgotten(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);
	struct sent away;

	for (uint32_t i = 0; i < SN_SPOTS; i++) {
		send_checked(f, &out);
		if (i == 10)
			away = f->out[0];
	}
	for (uint32_t i = 0; i < SN_SPOTS; i++) {
		tick(f, 10 * MS);
		send_packet(f, &out);
		assert_false(is_checked(&f->out[0]));
	}
	f->out[0] = away;
	f->n_out = 1;
	send_back(f, BACK);
	assert_sent(f, 1);
	send_checked(f, &out); /* from the address that is free again */
	assert_memory_equal(f->out[0].data + 6, away.data + 6, 6);
	tick(f, 60 * SECOND);
	for (uint32_t i = 0; i < SN_SPOTS; i++)
		send_checked(f, &out);
	assert_int_equal(atomic_load(&spots(f)->checked), 2 * SN_SPOTS + 1);
	assert_int_equal(atomic_load(&spots(f)->returned), 1);
}

/* ---- what is found ---- */

static void a_change_of_each_field_is_found(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as[7];
	const uint32_t fields[7] = {SN_SRC, SN_DST, SN_DSCP, SN_TTL, SN_SPORT, SN_DPORT, SN_PROTO};
	uint32_t found = 0;

	for (uint32_t i = 0; i < 7; i++)
		as[i] = was;
	as[0].src++;
	as[1].dst++;
	as[2].dscp = 46;
	as[3].ttl = 63;
	as[4].sport++;
	as[5].dport++;
	as[6].proto = 47;
	as[6].payload_len += 8; /* it has no header */
	for (uint32_t i = 0; i < 7; i++) {
		send_checked(f, &was);
		come_back_as(f, &as[i]);
		found |= 1u << fields[i];
		assert_changes(f, found);
		assert_int_equal(atomic_load(&spots(f)->contradicted_at[fields[i]]), f->now);
	}
	assert_int_equal(atomic_load(&spots(f)->returned), 7);
}

static void a_tag_that_is_taken_off_is_found(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	f->msg = sn_sample_wire(&f->arena);
	sn_sample_vlan(&f->arena, f->msg, 5);
	add_stop(f, 0);
	load(f);
	was.tag = 0x2005;
	send_checked(f, &was);
	come_back_as(f, &as);
	assert_changes(f, 1u << SN_VLAN);
}

static void a_priority_tag_is_put_on_as_ever_and_is_none_when_it_is_compared(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__SetField set = SINTER__PROGRAM__V1__SET_FIELD__INIT;
	struct packet was = outward_from(5000), as = was;

	add_op(f, 0, SINTER__PROGRAM__V1__OP__OP_SET)->set = &set; /* the VLAN to 0 */
	load(f);
	send_checked(f, &was);
	assert_int_equal(sn_load32(f->out[0].data + 12), 0x81000000);
	come_back_as(f, &as);
	assert_changes(f, 0);
}

static void a_priority_tag_counts_though_the_frame_is_checked(void **state)
{
	struct fixture *f = *state;
	struct packet as = outward_from(5000);
	const struct sn_count *rx = &sn_worker_stats(f->worker)->ports[BACK].rx;

	send_checked(f, &as);
	as.tag = 0xa000;
	come_back_as(f, &as);
	assert_int_equal(sn_load16(assert_sent(f, 1) + 12), 0x0800);
	assert_int_equal(atomic_load(&spots(f)->returned), 1);
	assert_changes(f, 0);
	assert_int_equal(rx->bytes, f->out[0].len + SN_TAG_LEN);
}

static void several_changes_of_a_packet_are_found(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	as.src++;
	as.dport++;
	send_checked(f, &was);
	come_back_as(f, &as);
	assert_changes(f, 1u << SN_SRC | 1u << SN_DPORT);
}

static void what_a_function_declares_is_none(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	leg_of(f, 0)->stop->writes = 1u << SN_DSCP | 1u << SN_TTL | 1u << SN_SPORT;
	load(f);
	as.dscp = 46;
	as.ttl = 60;
	as.sport = 80;
	send_checked(f, &was);
	come_back_as(f, &as);
	assert_changes(f, 0);
	as.ttl = 65; /* which nobody may, whatever it declares */
	send_checked(f, &was);
	come_back_as(f, &as);
	assert_changes(f, 1u << SN_SPOT_TTL_RAISED);
}

static void a_fragment_of_it_has_no_ports_to_be_compared(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	as.frag = 0x0010;
	as.payload_len = 40;
	as.dst++;
	send_checked_as(f, &was, 7);
	come_back_numbered(f, &as, 7);
	assert_changes(f, 1u << SN_DST);
	assert_int_equal(atomic_load(&spots(f)->returned), 1);
}

/* As an IPS does that resets a connection: it copies addresses of a packet that it drops. */
static void what_the_function_made_is_not_compared(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	as.ttl = 255;
	as.payload_len = 0;
	send_checked(f, &was);
	come_back_as(f, &as);
	send_checked_as(f, &was, 7);
	come_back_numbered(f, &as, 8);
	assert_changes(f, 0);
	send_checked_as(f, &was, 7);
	come_back_numbered(f, &as, 7);
	assert_changes(f, 1u << SN_SPOT_TTL_RAISED);
}

static void the_time_at_a_function_is_measured(void **state)
{
	const uint64_t times[3] = {500, 3000, 20 * SECOND};
	struct fixture *f = *state;
	struct packet out = outward_from(5000);

	for (uint32_t i = 0; i < 3; i++) {
		send_checked(f, &out);
		f->now += times[i];
		send_back(f, BACK);
	}
	assert_int_equal(atomic_load(&spots(f)->times[0]), 1);
	assert_int_equal(atomic_load(&spots(f)->times[2]), 1); /* from 2 us to less than 4 */
	assert_int_equal(atomic_load(&spots(f)->times[SN_SPOT_TIMES - 1]), 1);
	assert_int_equal(atomic_load(&spots(f)->time), 20 * SECOND + 3500);
}

/* ---- what a function says it never does ---- */

static void never(struct fixture *f, uint32_t what)
{
	leg_of(f, 0)->stop->never = what;
	load(f);
}

static void a_drop_is_found_after_five_seconds(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);
	struct sent away;

	never(f, SN_NEVER_DROPS);
	send_checked(f, &out);
	away = f->out[0];
	tick(f, 4990 * MS);
	assert_changes(f, 0);
	for (uint32_t i = 0; i < 3; i++)
		tick(f, 20 * MS);
	assert_changes(f, 1u << SN_SPOT_DROPPED);
	assert_int_equal(atomic_load(&spots(f)->lost), 1);
	f->out[0] = away; /* late */
	f->n_out = 1;
	send_back(f, BACK);
	assert_memory_equal(assert_sent(f, 1), gateway_mac, 6);
	assert_int_equal(atomic_load(&spots(f)->returned), 1);
}

static void a_change_of_length_is_found(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	never(f, SN_NEVER_RESIZES);
	as.payload_len += 4;
	send_checked_as(f, &was, 7);
	come_back_numbered(f, &as, 7);
	assert_changes(f, 1u << SN_SPOT_RESIZED);
}

static void a_second_frame_is_found(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);

	never(f, SN_NEVER_ORIGINATES);
	send_checked(f, &out);
	f->out[1] = f->out[0];
	f->n_out = 2;
	send_back(f, BACK);
	assert_int_equal(f->n_out, 2);
	assert_changes(f, 1u << SN_SPOT_ORIGINATED);
}

static void a_second_fragment_is_none(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000), half = out;

	never(f, SN_NEVER_ORIGINATES);
	send_checked_as(f, &out, 7);
	f->out[1] = f->out[0];
	half.frag = 0x0006;
	half.payload_len = 40;
	come_back_numbered(f, &half, 7);
	f->out[0] = f->out[1];
	half.frag = 0x2000;
	come_back_numbered(f, &half, 7);
	assert_changes(f, 0);
}

static void packets_of_the_functions_own_are_found_and_its_other_frames_are_not(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);

	never(f, SN_NEVER_ORIGINATES);
	for (uint32_t i = 0; i < 3; i++) {
		tick(f, MS);
		send_packet(f, &out);
		f->out[0].data[6] = 0x0a;
		if (i == 0)
			sn_store16(f->out[0].data + 12, 0x88cc); /* LLDP */
		if (i == 1)
			f->out[0].data[5]++; /* for another host */
		send_back(f, BACK);
	}
	assert_changes(f, 1u << SN_SPOT_ORIGINATED);
}

static void what_is_not_declared_is_no_contradiction(void **state)
{
	struct fixture *f = *state;
	struct packet was = outward_from(5000), as = was;

	as.payload_len += 4;
	send_checked_as(f, &was, 7);
	f->out[1] = f->out[0];
	come_back_numbered(f, &as, 7);
	f->out[0] = f->out[1];
	come_back_numbered(f, &as, 7);
	send_checked(f, &was);
	tick(f, 10 * SECOND);
	assert_int_equal(atomic_load(&spots(f)->lost), 1);
	send_packet(f, &was);
	f->out[0].data[6] = 0x0a;
	send_back(f, BACK);
	assert_changes(f, 0);
}

/* ---- how they go on ---- */

static void both_go_on_that_the_function_makes_of_one(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);

	send_checked(f, &out);
	f->out[1] = f->out[0];
	f->n_out = 2;
	send_back(f, BACK);
	assert_int_equal(f->n_out, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_memory_equal(f->out[i].data, gateway_mac, 6);
	assert_int_equal(atomic_load(&spots(f)->returned), 1);
}

static void a_packet_goes_on_with_its_next_hop_in_the_next_program(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);
	struct sent there;

	note_hop(f, 0, OTHER);
	load(f);
	send_checked(f, &out);
	there = f->out[0];
	load(f);
	f->out[0] = there;
	f->n_out = 1;
	send_back(f, BACK);
	assert_memory_equal(assert_sent(f, 1), other_mac, 6);
}

/* The sample has a table of its own for what comes in without a continuation. */
static void addresses_that_no_frame_has_are_as_any_other(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward_from(5000);

	send_checked(f, &out);
	f->out[0].data[11]++; /* of a spot that is free */
	send_back(f, BACK);
	assert_int_equal(f->n_drops, 1);
	send_checked(f, &out);
	f->out[0].data[7]++; /* another key */
	send_back(f, BACK);
	assert_int_equal(f->n_drops, 1);
	send_checked(f, &out);
	f->out[0].len = 8;
	send_back(f, BACK);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(atomic_load(&spots(f)->returned), 0);
}

#define CHECKED_TEST(name) cmocka_unit_test_setup_teardown(name, open_checked, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHECKED_TEST(one_frame_of_ten_milliseconds_is_checked),
		CHECKED_TEST(fragments_and_probes_are_not),
		CHECKED_TEST(those_that_are_not_sent_are_not),
		CHECKED_TEST(frames_that_are_lost_are_waited_for_and_then_forgotten),
		CHECKED_TEST(a_change_of_each_field_is_found),
		CHECKED_TEST(a_tag_that_is_taken_off_is_found),
		CHECKED_TEST(a_priority_tag_is_put_on_as_ever_and_is_none_when_it_is_compared),
		CHECKED_TEST(a_priority_tag_counts_though_the_frame_is_checked),
		CHECKED_TEST(several_changes_of_a_packet_are_found),
		CHECKED_TEST(what_a_function_declares_is_none),
		CHECKED_TEST(a_fragment_of_it_has_no_ports_to_be_compared),
		CHECKED_TEST(what_the_function_made_is_not_compared),
		CHECKED_TEST(the_time_at_a_function_is_measured),
		CHECKED_TEST(a_drop_is_found_after_five_seconds),
		CHECKED_TEST(a_change_of_length_is_found),
		CHECKED_TEST(a_second_frame_is_found),
		CHECKED_TEST(a_second_fragment_is_none),
		CHECKED_TEST(packets_of_the_functions_own_are_found_and_its_other_frames_are_not),
		CHECKED_TEST(what_is_not_declared_is_no_contradiction),
		CHECKED_TEST(both_go_on_that_the_function_makes_of_one),
		CHECKED_TEST(a_packet_goes_on_with_its_next_hop_in_the_next_program),
		CHECKED_TEST(addresses_that_no_frame_has_are_as_any_other),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
