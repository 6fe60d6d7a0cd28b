/* SPDX-License-Identifier: Apache-2.0 */
/* One pair of buckets for the packets of several workers; and subscribers' packets among workers. */

#include "meters.h"
#include "threadless.h"

#include <pthread.h>

#include "sn_meter_impl.h"
#include "sn_shards.h"

#define WORKERS_MAX 4
#define BITS	    8000u /* of a packet, mostly */

struct common {
	struct sn_arena arena;
	Sinter__Program__V1__Meter *meter;
	Sinter__Program__V1__Program *msg;
	struct sn_program *program;
	struct sn_state *state;
	uint64_t now;
	/* Packets that may still pass, by the definition: green, and any but red. */
	struct sn_bucket_limits limits;
	struct sn_buckets may;
	uint64_t checked;	    /* when */
	uint64_t passed[SN_COLORS]; /* tokens */
};

static void open_meter(struct common *c, uint32_t n_workers)
{
	memset(c, 0, sizeof(*c));
	sn_arena_init(&c->arena);
	c->msg = metered_wire(&c->arena, false, &c->meter);
	c->meter->rate = 1000000000;
	c->meter->burst = 50000000;
	c->state = sn_state_create(3, n_workers, (struct sn_partitioning){0});
	c->now = c->checked = 1000 * SECOND;
}

static void apply(struct common *c)
{
	struct sn_error err = {0};
	uint64_t kept, dropped;

	c->program = sn_program_create(c->msg, NULL, &err);
	if (c->program == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sn_state_apply(c->state, c->program, &kept, &dropped), 0);
	/* Green alone is bounded by the committed bucket; with yellow by both of RFC 2697, or RFC 2698's
	 * peak. */
	c->limits.capacity[0] = c->meter->burst * SN_TOKEN;
	c->limits.capacity[1] =
		(c->meter->peak_rate ? 0 : c->meter->burst) * SN_TOKEN + c->meter->excess_burst * SN_TOKEN;
	c->limits.rate = c->meter->rate;
	c->limits.peak_rate = c->meter->peak_rate ? c->meter->peak_rate : c->meter->rate;
	c->may.has[0] = c->limits.capacity[0];
	c->may.has[1] = c->limits.capacity[1];
}

static void close_meter(struct common *c)
{
	sn_state_free(c->state);
	sn_program_free(c->program);
	sn_arena_free(&c->arena);
}

/* A packet on a worker; in no interval more passes than the burst and what the rate gives. */
static enum sn_color measure(struct common *c, uint32_t worker, uint64_t tokens)
{
	enum sn_color color =
		sn_meter_measure(sn_state_partition(c->state, worker), 0, NULL, SN_GREEN, tokens, 1, c->now);

	sn_buckets_fill(&c->may, &c->limits, c->now - c->checked);
	c->checked = c->now;
	c->passed[color] += tokens;
	if (color == SN_GREEN && !sn_bucket_take(&c->may.has[0], tokens * SN_TOKEN))
		fail_msg("at %llu more is green than may be", (unsigned long long)c->now);
	if (color != SN_RED && !sn_bucket_take(&c->may.has[1], tokens * SN_TOKEN))
		fail_msg("at %llu more passes than may", (unsigned long long)c->now);
	return color;
}

static void tick_worker(struct common *c, uint32_t worker)
{
	sn_partition_tick(sn_state_partition(c->state, worker), c->now);
}

/* Random loads, with pauses and ticks. */
static void load_at_random(struct common *c, uint32_t workers, uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++) {
		c->now += dice(4) ? dice(2000) : dice(400) ? 0 : dice(100 * MS);
		if (dice(100) == 0)
			tick_worker(c, dice(workers));
		measure(c, i >> 12 & 1 ? dice(workers) : dice(2), 512 + dice(12000));
	}
}

static void several_workers_never_pass_more_than_one_would(void **state)
{
	static const uint64_t rates[] = {1000000000, 20000000, 100000000000};
	static const uint64_t bursts[] = {50000000, 120000, 1000000};

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		for (uint32_t kind = 0; kind < 3; kind++) {
			struct common c;

			open_meter(&c, WORKERS_MAX);
			c.meter->rate = rates[i % 3];
			c.meter->burst = bursts[i / 3];
			if (kind > 0)
				c.meter->excess_burst = 2 * bursts[i / 3];
			if (kind > 1)
				c.meter->peak_rate = 3 * rates[i % 3];
			apply(&c);
			load_at_random(&c, WORKERS_MAX, 30000);
			close_meter(&c);
		}
	}
}

/* Green tokens of a load of `times` the rate on the first n workers, for so long, one after the other. */
static uint64_t greens(struct common *c, uint32_t n, double times, uint64_t ns)
{
	uint64_t before = c->passed[SN_GREEN];
	uint64_t step = (uint64_t)((double)BITS * SECOND / (double)c->meter->rate / times);

	for (uint64_t at = 0, i = 0; at < ns; at += step, i++, c->now += step) {
		if (at / MS != (at + step) / MS)
			for (uint32_t w = 0; w < WORKERS_MAX && w < c->state->n_partitions; w++)
				tick_worker(c, w);
		measure(c, (uint32_t)(i % n), BITS);
	}
	return c->passed[SN_GREEN] - before;
}

static void assert_at_least(uint64_t passed, uint64_t allowed, uint32_t percent)
{
	if (passed * 100 < allowed * percent)
		fail_msg("%llu of %llu tokens", (unsigned long long)passed, (unsigned long long)allowed);
}

static void a_worker_that_idles_keeps_nothing_from_the_others(void **state)
{
	static const uint64_t rates[] = {10000000000, 1000000000, 10000000};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct common c;
		uint64_t passed;

		open_meter(&c, 2);
		c.meter->rate = rates[i];
		c.meter->burst = rates[i] / 20 > 120000 ? rates[i] / 20 : 120000;
		apply(&c);
		passed = greens(&c, 2, 1.5, 200 * MS);
		passed += greens(&c, 1, 1.5, 100 * MS); /* the other one is idle */
		passed += greens(&c, 2, 1.5, 200 * MS);
		assert_at_least(passed, c.meter->burst + c.meter->rate / 2, 98);
		close_meter(&c);
	}
}

/* Not more than allowed comes: all of it is green, though workers have chunks. */
static void what_is_within_the_rate_is_green(void **state)
{
	struct common c;

	(void)state;
	open_meter(&c, WORKERS_MAX);
	apply(&c);
	greens(&c, WORKERS_MAX, 0.9, SECOND);
	assert_int_equal(c.passed[SN_RED], 0);
	close_meter(&c);
}

/* Tokens that a worker took and has no use for are everybody's again: a whole burst after a pause. */
static void tokens_that_are_not_used_return(void **state)
{
	struct common c;
	uint64_t left;

	(void)state;
	open_meter(&c, 2);
	c.meter->rate = 1000; /* nothing to speak of comes */
	c.meter->burst = 100 * BITS;
	apply(&c);
	((struct meter_table *)c.state->tables[0])->common->parts[0].asked = 1;
	((struct meter_table *)c.state->tables[0])->common->parts[0].chunk[0] = 20 * BITS * SN_TOKEN;
	((struct meter_table *)c.state->tables[0])->common->parts[0].pots[0].seen = INT64_MAX;
	assert_int_equal(measure(&c, 0, BITS), SN_GREEN); /* takes 20, uses one */
	left = 99;
	for (; measure(&c, 1, BITS) == SN_GREEN; left--)
		;
	assert_int_equal(left, 19);
	c.now += 100 * MS;
	tick_worker(&c, 0);
	((struct meter_table *)c.state->tables[0])->common->parts[1].pots[0].seen = INT64_MAX;
	for (; measure(&c, 1, BITS) == SN_GREEN; left--)
		;
	assert_int_equal(left, 0);
	close_meter(&c);
}

static void who_has_not_enough_takes_nothing(void **state)
{
	struct common c;

	(void)state;
	open_meter(&c, 2);
	c.meter->rate = 1000;
	c.meter->burst = 20000;
	apply(&c);
	assert_int_equal(measure(&c, 0, 1000), SN_GREEN);
	assert_int_equal(measure(&c, 1, 15000), SN_GREEN);
	assert_int_equal(measure(&c, 0, 6000), SN_RED); /* it looks, and there are 4000 */
	assert_int_equal(measure(&c, 1, 4000), SN_GREEN);
	close_meter(&c);
}

/* ---- threads ---- */

struct racer {
	pthread_t thread;
	struct common *c;
	uint32_t worker;
	uint64_t passed;
	_Atomic uint64_t *clock;
	uint64_t step; /* ns from packet to packet */
	pthread_barrier_t *start;
};

static void *race(void *context)
{
	struct racer *r = context;
	struct sn_partition *p = sn_state_partition(r->c->state, r->worker);

	pthread_barrier_wait(r->start);
	for (uint32_t i = 0; i < 1000000; i++) {
		uint64_t now = atomic_fetch_add(r->clock, r->step);

		if (sn_meter_measure(p, 0, NULL, SN_GREEN, BITS, BITS / 8, now) == SN_GREEN)
			r->passed += BITS;
		if (i % 1000 == 0)
			sn_partition_tick(p, now);
	}
	return NULL;
}

/* All workers at once, with a packet each so many ns. Returns what passed; *allowed: what may. */
static uint64_t race_all(struct common *c, uint64_t step, uint64_t *allowed)
{
	struct racer racers[WORKERS_MAX];
	_Atomic uint64_t clock = c->now;
	pthread_barrier_t start;
	uint64_t passed = 0;

	pthread_barrier_init(&start, NULL, WORKERS_MAX);
	for (uint32_t i = 0; i < WORKERS_MAX; i++) {
		racers[i] =
			(struct racer){.c = c, .worker = i, .clock = &clock, .step = step, .start = &start};
		assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	}
	for (uint32_t i = 0; i < WORKERS_MAX; i++) {
		pthread_join(racers[i].thread, NULL);
		passed += racers[i].passed;
	}
	pthread_barrier_destroy(&start);
	*allowed = c->meter->burst + (clock - c->now); /* a bit per nanosecond */
	c->now = clock;
	return passed;
}

static void threads_share_the_buckets(void **state)
{
	uint64_t passed, allowed;
	struct common c;

	(void)state;
	open_meter(&c, WORKERS_MAX);
	apply(&c);
	passed = race_all(&c, 500, &allowed);
	assert_true(passed <= allowed);
	assert_int_equal(colors_of(c.state, 0).bytes[SN_GREEN] * 8, passed);
	close_meter(&c);
}

/* While no time passes: each token has passed, is in the bucket, or in a worker's chunk. How many pass
 * depends on who waits for whom. */
static void threads_lose_no_token(void **state)
{
	const struct meter_common *common;
	uint64_t passed, left, allowed;
	struct common c;

	(void)state;
	open_meter(&c, WORKERS_MAX);
	c.meter->burst = 2000000 * BITS;
	apply(&c);
	common = ((struct meter_table *)c.state->tables[0])->common;
	passed = race_all(&c, 0, &allowed);
	left = common->buckets.has[SN_COMMITTED];
	for (uint32_t i = 0; i < WORKERS_MAX; i++)
		left += common->parts[i].pots[SN_COMMITTED].has;
	assert_true(passed > 0);
	assert_int_equal(passed * SN_TOKEN + left, allowed * SN_TOKEN);
	close_meter(&c);
}

/* Each packet asks, as chunks are smaller. */
static void threads_account_for_every_token(void **state)
{
	const struct meter_common *common;
	uint64_t passed, allowed;
	struct common c;

	(void)state;
	open_meter(&c, WORKERS_MAX);
	c.meter->burst = 15 * BITS;
	apply(&c);
	common = ((struct meter_table *)c.state->tables[0])->common;
	passed = race_all(&c, BITS, &allowed);
	assert_true(passed <= allowed);
	c.now += SECOND;
	for (uint32_t i = 0; i < WORKERS_MAX; i++)
		tick_worker(&c, i);
	assert_int_equal(common->leased[SN_COMMITTED], 0);
	assert_int_equal(common->leased[SN_SECOND], 0);
	assert_true(common->buckets.has[SN_COMMITTED] <= c.limits.capacity[0]);
	close_meter(&c);
}

/* ---- subscribers' packets ---- */

static struct {
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	Sinter__Program__V1__Meter *meter;
	struct sn_engine *engine;
	uint32_t n_out, n_drops, n_others;
} world;

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	(void)ctx;
	(void)iface;
	for (uint16_t i = 0; i < n; i++)
		rte_pktmbuf_free(pkts[i]);
	world.n_out += n;
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	(void)ctx;
	(void)m;
	(void)source;
	world.n_drops++;
	world.n_others += reason != EXCEEDED;
}

static int open_engine(void **state, bool subscribers)
{
	struct sn_engine_config config = {.n_workers = 3, .tx = tx, .drop = drop};

	(void)state;
	memset(&world, 0, sizeof(world));
	sn_arena_init(&world.arena);
	world.msg = metered_wire(&world.arena, subscribers, &world.meter);
	world.meter->burst = 10 * 8 * 800;
	world.engine = create_threadless(config);
	sn_threads_set_now(sn_engine_threads(world.engine), 1000 * SECOND);
	return 0;
}

static int open_subscribers(void **state)
{
	return open_engine(state, true);
}

static int open_common(void **state)
{
	return open_engine(state, false);
}

static int close_engine(void **state)
{
	(void)state;
	sn_engine_free(world.engine);
	assert_int_equal(rte_mempool_in_use_count(buffers), 0);
	sn_arena_free(&world.arena);
	return 0;
}

static void settle(void)
{
	for (uint32_t quiet = 0; quiet < 2; quiet++)
		for (uint32_t w = 0; w < 3; w++)
			if (sn_mailbox_poll(mailbox_of(world.engine, w)))
				quiet = 0;
}

/* A packet of 800 bytes from a host, received by a worker. Whether it passes. */
static bool passes(uint32_t host, uint32_t worker, uint16_t sport)
{
	struct packet p = outward(SN_UDP, sport);
	uint32_t before = world.n_out;
	uint8_t frame[FRAME_MAX];
	struct rte_mbuf *m;

	p.src = SN_SAMPLE_HOST + host;
	p.payload_len = 800 - 28;
	m = buffer(frame, write_frame(&p, frame));
	sn_worker_burst(worker_of(world.engine, worker), 0, &m, 1, now_of(world.engine));
	settle();
	return world.n_out > before;
}

static void a_subscriber_s_packets_are_measured_once_whoever_receives_them(void **state)
{
	(void)state;
	load_threadless(world.engine, world.msg, NULL, 0);
	assert_int_equal(sn_state_units(sn_engine_state(world.engine)), SN_SHARDS);
	for (uint32_t host = 0; host < 100; host++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < 30; i++)
			n += passes(host, i % 3, i % 2 ? 7 : (uint16_t)(100 + i));
		assert_int_equal(n, 10);
	}
	assert_int_equal(world.n_others, 0);
	assert_int_equal(colors_of(sn_engine_state(world.engine), 0).packets[SN_GREEN], 1000);
	assert_int_equal(colors_of(sn_engine_state(world.engine), 0).packets[SN_RED], 2000);
}

static void tokens_move_with_their_shards_while_packets_come(void **state)
{
	(void)state;
	load_threadless(world.engine, world.msg, NULL, 0);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t host = 0; host < 100; host++)
			assert_true(passes(host, host % 3, 7));
	for (uint32_t unit = 0; unit < SN_SHARDS; unit++) {
		uint32_t to = (sn_state_owner(sn_engine_state(world.engine), unit) + 1) % 3;
		struct sn_error err;
		uint64_t blocked;

		assert_int_equal(sn_shards_move(sn_engine_shards(world.engine), unit, to, &blocked, &err), 0);
	}
	for (uint32_t i = 0; i < 10; i++)
		for (uint32_t host = 0; host < 100; host++)
			assert_int_equal(passes(host, host % 3, 7), i < 5);
	assert_int_equal(world.n_others, 0);
}

static void a_meter_for_all_leaves_packets_where_they_come(void **state)
{
	uint32_t n = 0;

	(void)state;
	load_threadless(world.engine, world.msg, NULL, 0);
	for (uint32_t i = 0; i < 60; i++)
		n += passes(i, i % 3, 7);
	assert_int_equal(n, 10);
	for (uint32_t w = 0; w < 3; w++)
		assert_int_equal(sn_worker_stats(worker_of(world.engine, w))->handed, 0);
	assert_int_equal(world.n_others, 0);
}

#define WITH_SUBSCRIBERS(test) cmocka_unit_test_setup_teardown(test, open_subscribers, close_engine)
#define WITH_COMMON(test)      cmocka_unit_test_setup_teardown(test, open_common, close_engine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_workers_never_pass_more_than_one_would),
		cmocka_unit_test(a_worker_that_idles_keeps_nothing_from_the_others),
		cmocka_unit_test(what_is_within_the_rate_is_green),
		cmocka_unit_test(tokens_that_are_not_used_return),
		cmocka_unit_test(who_has_not_enough_takes_nothing),
		cmocka_unit_test(threads_share_the_buckets),
		cmocka_unit_test(threads_lose_no_token),
		cmocka_unit_test(threads_account_for_every_token),
		WITH_SUBSCRIBERS(a_subscriber_s_packets_are_measured_once_whoever_receives_them),
		WITH_SUBSCRIBERS(tokens_move_with_their_shards_while_packets_come),
		WITH_COMMON(a_meter_for_all_leaves_packets_where_they_come),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
