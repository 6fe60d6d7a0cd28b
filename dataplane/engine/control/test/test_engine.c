/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "sample.h"
#include "sn_frame.h"
#include "sn_harness.h"
#include "sn_request.h"

#define SECOND_NS 1000000000ull

struct fixture {
	struct sn_harness harness;
	struct sn_requests requests;
	struct sn_arena arena; /* of programs and messages made here */
	struct sn_error err;
};

static int start_eal(void **state)
{
	struct sn_error err;

	(void)state;
	if (sn_harness_eal("test", &err) != 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	return 0;
}

static int stop_eal(void **state)
{
	(void)state;
	return rte_eal_cleanup();
}

static int open_workers(void **state, unsigned int n)
{
	struct fixture *f = calloc(1, sizeof(*f));

	sn_arena_init(&f->arena);
	if (sn_harness_open(&f->harness, &(struct sn_harness_config){.n_workers = n}, &f->err) != 0)
		fail_msg("%s", f->err.text);
	sn_requests_init(&f->requests, f->harness.engine, sn_harness_inject, &f->harness);
	*state = f;
	return 0;
}

static int open_engine(void **state)
{
	return open_workers(state, 1);
}

static int open_two_workers(void **state)
{
	return open_workers(state, 2);
}

static int close_engine(void **state)
{
	struct fixture *f = *state;

	sn_requests_free(&f->requests);
	sn_harness_close(&f->harness);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

static struct sn_engine_loaded load(struct fixture *f, const Sinter__Program__V1__Program *program)
{
	struct sn_engine_loaded loaded;

	if (sn_engine_load(f->harness.engine, program, NULL, 0, &loaded, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return loaded;
}

/* One packet through the engine. */
static void send_packet(struct fixture *f, uint64_t now_ns, const struct sn_sample_packet *packet)
{
	Sinter__Control__V1__InjectedPacket injected = SINTER__CONTROL__V1__INJECTED_PACKET__INIT;
	Sinter__Control__V1__InjectedPacket *list[] = {&injected};
	uint8_t frame[SN_SAMPLE_FRAME];

	injected.interface = packet->interface;
	injected.data.data = frame;
	injected.data.len = sn_sample_udp(packet, frame);
	if (sn_harness_round(&f->harness, now_ns, list, 1, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

/* The IP header of the only packet that came out. */
static const struct rte_ipv4_hdr *only_out(const struct fixture *f, uint32_t interface)
{
	assert_int_equal(f->harness.n_drops, 0);
	assert_int_equal(f->harness.n_out, 1);
	assert_int_equal(f->harness.out[0].interface, interface);
	assert_int_equal(f->harness.out[0].source, 0);
	return (const struct rte_ipv4_hdr *)(f->harness.bytes + f->harness.out[0].offset + RTE_ETHER_HDR_LEN);
}

static const struct rte_udp_hdr *udp_of(const struct rte_ipv4_hdr *ip)
{
	return (const struct rte_udp_hdr *)(ip + 1);
}

static bool checksum_is_right(const struct rte_ipv4_hdr *ip)
{
	uint8_t copy[SN_SAMPLE_FRAME] = {0};
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)copy;

	memcpy(copy, udp_of(ip), rte_be_to_cpu_16(udp_of(ip)->dgram_len));
	udp->dgram_cksum = 0;
	return rte_ipv4_udptcp_cksum(ip, udp) == udp_of(ip)->dgram_cksum;
}

static const struct sn_sample_packet outbound = {
	.src = SN_SAMPLE_HOST,
	.dst = SN_SAMPLE_REMOTE,
	.sport = 5000,
	.dport = 53,
	.ttl = 64,
	.interface = 0,
};

static struct sn_sample_packet answer_to(const struct rte_ipv4_hdr *ip)
{
	return (struct sn_sample_packet){
		.src = rte_be_to_cpu_32(ip->dst_addr),
		.dst = rte_be_to_cpu_32(ip->src_addr),
		.sport = rte_be_to_cpu_16(udp_of(ip)->dst_port),
		.dport = rte_be_to_cpu_16(udp_of(ip)->src_port),
		.ttl = 60,
		.interface = 1,
	};
}

static void a_flow_is_translated_out_and_back(void **state)
{
	struct fixture *f = *state;
	const struct rte_ipv4_hdr *ip;
	struct sn_sample_packet back;

	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	ip = only_out(f, 1);
	assert_int_equal(rte_be_to_cpu_32(ip->src_addr), SN_SAMPLE_POOL);
	assert_int_equal(ip->time_to_live, 63);
	assert_true(checksum_is_right(ip));
	back = answer_to(ip);
	send_packet(f, 2 * SECOND_NS, &back);
	ip = only_out(f, 0);
	assert_int_equal(rte_be_to_cpu_32(ip->dst_addr), SN_SAMPLE_HOST);
	assert_int_equal(rte_be_to_cpu_16(udp_of(ip)->dst_port), outbound.sport);
	assert_true(checksum_is_right(ip));
}

static void drops_are_reported_with_their_packet_and_reason(void **state)
{
	struct fixture *f = *state;
	struct sn_sample_packet packet = outbound;

	load(f, sn_sample_napt(&f->arena));
	packet.dport = 9;
	send_packet(f, SECOND_NS, &packet);
	assert_int_equal(f->harness.n_out, 0);
	assert_int_equal(f->harness.n_drops, 1);
	assert_int_equal(f->harness.drops[0].source, 0);
	assert_int_equal(f->harness.drops[0].reason, SN_REASON_CHAIN);
}

static void a_bad_program_is_refused_and_the_running_one_keeps_its_flows(void **state)
{
	struct fixture *f = *state;
	struct sn_engine_loaded loaded;
	Sinter__Program__V1__Program *bad = sn_sample_napt(&f->arena);
	struct sn_sample_packet back;

	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	back = answer_to(only_out(f, 1));
	bad->runs[0]->table = 7;
	assert_int_equal(sn_engine_load(f->harness.engine, bad, NULL, 0, &loaded, &f->err), -1);
	assert_non_null(strstr(f->err.text, "table is 7"));
	send_packet(f, 2 * SECOND_NS, &back);
	only_out(f, 0);
}

static void a_program_of_another_schema_is_refused_by_name_of_both(void **state)
{
	struct fixture *f = *state;
	struct sn_engine_loaded loaded;
	Sinter__Program__V1__Program *program = sn_sample_wire(&f->arena);

	program->schema = 3;
	assert_int_equal(sn_engine_load(f->harness.engine, program, NULL, 0, &loaded, &f->err), -1);
	assert_non_null(strstr(f->err.text, "3"));
	assert_non_null(strstr(f->err.text, "2"));
}

static void a_swap_to_the_same_state_keeps_every_session(void **state)
{
	struct fixture *f = *state;
	struct sn_engine_loaded loaded;
	struct sn_sample_packet back;

	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	back = answer_to(only_out(f, 1));
	loaded = load(f, sn_sample_napt(&f->arena));
	assert_int_equal(loaded.sessions_kept, 1);
	assert_int_equal(loaded.sessions_dropped, 0);
	send_packet(f, 2 * SECOND_NS, &back);
	only_out(f, 0);
}

static void a_swap_to_other_state_keeps_the_sessions_that_fit_it(void **state)
{
	struct fixture *f = *state;
	struct sn_engine_loaded loaded;
	Sinter__Program__V1__Program *larger = sn_sample_napt(&f->arena), *other = sn_sample_napt(&f->arena);
	struct sn_sample_packet back;

	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	back = answer_to(only_out(f, 1));
	larger->tables[0]->max_sessions = 20000;
	loaded = load(f, larger);
	assert_int_equal(loaded.sessions_kept, 1);
	assert_int_equal(loaded.sessions_dropped, 0);
	send_packet(f, 2 * SECOND_NS, &back);
	only_out(f, 0);

	other->tables[0]->pool[0]->first = other->tables[0]->pool[0]->last = SN_SAMPLE_POOL + 1;
	loaded = load(f, other);
	assert_int_equal(loaded.sessions_kept, 0);
	assert_int_equal(loaded.sessions_dropped, 1);
}

static void a_stateless_program_follows_a_stateful_one_and_back(void **state)
{
	struct fixture *f = *state;
	struct sn_engine_loaded loaded;

	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	loaded = load(f, sn_sample_wire(&f->arena));
	assert_int_equal(loaded.sessions_dropped, 1);
	send_packet(f, 2 * SECOND_NS, &outbound);
	assert_int_equal(rte_be_to_cpu_32(only_out(f, 1)->src_addr), SN_SAMPLE_HOST);
	load(f, sn_sample_napt(&f->arena));
	send_packet(f, 3 * SECOND_NS, &outbound);
	assert_int_equal(rte_be_to_cpu_32(only_out(f, 1)->src_addr), SN_SAMPLE_POOL);
}

static void packets_come_out_in_order_with_the_packets_that_caused_them(void **state)
{
	struct fixture *f = *state;
	enum { N = 100 };
	static Sinter__Control__V1__InjectedPacket injected[N], *list[N];
	static uint8_t frames[N][SN_SAMPLE_FRAME];

	load(f, sn_sample_wire(&f->arena));
	for (size_t i = 0; i < N; i++) {
		struct sn_sample_packet packet = outbound;

		packet.interface = 0;
		packet.sport = (uint16_t)(1000 + i);
		sinter__control__v1__injected_packet__init(&injected[i]);
		injected[i].data.data = frames[i];
		injected[i].data.len = sn_sample_udp(&packet, frames[i]);
		list[i] = &injected[i];
	}
	assert_int_equal(sn_harness_round(&f->harness, SECOND_NS, list, N, &f->err), 0);
	assert_int_equal(f->harness.n_out, N);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(f->harness.out[i].source, i);
}

static void injection_says_what_is_wrong_with_it(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__InjectedPacket packet = SINTER__CONTROL__V1__INJECTED_PACKET__INIT;
	Sinter__Control__V1__InjectedPacket *list[] = {&packet};

	assert_int_equal(sn_harness_round(&f->harness, 5, list, 1, &f->err), -1);
	assert_non_null(strstr(f->err.text, "no program is loaded"));
	load(f, sn_sample_wire(&f->arena));
	packet.interface = 2;
	assert_int_equal(sn_harness_round(&f->harness, 5, list, 1, &f->err), -1);
	assert_non_null(strstr(f->err.text, "interface 2, the program has 2"));
	packet.interface = 0;
	assert_int_equal(sn_harness_round(&f->harness, 5, list, 1, &f->err), 0);
	assert_int_equal(f->harness.drops[0].reason, SN_REASON_TRUNCATED);
	assert_int_equal(sn_harness_round(&f->harness, 4, list, 1, &f->err), -1);
	assert_non_null(strstr(f->err.text, "clock goes back"));
}

/* Asks by an encoded request, gets the decoded response (of the fixture's arena). */
static Sinter__Control__V1__Response *ask(struct fixture *f, const Sinter__Control__V1__Request *request)
{
	size_t len = sinter__control__v1__request__get_packed_size(request), reply_len;
	uint8_t *bytes = malloc(len + 1), *reply;
	Sinter__Control__V1__Response *response;

	sinter__control__v1__request__pack(request, bytes);
	assert_int_equal(sn_requests_answer(&f->requests, bytes, len, &reply, &reply_len), 0);
	response = sinter__control__v1__response__unpack(&f->arena.allocator, reply_len - SN_FRAME_HEADER,
							 reply + SN_FRAME_HEADER);
	assert_non_null(response);
	assert_int_equal(response->id, request->id);
	free(bytes);
	free(reply);
	return response;
}

static void hello_of_another_release_is_told_which_to_use(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__Hello hello = SINTER__CONTROL__V1__HELLO__INIT;
	Sinter__Control__V1__Response *response;

	request.id = 42;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_HELLO;
	request.hello = &hello;
	hello.schema = 3;
	response = ask(f, &request);
	assert_string_equal(
		response->error,
		"program schema 3, this engine runs schema 2: use the sinterctl of the same release");
	hello.schema = 2;
	response = ask(f, &request);
	assert_string_equal(response->error, "");
	assert_int_equal(response->hello->schema, 2);
}

static void bytes_that_are_no_request_are_answered_with_an_error(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Response *response;
	uint8_t *reply;
	size_t len;

	assert_int_equal(sn_requests_answer(&f->requests, (const uint8_t *)"\xff\xff\xff", 3, &reply, &len),
			 0);
	response = sinter__control__v1__response__unpack(&f->arena.allocator, len - SN_FRAME_HEADER,
							 reply + SN_FRAME_HEADER);
	assert_string_equal(response->error, "request of 3 bytes cannot be decoded");
	free(reply);
}

static void statistics_count_what_went_through(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetStats get = SINTER__CONTROL__V1__GET_STATS__INIT;
	struct sn_sample_packet discarded = outbound, bad = outbound;
	Sinter__Control__V1__Stats *stats;
	uint64_t in_classes = 0;

	load(f, sn_sample_napt(&f->arena));
	discarded.dport = 9;
	bad.src = 0x7f000001;
	for (unsigned int i = 1; i <= 3; i++)
		send_packet(f, i * SECOND_NS, &outbound);
	send_packet(f, 4 * SECOND_NS, &discarded);
	send_packet(f, 5 * SECOND_NS, &bad);
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_STATS;
	request.get_stats = &get;
	stats = ask(f, &request)->stats;

	assert_int_equal(stats->n_ports, 2);
	assert_string_equal(stats->ports[1]->interface, "outside");
	assert_int_equal(stats->ports[0]->rx_packets, 5);
	assert_int_equal(stats->ports[1]->tx_packets, 3);
	for (size_t i = 0; i < stats->n_classes; i++)
		in_classes += stats->classes[i]->packets;
	assert_int_equal(in_classes, 4);
	assert_int_equal(stats->n_drops, 2);
	assert_string_equal(stats->drops[0]->reason, "martian");
	assert_int_equal(stats->drops[0]->kind, SINTER__PROGRAM__V1__DROP_KIND__DROP_KIND_REFUSAL);
	assert_int_equal(stats->drops[0]->packets, 1);
	assert_string_equal(stats->drops[1]->reason, "discard");
	assert_int_equal(stats->drops[1]->packets, 1);
	assert_int_equal(stats->n_tables, 1);
	assert_string_equal(stats->tables[0]->name, "nat");
	assert_int_equal(stats->tables[0]->sessions, 1);
	assert_int_equal(stats->tables[0]->created, 1);
	assert_int_equal(stats->n_workers, 1);
	assert_int_equal(stats->workers[0]->packets, 5);
}

static void a_chains_reason_of_an_engines_name_is_the_chains_decision(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetStats get = SINTER__CONTROL__V1__GET_STATS__INIT;
	Sinter__Program__V1__Program *program = sn_sample_napt(&f->arena);
	struct sn_sample_packet discarded = outbound, bad = outbound;
	Sinter__Control__V1__Stats *stats;

	program->reasons[0] = "martian";
	load(f, program);
	discarded.dport = 9;
	bad.src = 0x7f000001;
	for (unsigned int i = 1; i <= 3; i++)
		send_packet(f, i * SECOND_NS, &discarded);
	send_packet(f, 4 * SECOND_NS, &bad);
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_STATS;
	request.get_stats = &get;
	stats = ask(f, &request)->stats;
	assert_int_equal(stats->n_drops, 2);
	assert_string_equal(stats->drops[0]->reason, "martian");
	assert_int_equal(stats->drops[0]->kind, SINTER__PROGRAM__V1__DROP_KIND__DROP_KIND_REFUSAL);
	assert_int_equal(stats->drops[0]->packets, 1);
	assert_string_equal(stats->drops[1]->reason, "martian");
	assert_int_equal(stats->drops[1]->kind, SINTER__PROGRAM__V1__DROP_KIND__DROP_KIND_DECISION);
	assert_int_equal(stats->drops[1]->packets, 3);
}

static void each_reason_of_the_engine_has_a_kind(void **state)
{
	(void)state;
	for (uint32_t r = 0; r < SN_REASON_BUILTIN; r++)
		assert_int_equal(sn_reason_name(r) != NULL, sn_reason_kind(r) != 0);
	assert_int_equal(sn_reason_kind(SN_REASON_TX_FULL), SN_REASON_LOSS);
	assert_int_equal(sn_reason_kind(SN_REASON_MARTIAN), SN_REASON_REFUSAL);
	assert_int_equal(sn_reason_kind(SN_REASON_ARP), SN_REASON_CONSUMED);
}

static void sessions_are_listed_with_both_sides(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetSessions get = SINTER__CONTROL__V1__GET_SESSIONS__INIT;
	Sinter__Control__V1__Response *response;
	const Sinter__Program__V1__Session *session;

	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_SESSIONS;
	request.get_sessions = &get;
	response = ask(f, &request);
	assert_int_equal(response->sessions->n_sessions, 1);
	session = response->sessions->sessions[0];
	assert_string_equal(session->run, "nat");
	assert_int_equal(session->proto, IPPROTO_UDP);
	assert_int_equal(session->inside_address, SN_SAMPLE_HOST);
	assert_int_equal(session->inside_port, 5000);
	assert_int_equal(session->outside_address, SN_SAMPLE_POOL);
	assert_int_equal(session->remote_address, SN_SAMPLE_REMOTE);
	get.table = 1;
	response = ask(f, &request);
	assert_string_equal(response->error, "sessions: table 1, the program has 1");
}

static void neighbours_are_listed(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetNeighbors get = SINTER__CONTROL__V1__GET_NEIGHBORS__INIT;
	Sinter__Control__V1__NeighborList *list;

	load(f, sn_sample_napt(&f->arena));
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_NEIGHBORS;
	request.get_neighbors = &get;
	list = ask(f, &request)->neighbors;
	assert_int_equal(list->n_neighbors, 2);
	for (size_t i = 0; i < list->n_neighbors; i++) {
		assert_string_equal(list->neighbors[i]->state, "static");
		assert_int_equal(list->neighbors[i]->mac.len, 6);
	}
}

static Sinter__Control__V1__Response *ask_move(struct fixture *f, uint32_t shard, uint32_t worker)
{
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__MoveShards move = SINTER__CONTROL__V1__MOVE_SHARDS__INIT;
	Sinter__Control__V1__ShardMove one = SINTER__CONTROL__V1__SHARD_MOVE__INIT, *list[] = {&one};

	one.shard = shard;
	one.worker = worker;
	move.n_moves = 1;
	move.moves = list;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_MOVE_SHARDS;
	request.move_shards = &move;
	return ask(f, &request);
}

static void shards_move_on_request_and_statistics_say_who_has_them(void **state)
{
	struct fixture *f = *state;
	Sinter__Control__V1__Request request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetStats get = SINTER__CONTROL__V1__GET_STATS__INIT;
	const struct rte_ipv4_hdr *ip;
	struct sn_sample_packet back;
	Sinter__Control__V1__Stats *stats;
	uint32_t shard;

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_STATS;
	request.get_stats = &get;
	assert_string_equal(ask_move(f, 0, 1)->error, "move: the engine runs no program that keeps state");
	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	ip = only_out(f, 1);
	back = answer_to(ip);
	shard = back.dport % SN_SHARDS;
	for (uint32_t i = 0; i < 4; i++) {
		Sinter__Control__V1__Response *response = ask_move(f, shard, i % 2);

		assert_string_equal(response->error, "");
		assert_int_equal(response->moved->n_blocked_ns, 1);
		send_packet(f, (2 + i) * SECOND_NS, &back);
		only_out(f, 0);
		stats = ask(f, &request)->stats;
		assert_int_equal(stats->n_shards, SN_SHARDS);
		assert_int_equal(stats->shards[shard]->worker, i % 2);
		assert_int_equal(stats->shards[shard]->packets, 2 + i);
		assert_int_equal(stats->shards[shard]->sessions, 1);
		assert_true(stats->shards[shard]->cycles > 0);
		assert_int_equal(stats->workers[0]->packets + stats->workers[1]->packets, 2 + i);
		assert_int_equal(stats->workers[0]->handed, stats->workers[1]->taken);
	}
	assert_int_equal(stats->workers[0]->handed, shard < SN_SHARDS / 2 ? 2 : 3);
	assert_string_equal(ask_move(f, 128, 1)->error, "move: shard 128, there are 128");
	load(f, sn_sample_wire(&f->arena));
	assert_int_equal(ask(f, &request)->stats->n_shards, 0);
}

/* The harness's clock stands at seconds, the machine's at days: by that one, every session would have ended.
 */
static void a_program_that_is_swapped_in_knows_the_flows_at_the_time_of_the_test(void **state)
{
	struct fixture *f = *state;
	struct sn_worker *worker = worker_of(f->harness.engine, 0);
	uint64_t hits, misses;

	load(f, sn_sample_napt(&f->arena));
	for (int i = 0; i < 4; i++)
		send_packet(f, SECOND_NS, &outbound);
	only_out(f, 1);
	hits = sn_worker_stats(worker)->cache_hits;
	misses = sn_worker_stats(worker)->cache_misses;
	assert_true(hits > 0);
	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS, &outbound);
	only_out(f, 1);
	assert_int_equal(sn_worker_stats(worker)->cache_hits, hits + 1);
	assert_int_equal(sn_worker_stats(worker)->cache_misses, misses);
	/* After the session's end nothing is known of the flow: it starts over. */
	load(f, sn_sample_napt(&f->arena));
	send_packet(f, SECOND_NS * 3600, &outbound);
	only_out(f, 1);
	assert_int_equal(sn_worker_stats(worker)->cache_misses, misses + 1);
}

int main(void)
{
#define ENGINE_TEST(test) cmocka_unit_test_setup_teardown(test, open_engine, close_engine)
	const struct CMUnitTest tests[] = {
		ENGINE_TEST(a_flow_is_translated_out_and_back),
		ENGINE_TEST(drops_are_reported_with_their_packet_and_reason),
		ENGINE_TEST(a_bad_program_is_refused_and_the_running_one_keeps_its_flows),
		ENGINE_TEST(a_program_of_another_schema_is_refused_by_name_of_both),
		ENGINE_TEST(a_swap_to_the_same_state_keeps_every_session),
		ENGINE_TEST(a_swap_to_other_state_keeps_the_sessions_that_fit_it),
		ENGINE_TEST(a_stateless_program_follows_a_stateful_one_and_back),
		ENGINE_TEST(a_program_that_is_swapped_in_knows_the_flows_at_the_time_of_the_test),
		ENGINE_TEST(packets_come_out_in_order_with_the_packets_that_caused_them),
		ENGINE_TEST(injection_says_what_is_wrong_with_it),
		ENGINE_TEST(hello_of_another_release_is_told_which_to_use),
		ENGINE_TEST(bytes_that_are_no_request_are_answered_with_an_error),
		ENGINE_TEST(statistics_count_what_went_through),
		ENGINE_TEST(a_chains_reason_of_an_engines_name_is_the_chains_decision),
		ENGINE_TEST(neighbours_are_listed),
		cmocka_unit_test(each_reason_of_the_engine_has_a_kind),
		ENGINE_TEST(sessions_are_listed_with_both_sides),
		ENGINE_TEST(neighbours_are_listed),
		cmocka_unit_test_setup_teardown(shards_move_on_request_and_statistics_say_who_has_them,
						open_two_workers, close_engine),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
