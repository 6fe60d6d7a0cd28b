/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets by exact vectors, and what a meter does to packets on one worker. */

#include "meters.h"

#include "sn_meter.h"

/* ---- the arithmetic ---- */

/* A packet, after a time: its colour, and what is left in both buckets, in thousandths of a token. */
struct vector {
	uint64_t after_ms;
	enum sn_color came;
	uint64_t size;
	enum sn_color color;
	uint64_t left[SN_BUCKETS];
};

static void assert_vectors(const struct sn_bucket_limits *limits, const struct vector *v, size_t n)
{
	struct sn_buckets b = {{limits->capacity[0], limits->capacity[1]}};

	for (size_t i = 0; i < n; i++) {
		enum sn_color color;

		sn_buckets_fill(&b, limits, v[i].after_ms * MS);
		color = sn_buckets_take(&b, limits, v[i].came, v[i].size * SN_TOKEN);
		if (color != v[i].color || b.has[0] != v[i].left[0] * (SN_TOKEN / 1000) ||
		    b.has[1] != v[i].left[1] * (SN_TOKEN / 1000))
			fail_msg("vector %zu: colour %d, left %llu and %llu", i, (int)color,
				 (unsigned long long)b.has[0], (unsigned long long)b.has[1]);
	}
}

static const struct sn_bucket_limits single = {{1000 * SN_TOKEN, 500 * SN_TOKEN}, 100, 0};
static const struct sn_bucket_limits two = {{1000 * SN_TOKEN, 1500 * SN_TOKEN}, 100, 300};

#define N(vectors) (sizeof(vectors) / sizeof((vectors)[0]))

static void one_rate_blind(void **state)
{
	static const struct vector v[] = {
		{0, SN_GREEN, 600, SN_GREEN, {400000, 500000}},
		{0, SN_GREEN, 600, SN_RED, {400000, 500000}}, /* nothing is taken */
		{0, SN_GREEN, 401, SN_YELLOW, {400000, 99000}},
		{0, SN_GREEN, 400, SN_GREEN, {0, 99000}},
		{0, SN_GREEN, 99, SN_YELLOW, {0, 0}},
		{0, SN_GREEN, 1, SN_RED, {0, 0}},
		{9, SN_GREEN, 1, SN_RED, {900, 0}},
		{1, SN_GREEN, 1, SN_GREEN, {0, 0}},
		/* The committed bucket is filled first, what is over goes to the other. */
		{10000, SN_GREEN, 1, SN_GREEN, {999000, 0}},
		{100, SN_GREEN, 1, SN_GREEN, {999000, 9000}},
		{1000000, SN_GREEN, 1000, SN_GREEN, {0, 500000}},
	};

	(void)state;
	assert_vectors(&single, v, N(v));
}

static void one_rate_aware(void **state)
{
	static const struct vector v[] = {
		{0, SN_YELLOW, 400, SN_YELLOW, {1000000, 100000}},
		{0, SN_RED, 1, SN_RED, {1000000, 100000}},
		{0, SN_YELLOW, 101, SN_RED, {1000000, 100000}},
		{0, SN_GREEN, 950, SN_GREEN, {50000, 100000}},
		{0, SN_GREEN, 60, SN_YELLOW, {50000, 40000}},
		{0, SN_YELLOW, 50, SN_RED, {50000, 40000}},
	};

	(void)state;
	assert_vectors(&single, v, N(v));
}

static void two_rates_blind(void **state)
{
	static const struct vector v[] = {
		{0, SN_GREEN, 900, SN_GREEN, {100000, 600000}},
		{0, SN_GREEN, 601, SN_RED, {100000, 600000}},
		{0, SN_GREEN, 500, SN_YELLOW, {100000, 100000}},
		{0, SN_GREEN, 100, SN_GREEN, {0, 0}},
		/* Each is filled by its own rate. */
		{10, SN_GREEN, 2, SN_YELLOW, {1000, 1000}},
		{10, SN_GREEN, 2, SN_GREEN, {0, 2000}},
		{100000, SN_GREEN, 1, SN_GREEN, {999000, 1499000}},
	};

	(void)state;
	assert_vectors(&two, v, N(v));
}

static void two_rates_aware(void **state)
{
	static const struct vector v[] = {
		{0, SN_YELLOW, 1400, SN_YELLOW, {1000000, 100000}},
		{0, SN_YELLOW, 101, SN_RED, {1000000, 100000}},
		{0, SN_RED, 1, SN_RED, {1000000, 100000}},
		{0, SN_GREEN, 100, SN_GREEN, {900000, 0}},
		{0, SN_GREEN, 1, SN_RED, {900000, 0}},
	};

	(void)state;
	assert_vectors(&two, v, N(v));
}

static void no_time_and_rate_is_too_much(void **state)
{
	const struct sn_bucket_limits huge = {
		{SN_TOKENS_MAX * SN_TOKEN, SN_TOKENS_MAX * SN_TOKEN}, 1000000000000, 0};
	struct sn_bucket_limits peak = huge;
	struct sn_buckets b = {{0, 0}};

	(void)state;
	assert_true(SN_TOKENS_MAX * SN_TOKEN <= INT64_MAX);
	sn_buckets_fill(&b, &huge, UINT64_MAX);
	assert_int_equal(b.has[0], huge.capacity[0]);
	assert_int_equal(b.has[1], huge.capacity[1]);
	sn_buckets_fill(&b, &huge, UINT64_MAX);
	assert_int_equal(b.has[1], huge.capacity[1]);
	/* 2^64 units in a time: not as if it were none. */
	b = (struct sn_buckets){{0, 0}};
	peak.rate = peak.peak_rate = 1ull << 32;
	sn_buckets_fill(&b, &peak, 1ull << 32);
	assert_int_equal(b.has[0], huge.capacity[0]);
	assert_int_equal(b.has[1], huge.capacity[1]);
	/* The same of what is over. */
	b = (struct sn_buckets){{huge.capacity[0], 0}};
	peak.peak_rate = 0;
	sn_buckets_fill(&b, &peak, 1ull << 32);
	assert_int_equal(b.has[1], huge.capacity[1]);
	/* A nanosecond of one token per second is a unit. */
	b = (struct sn_buckets){{0, 0}};
	peak.rate = peak.peak_rate = 1;
	sn_buckets_fill(&b, &peak, 1);
	assert_int_equal(b.has[0], 1);
	assert_int_equal(b.has[1], 1);
}

/* ---- packets ---- */

struct metered {
	struct fixture *f;
	Sinter__Program__V1__Meter *meter;
};

static struct metered the;

static int open_metered(void **state, bool subscribers)
{
	int rc = open_fixture(state);

	the.f = *state;
	the.f->msg = metered_wire(&the.f->arena, subscribers, &the.meter);
	return rc;
}

static int open_common(void **state)
{
	return open_metered(state, false);
}

static int open_subscribers(void **state)
{
	return open_metered(state, true);
}

/* A packet of 1000 bytes, by "a". */
static struct packet of_1000(uint16_t sport)
{
	struct packet p = outward(SN_UDP, sport);

	p.payload_len = 1000 - 28;
	return p;
}

static bool passes(struct fixture *f, const struct packet *p)
{
	send_packet(f, p);
	assert_int_equal(f->n_out + f->n_drops, 1);
	if (f->n_drops)
		assert_string_equal(sn_program_reason(f->program, f->drops[0].reason), "limit/exceeded");
	return f->n_out;
}

/* Packets of 1000 bytes that pass at an instant. */
static uint32_t pass_now(struct fixture *f)
{
	struct packet p = of_1000(7);
	uint32_t n = 0;

	while (passes(f, &p))
		n++;
	return n;
}

static void the_burst_passes_then_the_rate(void **state)
{
	struct fixture *f = *state;

	load(f);
	assert_int_equal(pass_now(f), 10);
	f->now += MS - 1;
	assert_int_equal(pass_now(f), 0);
	f->now += 1;
	assert_int_equal(pass_now(f), 1);
	f->now += 5 * MS;
	assert_int_equal(pass_now(f), 5);
	f->now += 365 * 24 * 3600 * SECOND;
	assert_int_equal(pass_now(f), 10);
	assert_int_equal(colors_of(f->state, 0).packets[SN_GREEN], 26);
	assert_int_equal(colors_of(f->state, 0).bytes[SN_GREEN], 26000);
	assert_int_equal(colors_of(f->state, 0).packets[SN_RED], 5);
	assert_int_equal(colors_of(f->state, 0).packets[SN_YELLOW], 0);
}

/* However often it is looked at, time passes once. */
static void time_is_counted_once(void **state)
{
	struct fixture *f = *state;
	struct packet p = of_1000(7);

	load(f);
	assert_int_equal(pass_now(f), 10);
	for (int i = 1; i < 10000; i++) {
		f->now += 100;
		assert_false(passes(f, &p));
	}
	f->now += 100;
	assert_true(passes(f, &p));
}

static void packets_may_be_what_is_counted(void **state)
{
	struct fixture *f = *state;

	the.meter->unit = SINTER__PROGRAM__V1__METER__UNIT__PACKETS;
	the.meter->rate = 1000;
	the.meter->burst = 7;
	load(f);
	assert_int_equal(pass_now(f), 7);
	f->now += 2 * MS;
	assert_int_equal(pass_now(f), 2);
}

/* The same packets at the same times, of one flow, which is cached, and of a flow each, which are not. */
static void cached_and_decided_packets_are_measured_alike(void **state)
{
	struct fixture *f = *state;
	static bool verdicts[2000];
	uint32_t passed = 0;
	uint64_t hits;

	the.meter->excess_burst = 30000;
	for (int round = 0; round < 2; round++) {
		f->msg->tables[0]->name = round ? (char *)"another" : (char *)"limit";
		load(f);
		hits = sn_worker_stats(f->worker)->cache_hits;
		srand(5);
		for (int i = 0; i < 2000; i++) {
			struct packet p = of_1000(round ? (uint16_t)(1000 + i) : 7);
			bool pass;

			f->now += (uint64_t)(rand() % 1000000);
			p.payload_len = (uint32_t)rand() % 1400;
			pass = passes(f, &p);
			passed += pass;
			if (round)
				assert_int_equal(pass, verdicts[i]);
			verdicts[i] = pass;
		}
		hits = sn_worker_stats(f->worker)->cache_hits - hits;
		assert_true(round ? hits == 0 : hits > 1900);
	}
	assert_true(passed > 1000 && passed < 3900);
}

static void colors_are_dropped_and_marked(void **state)
{
	struct fixture *f = *state;
	struct packet p = of_1000(7);

	p.dscp = 46;
	the.meter->excess_burst = 40000;
	the.meter->yellow = mark_it(&f->arena, 12);
	load(f);
	for (int i = 0; i < 15; i++)
		assert_int_equal(passes(f, &p) ? ip_of(assert_sent(f, 1))[1] >> 2 : 255, i < 10 ? 46 : 12);
	assert_false(passes(f, &p));
	assert_true(sn_worker_stats(f->worker)->cache_hits > 10);
	the.meter->red = mark_it(&f->arena, 14);
	load(f); /* the buckets stay */
	assert_true(passes(f, &p));
	assert_int_equal(ip_of(assert_sent(f, 1))[1] >> 2, 14);
	assert_true(passes(f, &p));
	assert_int_equal(ip_of(assert_sent(f, 1))[1] >> 2, 14);
	assert_int_equal(colors_of(f->state, 0).packets[SN_YELLOW], 5);
	assert_int_equal(colors_of(f->state, 0).bytes[SN_YELLOW], 5000);
	assert_int_equal(colors_of(f->state, 0).packets[SN_RED], 3);
	the.meter->red = NULL;
	load(f);
	assert_true(passes(f, &p));
	assert_int_equal(ip_of(assert_sent(f, 1))[1] >> 2, 46);
}

static void packets_come_with_a_color(void **state)
{
	struct fixture *f = *state;
	struct packet p = of_1000(7);

	the.meter->excess_burst = 16000;
	the.meter->comes_yellow = 1ull << 12;
	the.meter->comes_red = 1ull << 14 | 1ull << 63;
	load(f);
	p.dscp = 12;
	assert_true(passes(f, &p));
	assert_true(passes(f, &p));
	assert_false(passes(f, &p));
	p.dscp = 63;
	assert_false(passes(f, &p));
	p.dscp = 0;
	for (int i = 0; i < 10; i++)
		assert_true(passes(f, &p));
	assert_false(passes(f, &p));
	assert_int_equal(colors_of(f->state, 0).packets[SN_GREEN], 10);
	assert_int_equal(colors_of(f->state, 0).packets[SN_YELLOW], 2);
	assert_int_equal(colors_of(f->state, 0).packets[SN_RED], 3);
}

static void a_swap_keeps_buckets_by_name(void **state)
{
	struct fixture *f = *state;

	load(f);
	assert_int_equal(pass_now(f), 10);
	load(f);
	load_warmed_up(f);
	assert_int_equal(pass_now(f), 0);
	assert_int_equal(colors_of(f->state, 0).packets[SN_RED], 2);
	f->msg->tables[0]->name = (char *)"other";
	load(f);
	assert_int_equal(pass_now(f), 10);
	the.meter->rate++;
	load(f);
	assert_int_equal(pass_now(f), 10);
	the.meter->burst = 40000;
	load(f);
	assert_int_equal(pass_now(f), 5);
}

static void a_warm_up_takes_no_tokens(void **state)
{
	struct fixture *f = *state;
	struct packet p = of_1000(7);

	load(f);
	for (int i = 0; i < 5; i++)
		assert_true(passes(f, &p));
	load_warmed_up(f);
	assert_int_equal(pass_now(f), 5);
	assert_int_equal(colors_of(f->state, 0).packets[SN_GREEN], 10);
}

/* The next program measures the flow by another table, whose entry its first packet makes. */
static void a_warm_up_makes_no_subscriber(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__StateTable *tables[2], other = *f->msg->tables[0];
	Sinter__Program__V1__Op *op = f->msg->segments[0]->classes[0]->legs[0]->ops[0];
	struct packet p = of_1000(7);
	struct sn_state_stats stats;

	other.name = (char *)"other";
	tables[0] = f->msg->tables[0];
	tables[1] = &other;
	f->msg->tables = tables;
	f->msg->n_tables = 2;
	load(f);
	for (int i = 0; i < 5; i++)
		assert_true(passes(f, &p));
	op->meter = 1;
	load_warmed_up(f);
	sn_state_stats(f->state, 1, &stats);
	assert_int_equal(stats.created, 0);
	assert_int_equal(pass_now(f), 10);
	sn_state_stats(f->state, 1, &stats);
	assert_int_equal(stats.created, 1);
}

static void a_swap_keeps_subscribers_of_the_same_rates_alone(void **state)
{
	struct fixture *f = *state;

	load(f);
	assert_int_equal(pass_now(f), 10);
	f->msg->tables[0]->max_sessions++; /* the table is made again */
	load(f);
	assert_int_equal(f->kept, 1);
	assert_int_equal(pass_now(f), 0);
	the.meter->rate++;
	load(f);
	assert_int_equal(f->lost, 1);
	assert_int_equal(pass_now(f), 10);
}

static void subscribers_are_measured_apart(void **state)
{
	struct fixture *f = *state;
	struct packet p = of_1000(7);
	uint32_t n[3] = {0};

	the.meter->subscribers->prefix_len = 24;
	load(f);
	for (uint32_t i = 0; i < 60; i++) {
		/* Two of a prefix, one of another; each in flows of its own. */
		p.src = SN_SAMPLE_HOST + (i % 3 == 2 ? 256 : i % 3);
		n[i % 3] += passes(f, &p);
	}
	assert_int_equal(n[0] + n[1], 10);
	assert_int_equal(n[2], 10);
	assert_int_equal(sessions(f), 2);
}

static void a_destination_may_be_the_subscriber(void **state)
{
	struct fixture *f = *state;
	struct packet p = of_1000(7);
	uint32_t n = 0;

	the.meter->subscribers->destination = true;
	load(f);
	for (uint32_t i = 0; i < 40; i++) {
		p.src = SN_SAMPLE_HOST + i;
		p.dst = SN_SAMPLE_REMOTE + i % 2;
		n += passes(f, &p);
	}
	assert_int_equal(n, 20);
}

/* The refusal names what is wrong, and its value. */
static void assert_refused(struct fixture *f, const char *why)
{
	struct sn_error err = {0};

	assert_null(sn_program_create(f->msg, NULL, &err));
	if (strstr(err.text, why) == NULL)
		fail_msg("\"%s\", want \"…%s…\"", err.text, why);
}

static void what_is_no_meter_is_refused(void **state)
{
	struct fixture *f = *state;
	Sinter__Program__V1__Meter good = *the.meter, *m = the.meter;

	m->rate = 0;
	assert_refused(f, "rate is 0, peak_rate 0");
	*m = good, m->peak_rate = 7;
	assert_refused(f, "peak_rate 7");
	*m = good, m->burst = SN_TOKENS_MAX + 1;
	assert_refused(f, "bursts are 9200000001 and 0");
	*m = good, m->subscribers->prefix_len = 33;
	assert_refused(f, "prefix_len is 33");
	m->subscribers->prefix_len = 32;
	m->comes_yellow = m->comes_red = 4;
	assert_refused(f, "DSCP 2 in common");
	*m = good, m->rate = 1, m->burst = 5000000;
	assert_refused(f, "full after 5000000");
	*m = good, m->red->drop = 1;
	assert_refused(f, "drop is 1");
	m->red = mark_it(&f->arena, 64);
	assert_refused(f, "dscp is 64");
	*m = good, m->red->drop = 0, f->msg->tables[0]->max_sessions = 0;
	assert_refused(f, "max_sessions is 0");
	f->msg->tables[0] = sn_sample_napt(&f->arena)->tables[0];
	assert_refused(f, "meter is 0 (nat), which is of kind napt, want a meter's");
}

#define WITH_COMMON(test)      cmocka_unit_test_setup_teardown(test, open_common, close_fixture)
#define WITH_SUBSCRIBERS(test) cmocka_unit_test_setup_teardown(test, open_subscribers, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_rate_blind),
		cmocka_unit_test(one_rate_aware),
		cmocka_unit_test(two_rates_blind),
		cmocka_unit_test(two_rates_aware),
		cmocka_unit_test(no_time_and_rate_is_too_much),
		WITH_COMMON(the_burst_passes_then_the_rate),
		WITH_SUBSCRIBERS(the_burst_passes_then_the_rate),
		WITH_COMMON(time_is_counted_once),
		WITH_SUBSCRIBERS(time_is_counted_once),
		WITH_COMMON(packets_may_be_what_is_counted),
		WITH_SUBSCRIBERS(packets_may_be_what_is_counted),
		WITH_COMMON(cached_and_decided_packets_are_measured_alike),
		WITH_SUBSCRIBERS(cached_and_decided_packets_are_measured_alike),
		WITH_COMMON(colors_are_dropped_and_marked),
		WITH_SUBSCRIBERS(colors_are_dropped_and_marked),
		WITH_COMMON(packets_come_with_a_color),
		WITH_SUBSCRIBERS(packets_come_with_a_color),
		WITH_COMMON(a_swap_keeps_buckets_by_name),
		WITH_COMMON(a_warm_up_takes_no_tokens),
		WITH_SUBSCRIBERS(a_warm_up_takes_no_tokens),
		WITH_SUBSCRIBERS(a_warm_up_makes_no_subscriber),
		WITH_SUBSCRIBERS(a_swap_keeps_subscribers_of_the_same_rates_alone),
		WITH_SUBSCRIBERS(subscribers_are_measured_apart),
		WITH_SUBSCRIBERS(a_destination_may_be_the_subscriber),
		WITH_SUBSCRIBERS(what_is_no_meter_is_refused),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
