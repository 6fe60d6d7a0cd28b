/* SPDX-License-Identifier: Apache-2.0 */
/* Flows where a monitor asks for them: each packet counts once, whichever way it takes through the worker. */

#include "fixture.h"

#include "sn_execution.h"
#include "sn_observer.h"
#include "sn_parse.h"

#define LIMIT	 127 /* an operation of this test's own, of no program.proto */
#define REASON	 SN_REASON_CHAIN
#define SETTLED	 1100 /* ms after which all is counted */
#define IP_OF_20 28   /* bytes of a UDP packet without payload */

static uint32_t limit_left; /* packets that pass it; the others are dropped */

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	(void)b;
	(void)to;
	(void)from;
	return 0;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_execution_each(x, p, op, NULL);
}

static struct sn_verdict each(const struct sn_program *program, const struct sn_op *op,
			      struct sn_partition *partition, struct sn_entry *entry, struct sn_pkt *p,
			      uint64_t now)
{
	(void)program;
	(void)op;
	(void)partition;
	(void)entry;
	(void)p;
	(void)now;
	if (limit_left == 0)
		return sn_drop(REASON);
	limit_left--;
	return sn_pass();
}

static const struct sn_operation test_limit = {
	.name = "test_limit", .wire = LIMIT, .decode = decode, .execute = execute, .each = each};
SN_OPERATION(test_limit)

/* An operation more in a segment's first class: before the others, or behind them. */
static void add_op(struct fixture *f, uint32_t segment, uint32_t op_case, bool before)
{
	Sinter__Program__V1__Leg *leg = f->msg->segments[segment]->classes[0]->legs[0];
	Sinter__Program__V1__Op **ops = sn_arena_alloc(&f->arena, (leg->n_ops + 1) * sizeof(*ops));
	Sinter__Program__V1__Op *op = sn_arena_alloc(&f->arena, sizeof(*op));

	sinter__program__v1__op__init(op);
	op->op_case = (Sinter__Program__V1__Op__OpCase)op_case;
	op->observe = 0;
	if (leg->n_ops)
		memcpy(ops + before, leg->ops, leg->n_ops * sizeof(*ops));
	ops[before ? 0 : leg->n_ops] = op;
	leg->n_ops++;
	leg->ops = ops;
}

static void observe(struct fixture *f, uint32_t segment, bool before)
{
	add_op(f, segment, SINTER__PROGRAM__V1__OP__OP_OBSERVE, before);
}

/* By flow and by source, and exported if sampling is above 0. */
static Sinter__Program__V1__Observation *open_observation(struct fixture *f, uint32_t sampling)
{
	Sinter__Program__V1__Observation *o = sn_arena_alloc(&f->arena, sizeof(*o));
	Sinter__Program__V1__ObserveBy *by = sn_arena_alloc(&f->arena, 2 * sizeof(*by));
	Sinter__Program__V1__FlowExport *export = sn_arena_alloc(&f->arena, sizeof(*export));

	sinter__program__v1__observation__init(o);
	o->name = (char *)(uintptr_t) "mon";
	o->entries = 4096;
	o->interval_ms = 3600000;
	o->tops = sn_arena_alloc(&f->arena, 2 * sizeof(*o->tops));
	for (uint32_t i = 0; i < 2; i++) {
		sinter__program__v1__observe_by__init(&by[i]);
		o->tops[i] = &by[i];
	}
	by[1].what = SINTER__PROGRAM__V1__OBSERVE_BY__WHAT__SOURCE;
	by[1].prefix_len = 32;
	o->n_tops = 2;
	if (sampling > 0) {
		sinter__program__v1__flow_export__init(export);
		export->port = 4739;
		export->sampling = sampling;
		export->active_ms = export->idle_ms = 1000;
		o->export = export;
	}
	f->msg->observations = sn_arena_alloc(&f->arena, sizeof(*f->msg->observations));
	f->msg->observations[0] = o;
	f->msg->n_observations = 1;
	return o;
}

static struct sn_observer *observer(const struct fixture *f)
{
	return sn_worker_counts(f->worker)->observer;
}

static uint64_t hits(const struct fixture *f)
{
	return sn_worker_stats(f->worker)->cache_hits;
}

/* All cells have been looked at. */
static void settle(struct fixture *f)
{
	for (int i = 0; i < SETTLED; i++)
		tick(f, MS);
}

static const struct sn_top_row *row_of(const struct sn_top *top, uint64_t first, uint64_t second)
{
	for (uint32_t i = 0; i < top->n; i++)
		if (top->rows[i].key.words[0] == first && top->rows[i].key.words[1] == second)
			return &top->rows[i];
	return NULL;
}

static void assert_flow(const struct fixture *f, uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport,
			uint8_t proto, uint64_t packets, uint64_t bytes)
{
	const struct sn_top_row *row = row_of(observer(f)->running.tops[0], (uint64_t)src << 32 | dst,
					      (uint64_t)sport << 32 | (uint64_t)dport << 16 | proto);

	assert_non_null(row);
	assert_int_equal(row->packets, packets);
	assert_int_equal(row->bytes, bytes);
	assert_int_equal(row->error, 0);
}

static void assert_all(const struct fixture *f, uint64_t packets)
{
	assert_int_equal(observer(f)->packets, packets);
	assert_int_equal(observer(f)->running.packets, packets);
	assert_int_equal(observer(f)->running.tops[0]->packets, packets);
	assert_int_equal(observer(f)->running.tops[1]->packets, packets);
}

static void packets_of_known_flows_are_counted_as_those_of_unknown_ones(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	open_observation(f, 0);
	observe(f, 0, true);
	load(f);
	for (int i = 0; i < 10; i++)
		send_packet(f, &p);
	assert_int_equal(hits(f), 8);
	settle(f);
	assert_flow(f, p.src, p.sport, p.dst, p.dport, SN_UDP, 10, 10 * (IP_OF_20 + p.payload_len));
	assert_all(f, 10);
}

static void a_flow_is_observed_as_it_is_behind_the_translation(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_TCP, 5000);
	uint16_t outside = 0;

	open_observation(f, 0);
	observe(f, 0, false);
	load(f);
	p.flags = SN_TCP_ACK;
	for (int i = 0; i < 10; i++) {
		send_packet(f, &p);
		outside = sport_of(assert_sent(f, 1));
	}
	assert_true(hits(f) > 5);
	settle(f);
	assert_flow(f, SN_SAMPLE_POOL, outside, p.dst, p.dport, SN_TCP, 10, 10 * (40 + p.payload_len));
}

static void packets_with_options_and_tags_count_as_plain_ones(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	open_observation(f, 0);
	observe(f, 0, true);
	load(f);
	for (int i = 0; i < 10; i++) {
		p.options = i % 2;
		send_packet(f, &p);
		assert_sent(f, 1);
	}
	assert_true(hits(f) > 5);
	settle(f);
	assert_flow(f, p.src, p.sport, p.dst, p.dport, SN_UDP, 10, 10 * (IP_OF_20 + p.payload_len) + 5 * 4);
}

static void queries_are_told_by_their_type(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_ICMP, 77);

	open_observation(f, 0);
	observe(f, 0, true);
	load(f);
	p.type = SN_ICMP_ECHO_REQUEST;
	for (int i = 0; i < 5; i++)
		send_packet(f, &p);
	settle(f);
	assert_flow(f, p.src, 0, p.dst, SN_ICMP_ECHO_REQUEST << 8, SN_ICMP, 5, 5 * (28 + p.payload_len));
}

/* Behind the limit only those packets count that it lets pass, in front of it all. */
static void what_drops_packets_one_by_one_stands_before_or_behind(void **state)
{
	for (int behind = 0; behind < 2; behind++) {
		struct fixture *f;
		struct packet p = outward(SN_UDP, 5000);

		assert_int_equal(open_fixture(state), 0);
		f = *state;
		open_observation(f, 0);
		observe(f, 0, false);
		add_op(f, 0, LIMIT, behind);
		load(f);
		limit_left = 7;
		for (int i = 0; i < 20; i++)
			send_packet(f, &p);
		assert_int_equal(limit_left, 0);
		assert_true(hits(f) > 15);
		settle(f);
		assert_all(f, behind ? 7 : 20);
		close_fixture(state);
	}
}

/* 1,024 decisions are known at a time: those of other flows give way, with what was counted. */
enum { FLOWS = 3000, ROUNDS = 6, FIRST = 5000 };

/* The flow of a packet that came out. */
static struct packet flow_out(struct fixture *f, uint16_t iface)
{
	const uint8_t *frame = assert_sent(f, iface);

	return (struct packet){.src = src_of(frame),
			       .dst = dst_of(frame),
			       .sport = sport_of(frame),
			       .dport = dport_of(frame)};
}

/*
 * More flows than the cache has entries, and their answers, most of them by a decision that is kept short.
 * Each packet of one direction counts, and as of the flow that it is where it is observed: as it comes, or as
 * it leaves.
 */
static void observe_crowd(struct fixture *f, uint32_t segment, bool answers, bool before)
{
	struct packet seen[FLOWS];
	uint64_t known = 0;

	open_observation(f, 0);
	observe(f, segment, before);
	load(f);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		known = hits(f);
		for (uint32_t i = 0; i < FLOWS; i++) {
			struct packet out = outward(SN_UDP, (uint16_t)(FIRST + i)), back;

			send_packet(f, &out);
			back = inward(SN_UDP, flow_out(f, 1).sport);
			if (!answers)
				seen[i] = before ? out : flow_out(f, 1);
			send_packet(f, &back);
			if (answers)
				seen[i] = before ? back : flow_out(f, 0);
		}
		for (int ms = 0; ms < 1000; ms++)
			tick(f, MS / 100); /* rooms for short decisions come */
	}
	assert_true(hits(f) - known > 2 * FLOWS * 95 / 100);
	settle(f);
	assert_all(f, ROUNDS * FLOWS);
	for (uint32_t i = 0; i < FLOWS; i++)
		assert_flow(f, seen[i].src, seen[i].sport, seen[i].dst, seen[i].dport, SN_UDP, ROUNDS,
			    ROUNDS * (IP_OF_20 + outward(SN_UDP, 0).payload_len));
}

static void flows_beyond_the_cache_are_counted_as_they_come(void **state)
{
	observe_crowd(*state, 0, false, true);
}

static void flows_beyond_the_cache_are_counted_as_they_leave(void **state)
{
	observe_crowd(*state, 0, false, false);
}

static void answers_beyond_the_cache_are_counted_as_they_come(void **state)
{
	observe_crowd(*state, 1, true, true);
}

static void answers_beyond_the_cache_are_counted_as_they_leave(void **state)
{
	observe_crowd(*state, 2, true, false);
}

/* As the engine does it: what is observed goes on where the next program asks for the same. */
static void load_next(struct fixture *f, bool warmed_up)
{
	struct sn_program *next = sn_program_create(f->msg, f->program, &f->err);
	struct sn_counts *counts = sn_counts_create(next);

	assert_non_null(next);
	assert_non_null(counts);
	sn_counts_go_on(counts, sn_worker_counts(f->worker));
	while (warmed_up && !sn_worker_warm_up(f->worker, next, counts, f->now))
		;
	sn_counts_free(sn_worker_set_program(f->worker, next, counts));
	sn_program_free(f->program);
	f->program = next;
}

static void a_program_that_asks_for_the_same_goes_on(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint64_t known;

	open_observation(f, 0);
	observe(f, 0, true);
	load(f);
	for (int i = 0; i < 10; i++)
		send_packet(f, &p);
	for (int warmed_up = 0; warmed_up < 2; warmed_up++) {
		load_next(f, warmed_up);
		known = hits(f);
		for (int i = 0; i < 10; i++)
			send_packet(f, &p);
		assert_int_equal(hits(f), known + (warmed_up ? 10 : 9));
	}
	settle(f);
	assert_flow(f, p.src, p.sport, p.dst, p.dport, SN_UDP, 30, 30 * (IP_OF_20 + p.payload_len));
	assert_all(f, 30);
}

static void a_program_that_asks_for_something_else_begins_again(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	Sinter__Program__V1__Observation *o = open_observation(f, 0);
	struct sn_observer *before;

	observe(f, 0, true);
	load(f);
	for (int i = 0; i < 10; i++)
		send_packet(f, &p);
	o->entries = 100;
	before = sn_observer_share(observer(f));
	load_next(f, true);
	assert_int_equal(before->packets, hits(f)); /* what was in cells of decisions was its */
	sn_observer_free(before);
	for (int i = 0; i < 5; i++)
		send_packet(f, &p);
	settle(f);
	assert_all(f, 5);
	f->msg->n_observations = 0;
	f->msg->segments[0]->classes[0]->legs[0]->ops++;
	f->msg->segments[0]->classes[0]->legs[0]->n_ops--;
	load_next(f, true);
	assert_null(observer(f));
	send_packet(f, &p);
	assert_sent(f, 1);
	settle(f);
}

static void an_interval_that_ends_is_kept_until_the_next_one_does(void **state)
{
	struct fixture *f = *state;
	struct packet p = outward(SN_UDP, 5000);

	open_observation(f, 0)->interval_ms = 10000;
	observe(f, 0, true);
	load(f);
	tick(f, MS);
	assert_int_equal(observer(f)->last.end_ns, 0);
	for (int round = 1; round < 4; round++) {
		for (int i = 0; i < round; i++)
			send_packet(f, &p);
		settle(f);
		assert_int_equal(observer(f)->running.bytes, round * (IP_OF_20 + p.payload_len));
		tick(f, 10 * SECOND);
		assert_int_equal(observer(f)->running.packets, 0);
		assert_int_equal(observer(f)->running.tops[0]->n, 0);
		assert_int_equal(observer(f)->last.packets, round);
		assert_int_equal(observer(f)->last.end_ns - observer(f)->last.begin_ns, 10 * SECOND);
		assert_int_equal(observer(f)->last.tops[0]->rows[0].packets, round);
	}
}

/* ---- records ---- */

struct sums {
	uint32_t records, packets, bytes;
	uint8_t tcp_flags;
};

static struct sums take_all(struct fixture *f)
{
	struct sn_flow_cell r;
	struct sums sums = {0};

	while (sn_flow_ring_take(observer(f)->ring, &r)) {
		sums.records++;
		sums.packets += r.packets;
		sums.bytes += r.bytes;
		sums.tcp_flags |= r.tcp_flags;
		assert_true(r.first_ms <= r.last_ms);
		assert_true(r.last_ms <= f->now / MS);
	}
	return sums;
}

static void each_packet_is_in_one_record(void **state)
{
	static const uint8_t flags[] = {SN_TCP_SYN, SN_TCP_ACK, SN_TCP_ACK, SN_TCP_ACK | 8,
					SN_TCP_ACK | SN_TCP_FIN};
	struct fixture *f = *state;
	struct packet p = outward(SN_TCP, 5000);
	struct sums sums;

	open_observation(f, 1);
	observe(f, 0, true);
	load(f);
	for (uint32_t i = 0; i < sizeof(flags); i++) {
		p.flags = flags[i];
		send_packet(f, &p);
		f->now += MS;
	}
	settle(f);
	sums = take_all(f);
	assert_true(sums.records < sizeof(flags));
	assert_int_equal(sums.packets, sizeof(flags));
	assert_int_equal(sums.bytes, sizeof(flags) * (40 + p.payload_len));
	assert_int_equal(sums.tcp_flags, SN_TCP_SYN | SN_TCP_ACK | 8 | SN_TCP_FIN);
	assert_int_equal(observer(f)->sampled, sizeof(flags));
	assert_int_equal(observer(f)->records, sums.records);
	assert_int_equal(take_all(f).records, 0);
}

/* One packet in ten, of known and unknown flows together; the lists have all. */
static void one_packet_in_so_many_is_exported(void **state)
{
	struct fixture *f = *state;
	struct sums sums;

	open_observation(f, 10);
	observe(f, 0, true);
	load(f);
	for (int i = 0; i < 1000; i++) {
		struct packet p = outward(SN_UDP, (uint16_t)(5000 + i % 7 * (i % 3 == 0)));

		send_packet(f, &p);
	}
	settle(f);
	sums = take_all(f);
	assert_int_equal(sums.records, 100);
	assert_int_equal(sums.packets, 100);
	assert_int_equal(observer(f)->sampled, 100);
	assert_all(f, 1000);
}

static void records_that_find_no_room_are_counted(void **state)
{
	struct fixture *f = *state;
	const uint32_t packets = SN_FLOW_RECORDS + 500;
	struct sums sums;

	open_observation(f, 1);
	observe(f, 0, true);
	load(f);
	for (uint32_t i = 0; i < packets; i++) { /* each of a flow of its own */
		struct packet p = outward(SN_UDP, (uint16_t)(5000 + i % 40000));

		send_packet(f, &p);
	}
	settle(f);
	sums = take_all(f);
	assert_int_equal(sums.records, SN_FLOW_RECORDS);
	assert_int_equal(observer(f)->lost_records, 500);
	assert_int_equal(observer(f)->lost_packets + sums.packets, packets);
	assert_int_equal(observer(f)->lost_bytes + sums.bytes,
			 packets * (IP_OF_20 + outward(SN_UDP, 0).payload_len));
	assert_all(f, packets);
}

#define OBSERVE_TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OBSERVE_TEST(packets_of_known_flows_are_counted_as_those_of_unknown_ones),
		OBSERVE_TEST(a_flow_is_observed_as_it_is_behind_the_translation),
		OBSERVE_TEST(packets_with_options_and_tags_count_as_plain_ones),
		OBSERVE_TEST(queries_are_told_by_their_type),
		cmocka_unit_test(what_drops_packets_one_by_one_stands_before_or_behind),
		OBSERVE_TEST(flows_beyond_the_cache_are_counted_as_they_come),
		OBSERVE_TEST(flows_beyond_the_cache_are_counted_as_they_leave),
		OBSERVE_TEST(answers_beyond_the_cache_are_counted_as_they_come),
		OBSERVE_TEST(answers_beyond_the_cache_are_counted_as_they_leave),
		OBSERVE_TEST(a_program_that_asks_for_the_same_goes_on),
		OBSERVE_TEST(a_program_that_asks_for_something_else_begins_again),
		OBSERVE_TEST(an_interval_that_ends_is_kept_until_the_next_one_does),
		OBSERVE_TEST(each_packet_is_in_one_record),
		OBSERVE_TEST(one_packet_in_so_many_is_exported),
		OBSERVE_TEST(records_that_find_no_room_are_counted),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
