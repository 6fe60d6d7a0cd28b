/* SPDX-License-Identifier: Apache-2.0 */
/* TCP streams whose first bytes are inspected: as a kind of state, and what becomes of packets. */

#include "inspectors.h"
#include "kinds.h"

#include "sn_inspect_impl.h"
#include "sn_worker.h"

#define DEPTH 40

/* ---- as a kind ---- */

static Sinter__Program__V1__StateTable *stream_table(struct sn_arena *arena)
{
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));
	inspector_msg *i = sn_arena_alloc(arena, sizeof(*i));
	rule_msg *r = sn_arena_alloc(arena, sizeof(*r));
	part_msg *p = sn_arena_alloc(arena, sizeof(*p));

	sinter__program__v1__state_table__init(table);
	sinter__program__v1__inspector__init(i);
	sinter__program__v1__inspect_rule__init(r);
	sinter__program__v1__inspect_part__init(p);
	p->expression = (char *)"evil";
	r->name = (char *)"r";
	r->n_parts = 1;
	r->parts = sn_arena_alloc(arena, sizeof(p));
	r->parts[0] = p;
	i->n_rules = 1;
	i->rules = sn_arena_alloc(arena, sizeof(r));
	i->rules[0] = r;
	i->streams = sn_arena_alloc(arena, sizeof(*i->streams));
	sinter__program__v1__inspect_streams__init(i->streams);
	i->streams->depth = DEPTH;
	i->streams->max = 100;
	i->streams->timeout_ms = 20000;
	table->name = (char *)"ids/inspect";
	table->inspector = i;
	table->max_sessions = 5000;
	return table;
}

static Sinter__Program__V1__Program *stream_wire(struct sn_arena *arena)
{
	static char *reasons[] = {(char *)"ids/full"};
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);

	msg->n_tables = 1;
	msg->tables = sn_arena_alloc(arena, sizeof(*msg->tables));
	msg->tables[0] = stream_table(arena);
	msg->n_reasons = 1;
	msg->reasons = reasons;
	return msg;
}

static struct sn_flow numbered(uint32_t i)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i / 1000, SN_SAMPLE_REMOTE + i % 7,
				(uint16_t)(1024 + i % 1000), 80, SN_TCP};
}

static uint32_t shard_of(const struct sn_state *state, uint32_t i)
{
	struct sn_flow f = numbered(i);

	return sn_flow_both_shard(state, &f);
}

static struct sn_entry *get(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
			    uint64_t now)
{
	struct sn_flow f = numbered(i);
	struct sn_entry *e;

	sn_inspect_stream(partition, 0, shard, &f, false, make, now, &e);
	return e;
}

static void use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	(void)state;
	e->last_use = now;
}

static bool alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	const struct inspect_stream *s = stream_of(a), *u = stream_of(b);

	return s->src == u->src && s->dst == u->dst && s->sport == u->sport && s->dport == u->dport &&
	       s->drops == u->drops && s->marks == u->marks && a->own == b->own &&
	       a_now - a->last_use == b_now - b->last_use;
}

static const struct kind_case streams_by_host = {
	.program = stream_wire,
	.idle_ns = 20 * SECOND,
	.evicts = true,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = alike,
};

static const struct kind_case streams_by_rss = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = stream_wire,
	.idle_ns = 20 * SECOND,
	.evicts = true,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = alike,
};

/* ---- packets ---- */

/* Streams of which so many have bytes kept; rules are to be added. */
static void with_streams(struct fixture *f, uint32_t max)
{
	Sinter__Program__V1__InspectStreams *s = sn_arena_alloc(&f->arena, sizeof(*s));

	with_inspector(f);
	sinter__program__v1__inspect_streams__init(s);
	s->depth = DEPTH;
	s->max = max;
	s->timeout_ms = 20000;
	inspector_msg_of(f)->streams = s;
	f->msg->tables[f->msg->n_tables - 1]->max_sessions = 1000;
}

static void send_segment(struct fixture *f, uint16_t port, uint8_t flags, uint32_t seq, const char *text)
{
	struct packet p = outward(SN_TCP, port);

	p.flags = flags;
	p.seq = seq;
	p.payload = (const uint8_t *)text;
	p.payload_len = (uint32_t)strlen(text);
	send_packet(f, &p);
}

static void passes(struct fixture *f, uint8_t flags, uint32_t seq, const char *text)
{
	send_segment(f, 1000, flags, seq, text);
	assert_sent(f, 1);
}

static void dropped(struct fixture *f, uint8_t flags, uint32_t seq, const char *text)
{
	send_segment(f, 1000, flags, seq, text);
	assert_dropped(f, MATCHED);
}

#define ACK SN_TCP_ACK
#define SYN SN_TCP_SYN
#define FIN (SN_TCP_FIN | SN_TCP_ACK)
#define RST SN_TCP_RST

static void what_is_spread_over_packets_is_found(void **state)
{
	struct fixture *f = *state;

	with_streams(f, 100);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	inspect_in(f, 0);
	load(f);
	for (uint32_t i = 0, seq = 0xffffffe0; i < 5; i++, seq += 100) {
		passes(f, SYN, seq - 1, "");
		passes(f, ACK, seq, "an ev");
		passes(f, ACK, seq, "an ev"); /* again */
		passes(f, ACK, seq + 5, "");
		dropped(f, ACK, seq + 5, "il one");
		dropped(f, ACK, seq + 11, "good");
		dropped(f, ACK, seq + 11, "");
	}
	assert_true(sn_worker_stats(f->worker)->cache_hits > 0);
	assert_int_equal(counts_of(f).rules[0], 5);
}

static void gaps_are_filled_before_anything_is_matched(void **state)
{
	struct fixture *f = *state;

	with_streams(f, 100);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	drops(add_rule(f, "first", "\\A\\x66\\x66"));
	inspect_in(f, 0);
	load(f);
	passes(f, SYN, 99, "");
	passes(f, ACK, 105, "evil");
	passes(f, ACK, 109, "evil");
	passes(f, ACK, 103, "xx");
	passes(f, ACK, 102, "yyy"); /* 103 and 104 were there */
	dropped(f, ACK, 100, "ab");
	passes(f, SYN, 199, "");
	passes(f, ACK, 203, "l");
	passes(f, ACK, 202, "i");
	passes(f, ACK, 201, "v");
	dropped(f, ACK, 200, "e");
	passes(f, SYN, 299, "");
	passes(f, ACK, 302, "ff");
	passes(f, ACK, 300, "xx");
	passes(f, ACK, 304, "ff");
}

static void what_is_behind_the_depth_passes(void **state)
{
	struct fixture *f = *state;
	char text[DEPTH + 1];

	with_streams(f, 100);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	inspect_in(f, 0);
	load(f);
	memset(text, 'x', DEPTH);
	text[DEPTH] = 0;
	passes(f, SYN, 99, "");
	passes(f, ACK, 100 + DEPTH, "evil");
	passes(f, ACK, 100, text + 3); /* up to 3 before the depth */
	passes(f, ACK, 100 + DEPTH - 3, "evil");
	passes(f, ACK, 100 + DEPTH + 1, "evil");
	passes(f, SYN, 999, "");
	passes(f, ACK, 1000, text + 4);
	dropped(f, ACK, 1000 + DEPTH - 4, "evil and more");
}

static void a_mark_holds_for_the_rest_of_the_stream(void **state)
{
	struct fixture *f = *state;

	with_streams(f, 100);
	marks(add_rule(f, "m", "\\x6d"), 10);
	marks(add_rule(f, "n", "\\x6e"), 20);
	drops(add_rule(f, "d", "\\x64"));
	inspect_in(f, 0);
	load(f);
	passes(f, SYN, 99, "");
	passes(f, ACK, 100, "n");
	assert_int_equal(ip_of(f->out[0].data)[1] >> 2, 20);
	passes(f, ACK, 101, "m"); /* the earlier one counts */
	assert_int_equal(ip_of(f->out[0].data)[1] >> 2, 20);
	passes(f, ACK, 102, "");
	assert_int_equal(ip_of(f->out[0].data)[1] >> 2, 20);
	dropped(f, ACK, 102, "d");
	assert_int_equal(counts_of(f).rules[0], 1);
	assert_int_equal(counts_of(f).rules[1], 1);
	assert_int_equal(counts_of(f).rules[2], 1);
}

/* A program has room for the bytes of few streams: a packet that finds none is dropped; what is decided
 * or idle for too long makes room. */
static void bytes_of_few_streams_are_kept(void **state)
{
	struct fixture *f = *state;
	uint32_t kept = 0, n = 400, again = 0;

	with_streams(f, 70);
	add_rule(f, "evil", "\\x65\\x76\\x69\\x6c");
	inspect_in(f, 0);
	load(f);
	for (uint16_t port = 1; port <= n; port++) {
		send_segment(f, port, ACK, 1, "x");
		kept += f->n_out;
	}
	assert_int_equal(kept, 70); /* of one host, which may all be of one shard */
	assert_int_equal(f->drops[0].reason, MATCHED);
	tick(f, 21 * SECOND);
	for (uint16_t port = 1; port <= n; port++) {
		send_segment(f, port, ACK, 1, "0123456789012345678901234567890123456789");
		again += f->n_out;
	}
	assert_int_equal(again, n); /* each is decided at once */
}

/* Requests are shorter than the depth: what has come to its end must not keep others out. */
static void a_stream_that_is_over_keeps_no_bytes(void **state)
{
	static const uint8_t ends[] = {FIN, RST};
	struct fixture *f = *state;

	with_streams(f, 2);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	inspect_in(f, 0);
	load(f);
	for (uint16_t port = 1; port <= 200; port++) {
		send_segment(f, port, SYN, 99, "");
		assert_sent(f, 1);
		send_segment(f, port, ACK, 100, "a request");
		assert_sent(f, 1);
		send_segment(f, port, ends[port % 2], 109, "");
		assert_sent(f, 1);
	}
	/* An end behind a gap is none. */
	for (uint16_t port = 301; port <= 302; port++) {
		send_segment(f, port, SYN, 99, "");
		assert_sent(f, 1);
		send_segment(f, port, FIN, 105, "il");
		assert_sent(f, 1);
	}
	send_segment(f, 303, ACK, 100, "x");
	assert_dropped(f, MATCHED); /* the program's only reason: full */
	send_segment(f, 301, ACK, 100, "an ev");
	assert_dropped(f, MATCHED);
	send_segment(f, 302, ACK, 100, "an Ev");
	assert_sent(f, 1);
}

static void what_comes_behind_the_end_is_a_stream_again(void **state)
{
	struct fixture *f = *state;

	with_streams(f, 100);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	add_rule(f, "x", "\\x78");
	marks(add_rule(f, "m", "\\x6d"), 10);
	inspect_in(f, 0);
	load(f);
	passes(f, SYN, 99, "");
	passes(f, FIN, 100, "mx");
	passes(f, ACK, 100, "mx"); /* again */
	passes(f, ACK, 103, "");   /* the answer's end is acknowledged */
	assert_int_equal(ip_of(f->out[0].data)[1] >> 2, 10);
	assert_int_equal(counts_of(f).rules[1], 1);
	passes(f, ACK, 103, "evi");
	assert_int_equal(ip_of(f->out[0].data)[1] >> 2, 0);
	dropped(f, ACK, 106, "l");
}

/* A host outside may send what looks as if it came from inside. */
static void streams_of_two_sides_are_two(void **state)
{
	struct fixture *f = *state;
	struct sn_flow flow = numbered(1);
	struct sn_entry *inside, *outside, *again;
	struct sn_partition *partition;
	uint32_t table, shard;

	with_streams(f, 100);
	add_rule(f, "evil", "\\x65\\x76\\x69\\x6c");
	inspect_in(f, 0);
	load(f);
	table = (uint32_t)f->msg->n_tables - 1;
	shard = sn_flow_shard_in(f->state, table, &flow, false);
	partition = sn_state_partition(f->state, 0);
	assert_int_equal(sn_inspect_stream(partition, table, shard, &flow, false, true, f->now, &inside),
			 SN_STREAM_MADE);
	assert_int_equal(sn_inspect_stream(partition, table, shard, &flow, true, true, f->now, &outside),
			 SN_STREAM_MADE);
	assert_ptr_not_equal(inside, outside);
	sn_inspect_stream(partition, table, shard, &flow, false, true, f->now, &again);
	assert_ptr_equal(inside, again);
	sn_inspect_stream(partition, table, shard, &flow, true, true, f->now, &again);
	assert_ptr_equal(outside, again);
}

static void streams_go_on_in_a_new_program(void **state)
{
	struct fixture *f = *state;
	rule_msg *r;

	with_streams(f, 100);
	r = add_rule(f, "evil", "\\x65\\x76\\x69\\x6c");
	drops(r);
	inspect_in(f, 0);
	load(f);
	passes(f, SYN, 99, "");
	passes(f, ACK, 100, "worse, ev");
	r->parts[0]->expression = (char *)"\\x77\\x6f[\\x00-\\xff]+\\x21";
	load_warmed_up(f);
	dropped(f, ACK, 109, "en!");
	load_warmed_up(f);
	dropped(f, ACK, 112, "good");
}

static void load_with_known(struct fixture *f, uint32_t known)
{
	f->msg->tables[f->msg->n_tables - 1]->max_sessions = known;
	load(f);
}

/* By the number of streams that are known the table is another one, as it is by its cut. */
static void streams_and_counts_go_on_in_a_table_that_takes_the_place(void **state)
{
	struct fixture *f = *state;

	with_streams(f, 100);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	add_rule(f, "ev", "\\A\\x65\\x76");
	inspect_in(f, 0);
	load(f);
	passes(f, SYN, 99, "");
	passes(f, ACK, 100, "ev");
	load_with_known(f, 2000);
	dropped(f, ACK, 102, "il");
	assert_int_equal(counts_of(f).packets, 3);
	assert_int_equal(counts_of(f).rules[0], 1);
	assert_int_equal(counts_of(f).rules[1], 1);
}

static void streams_that_stay_behind_give_their_bytes_back(void **state)
{
	struct fixture *f = *state;
	uint32_t kept = 0;

	with_streams(f, 10);
	add_rule(f, "evil", "\\x65\\x76\\x69\\x6c");
	inspect_in(f, 0);
	load(f);
	for (uint16_t port = 1; port <= 10; port++) {
		send_segment(f, port, ACK, 100, "x");
		assert_sent(f, 1);
	}
	load_with_known(f, 1);
	load_with_known(f, 2000);
	for (uint16_t port = 101; port <= 120; port++) {
		send_segment(f, port, ACK, 100, "x");
		kept += f->n_out;
	}
	assert_int_equal(kept, 9);
}

static void an_idle_stream_is_forgotten(void **state)
{
	struct fixture *f = *state;

	with_streams(f, 100);
	drops(add_rule(f, "evil", "\\x65\\x76\\x69\\x6c"));
	inspect_in(f, 0);
	load(f);
	passes(f, ACK, 100, "ev");
	f->now += 20 * SECOND;
	dropped(f, ACK, 102, "il");
	f->now += 20 * SECOND + 1;
	passes(f, ACK, 104, "il");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(streams_by_host),
		KIND_TESTS(streams_by_rss),
		cmocka_unit_test_setup_teardown(what_is_spread_over_packets_is_found, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(gaps_are_filled_before_anything_is_matched, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(what_is_behind_the_depth_passes, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_mark_holds_for_the_rest_of_the_stream, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(bytes_of_few_streams_are_kept, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_stream_that_is_over_keeps_no_bytes, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(what_comes_behind_the_end_is_a_stream_again, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(streams_of_two_sides_are_two, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(streams_go_on_in_a_new_program, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(streams_and_counts_go_on_in_a_table_that_takes_the_place,
						open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(streams_that_stay_behind_give_their_bytes_back, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(an_idle_stream_is_forgotten, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
