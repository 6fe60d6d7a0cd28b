/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers as a kind of state: they pass what every kind must, are bounded, and take their tokens along.
 */

#include "kinds.h"
#include "meters.h"

#include <time.h>

#include "sn_carry.h"
#include "sn_meter_impl.h"

#define BIT_RATE    8000000u
#define PACKET_BITS 8000u

/* ---- as a kind ---- */

/* Buckets that are full after 20 s. */
static Sinter__Program__V1__Program *slow_program(struct sn_arena *arena)
{
	Sinter__Program__V1__Meter *m;
	Sinter__Program__V1__Program *msg = metered_wire(arena, true, &m);

	m->rate = 1000;
	m->burst = 20000;
	return msg;
}

static Sinter__Program__V1__Program *two_rates_program(struct sn_arena *arena)
{
	Sinter__Program__V1__Program *msg = slow_program(arena);

	msg->tables[0]->meter->peak_rate = 4000;
	msg->tables[0]->meter->excess_burst = 40000;
	return msg;
}

static Sinter__Program__V1__Program *prefixes_program(struct sn_arena *arena)
{
	Sinter__Program__V1__Program *msg = slow_program(arena);

	msg->tables[0]->meter->subscribers->prefix_len = 24;
	return msg;
}

static uint32_t prefix_len_of(const struct sn_state *state)
{
	return ((const struct meter_config *)state->tables[0]->config.own)->prefix_len;
}

static uint32_t prefix_of(const struct sn_state *state, uint32_t i)
{
	uint32_t shift = 32 - prefix_len_of(state);

	return (SN_SAMPLE_HOST + (i << shift)) >> shift << shift;
}

static uint32_t shard_of(const struct sn_state *state, uint32_t i)
{
	return sn_prefix_shard(state, prefix_of(state, i), prefix_len_of(state));
}

static struct sn_entry *get(struct sn_partition *partition, uint32_t shard, uint32_t i, bool make,
			    uint64_t now)
{
	struct sn_entry *e;

	sn_meter_subscriber(partition, 0, shard, prefix_of(partition->state, i), make, now, &e);
	return e;
}

static void use(const struct sn_state *state, struct sn_entry *e, uint64_t now)
{
	sn_meter_measure(&state->partitions[state->owner[e->shard]], 0, e, SN_GREEN, 700 + e->last_use % 7,
			 100, now);
}

static bool alike(const struct sn_entry *a, uint64_t a_now, const struct sn_entry *b, uint64_t b_now)
{
	const struct subscriber *s = (const struct subscriber *)a, *u = (const struct subscriber *)b;

	return s->prefix == u->prefix && s->config == u->config &&
	       !memcmp(&s->buckets, &u->buckets, sizeof(s->buckets)) &&
	       a_now - a->last_use == b_now - b->last_use;
}

static const struct kind_case by_host = {
	.program = slow_program,
	.idle_ns = 20001 * MS,
	.evicts = true,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = alike,
};

static const struct kind_case prefixes_by_address = {
	.partitioning = {SN_PARTITION_BY_ADDRESS, 2},
	.program = prefixes_program,
	.idle_ns = 20001 * MS,
	.evicts = true,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = alike,
};

static const struct kind_case two_rates_by_rss = {
	.partitioning = {SN_PARTITION_BY_RSS, 0},
	.program = two_rates_program,
	.idle_ns = 20001 * MS,
	.evicts = true,
	.shard = shard_of,
	.get = get,
	.use = use,
	.alike = alike,
};

/* ---- many of them ---- */

struct many {
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	Sinter__Program__V1__Meter *meter;
	struct sn_program *program;
	struct sn_state *state;
	uint64_t now;
	uint64_t kept, dropped;
};

static void apply(struct many *m)
{
	struct sn_error err = {0};

	sn_program_free(m->program);
	m->program = sn_program_create(m->msg, NULL, &err);
	if (m->program == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sn_state_apply(m->state, m->program, &m->kept, &m->dropped), 0);
}

static void open_many(struct many *m, uint32_t max, uint32_t n_workers, struct sn_partitioning partitioning)
{
	memset(m, 0, sizeof(*m));
	sn_arena_init(&m->arena);
	m->msg = metered_wire(&m->arena, true, &m->meter);
	m->msg->tables[0]->max_sessions = max;
	m->state = sn_state_create(7, n_workers, partitioning);
	m->now = 1000 * SECOND;
}

static void close_many(struct many *m)
{
	sn_state_free(m->state);
	sn_program_free(m->program);
	sn_arena_free(&m->arena);
}

/* A packet of a subscriber, on the worker that has its shard. */
static enum sn_color measure(struct many *m, uint32_t address)
{
	uint32_t len = m->meter->subscribers->prefix_len, prefix = address & UINT32_MAX << (32 - len);
	uint32_t shard = sn_prefix_shard(m->state, prefix, len);
	struct sn_partition *p = sn_state_partition(m->state, sn_state_owner(m->state, shard));
	struct sn_entry *e;

	if (sn_meter_subscriber(p, 0, shard, prefix, true, m->now, &e) == SN_METER_NONE)
		return SN_GREEN;
	return sn_meter_measure(p, 0, e, SN_GREEN, PACKET_BITS, PACKET_BITS / 8, m->now);
}

static struct sn_state_stats stats_of(const struct many *m)
{
	struct sn_state_stats stats;

	sn_state_stats(m->state, 0, &stats);
	return stats;
}

static void ten_thousand_subscribers_get_their_rates(void **state)
{
	static uint64_t passed[10000];
	const uint64_t ns = 10 * SECOND;
	struct many m;

	(void)state;
	open_many(&m, 16384, 2, (struct sn_partitioning){0});
	m.meter->rate = 160000; /* 20 packets a second; they get 10 to 50 */
	m.meter->burst = 16000;
	apply(&m);
	memset(passed, 0, sizeof(passed));
	for (uint64_t at = 0; at < ns; at += 20 * MS, m.now += 20 * MS)
		for (uint32_t i = 0; i < 10000; i++)
			if (at / (20 * MS) % (i % 5 + 1) == 0)
				passed[i] += measure(&m, i) == SN_GREEN;
	for (uint32_t i = 0; i < 10000; i++) {
		uint64_t offered = (500 + i % 5) / (i % 5 + 1), allowed = 202;
		uint64_t want = offered < allowed ? offered : allowed;

		if (passed[i] > want || passed[i] * 100 < want * 95)
			fail_msg("subscriber %u: %llu packets, want %llu", i, (unsigned long long)passed[i],
				 (unsigned long long)want);
	}
	assert_int_equal(stats_of(&m).evicted, 0);
	assert_int_equal(stats_of(&m).exhausted, 0);
	close_many(&m);
}

static void strangers_take_no_memory_and_no_tokens_of_who_sends(void **state)
{
	uint64_t passed = 0;
	struct many m;

	(void)state;
	open_many(&m, 1000, 1, (struct sn_partitioning){0});
	m.meter->rate = 800;
	m.meter->burst = 80000; /* 100 s */
	apply(&m);
	for (uint32_t i = 0; i < 1000000; i++, m.now += 1000) {
		measure(&m, 0x20000000 + i);
		if (i % 200 == 0)
			passed += measure(&m, SN_SAMPLE_HOST) == SN_GREEN;
	}
	assert_int_equal(stats_of(&m).sessions, 1000);
	assert_true(stats_of(&m).evicted > 900000);
	assert_int_equal(stats_of(&m).exhausted, 0);
	/* The subscriber that sends all the time is never idle for the longest time. */
	assert_int_equal(passed, 10);
	close_many(&m);
}

/* None of them is worth a search of all others: that would take minutes. */
static void a_flood_of_strangers_costs_little(void **state)
{
	struct timespec begin, end;
	struct many m;

	(void)state;
	open_many(&m, 65536, 1, (struct sn_partitioning){0});
	m.meter->rate = 1600000;
	m.meter->burst = 120000;
	apply(&m);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (uint32_t i = 0; i < 300000; i++, m.now += 100)
		measure(&m, 0x20000000 + i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	assert_true(end.tv_sec - begin.tv_sec < 20);
	assert_int_equal(stats_of(&m).sessions, 65536);
	assert_int_equal(stats_of(&m).exhausted, 0);
	close_many(&m);
}

static void a_table_of_one_changes_hands(void **state)
{
	struct many m;

	(void)state;
	open_many(&m, 1, 1, (struct sn_partitioning){0});
	apply(&m);
	for (uint32_t i = 0; i < 1000; i++, m.now++)
		measure(&m, i);
	assert_int_equal(stats_of(&m).sessions, 1);
	assert_int_equal(stats_of(&m).evicted, 999);
	assert_int_equal(stats_of(&m).exhausted, 0);
	close_many(&m);
}

/* Idle until full, they end by themselves. */
static void who_is_idle_makes_room(void **state)
{
	struct many m;

	(void)state;
	open_many(&m, 100, 1, (struct sn_partitioning){0});
	apply(&m);
	for (uint32_t i = 0; i < 1000; i++, m.now += MS)
		measure(&m, i);
	assert_int_equal(stats_of(&m).evicted, 0);
	assert_int_equal(stats_of(&m).exhausted, 0);
	assert_true(stats_of(&m).expired > 800);
	close_many(&m);
}

/* All of the worst cut: by bits that most prefixes have in common. */
static void prefixes_by_address_do_not_evict_each_other(void **state)
{
	struct many m;

	(void)state;
	for (uint32_t shift = 0; shift <= SN_PARTITION_BIT_MAX; shift++) {
		uint32_t spread[SN_SHARDS] = {0}, shards = 0;

		open_many(&m, 2000, 2, (struct sn_partitioning){SN_PARTITION_BY_ADDRESS, shift});
		m.meter->subscribers->prefix_len = 24;
		m.meter->rate = 1000;
		apply(&m);
		for (uint32_t i = 0; i < 1000; i++) {
			measure(&m, 0x0a000000 + (i << 8) + 7);
			shards += spread[sn_prefix_shard(m.state, 0x0a000000 + (i << 8), 24)]++ == 0;
		}
		assert_int_equal(stats_of(&m).sessions, 1000);
		assert_int_equal(stats_of(&m).evicted, 0);
		assert_int_equal(shards, shift <= 10 ? SN_SHARDS : (999u >> (shift - 8)) + 1);
		close_many(&m);
	}
}

/* A shard that is full has its own give way: those of others would not help. */
static void a_full_shard_changes_hands_in_itself(void **state)
{
	uint32_t n = 0, others = 0;
	struct many m;

	(void)state;
	open_many(&m, 5000, 1, (struct sn_partitioning){0});
	m.meter->rate = 800;
	apply(&m);
	for (uint32_t i = 0; i < 300 * SN_SHARDS; i++) {
		bool full = sn_prefix_shard(m.state, i, 32) == 9;

		if (!full && others >= 1000)
			continue;
		measure(&m, i);
		m.now++;
		n += full;
		others += !full;
	}
	assert_true(n > 200);
	assert_int_equal(stats_of(&m).exhausted, 0);
	assert_int_equal(stats_of(&m).evicted, n - (2 * (5000 / SN_SHARDS) + 64));
	close_many(&m);
}

/* ---- tokens go along ---- */

static void who_is_red_stays_red_on_another_worker(void **state)
{
	struct many m;

	(void)state;
	open_many(&m, 1000, 2, (struct sn_partitioning){0});
	apply(&m);
	for (uint32_t i = 0; i < 200; i++)
		while (measure(&m, i) == SN_GREEN)
			;
	for (uint32_t unit = 0; unit < SN_SHARDS; unit += 3) {
		uint32_t from = sn_state_owner(m.state, unit);

		sn_partition_give(sn_state_partition(m.state, from), unit);
		sn_partition_take(sn_state_partition(m.state, 1 - from), unit);
		sn_state_moved(m.state, unit, 1 - from);
	}
	m.now -= 1000; /* the other worker's clock is a little behind */
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(measure(&m, i), SN_RED);
	m.now += MS + 1000;
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(measure(&m, i), SN_GREEN);
		assert_int_equal(measure(&m, i), SN_RED);
	}
	close_many(&m);
}

static void who_is_red_stays_red_on_another_engine(void **state)
{
	uint8_t *records = calloc(300, SN_CARRY_BYTES);
	bool shards[SN_SHARDS];
	struct sn_error err = {0};
	uint64_t cursor = 0;
	struct many a, b;
	size_t n;

	(void)state;
	memset(shards, true, sizeof(shards));
	open_many(&a, 1000, 1, (struct sn_partitioning){0});
	open_many(&b, 1000, 2, (struct sn_partitioning){0});
	apply(&a);
	apply(&b);
	b.now = 7 * SECOND;
	for (uint32_t i = 0; i < 200; i++)
		while (measure(&a, i) == SN_GREEN)
			;
	a.now += MS / 2;
	n = sn_carry_read(a.state, shards, &cursor, a.now, records, 300);
	assert_int_equal(n, 200);
	records[SN_CARRY_OWN] ^= 0x80; /* more tokens than a bucket holds */
	assert_int_equal(sn_carry_put(b.state, shards, records, 1, b.now, &err), -1);
	assert_non_null(strstr(err.text, "more tokens than a bucket holds"));
	records[SN_CARRY_OWN] ^= 0x80;
	records[7] ^= 1; /* of other rates */
	assert_int_equal(sn_carry_put(b.state, shards, records, 1, b.now, &err), -1);
	assert_non_null(strstr(err.text, "rates, bursts or prefixes"));
	records[7] ^= 1;
	assert_int_equal(sn_carry_put(b.state, shards, records, n, b.now, &err), 0);
	sn_state_level(b.state);
	b.now += MS / 2 - 1;
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(measure(&b, i), SN_RED);
	b.now += 1;
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(measure(&b, i), SN_GREEN);
		assert_int_equal(measure(&b, i), SN_RED);
	}
	close_many(&a);
	close_many(&b);
	free(records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIND_TESTS(by_host),
		KIND_TESTS(prefixes_by_address),
		KIND_TESTS(two_rates_by_rss),
		cmocka_unit_test(ten_thousand_subscribers_get_their_rates),
		cmocka_unit_test(strangers_take_no_memory_and_no_tokens_of_who_sends),
		cmocka_unit_test(a_flood_of_strangers_costs_little),
		cmocka_unit_test(a_table_of_one_changes_hands),
		cmocka_unit_test(who_is_idle_makes_room),
		cmocka_unit_test(a_full_shard_changes_hands_in_itself),
		cmocka_unit_test(prefixes_by_address_do_not_evict_each_other),
		cmocka_unit_test(who_is_red_stays_red_on_another_worker),
		cmocka_unit_test(who_is_red_stays_red_on_another_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
