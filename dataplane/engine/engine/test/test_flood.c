/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks of strangers on the state of several workers: scans, floods, elephants. */
#include "fixture.h"

#include <rte_eal.h>

#include "sn_harness.h"
#include "sn_log.h"
#include "sn_parse.h"
#include "sn_report.h"
#include "sn_shards.h"

#define WORKERS	   3
#define ROUND_MAX  4096
#define PORT_MIN   1024
#define PORTS	   (65536 - PORT_MIN)
#define PER_SHARD  (PORTS / SN_SHARDS)
#define FLOWS	   1000 /* connections that are there before */
#define FIRST_PORT 20000

enum fate {
	LOST,
	PASSED,
	REFUSED, /* for want of a port */
};

struct flood {
	struct sn_harness harness;
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	uint64_t now;
	uint32_t n; /* of the round to come */
	Sinter__Control__V1__InjectedPacket packets[ROUND_MAX];
	Sinter__Control__V1__InjectedPacket *list[ROUND_MAX];
	uint8_t frames[ROUND_MAX][128];
	/* The round before, by packet: */
	enum fate fate[ROUND_MAX];
	uint32_t address[ROUND_MAX]; /* the outside one of what went out */
	uint16_t port[ROUND_MAX];
	struct sn_error err;
};

static int start(void **state)
{
	struct sn_error err;

	(void)state;
	sn_log_limit(SN_LOG_WARN);
	if (sn_harness_eal("test", &err) == 0)
		return 0;
	print_error("%s\n", err.text);
	return -1;
}

static int open_partitioning(void **state, struct sn_partitioning partitioning)
{
	const struct sn_harness_config config = {.n_workers = WORKERS, .partitioning = partitioning};
	struct flood *f = calloc(1, sizeof(*f));

	sn_arena_init(&f->arena);
	f->msg = sn_sample_napt(&f->arena);
	f->msg->tables[0]->max_sessions = 0;
	f->now = 1000 * SECOND;
	if (sn_harness_open(&f->harness, &config, &f->err) != 0)
		fail_msg("%s", f->err.text);
	*state = f;
	return 0;
}

static int open_flood(void **state)
{
	return open_partitioning(state, (struct sn_partitioning){SN_PARTITION_BY_HOST, 0});
}

static int open_hashed_flood(void **state)
{
	return open_partitioning(state, (struct sn_partitioning){SN_PARTITION_BY_RSS, 0});
}

static int close_flood(void **state)
{
	struct flood *f = *state;

	sn_harness_close(&f->harness);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

static void load_flood(struct flood *f)
{
	struct sn_engine_loaded loaded;

	if (sn_engine_load(f->harness.engine, f->msg, NULL, 0, &loaded, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

/* Puts a packet into the round to come; its number there. */
static uint32_t add(struct flood *f, const struct packet *p)
{
	Sinter__Control__V1__InjectedPacket *injected = &f->packets[f->n];

	assert_true(f->n < ROUND_MAX);
	sinter__control__v1__injected_packet__init(injected);
	injected->interface = p->iface;
	injected->data.data = f->frames[f->n];
	injected->data.len = write_frame(p, f->frames[f->n]);
	f->list[f->n] = injected;
	return f->n++;
}

static const char *reason_of(const struct flood *f, uint32_t reason)
{
	return sn_program_reason(program_of(f->harness.engine), reason);
}

/* The packets that were added, at a later time. */
static void run_round(struct flood *f, uint64_t after)
{
	const struct sn_harness *h = &f->harness;

	f->now += after;
	memset(f->fate, 0, sizeof(f->fate));
	if (sn_harness_round(&f->harness, f->now, f->list, f->n, &f->err) != 0)
		fail_msg("%s", f->err.text);
	f->n = 0;
	for (size_t i = 0; i < h->n_out; i++) {
		const uint8_t *frame = h->bytes + h->out[i].offset;

		if (h->out[i].source >= ROUND_MAX)
			continue; /* a question for a neighbour */
		f->fate[h->out[i].source] = PASSED;
		f->address[h->out[i].source] = src_of(frame);
		f->port[h->out[i].source] = sport_of(frame);
	}
	for (size_t i = 0; i < h->n_drops; i++)
		if (!strcmp(reason_of(f, h->drops[i].reason), "nat-exhausted"))
			f->fate[h->drops[i].source] = REFUSED;
}

static enum fate send_one(struct flood *f, const struct packet *p)
{
	add(f, p);
	run_round(f, 1000);
	return f->fate[0];
}

/* As the agent sees it. */
static const Sinter__Control__V1__Stats *report(struct flood *f)
{
	static Sinter__Control__V1__Stats stats;
	const Sinter__Control__V1__GetStats all = SINTER__CONTROL__V1__GET_STATS__INIT;

	sinter__control__v1__stats__init(&stats);
	if (sn_report_stats(f->harness.engine, &all, &f->arena, &stats, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return &stats;
}

static uint64_t dropped_as(const Sinter__Control__V1__Stats *stats, const char *reason)
{
	for (size_t i = 0; i < stats->n_drops; i++)
		if (!strcmp(stats->drops[i]->reason, reason))
			return stats->drops[i]->packets;
	return 0;
}

static void one_shards_ports_are_used_up_and_the_others_go_on(void **state)
{
	struct flood *f = *state;
	struct packet p = outward(SN_UDP, 5000);
	const Sinter__Control__V1__Stats *stats;
	uint32_t passed = 0, refused = 0, full = 0, others = 0;

	load_flood(f);
	for (uint32_t i = 0; i < 2000; i++) { /* a host scans from one port: all flows are of one shard */
		enum fate fate;

		p.dst = SN_SAMPLE_REMOTE + i;
		fate = send_one(f, &p);
		passed += fate == PASSED;
		refused += fate == REFUSED;
		assert_int_equal(fate, i < PER_SHARD ? PASSED : REFUSED);
	}
	assert_int_equal(passed, PER_SHARD);
	stats = report(f);
	assert_int_equal(dropped_as(stats, "nat-exhausted"), refused);
	assert_int_equal(stats->tables[0]->exhausted, refused);
	assert_int_equal(stats->tables[0]->sessions, PER_SHARD);
	assert_int_equal(stats->n_shards, SN_SHARDS);
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		if (stats->shards[i]->exhausted == 0) {
			assert_int_equal(stats->shards[i]->sessions, 0);
			continue;
		}
		full++;
		assert_int_equal(stats->shards[i]->exhausted, refused);
		assert_int_equal(stats->shards[i]->sessions, PER_SHARD);
	}
	assert_int_equal(full, 1);
	for (uint32_t i = 0; i < 5000; i++) { /* from its other ports */
		p.sport = (uint16_t)(5001 + i);
		others += send_one(f, &p) == PASSED;
	}
	assert_in_range(others, 5000 * 126 / 128,
			5000 * 127 / 128 + 40); /* but for those of the same shard */
	stats = report(f);
	assert_int_equal(stats->tables[0]->exhausted, refused + 5000 - others);
	p.sport = 5000;
	for (uint32_t i = 0; i < PER_SHARD; i++) { /* who has a port keeps it */
		p.dst = SN_SAMPLE_REMOTE + i;
		assert_int_equal(send_one(f, &p), PASSED);
	}
	f->now += 301 * SECOND;
	p.dst = SN_SAMPLE_REMOTE + 3000;
	assert_int_equal(send_one(f, &p), PASSED);
}

static void an_elephant_is_one_session_on_one_worker(void **state)
{
	struct flood *f = *state;
	const Sinter__Control__V1__Stats *stats;
	uint32_t lost = 0, busy = 0;

	load_flood(f);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < 1000; i++) { /* of each twenty packets one is another flow's */
			struct packet p =
				outward(SN_UDP, i % 20 ? 5000 : (uint16_t)(6000 + (i / 20 + round) % 200));

			add(f, &p);
		}
		run_round(f, MS);
		for (uint32_t i = 0; i < 1000; i++)
			lost += f->fate[i] != PASSED;
	}
	assert_int_equal(lost, 0);
	stats = report(f);
	assert_int_equal(stats->tables[0]->sessions, 149 + 1);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		busy += stats->shards[i]->packets >= 75000; /* of 95000, by lot: what names it */
	assert_int_equal(busy, 1);
}

/* A connection of the host: the packets of the flow that is known by this number. */
static struct packet segment_out(uint32_t number, uint8_t flags)
{
	struct packet p = outward(SN_TCP, (uint16_t)(FIRST_PORT + number));

	p.flags = flags;
	p.dport = 443;
	return p;
}

static struct packet segment_back(uint32_t number, uint32_t address, uint16_t port)
{
	struct packet p = inward(SN_TCP, port);

	(void)number;
	p.dst = address;
	p.sport = 443;
	return p;
}

struct binding {
	uint32_t address;
	uint16_t port;
};

/* Opened and answered; the first packet of a round acknowledges. */
static void connect_flows(struct flood *f, struct binding *bindings)
{
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct packet p = segment_out(i, 0x02);

		assert_int_equal(send_one(f, &p), PASSED);
		bindings[i] = (struct binding){f->address[0], f->port[0]};
		p = segment_back(i, bindings[i].address, bindings[i].port);
		assert_int_equal(send_one(f, &p), PASSED);
	}
}

/* A packet of each of some established flows, both ways: how many of them are lost, or changed. */
static uint32_t lost_of_flows(const struct flood *f, const struct binding *bindings, uint32_t first,
			      uint32_t from, uint32_t n)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct binding *b = &bindings[(from + i) % FLOWS];
		uint32_t out = first + 2 * i;

		lost += f->fate[out] != PASSED || f->address[out] != b->address || f->port[out] != b->port;
		lost += f->fate[out + 1] != PASSED;
	}
	return lost;
}

#define RATE	    500 /* openings of strangers in a round of 10 ms */
#define ROUNDS	    600 /* six seconds: more openings than there are ports, four times over */
#define NEW	    5	/* connections in a round, which are answered ten rounds later */
#define ESTABLISHED 50

struct siege {
	struct binding bindings[FLOWS], opening[ROUNDS][NEW]; /* port 0: not opened */
	uint64_t sent, lost;				      /* packets of established flows */
	uint64_t tried, opened; /* new connections; opened: answered, and that passed */
	uint64_t answered;
	uint64_t most; /* sessions */
	bool collude;  /* the remotes of strangers answer, and are not acknowledged */
	struct stranger {
		struct binding binding; /* port 0: not opened */
		uint32_t remote;
	} strangers[RATE]; /* of the round before */
};

static void add_openings_of_strangers(struct flood *f, struct siege *s, uint32_t remotes)
{
	for (uint32_t i = 0; i < RATE; i++) {
		struct packet p = outward(SN_TCP, (uint16_t)(1 + dice(65535)));

		p.src = 0x0a000000 | dice(1 << 24);
		p.dst = SN_SAMPLE_REMOTE + dice(remotes);
		p.dport = 80;
		p.flags = 0x02;
		add(f, &p);
		s->strangers[i].remote = p.dst;
	}
}

static void note_openings_of_strangers(const struct flood *f, struct siege *s)
{
	for (uint32_t i = 0; i < RATE; i++)
		s->strangers[i].binding =
			(struct binding){f->address[i], f->fate[i] == PASSED ? f->port[i] : 0};
}

/* To the openings of the round before. */
static void add_answers_to_strangers(struct flood *f, const struct stranger *strangers)
{
	for (uint32_t i = 0; i < RATE; i++) {
		struct packet p = inward(SN_TCP, strangers[i].binding.port);

		p.src = strangers[i].remote;
		p.dst = strangers[i].binding.address;
		p.sport = 80;
		p.flags = 0x12;
		if (strangers[i].binding.port)
			add(f, &p);
	}
}

static void add_packets_of_flows(struct flood *f, const struct siege *s, uint32_t round)
{
	for (uint32_t i = 0; i < ESTABLISHED; i++) {
		uint32_t number = (round * ESTABLISHED + i) % FLOWS;
		const struct binding *b = &s->bindings[number];
		struct packet out = segment_out(number, 0x10),
			      back = segment_back(number, b->address, b->port);

		add(f, &out);
		add(f, &back);
	}
}

static void add_new_connections(struct flood *f, uint32_t round)
{
	for (uint32_t i = 0; i < NEW; i++) {
		struct packet p = segment_out(FLOWS + round * NEW + i, 0x02);

		add(f, &p);
	}
}

static void add_answers(struct flood *f, const struct siege *s, uint32_t round)
{
	for (uint32_t i = 0; round >= 10 && i < NEW; i++) {
		const struct binding *b = &s->opening[round - 10][i];
		struct packet p = segment_back(0, b->address, b->port);

		if (b->port)
			add(f, &p);
	}
}

static void besiege(struct flood *f, struct siege *s, uint32_t round, uint32_t remotes)
{
	struct stranger before[RATE];
	uint32_t flows, news, answers;

	memcpy(before, s->strangers, sizeof(before));
	add_openings_of_strangers(f, s, remotes);
	flows = f->n;
	add_packets_of_flows(f, s, round);
	news = f->n;
	add_new_connections(f, round);
	if (s->collude)
		add_answers_to_strangers(f, before);
	answers = f->n;
	add_answers(f, s, round);
	s->answered += f->n - answers;
	run_round(f, 10 * MS);
	note_openings_of_strangers(f, s);
	s->sent += 2 * ESTABLISHED;
	s->lost += lost_of_flows(f, s->bindings, flows, round * ESTABLISHED, ESTABLISHED);
	s->tried += NEW;
	for (uint32_t i = 0; i < NEW; i++) {
		bool passed = f->fate[news + i] == PASSED;

		s->opening[round][i] = (struct binding){f->address[news + i], passed ? f->port[news + i] : 0};
	}
	for (uint32_t i = answers; i < ROUND_MAX; i++)
		s->opened += f->fate[i] == PASSED;
}

static void flood_with_openings(struct flood *f, uint32_t remotes, bool collude, uint32_t bound)
{
	struct siege *s = calloc(1, sizeof(*s));

	s->collude = collude;
	if (collude) /* answers find their way to hosts that are none */
		f->msg->interfaces[0]->gateway = f->msg->interfaces[0]->neighbors[0]->address;
	load_flood(f);
	connect_flows(f, s->bindings);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		besiege(f, s, round, remotes);
		s->most = RTE_MAX(s->most, report(f)->tables[0]->sessions);
		sn_arena_free(&f->arena);
		sn_arena_init(&f->arena);
	}
	print_message("%u openings a second for %u s: of %lu packets of established flows %lu lost; "
		      "of %lu new connections %lu opened; %lu sessions at most\n",
		      RATE * 100, ROUNDS / 100, (unsigned long)s->sent, (unsigned long)s->lost,
		      (unsigned long)s->tried, (unsigned long)s->opened, (unsigned long)s->most);
	assert_int_equal(s->lost, 0);
	assert_int_equal(s->opened, s->answered);
	assert_true(s->opened >= (s->tried - 10 * NEW) * 95 / 100);
	assert_in_range(s->most, bound * 9 / 10, bound); /* it is full all the time */
	free(s);
}

static void a_flood_of_openings_from_random_sources_costs_nobody_his_connection(void **state)
{
	flood_with_openings(*state, 100, false, PORTS);
}

/* A remote that answers each opening, and is not acknowledged, makes no connections of them. */
static void a_flood_that_a_remote_answers_costs_nobody_his_connection(void **state)
{
	flood_with_openings(*state, 100, true, PORTS);
}

/* Cut by hash, a shard reaches a remote by one port of 128: four addresses for one remote. */
static void a_flood_to_one_remote_costs_nobody_his_connection(void **state)
{
	struct flood *f = *state;

	f->msg->tables[0]->pool[0]->last = SN_SAMPLE_POOL + 3;
	flood_with_openings(f, 1, false, 4 * PORTS + FLOWS + ROUNDS * NEW);
}

static void a_flood_costs_nobody_his_connection_where_sessions_are_limited(void **state)
{
	struct flood *f = *state;

	f->msg->tables[0]->max_sessions = 60000;
	flood_with_openings(f, 10000, false, 60000);
}

static void an_answered_flood_costs_nobody_his_connection_where_sessions_are_limited(void **state)
{
	struct flood *f = *state;

	f->msg->tables[0]->max_sessions = 60000;
	flood_with_openings(f, 10000, true, 60000);
}

#define WITH_FLOOD(test) cmocka_unit_test_setup_teardown(test, open_flood, close_flood)
#define WITH_HASHED_FLOOD(test)                                            \
	{                                                                  \
#test " (RSS)", test, open_hashed_flood, close_flood, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FLOOD(one_shards_ports_are_used_up_and_the_others_go_on),
		WITH_FLOOD(an_elephant_is_one_session_on_one_worker),
		WITH_HASHED_FLOOD(an_elephant_is_one_session_on_one_worker),
		WITH_FLOOD(a_flood_of_openings_from_random_sources_costs_nobody_his_connection),
		WITH_FLOOD(a_flood_that_a_remote_answers_costs_nobody_his_connection),
		WITH_HASHED_FLOOD(a_flood_to_one_remote_costs_nobody_his_connection),
		WITH_FLOOD(a_flood_costs_nobody_his_connection_where_sessions_are_limited),
		WITH_FLOOD(an_answered_flood_costs_nobody_his_connection_where_sessions_are_limited),
		WITH_HASHED_FLOOD(a_flood_costs_nobody_his_connection_where_sessions_are_limited),
	};

	return cmocka_run_group_tests(tests, start, stop_eal);
}
