/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "sn_parse.h"
#include "sn_rewrite.h"

static const uint8_t protocols[] = {SN_TCP, SN_UDP, SN_ICMP};

/* Send a packet of the flow out; its outside port (identifier). */
static uint16_t go_out(struct fixture *f, const struct packet *p)
{
	const uint8_t *frame;

	send_packet(f, p);
	frame = assert_sent(f, 1);
	assert_int_equal(src_of(frame), SN_SAMPLE_POOL);
	assert_int_equal(dst_of(frame), SN_SAMPLE_REMOTE);
	return sport_of(frame);
}

static void a_flow_is_translated_out_and_back(void **state)
{
	struct fixture *f = *state;

	load(f);
	for (int i = 0; i < 3; i++) {
		struct packet out = outward(protocols[i], 5000);
		uint16_t port = go_out(f, &out);
		struct packet in = inward(protocols[i], port);

		assert_in_range(port, 1024, 65535);
		for (int j = 0; j < 3; j++) { /* the same decided, kept and from the cache */
			const uint8_t *frame;

			assert_int_equal(go_out(f, &out), port);
			send_packet(f, &in);
			frame = assert_sent(f, 0);
			assert_int_equal(dst_of(frame), SN_SAMPLE_HOST);
			assert_int_equal(dport_of(frame), 5000);
			assert_int_equal(ip_of(frame)[8], 63);
		}
	}
	assert_int_equal(sessions(f), 3);
	assert_true(sn_worker_stats(f->worker)->cache_hits >= 12);
}

static void a_return_packet_needs_its_binding_and_its_remote(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;

	load(f);
	in = inward(SN_UDP, go_out(f, &out));
	in.sport++;
	send_packet(f, &in);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
	in.sport--;
	in.src++;
	send_packet(f, &in);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
	in.src--;
	in.proto = SN_TCP;
	send_packet(f, &in);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
	in.proto = SN_UDP;
	in.dst++;
	send_packet(f, &in);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
}

static void flows_to_two_remotes_have_two_ports(void **state)
{
	struct fixture *f = *state;
	struct packet a = outward(SN_UDP, 5000), b = a;
	uint16_t port;

	load(f);
	port = go_out(f, &a);
	b.dport++;
	assert_int_not_equal(go_out(f, &b), port);
	assert_int_equal(sessions(f), 2);
}

static void what_a_napt_cannot_translate_is_dropped_under_its_reason(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_AH, 0), fragment = outward(SN_UDP, 5000), reply = outward(SN_ICMP, 7);

	load(f);
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_NAT_UNSUPPORTED);
	reply.type = SN_ICMP_ECHO_REPLY;
	send_packet(f, &reply);
	assert_dropped(f, SN_REASON_NAT_UNSUPPORTED);
	fragment.frag = 0x2000;
	send_packet(f, &fragment);
	assert_dropped(f, SN_REASON_NAT_FRAGMENT);
	p.iface = 1;
	send_packet(f, &p);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
	assert_int_equal(sessions(f), 0);
}

/* Not even of that which lay before where the fragment is read. */
static void a_later_fragment_is_of_no_flow_that_is_known(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), bad = outward(SN_UDP, 5001), fragment;

	out.payload_len = bad.payload_len = 30;
	fragment = out;
	out.options = 1; /* as it is not plain, it is read */
	bad.src = 0x7f000001;
	fragment.frag = 1;
	load(f);
	for (uint32_t i = 0; i < 3; i++)
		go_out(f, &out);
	assert_int_equal(sn_worker_stats(f->worker)->cache_hits, 1);
	send_packet(f, &fragment);
	assert_dropped(f, SN_REASON_NAT_FRAGMENT);
	send_packet(f, &bad);
	assert_dropped(f, SN_REASON_MARTIAN);
	send_packet(f, &fragment);
	assert_dropped(f, SN_REASON_NAT_FRAGMENT);
	assert_int_equal(sn_worker_stats(f->worker)->cache_hits, 1);
}

/* Whether a return packet finds its binding. */
static bool comes_back(struct fixture *f, const struct packet *in)
{
	send_packet(f, in);
	return f->n_out == 1;
}

static void an_idle_binding_lives_to_the_nanosecond_of_its_timeout(void **state)
{
	static const uint64_t timeouts[] = {240000 * MS, 300000 * MS,
					    60000 * MS}; /* TCP: one direction seen */
	struct fixture *f = *state;

	load(f);
	for (int i = 0; i < 3; i++) {
		struct packet out = outward(protocols[i], 5000), in = inward(protocols[i], go_out(f, &out));

		f->now += timeouts[i] + 1;
		assert_false(comes_back(f, &in));
		in = inward(protocols[i], go_out(f, &out));
		f->now += timeouts[i];
		assert_true(comes_back(f, &in));
	}
}

static void the_cache_does_not_outlive_the_binding(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;

	load(f);
	in = inward(SN_UDP, go_out(f, &out));
	for (int i = 0; i < 3; i++)
		assert_true(comes_back(f, &in));
	f->now += 300000 * MS;
	assert_true(comes_back(f, &in)); /* refreshed, from the cache */
	f->now += 300000 * MS + 1;
	assert_false(comes_back(f, &in));
}

static void tcp_is_established_by_its_handshake_and_transitory_after_fin(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000), in;

	load(f);
	out.flags = SN_TCP_SYN;
	in = inward(SN_TCP, go_out(f, &out));
	in.flags = SN_TCP_SYN | SN_TCP_ACK;
	assert_true(comes_back(f, &in));
	f->now += 240 * SECOND + 1;
	assert_false(comes_back(f, &in)); /* the handshake was not over */
	in = inward(SN_TCP, go_out(f, &out));
	in.flags = SN_TCP_SYN | SN_TCP_ACK;
	assert_true(comes_back(f, &in));
	out.flags = in.flags = SN_TCP_ACK;
	go_out(f, &out);
	f->now += 7200 * SECOND;
	assert_true(comes_back(f, &in));
	in.flags = SN_TCP_FIN | SN_TCP_ACK;
	assert_true(comes_back(f, &in));
	f->now += 240 * SECOND;
	assert_true(comes_back(f, &in));
	f->now += 240 * SECOND + 1;
	assert_false(comes_back(f, &in));
}

static void a_connection_whose_ports_are_used_again_after_fin_starts_over(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000), in;

	load(f);
	in = inward(SN_TCP, go_out(f, &out));
	for (int i = 0; i < 3; i++) { /* the later ones by cached decisions */
		assert_true(comes_back(f, &in));
		go_out(f, &out);
	}
	in.flags = out.flags = SN_TCP_FIN | SN_TCP_ACK;
	assert_true(comes_back(f, &in));
	go_out(f, &out);
	out.flags = SN_TCP_SYN;
	go_out(f, &out);
	in.flags = SN_TCP_SYN | SN_TCP_ACK;
	assert_true(comes_back(f, &in));
	in.flags = out.flags = SN_TCP_ACK;
	go_out(f, &out);
	f->now += 7200 * SECOND;
	assert_true(comes_back(f, &in));
}

static void timers_give_ports_of_idle_sessions_back(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);

	load(f);
	go_out(f, &out);
	for (int i = 0; i < 16; i++)
		sn_worker_tick(f->worker, f->now);
	assert_int_equal(sessions(f), 1);
	f->now += 301 * SECOND;
	for (int i = 0; i < 16; i++)
		sn_worker_tick(f->worker, f->now);
	assert_int_equal(sessions(f), 0);
}

/* A pool of four ports. */
static void small_pool(struct fixture *f)
{
	f->msg->tables[0]->port_min = 2000;
	f->msg->tables[0]->port_max = 2003;
}

static void a_pool_is_used_up_to_its_last_port_and_no_further(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), tcp = outward(SN_TCP, 5000);
	uint32_t seen = 0;

	small_pool(f);
	load(f);
	for (int i = 0; i < 4; i++, out.sport++)
		seen |= 1u << (go_out(f, &out) - 2000);
	assert_int_equal(seen, 15);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	go_out(f, &tcp); /* another protocol has ports of its own */
	f->now += 300 * SECOND + 1;
	go_out(f, &out); /* those that are too old make room, to the nanosecond */
}

/* A small pool with four TCP openings, of which the first two were answered, and the first was acknowledged.
 */
static void fill_with_openings(struct fixture *f, uint16_t ports[4])
{
	struct packet out = outward(SN_TCP, 5000), in;

	for (int i = 0; i < 4; i++, out.sport++)
		ports[i] = go_out(f, &out);
	for (int i = 0; i < 2; i++) {
		in = inward(SN_TCP, ports[i]);
		send_packet(f, &in);
		assert_sent(f, 0);
	}
	out = outward(SN_TCP, 5000);
	out.flags = SN_TCP_ACK;
	assert_int_equal(go_out(f, &out), ports[0]);
}

static void an_opening_that_is_stuck_makes_room_after_a_second(void **state)
{
	struct fixture *f = *state;
	struct packet next = outward(SN_TCP, 6000), udp = outward(SN_UDP, 5000), in;
	struct sn_state_stats stats;
	uint16_t ports[4];

	small_pool(f);
	load(f);
	fill_with_openings(f, ports);
	for (int i = 0; i < 4; i++, udp.sport++)
		go_out(f, &udp);
	f->now += SECOND - 1;
	send_packet(f, &next);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	f->now += 1;
	for (int i = 1; i < 4; i++, next.sport++) /* the oldest first */
		assert_int_equal(go_out(f, &next), ports[i]);
	send_packet(f, &next);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	send_packet(f, &udp); /* what has no handshake cannot be told from what is established */
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	in = inward(SN_TCP, ports[0]);
	send_packet(f, &in); /* the one that was acknowledged lives */
	assert_int_equal(dport_of(assert_sent(f, 0)), 5000);
	sn_state_stats(f->state, 0, &stats);
	assert_int_equal(stats.evicted, 3);
	assert_int_equal(stats.exhausted, 3);
	assert_int_equal(stats.sessions, 8);
}

static void the_decisions_of_an_opening_that_made_room_are_forgotten(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5002), next = outward(SN_TCP, 6000), in;
	uint16_t ports[4];

	small_pool(f);
	load(f);
	fill_with_openings(f, ports);
	for (int i = 0; i < 3; i++)
		assert_int_equal(go_out(f, &out), ports[2]); /* known to the cache */
	f->now += SECOND;
	for (int i = 1; i < 4; i++, next.sport++)
		go_out(f, &next);
	in = inward(SN_TCP, ports[2]);
	send_packet(f, &in);
	assert_int_not_equal(dport_of(assert_sent(f, 0)), 5002); /* the port is the newer flow's */
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
}

static void an_opening_makes_room_where_sessions_are_limited(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000), udp = outward(SN_UDP, 5000);

	f->msg->runs[0]->max_sessions = 3;
	f->msg->tables[0]->max_sessions = 4;
	load(f);
	for (int i = 0; i < 3; i++, out.dst++) { /* of one shard */
		send_packet(f, &out);
		assert_sent(f, 1);
	}
	go_out(f, &udp);
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	f->now += SECOND;
	send_packet(f, &out);
	assert_sent(f, 1);
	assert_int_equal(sessions(f), 4);
	udp.dst++;
	send_packet(f, &udp);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
}

static void the_port_that_rests_longest_is_taken_next(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_ICMP, 1);
	uint16_t ports[4];

	small_pool(f);
	load(f);
	for (int i = 0; i < 4; i++, out.sport++) {
		ports[i] = go_out(f, &out);
		f->now += SECOND;
	}
	f->now += 58 * SECOND; /* the first three are too old, one after the other */
	for (int i = 0; i < 200; i++)
		sn_worker_tick(f->worker, f->now += 10 * MS);
	assert_int_equal(go_out(f, &out), ports[0]);
}

static void sessions_are_bounded_by_the_run_and_by_the_table(void **state)
{
	struct fixture *f = *state;
	struct packet udp = outward(SN_UDP, 5000), tcp = outward(SN_TCP, 5000);

	f->msg->runs[0]->max_sessions = 2; /* per protocol */
	f->msg->tables[0]->max_sessions = 3;
	load(f);
	go_out(f, &udp);
	udp.sport++;
	go_out(f, &udp);
	udp.sport++;
	send_packet(f, &udp);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	go_out(f, &tcp);
	tcp.sport++;
	send_packet(f, &tcp);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
}

static void a_packet_that_is_dropped_later_leaves_no_session(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000);
	struct sn_state_stats stats;

	f->msg->interfaces[1]->mtu = 68;
	load(f);
	out.payload_len = 100;
	for (int i = 0; i < 3; i++) {
		send_packet(f, &out);
		assert_dropped(f, SN_REASON_TOO_BIG);
	}
	sn_state_stats(f->state, 0, &stats);
	assert_int_equal(stats.sessions, 0);
	assert_int_equal(stats.created, 0);
}

static void a_packet_that_is_dropped_later_refreshes_no_session(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;

	f->msg->interfaces[1]->mtu = 68;
	load(f);
	in = inward(SN_UDP, go_out(f, &out));
	f->now += 200 * SECOND;
	out.payload_len = 100;
	send_packet(f, &out);
	assert_dropped(f, SN_REASON_TOO_BIG);
	f->now += 100 * SECOND + 1;
	assert_false(comes_back(f, &in));
}

/* An ICMP error about a frame, by an interface; returns the frame's length. */
static uint32_t error_about(const uint8_t *about, uint32_t quoted, uint8_t iface, uint32_t from, uint32_t to,
			    uint8_t *frame)
{
	struct packet p = {.iface = iface,
			   .proto = SN_ICMP,
			   .src = from,
			   .dst = to,
			   .type = 3,
			   .code = 1,
			   .payload = ip_of(about),
			   .payload_len = quoted};

	return write_frame(&p, frame);
}

static void assert_quote_sums(const uint8_t *frame, const struct packet *p)
{
	const uint8_t *q = l4_of(frame) + 8;
	uint8_t want[FRAME_MAX];
	uint32_t len = write_frame(p, want);

	assert_memory_equal(q, ip_of(want), len - 14);
}

static void an_error_from_outside_reaches_the_inside_host_with_its_own_packet_quoted(void **state)
{
	struct fixture *f = *state;

	load(f);
	for (int i = 0; i < 3; i++) {
		struct packet out = outward(protocols[i], 5000);
		uint8_t frame[FRAME_MAX];
		const uint8_t *got;
		uint32_t len;

		go_out(f, &out);
		len = error_about(f->out[0].data, f->out[0].len - 14, 1, 0xcb007101, SN_SAMPLE_POOL, frame);
		send_frame(f, 1, frame, len);
		got = assert_sent(f, 0);
		assert_int_equal(src_of(got), 0xcb007101);
		assert_int_equal(dst_of(got), SN_SAMPLE_HOST);
		out.ttl = 63; /* it was forwarded before */
		assert_quote_sums(got, &out);
	}
}

static void an_error_with_eight_bytes_quoted_is_enough_and_seven_are_not(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_TCP, 5000);
	uint8_t sent[FRAME_MAX], frame[FRAME_MAX];
	uint32_t len;

	load(f);
	go_out(f, &out);
	memcpy(sent, f->out[0].data, f->out[0].len);
	len = error_about(sent, 28, 1, 0xcb007101, SN_SAMPLE_POOL, frame);
	send_frame(f, 1, frame, len);
	assert_int_equal(sn_load16(l4_of(assert_sent(f, 0)) + 8 + 20), 5000);
	len = error_about(sent, 27, 1, 0xcb007101, SN_SAMPLE_POOL, frame);
	send_frame(f, 1, frame, len);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
	sent[14 + 6] = 0x20; /* a first fragment is of its flow, a later one of none */
	len = error_about(sent, 28, 1, 0xcb007101, SN_SAMPLE_POOL, frame);
	send_frame(f, 1, frame, len);
	assert_int_equal(sn_load16(l4_of(assert_sent(f, 0)) + 8 + 20), 5000);
	sent[14 + 7] = 1;
	len = error_about(sent, 28, 1, 0xcb007101, SN_SAMPLE_POOL, frame);
	send_frame(f, 1, frame, len);
	assert_dropped(f, SN_REASON_NAT_NO_BINDING);
}

/* Return packets find the host by protocol, remote and outside address; the pool has one. */
static void a_protocol_without_ports_passes_by_address_where_that_is_unambiguous(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(47, 0), other = out, in = inward(47, 0);

	load(f);
	other.src++;
	for (int i = 0; i < 3; i++) { /* the later ones by cached decisions */
		send_packet(f, &out);
		assert_sent(f, 1);
		assert_true(comes_back(f, &in));
		assert_int_equal(sn_load32(ip_of(assert_sent(f, 0)) + 16), out.src);
	}
	assert_int_equal(sessions(f), 1);
	send_packet(f, &other);
	assert_dropped(f, SN_REASON_NAT_EXHAUSTED);
	f->now += 300 * SECOND + 1; /* UDP's timeout */
	assert_false(comes_back(f, &in));
	send_packet(f, &other);
	assert_int_equal(f->n_drops, 0);
	assert_true(comes_back(f, &in));
}

static void an_error_from_inside_leaves_by_the_outside_address(void **state)
{
	struct fixture *f = *state;

	load(f);
	for (int i = 0; i < 3; i++) {
		struct packet out = outward(protocols[i], 5000), in = inward(protocols[i], go_out(f, &out));
		uint8_t frame[FRAME_MAX];
		const uint8_t *got;
		uint32_t len;

		assert_true(comes_back(f, &in));
		len = error_about(f->out[0].data, f->out[0].len - 14, 0, 0x0a000063, SN_SAMPLE_REMOTE, frame);
		send_frame(f, 0, frame, len);
		got = assert_sent(f, 1);
		assert_int_equal(src_of(got), SN_SAMPLE_POOL);
		assert_int_equal(dst_of(got), SN_SAMPLE_REMOTE);
		in.ttl = 63;
		assert_quote_sums(got, &in);
		frame[14 + 20 + 8 + 16] ^= 1; /* the quoted destination: no flow of ours */
		sn_store16(frame + 14 + 20 + 2, 0);
		send_frame(f, 0, frame, len);
		assert_dropped(f, SN_REASON_NAT_UNSUPPORTED);
	}
}

static void errors_do_not_refresh_the_flow(void **state)
{
	struct fixture *f = *state;
	struct packet out = outward(SN_UDP, 5000), in;
	uint8_t frame[FRAME_MAX];
	uint32_t len;

	load(f);
	in = inward(SN_UDP, go_out(f, &out));
	len = error_about(f->out[0].data, 28, 1, 0xcb007101, SN_SAMPLE_POOL, frame);
	f->now += 200 * SECOND;
	send_frame(f, 1, frame, len);
	assert_sent(f, 0);
	f->now += 100 * SECOND + 1;
	assert_false(comes_back(f, &in));
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_flow_is_translated_out_and_back),
		WITH_FIXTURE(a_return_packet_needs_its_binding_and_its_remote),
		WITH_FIXTURE(flows_to_two_remotes_have_two_ports),
		WITH_FIXTURE(what_a_napt_cannot_translate_is_dropped_under_its_reason),
		WITH_FIXTURE(a_later_fragment_is_of_no_flow_that_is_known),
		WITH_FIXTURE(an_idle_binding_lives_to_the_nanosecond_of_its_timeout),
		WITH_FIXTURE(the_cache_does_not_outlive_the_binding),
		WITH_FIXTURE(tcp_is_established_by_its_handshake_and_transitory_after_fin),
		WITH_FIXTURE(a_connection_whose_ports_are_used_again_after_fin_starts_over),
		WITH_FIXTURE(timers_give_ports_of_idle_sessions_back),
		WITH_FIXTURE(a_pool_is_used_up_to_its_last_port_and_no_further),
		WITH_FIXTURE(an_opening_that_is_stuck_makes_room_after_a_second),
		WITH_FIXTURE(the_decisions_of_an_opening_that_made_room_are_forgotten),
		WITH_FIXTURE(an_opening_makes_room_where_sessions_are_limited),
		WITH_FIXTURE(the_port_that_rests_longest_is_taken_next),
		WITH_FIXTURE(sessions_are_bounded_by_the_run_and_by_the_table),
		WITH_FIXTURE(a_packet_that_is_dropped_later_leaves_no_session),
		WITH_FIXTURE(a_packet_that_is_dropped_later_refreshes_no_session),
		WITH_FIXTURE(an_error_from_outside_reaches_the_inside_host_with_its_own_packet_quoted),
		WITH_FIXTURE(an_error_with_eight_bytes_quoted_is_enough_and_seven_are_not),
		WITH_FIXTURE(a_protocol_without_ports_passes_by_address_where_that_is_unambiguous),
		WITH_FIXTURE(an_error_from_inside_leaves_by_the_outside_address),
		WITH_FIXTURE(errors_do_not_refresh_the_flow),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
