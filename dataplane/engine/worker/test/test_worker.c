/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_parse.h"
#include "sn_rewrite.h"

#define REASON_DISCARD SN_REASON_CHAIN /* the sample's only one */

static uint16_t go_out(struct fixture *f, const struct packet *p)
{
	send_packet(f, p);
	return sport_of(assert_sent(f, 1));
}

static uint64_t hits(struct fixture *f)
{
	return sn_worker_stats(f->worker)->cache_hits;
}

static void a_decision_is_kept_from_the_second_packet_on_and_forgotten_with_its_program(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	go_out(f, &out); /* makes the session: perhaps the flow's only packet */
	go_out(f, &out);
	assert_int_equal(hits(f), 0);
	go_out(f, &out);
	assert_int_equal(hits(f), 1);
	load(f);
	go_out(f, &out);
	assert_int_equal(hits(f), 1);
	go_out(f, &out);
	assert_int_equal(hits(f), 2);
}

static void a_packet_with_a_ttl_too_low_is_no_packet_of_the_cached_decision(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	go_out(f, &out);
	go_out(f, &out);
	out.ttl = 2;
	assert_int_equal(ip_of((go_out(f, &out), f->out[0].data))[8], 1);
	out.ttl = 1;
	send_packet(f, &out);
	assert_int_equal(l4_of(assert_sent(f, 0))[0], 11);
}

static void a_new_rule_holds_for_cached_flows_at_once(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	go_out(f, &out);
	go_out(f, &out);
	go_out(f, &out);
	f->msg->segments[0]->table->bounds[0] = f->msg->segments[0]->table->bounds[1] = 80;
	load(f);
	send_packet(f, &out);
	assert_dropped(f, REASON_DISCARD);
	assert_int_equal(f->kept, 1);
}

static void sessions_stay_over_a_swap_where_table_run_and_pool_stay(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000), in;
	uint16_t port;

	load(f);
	port = go_out(f, &out);
	f->msg->runs[0]->tcp_transitory_ms = 1000;
	load(f);
	assert_int_equal(f->kept, 1);
	assert_int_equal(f->lost, 0);
	f->now += SECOND;
	assert_int_equal(go_out(f, &out), port);
	f->now += SECOND + 1; /* the new timeout holds */
	in = inward(SN_TCP, port);
	send_packet(f, &in);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
}

static void sessions_of_a_run_that_is_gone_go(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	go_out(f, &out);
	f->msg->runs[0]->name = (char *)"other";
	load(f);
	assert_int_equal(f->kept, 0);
	assert_int_equal(f->lost, 1);
	assert_int_equal(sessions(f), 0);
	go_out(f, &out);
	assert_int_equal(sessions(f), 1);
}

static void sessions_stay_where_the_new_pool_has_their_port(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 1);
	uint16_t ports[64];
	uint32_t kept = 0;

	load(f);
	for (int i = 0; i < 64; i++, out.sport++)
		ports[i] = go_out(f, &out);
	f->msg->tables[0]->port_min = 1100; /* each shard's lowest ports go */
	load(f);
	for (int i = 0; i < 64; i++) {
		struct packet in = inward(SN_UDP, ports[i]);

		send_packet(f, &in);
		assert_int_equal(f->n_out == 1, ports[i] >= 1100);
		kept += ports[i] >= 1100;
	}
	assert_in_range(kept, 1, 63);
	assert_int_equal(f->kept, kept);
	assert_int_equal(f->lost, 64 - kept);
	out.sport = 1;
	for (int i = 0; i < 64; i++, out.sport++) {
		uint16_t port = go_out(f, &out);

		if (ports[i] >= 1100)
			assert_int_equal(port, ports[i]);
	}
}

static void a_pool_may_go_altogether_and_come_back(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	Sinter__Program__V1__Program *napt = f->msg;

	load(f);
	go_out(f, &out);
	f->msg = sn_sample_wire(&f->arena);
	load(f);
	assert_int_equal(f->lost, 1);
	go_out(f, &out);
	f->msg = napt;
	load(f);
	assert_int_equal(sessions(f), 0);
	go_out(f, &out);
}

static void a_tee_sends_a_copy_by_each_leg_with_one_session(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	add_leg(f, 0, 0);
	load(f);
	send_packet(f, &out);
	assert_int_equal(f->n_out, 2);
	assert_int_equal(f->n_drops, 0);
	assert_memory_equal(f->out[0].data, f->out[1].data, f->out[0].len);
	assert_int_equal(f->out[1].source, 0);
	assert_checksums(f->out[1].data, f->out[1].len);
	assert_int_equal(sessions(f), 1);
}

static void what_one_copy_met_counts_by_its_own_fate(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	Sinter__Program__V1__Leg *second;

	add_leg(f, 0, 0); /* the first copy is bound, then dropped; the second leaves as it came */
	second = f->msg->segments[0]->classes[0]->legs[1];
	second->n_ops = 0;
	f->msg->interfaces[1]->mtu = 68;
	second->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT;
	second->output = 0;
	f->msg->interfaces[0]->gateway = SN_SAMPLE_HOST;
	load(f);
	out.payload_len = 100;
	send_packet(f, &out);
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_TOO_BIG);
	assert_int_equal(sessions(f), 0);
	assert_int_equal(src_of(f->out[0].data), SN_SAMPLE_HOST);
}

static void a_packet_that_dies_is_answered_with_its_bytes_quoted(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	uint8_t frame[FRAME_MAX];
	uint32_t len;
	const uint8_t *got;

	sn_sample_vlan(&f->arena, f->msg, 5);
	load(f);
	out.ttl = 1;
	out.tag = 0x2005;
	out.payload_len = 800;
	len = write_frame(&out, frame);
	send_frame(f, 0, frame, len);
	got = assert_sent(f, 0);
	assert_int_equal(f->out[0].len, 14 + 4 + 20 + 8 + 548);
	assert_int_equal(sn_load32(got + 12), 0x81000005); /* the packet's VLAN, without its priority */
	assert_int_equal(ip_of(got)[1], 0xc0);
	assert_int_equal(ip_of(got)[8], 64);
	assert_int_equal(src_of(got), SN_SAMPLE_INSIDE);
	assert_int_equal(dst_of(got), SN_SAMPLE_HOST);
	assert_int_equal(sn_load16(l4_of(got)), 0x0b00);
	assert_memory_equal(l4_of(got) + 8, ip_of(frame), 548);
	assert_int_equal(sessions(f), 0);
}

static void no_error_is_sent_about_errors_and_later_fragments(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_ICMP, 0), fragment = outward(SN_UDP, 5000);

	load(f);
	p.ttl = fragment.ttl = 1;
	p.type = 11;
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_ICMP_SUPPRESSED);
	fragment.frag = 1;
	send_packet(f, &fragment);
	assert_dropped(f, SN_REASON_ICMP_SUPPRESSED);
}

static void errors_are_limited_to_their_rate(void **state)
{
	struct fixture *f = *state;
	struct packet burst[110];

	load(f); /* 100 per second */
	for (int i = 0; i < 110; i++) {
		burst[i] = outward(SN_UDP, i);
		burst[i].ttl = 1;
	}
	send_burst(f, burst, 110);
	assert_int_equal(f->n_out, 100);
	assert_int_equal(f->n_drops, 10);
	assert_int_equal(f->drops[0].reason, SN_REASON_ICMP_RATE);
	f->now += SECOND / 20;
	send_burst(f, burst, 110);
	assert_int_equal(f->n_out, 5);
}

static void resets_are_limited_to_the_rate_of_errors(void **state)
{
	struct fixture *f = *state;
	struct packet burst[110];

	f->msg->generators[0]->kind = SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST;
	load(f); /* 100 per second */
	for (int i = 0; i < 110; i++) {
		burst[i] = outward(i % 2 ? SN_TCP : SN_UDP, i);
		burst[i].ttl = 1;
	}
	send_burst(f, burst, 110);
	assert_int_equal(f->n_out, 100);
	assert_int_equal(f->out[1].data[14 + 9], SN_TCP);
	assert_int_equal(f->n_drops, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(f->drops[i].reason, SN_REASON_ICMP_RATE);
}

/* Resets and errors share the rate. */
static void rejections_are_limited_to_the_rate_of_errors(void **state)
{
	struct fixture *f = *state;
	struct packet burst[110];

	f->msg->generators[0]->kind = SINTER__PROGRAM__V1__GENERATOR__KIND__REJECT;
	load(f); /* 100 per second */
	for (int i = 0; i < 110; i++) {
		burst[i] = outward(i % 2 ? SN_UDP : SN_TCP, i);
		burst[i].flags = SN_TCP_SYN;
		burst[i].ttl = 1;
	}
	send_burst(f, burst, 110);
	assert_int_equal(f->n_out, 100);
	assert_int_equal(ip_of(f->out[0].data)[9], SN_TCP);
	assert_int_equal(l4_of(f->out[0].data)[13], SN_TCP_RST | SN_TCP_ACK);
	assert_int_equal(ip_of(f->out[1].data)[9], SN_ICMP);
	assert_int_equal(f->n_drops, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(f->drops[i].reason, SN_REASON_ICMP_RATE);
}

static void a_packet_too_big_that_must_not_be_cut_is_answered_through_the_chain(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), quoted;
	const uint8_t *got;
	uint8_t want[FRAME_MAX];
	uint32_t len;

	f->msg->interfaces[1]->mtu = 100;
	load(f);
	out.payload_len = 200;
	out.frag = 0x4000;
	send_packet(f, &out);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_TOO_BIG_ANSWERED);
	f->n_drops = 0;
	got = assert_sent(f, 0); /* back by the NAPT, as if the router behind it had sent it */
	assert_int_equal(src_of(got), SN_SAMPLE_INSIDE);
	assert_int_equal(dst_of(got), SN_SAMPLE_HOST);
	assert_int_equal(sn_load16(l4_of(got)), 0x0304);
	assert_int_equal(sn_load32(l4_of(got) + 4), 100);
	quoted = out;
	quoted.ttl = 63;
	len = write_frame(&quoted, want);
	assert_memory_equal(l4_of(got) + 8, ip_of(want), len - 14);
	assert_int_equal(sessions(f), 1);
}

static void an_echo_request_to_a_generator_of_echoes_is_answered(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_ICMP, 77);
	const uint8_t *got;

	f->msg->generators[0]->kind = SINTER__PROGRAM__V1__GENERATOR__KIND__ECHO_REPLY;
	sn_sample_vlan(&f->arena, f->msg, 7);
	load(f);
	p.ttl = 1;
	p.tag = 0x6007;
	send_packet(f, &p);
	got = assert_sent(f, 0);
	assert_int_equal(src_of(got), SN_SAMPLE_REMOTE);
	assert_int_equal(dst_of(got), SN_SAMPLE_HOST);
	assert_int_equal(l4_of(got)[0], 0);
	assert_int_equal(sport_of(got), 77);
	assert_int_equal(ip_of(got)[8], 64);
	assert_int_equal(sn_load16(got + 14), 0x6007);
	p.type = 13;
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_LOCAL);
}

static void a_host_drops_what_has_a_wrong_transport_checksum(void **state)
{
	static const struct {
		uint8_t proto, sum;
	} cases[] = {{SN_ICMP, 2}, {SN_UDP, 6}, {SN_TCP, 16}};
	struct fixture *f = *state;
	uint8_t frame[FRAME_MAX];

	f->msg->generators[0]->kind = SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST;
	load(f);
	for (uint32_t i = 0; i < RTE_DIM(cases); i++) {
		struct packet p = outward(cases[i].proto, 5000);
		uint32_t len;

		p.ttl = 1;
		p.options = i;
		len = write_frame(&p, frame);
		send_frame(f, 0, frame, len);
		assert_sent(f, 0);
		f->n_out = 0;
		l4_of(frame)[cases[i].sum] ^= 0x10;
		send_frame(f, 0, frame, len);
		assert_dropped(f, SN_REASON_BAD_CHECKSUM);
		f->n_drops = 0;
	}
}

static void a_circle_of_segments_ends_after_the_longest_way(void **state)
{
	struct fixture *f = *state;
	struct packet p = inward(SN_UDP, 5000);
	Sinter__Program__V1__Leg *leg = f->msg->segments[3]->classes[0]->legs[0];

	f->msg->interfaces[1]->segment = 3;
	f->msg->longest_way = 16;
	leg->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	leg->segment = 3;
	leg->n_ops = 1; /* lowers the TTL, else the program would be refused */
	leg->ops = f->msg->segments[2]->classes[0]->legs[0]->ops;
	load(f);
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_DEPTH);
	for (int i = 0; i < 7; i++)
		add_leg(f, 3, 0);
	f->n_drops = 0;
	load(f);
	send_packet(f, &p); /* 8^16 copies, if they were let */
	assert_int_equal(f->n_out, 0);
}

static void packets_leave_in_the_order_in_which_they_came(void **state)
{
	struct fixture *f = *state;
	struct packet burst[96], old = outward(SN_UDP, 1);

	load(f);
	go_out(f, &old);
	for (int i = 0; i < 96; i++)
		burst[i] = outward(SN_UDP, i % 3 ? 1 : 100 + i); /* known and new flows mixed */
	send_burst(f, burst, 96);
	assert_int_equal(f->n_out, 96);
	for (int i = 0; i < 96; i++) {
		assert_int_equal(f->out[i].source, i);
		assert_checksums(f->out[i].data, f->out[i].len);
	}
}

static void what_the_port_does_not_take_is_dropped_as_tx_full(void **state)
{
	struct fixture *f = *state;
	struct packet burst[5];

	load(f);
	for (int i = 0; i < 5; i++)
		burst[i] = outward(SN_UDP, i);
	f->tx_limit = 3;
	send_burst(f, burst, 5);
	assert_int_equal(f->n_out, 3);
	assert_int_equal(f->n_drops, 2);
	assert_int_equal(f->drops[0].reason, SN_REASON_TX_FULL);
	assert_int_equal(f->drops[0].source, 3);
	assert_int_equal(sn_worker_stats(f->worker)->ports[1].tx.packets, 3);
	assert_int_equal(sn_worker_stats(f->worker)->ports[0].rx.packets, 5);
}

static void classes_and_counters_count_alike_decided_and_cached(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), bad = outward(SN_UDP, 5000);
	struct sn_count classes[8] = {0}, counters[1] = {0}, reasons[1] = {0};
	Sinter__Program__V1__Leg *leg = f->msg->segments[0]->classes[0]->legs[0];
	uint32_t zero = 0;
	char *name = (char *)"passed";

	f->msg->n_counters = 1;
	f->msg->counters = &name;
	leg->n_counters = 1;
	leg->counters = &zero;
	load(f);
	for (int i = 0; i < 5; i++)
		go_out(f, &out);
	bad.dport = 9;
	send_packet(f, &bad);
	assert_dropped(f, REASON_DISCARD);
	assert_int_equal(hits(f), 3);
	sn_counts_add(sn_worker_counts(f->worker), classes, counters, reasons);
	assert_int_equal(classes[0].packets, 5);
	assert_int_equal(classes[0].bytes, 5 * (14 + 20 + 8 + 11));
	assert_int_equal(counters[0].packets, 5);
	assert_int_equal(counters[0].bytes, classes[0].bytes);
	assert_int_equal(classes[1].packets, 1);
	assert_int_equal(reasons[0].packets, 1);
}

static void a_stateless_program_forwards_without_a_cache(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	struct sn_count classes[2] = {0};

	f->msg = sn_sample_wire(&f->arena);
	load(f);
	for (int i = 0; i < 3; i++) {
		send_packet(f, &p);
		assert_sent(f, 1);
	}
	assert_int_equal(hits(f), 0);
	sn_counts_add(sn_worker_counts(f->worker), classes, NULL, NULL);
	assert_int_equal(classes[0].packets, 3);
	p.iface = 1;
	p.dst = 0x0b000001; /* not on-link, and "a" has no gateway */
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_NO_NEXT_HOP);
}

/* Where a class does nothing but lead to another segment, packets go there together; but those that are not
 * plain, and those of which there is more to say. */
static void what_is_led_to_a_second_segment_is_counted_in_both(void **state)
{
	struct fixture *f = *state;
	struct sn_count classes[2] = {0};
	struct packet burst[20];
	Sinter__Program__V1__Leg *first, *second;

	f->msg = sn_sample_wire(&f->arena);
	first = f->msg->segments[0]->classes[0]->legs[0];
	second = f->msg->segments[1]->classes[0]->legs[0];
	first->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	first->segment = 1;
	second->output = 1;
	f->msg->segments[1]->ttl_floor = 2; /* below it the same class, found otherwise */
	f->msg->segments[1]->low = f->msg->segments[1]->table;
	load(f);
	for (int i = 0; i < 20; i++) {
		burst[i] = outward(i % 3 ? SN_UDP : SN_TCP, 100 + i);
		burst[i].ttl = i == 4 ? 1 : 64;
	}
	burst[9].proto = SN_ICMP;
	burst[9].type = SN_ICMP_ECHO_REQUEST;
	burst[12].dst = SN_SAMPLE_GATEWAY + 7; /* nobody knows it */
	send_burst(f, burst, 20);
	sn_counts_add(sn_worker_counts(f->worker), classes, NULL, NULL);
	assert_int_equal(classes[0].packets, 20);
	assert_int_equal(classes[1].packets, 20);
	assert_int_equal(classes[0].bytes, classes[1].bytes);
	assert_int_equal(f->n_out, 20); /* one of them is the question for the neighbour */
}

/* All of a burst are plain, and none has state; one goes by the segment's other table, which drops. */
static void a_low_ttl_among_plain_frames_goes_by_its_own_table(void **state)
{
	struct fixture *f = *state;
	static uint32_t second = 1;
	static const uint8_t payload[12];
	static char *names[] = {(char *)"low"};
	Sinter__Program__V1__Drop reason = SINTER__PROGRAM__V1__DROP__INIT;
	Sinter__Program__V1__Segment *s;
	Sinter__Program__V1__Table low;
	Sinter__Program__V1__Class drop, *classes[2];
	Sinter__Program__V1__Leg leg, *legs[] = {&leg};
	struct packet burst[20];

	f->msg = sn_sample_wire(&f->arena);
	f->msg->reasons = names;
	f->msg->n_reasons = 1;
	reason.reason_case = SINTER__PROGRAM__V1__DROP__REASON_CHAIN;
	s = f->msg->segments[0];
	leg = *s->classes[0]->legs[0];
	leg.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_DROP;
	leg.drop = &reason;
	drop = *s->classes[0];
	drop.legs = legs;
	classes[0] = s->classes[0];
	classes[1] = &drop;
	s->classes = classes;
	s->n_classes = 2;
	low = *s->table;
	low.classes = &second;
	s->low = &low;
	s->ttl_floor = 2;
	load(f);
	for (uint32_t i = 0; i < 20; i++) {
		burst[i] = outward(i % 3 ? SN_UDP : SN_TCP, (uint16_t)(100 + i));
		burst[i].ttl = i == 4 ? 1 : 64;
		burst[i].payload_len = 12;
		burst[i].payload = payload;
	}
	send_burst(f, burst, 20);
	assert_int_equal(f->n_out, 19);
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].source, f->out[4].source - 1);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_decision_is_kept_from_the_second_packet_on_and_forgotten_with_its_program),
		WITH_FIXTURE(a_packet_with_a_ttl_too_low_is_no_packet_of_the_cached_decision),
		WITH_FIXTURE(a_new_rule_holds_for_cached_flows_at_once),
		WITH_FIXTURE(sessions_stay_over_a_swap_where_table_run_and_pool_stay),
		WITH_FIXTURE(sessions_of_a_run_that_is_gone_go),
		WITH_FIXTURE(sessions_stay_where_the_new_pool_has_their_port),
		WITH_FIXTURE(a_pool_may_go_altogether_and_come_back),
		WITH_FIXTURE(a_tee_sends_a_copy_by_each_leg_with_one_session),
		WITH_FIXTURE(what_one_copy_met_counts_by_its_own_fate),
		WITH_FIXTURE(a_packet_that_dies_is_answered_with_its_bytes_quoted),
		WITH_FIXTURE(no_error_is_sent_about_errors_and_later_fragments),
		WITH_FIXTURE(errors_are_limited_to_their_rate),
		WITH_FIXTURE(rejections_are_limited_to_the_rate_of_errors),
		WITH_FIXTURE(resets_are_limited_to_the_rate_of_errors),
		WITH_FIXTURE(a_packet_too_big_that_must_not_be_cut_is_answered_through_the_chain),
		WITH_FIXTURE(an_echo_request_to_a_generator_of_echoes_is_answered),
		WITH_FIXTURE(a_host_drops_what_has_a_wrong_transport_checksum),
		WITH_FIXTURE(a_circle_of_segments_ends_after_the_longest_way),
		WITH_FIXTURE(packets_leave_in_the_order_in_which_they_came),
		WITH_FIXTURE(what_the_port_does_not_take_is_dropped_as_tx_full),
		WITH_FIXTURE(classes_and_counters_count_alike_decided_and_cached),
		WITH_FIXTURE(a_stateless_program_forwards_without_a_cache),
		WITH_FIXTURE(a_low_ttl_among_plain_frames_goes_by_its_own_table),
		WITH_FIXTURE(what_is_led_to_a_second_segment_is_counted_in_both),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
