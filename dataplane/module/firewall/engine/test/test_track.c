/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that firewalls follow, as a kind of state: what every kind must do, and both directions are one. */

#include "kinds.h"
#include "sample.h"

#include "sn_session_impl.h"
#include "sn_tcp.h"
#include "sn_track.h"
#include "sn_window.h"

#define S 1000000000ull

static uint32_t half_open; /* of the programs that are made; 0: no bound */

static Sinter__Program__V1__Program *tracking_wire(struct sn_arena *arena)
{
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));
	Sinter__Program__V1__Tracking *t = sn_arena_alloc(arena, sizeof(*t));

	sinter__program__v1__state_table__init(table);
	sinter__program__v1__tracking__init(t);
	t->tcp_ms = 100000;
	t->tcp_transitory_ms = t->udp_ms = 20000;
	t->icmp_ms = 5000;
	t->max_half_open = half_open;
	table->name = (char *)"fw/flows";
	table->tracking = t;
	table->max_sessions = 5000;
	msg->n_tables = 1;
	msg->tables = sn_arena_alloc(arena, sizeof(table));
	msg->tables[0] = table;
	return msg;
}

/* ---- as a kind ---- */

static struct sn_flow numbered(uint32_t i, uint8_t proto)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i / 1000, SN_SAMPLE_REMOTE + i % 7,
				(uint16_t)(1024 + i % 1000), 80, proto};
}

static uint32_t shard_of_udp(const struct sn_state *state, uint32_t i)
{
	struct sn_flow f = numbered(i, SN_UDP);

	return sn_flow_both_shard(state, &f);
}

static struct sn_entry *get_of(struct sn_partition *partition, uint32_t shard, const struct sn_flow *f,
			       bool make, uint64_t now)
{
	bool is_return, made;
	struct sn_session *s = make ? sn_track_begin(partition, 0, shard, f, false, now, &is_return, &made)
				    : sn_track_find(partition, 0, shard, f, false, now, &is_return);

	return s ? &s->entry : NULL;
}

static struct sn_entry *get_udp(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
				uint64_t now)
{
	struct sn_flow f = numbered(i, SN_UDP);

	return get_of(partition, shard, &f, make, now);
}

static uint32_t shard_of_tcp(const struct sn_state *state, uint32_t i)
{
	struct sn_flow f = numbered(i, SN_TCP);

	return sn_flow_both_shard(state, &f);
}

static struct sn_entry *get_tcp(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
				uint64_t now)
{
	struct sn_flow f = numbered(i, SN_TCP);

	return get_of(partition, shard, &f, make, now);
}

static const struct kind_case udp_by_host = {
	.program = tracking_wire,
	.idle_ns = 20 * S,
	.shard = shard_of_udp,
	.get = get_udp,
	.use = kind_flow_use,
	.alike = kind_flows_alike,
};

static const struct kind_case udp_by_rss = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = tracking_wire,
	.idle_ns = 20 * S,
	.shard = shard_of_udp,
	.get = get_udp,
	.use = kind_flow_use,
	.alike = kind_flows_alike,
};

/* Openings that nobody answers give way. */
static const struct kind_case openings_by_address = {
	.partitioning = {SN_PARTITION_BY_ADDRESS, 2},
	.program = tracking_wire,
	.idle_ns = 20 * S,
	.evicts = true,
	.shard = shard_of_tcp,
	.get = get_tcp,
	.use = kind_flow_use,
	.alike = kind_flows_alike,
};

/* ---- both directions ---- */

struct world {
	struct sn_arena arena;
	struct sn_program *program;
	struct sn_state *state;
	struct sn_partition *partition;
};

static void open_world(struct world *w, enum sn_partition_by by)
{
	struct sn_error err = {0};
	uint64_t kept, dropped;

	sn_arena_init(&w->arena);
	w->program = sn_program_create(tracking_wire(&w->arena), NULL, &err);
	if (!w->program)
		fail_msg("%s", err.text);
	w->state = sn_state_create(1, 1, (struct sn_partitioning){by, 0});
	assert_non_null(w->state);
	assert_int_equal(sn_state_apply(w->state, w->program, &kept, &dropped), 0);
	w->partition = sn_state_partition(w->state, 0);
}

static void close_world(struct world *w)
{
	sn_state_free(w->state);
	sn_program_free(w->program);
	sn_arena_free(&w->arena);
}

static struct sn_flow reversed(struct sn_flow f)
{
	return (struct sn_flow){f.dst, f.src, f.dport, f.sport, f.proto};
}

static void check_directions(struct world *w, struct sn_flow f)
{
	struct sn_flow back = reversed(f);
	uint32_t shard = sn_flow_both_shard(w->state, &f);
	bool is_return, made;
	struct sn_session *s = sn_track_begin(w->partition, 0, shard, &f, false, S, &is_return, &made);

	assert_true(s && made && !is_return);
	assert_int_equal(sn_flow_both_shard(w->state, &back), shard);
	assert_ptr_equal(sn_track_find(w->partition, 0, shard, &f, false, S, &is_return), s);
	assert_false(is_return);
	assert_ptr_equal(sn_track_find(w->partition, 0, shard, &back, true, S, &is_return), s);
	assert_true(is_return);
	assert_null(
		sn_track_find(w->partition, 0, shard, &f, true, S, &is_return)); /* it has another inside */
	assert_ptr_equal(sn_track_begin(w->partition, 0, shard, &back, true, S, &is_return, &made), s);
	assert_false(made);
}

static void both_directions_have_one_entry_and_one_shard(void **state)
{
	static const enum sn_partition_by cuts[] = {SN_PARTITION_BY_HOST, SN_PARTITION_BY_RSS,
						    SN_PARTITION_BY_ADDRESS};

	(void)state;
	for (uint32_t c = 0; c < 3; c++) {
		struct world w;

		open_world(&w, cuts[c]);
		for (uint32_t i = 0; i < 200; i++)
			check_directions(&w, numbered(i, i % 2 ? SN_TCP : SN_UDP));
		check_directions(&w, (struct sn_flow){SN_SAMPLE_REMOTE, SN_SAMPLE_HOST, 77, 0, SN_ICMP});
		check_directions(&w, (struct sn_flow){SN_SAMPLE_REMOTE, SN_SAMPLE_HOST, 0, 0, 47});
		close_world(&w);
	}
}

/* One of 5,000. Before a NAPT a port of a host, as of a resolver, has one shard; where addresses tell it,
 * hosts have. */
static void one_port_of_a_host_has_many_flows(void **state)
{
	const uint32_t most[] = {[SN_PARTITION_BY_HOST] = 5000 / 8 + 1024, [SN_PARTITION_BY_ADDRESS] = 5000};
	struct world w;

	(void)state;
	for (uint32_t by = SN_PARTITION_BY_HOST; by <= SN_PARTITION_BY_ADDRESS; by++) {
		open_world(&w, by);
		for (uint32_t i = 0; i <= most[by]; i++) {
			struct sn_flow f = {SN_SAMPLE_HOST, SN_SAMPLE_REMOTE + i, 5353, 53, SN_UDP};
			struct sn_entry *e =
				get_of(w.partition, sn_flow_host_shard(w.state, &f), &f, true, 1000 * S);

			/* Others keep the rows that they may yet begin. */
			if (i < most[by] - 64)
				assert_non_null(e);
			else if (i == most[by])
				assert_null(e);
		}
		close_world(&w);
	}
}

/* The shard and the bucket of a flow are told by hashes of the same words. */
static void flows_of_a_shard_are_spread_over_its_buckets(void **state)
{
	uint8_t flows[BUCKETS_0] = {0}; /* of a bucket of the first tier */
	uint32_t n = 0, most = 0;
	struct world w;

	(void)state;
	open_world(&w, SN_PARTITION_BY_HOST);
	for (uint32_t i = 0; n < BUCKETS_0 / 2; i++) {
		struct sn_flow f = numbered(i, SN_UDP);
		uint32_t bucket = followed_hash(w.state, 0, &f) & (BUCKETS_0 - 1);

		if (sn_flow_both_shard(w.state, &f) != 0)
			continue;
		n++;
		if (++flows[bucket] > most)
			most = flows[bucket];
	}
	assert_in_range(most, 1, 8); /* by chance there is a bucket of 9 once in a million */
	close_world(&w);
}

static void a_flow_that_turns_is_found_and_forgotten_by_decisions(void **state)
{
	struct sn_flow f = numbered(1, SN_TCP), back = reversed(f);
	bool is_return, made;
	struct sn_session *s;
	uint32_t generation;
	struct world w;

	(void)state;
	open_world(&w, SN_PARTITION_BY_HOST);
	s = sn_track_begin(w.partition, 0, sn_flow_both_shard(w.state, &f), &f, false, S, &is_return, &made);
	generation = s->entry.generation;
	sn_session_again(w.state, s, true, false);
	assert_int_not_equal(s->entry.generation, generation);
	assert_ptr_equal(sn_track_find(w.partition, 0, s->entry.shard, &f, false, S, &is_return), s);
	assert_true(is_return);
	assert_ptr_equal(sn_track_find(w.partition, 0, s->entry.shard, &back, true, S, &is_return), s);
	assert_false(is_return);
	assert_null(sn_track.misfit(w.state, w.state->tables[0], &s->entry));
	close_world(&w);
}

/* Two flows with the same ends, one from each side, are told apart. */
static void a_report_says_from_which_side_a_flow_began(void **state)
{
	struct sn_flow f = numbered(1, SN_TCP);
	struct world w;

	(void)state;
	open_world(&w, SN_PARTITION_BY_HOST);
	for (int from_outside = 0; from_outside < 2; from_outside++) {
		Sinter__Program__V1__Session said;
		struct sn_entry_info info;
		struct sn_session *s;
		bool is_return, made;

		s = sn_track_begin(w.partition, 0, sn_flow_both_shard(w.state, &f), &f, from_outside, S,
				   &is_return, &made);
		assert_true(s && made && !is_return);
		info = sn_entry_info(w.state, &s->entry, S);
		sinter__program__v1__session__init(&said);
		assert_int_equal(sn_track.report(&info, &w.arena, &said), 0);
		assert_int_equal(said.inside_address, f.src);
		assert_int_equal(said.remote_port, f.dport);
		assert_int_equal(said.from_outside, from_outside);
	}
	close_world(&w);
}

/* A segment without options, and what it takes of the numbers. */
static uint32_t segment(uint8_t tcp[20], uint8_t flags, uint32_t seq, uint32_t ack, uint32_t bytes)
{
	memset(tcp, 0, 20);
	sn_store32(tcp + 4, seq);
	sn_store32(tcp + 8, ack);
	tcp[12] = 0x50;
	tcp[13] = flags;
	sn_store16(tcp + 14, 1000);
	return bytes + ((flags & (SN_TCP_SYN | SN_TCP_FIN)) != 0);
}

static void says(const struct world *w, struct sn_session *s, bool is_return, uint8_t flags, uint32_t seq,
		 uint32_t ack)
{
	uint8_t tcp[20];
	uint32_t length = segment(tcp, flags, seq, ack, 0);

	assert_true(sn_window_fits(s, tcp, length, is_return));
	sn_window_move(s, tcp, length, is_return);
	sn_session_use(w->state, s, tcp, is_return, S);
}

static bool fits(const struct sn_session *s, bool is_return, uint8_t flags, uint32_t seq, uint32_t ack,
		 uint32_t bytes)
{
	uint8_t tcp[20];
	uint32_t length = segment(tcp, flags, seq, ack, bytes);

	return sn_window_fits(s, tcp, length, is_return);
}

/* The oracle's test has all rules (module/firewall/oracle/window_test.go); here they survive a journey. */
static void a_flow_that_is_checked_travels(void **state)
{
	struct sn_flow f = numbered(1, SN_TCP);
	struct sn_entry_line line = {0};
	uint8_t record[48] = {0};
	bool is_return, made;
	struct sn_session *s, *there = (struct sn_session *)&line;
	struct world w;

	(void)state;
	open_world(&w, SN_PARTITION_BY_HOST);
	s = sn_track_begin(w.partition, 0, sn_flow_both_shard(w.state, &f), &f, false, S, &is_return, &made);
	sn_window_check(s, true);
	says(&w, s, false, SN_TCP_SYN, 1000, 0);
	says(&w, s, true, SN_TCP_SYN | SN_TCP_ACK, 0xfffffff0, 1001);
	says(&w, s, false, SN_TCP_ACK, 1001, 0xfffffff1);
	sn_track.pack(&s->entry, S, record);
	line.entry = s->entry;
	sn_track.unpack(&line.entry, S, record);
	assert_int_equal(there->seen, s->seen);
	for (uint32_t i = 0; i < 2; i++) {
		const struct sn_session *one = i ? there : s;

		assert_true(fits(one, false, SN_TCP_ACK, 2001, 0xfffffff1, 100));
		assert_false(fits(one, false, SN_TCP_ACK, 2002, 0xfffffff1, 100));
		assert_true(fits(one, true, SN_TCP_ACK, 0xfffffff1 + 1000, 1001, 100));
		assert_false(fits(one, true, SN_TCP_ACK, 0xfffffff1 + 1001, 1001, 100));
		assert_false(fits(one, true, SN_TCP_RST, 0xfffffff0, 0, 0));
		assert_true(fits(one, true, SN_TCP_RST, 0xfffffff1, 0, 0));
	}
	assert_null(sn_track.misfit(w.state, w.state->tables[0], &there->entry));
	assert_false(sn_session_is_alike(&s->entry, &there->entry, false));
	/* A FIN takes a number behind the edge, as a probe of a closed window does. */
	says(&w, s, false, SN_TCP_FIN | SN_TCP_ACK, 2001, 0xfffffff1);
	assert_true(fits(s, false, SN_TCP_ACK, 2002, 0xfffffff1, 0));
	assert_false(fits(s, false, SN_TCP_ACK, 2003, 0xfffffff1, 0));
	close_world(&w);
}

/* The next flow of a shard, from a number on. */
static uint32_t next_of(const struct world *w, uint32_t shard, uint32_t i)
{
	struct sn_flow f = numbered(i, SN_TCP);

	while (sn_flow_both_shard(w->state, &f) != shard)
		f = numbered(++i, SN_TCP);
	return i;
}

static bool is_known(const struct world *w, uint32_t shard, uint32_t i, uint64_t now)
{
	struct sn_flow f = numbered(i, SN_TCP);
	bool is_return;

	return sn_track_find(w->partition, 0, shard, &f, false, now, &is_return) != NULL;
}

/* With 2048 in all, a shard has 16. */
static void a_flow_that_is_opening_ends_when_many_began_after_it(void **state)
{
	uint32_t numbers[40], at = 0;
	bool is_return, made;
	struct world w;

	(void)state;
	half_open = 2048;
	open_world(&w, SN_PARTITION_BY_HOST);
	half_open = 0;
	for (uint32_t n = 0; n < 40; n++) {
		struct sn_session *s;
		struct sn_flow f;

		numbers[n] = at = next_of(&w, 7, at);
		f = numbered(at++, SN_TCP);
		s = sn_track_begin(w.partition, 0, 7, &f, false, (n + 1) * S / 100, &is_return, &made);
		assert_true(s && made);
		if (n % 4 == 0) /* its handshake is over */
			s->seen = SN_SEEN_ANSWERED | SN_SEEN_ACKNOWLEDGED;
	}
	for (uint32_t n = 0; n < 40; n++)
		assert_int_equal(is_known(&w, 7, numbers[n], S), n % 4 == 0 || n >= 24);
	/* Those that began in this very instant stay: they may be the packet's own. */
	for (uint32_t n = 0; n < 20; n++) {
		struct sn_flow f;

		at = next_of(&w, 7, at);
		numbers[n] = at;
		f = numbered(at++, SN_TCP);
		assert_non_null(sn_track_begin(w.partition, 0, 7, &f, false, S, &is_return, &made));
	}
	for (uint32_t n = 0; n < 20; n++)
		assert_true(is_known(&w, 7, numbers[n], S));
	close_world(&w);
}

/* Flows whose first packet is dropped later take nobody's place; one that ended and began again has its last.
 */
static void only_what_stays_pushes_an_opening_out(void **state)
{
	uint32_t at = 0, first, again;
	bool is_return, made;
	struct sn_session *s;
	struct sn_flow f;
	struct world w;

	(void)state;
	half_open = 2048;
	open_world(&w, SN_PARTITION_BY_HOST);
	half_open = 0;
	first = at = next_of(&w, 7, at);
	f = numbered(at++, SN_TCP);
	s = sn_track_begin(w.partition, 0, 7, &f, false, S / 100, &is_return, &made);
	for (uint32_t n = 0; n < 40; n++) {
		at = next_of(&w, 7, at);
		f = numbered(at++, SN_TCP);
		s = sn_track_begin(w.partition, 0, 7, &f, false, (n + 2) * S / 100, &is_return, &made);
		sn_session_end(w.partition, s);
	}
	assert_true(is_known(&w, 7, first, S));
	for (uint32_t n = 0; n < 15; n++) {
		again = at = next_of(&w, 7, at);
		f = numbered(at++, SN_TCP);
		s = sn_track_begin(w.partition, 0, 7, &f, false, (n + 50) * S / 100, &is_return, &made);
	}
	assert_true(is_known(&w, 7, first, S));
	sn_entry_expire(w.partition, w.state->tables[0],
			shard_at(w.state->tables[0], 7 & w.state->tables[0]->mask), &s->entry);
	for (uint32_t n = 0; n < 16; n++) {
		f = numbered(again, SN_TCP);
		assert_non_null(sn_track_begin(w.partition, 0, 7, &f, false, S, &is_return, &made));
		at = next_of(&w, 7, at);
		f = numbered(at++, SN_TCP);
		sn_track_begin(w.partition, 0, 7, &f, false, S + n + 1, &is_return, &made);
		assert_int_equal(is_known(&w, 7, again, S), n < 15);
	}
	close_world(&w);
}

static void requests_come_from_the_side_that_began(void **state)
{
	struct sn_session ping = {.proto = SN_ICMP}, gre = {.proto = 47};

	(void)state;
	assert_true(sn_followed_fits(&ping, SN_ICMP_ECHO_REQUEST, false));
	assert_false(sn_followed_fits(&ping, SN_ICMP_ECHO_REQUEST, true));
	assert_true(sn_followed_fits(&ping, SN_ICMP_TIMESTAMP_REPLY, true));
	assert_false(sn_followed_fits(&ping, SN_ICMP_ECHO_REPLY, false));
	assert_true(sn_followed_fits(&gre, SN_BYTE_ABSENT, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(udp_by_host),
		KIND_TESTS(udp_by_rss),
		KIND_TESTS(openings_by_address),
		cmocka_unit_test(both_directions_have_one_entry_and_one_shard),
		cmocka_unit_test(one_port_of_a_host_has_many_flows),
		cmocka_unit_test(flows_of_a_shard_are_spread_over_its_buckets),
		cmocka_unit_test(a_flow_that_turns_is_found_and_forgotten_by_decisions),
		cmocka_unit_test(a_report_says_from_which_side_a_flow_began),
		cmocka_unit_test(a_flow_that_is_checked_travels),
		cmocka_unit_test(a_flow_that_is_opening_ends_when_many_began_after_it),
		cmocka_unit_test(only_what_stays_pushes_an_opening_out),
		cmocka_unit_test(requests_come_from_the_side_that_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
