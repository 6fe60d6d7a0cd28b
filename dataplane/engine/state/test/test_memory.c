/* SPDX-License-Identifier: Apache-2.0 */
/* A table's memory follows its sessions, and they are found however many there are. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample.h"

#include <rte_common.h>

#include "sn_napt.h"
#include "sn_parse.h"
#include "sn_state_impl.h"
#include "sn_tcp.h"

#define SECOND	1000000000ull
#define TIMEOUT (300 * SECOND)
/* Bytes a session of few. The sanitizer's shadow takes an eighth more of all that is touched. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if __has_feature(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
#define FEW_BYTES 450
#else
#define FEW_BYTES 400
#endif
#define FEW	  10000u
#define MANY	  1000000u
#define ADDRESSES 256u

struct world {
	struct sn_arena arena;
	struct sn_program *program;
	struct sn_state *state;
	uint64_t now;
};

static struct sn_flow flow_of(uint32_t i)
{
	return (struct sn_flow){SN_SAMPLE_HOST + i / 60000, SN_SAMPLE_REMOTE, (uint16_t)(i % 60000), 80,
				i & 1 ? SN_TCP : SN_UDP};
}

/* The session of a flow; NULL: there is none, and none was to be made. */
static struct sn_session *get(struct world *w, uint32_t i, bool make)
{
	struct sn_flow flow = flow_of(i), back;
	uint32_t shard = sn_napt_shard(w->state, 0, &flow);
	struct sn_session *s;

	if (sn_napt_forward(sn_state_partition(w->state, 0), 0, shard, &flow, make, w->now, &s) ==
	    SN_NAPT_NONE)
		return NULL;
	back = (struct sn_flow){s->remote_addr, s->outside_addr, s->remote_port, s->outside_port, s->proto};
	assert_ptr_equal(sn_napt_return(w->state, 0, &back, w->now), s);
	return s;
}

static void use_all(struct world *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		sn_session_use(w->state, get(w, i, true), NULL, false, w->now);
}

static void assert_found(struct world *w, uint32_t from, uint32_t to, bool found)
{
	for (uint32_t i = from; i < to; i++)
		assert_int_equal(get(w, i, false) != NULL, found);
}

static void tick(struct world *w)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		sn_partition_tick(sn_state_partition(w->state, 0), w->now);
}

/* Bytes of this process in memory. */
static size_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, pages;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int setup_with(void **state, Sinter__Program__V1__Dependence mapping, uint32_t max_sessions,
		      uint32_t addresses)
{
	static struct world w;
	Sinter__Program__V1__Program *msg;
	struct sn_error err = {0};
	uint64_t kept, dropped;

	w = (struct world){.now = 1000 * SECOND};
	sn_arena_init(&w.arena);
	msg = sn_sample_napt(&w.arena);
	msg->tables[0]->max_sessions = max_sessions;
	msg->tables[0]->mapping = mapping;
	msg->tables[0]->pool[0]->last += addresses - 1;
	w.program = sn_program_create(msg, NULL, &err);
	w.state = sn_state_create(7, 1, (struct sn_partitioning){0});
	if (w.program == NULL || w.state == NULL || sn_state_apply(w.state, w.program, &kept, &dropped) != 0)
		return -1;
	*state = &w;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, SINTER__PROGRAM__V1__DEPENDENCE__ADDRESS_AND_PORT_DEPENDENT, 4 * MANY,
			  ADDRESSES);
}

/* Every session has a mapping of its own. */
static int setup_mappings(void **state)
{
	return setup_with(state, SINTER__PROGRAM__V1__DEPENDENCE__ENDPOINT_INDEPENDENT, 4 * MANY, ADDRESSES);
}

/* As many as a NAPT may have by default. */
static int setup_crowds(void **state)
{
	return setup_with(state, SINTER__PROGRAM__V1__DEPENDENCE__ENDPOINT_INDEPENDENT, MANY, ADDRESSES);
}

static int teardown(void **state)
{
	struct world *w = *state;

	sn_state_free(w->state);
	sn_program_free(w->program);
	sn_arena_free(&w->arena);
	return 0;
}

/* Somebody goes ahead: until nothing is left to do. */
static void settle(void)
{
	const struct timespec moment = {.tv_nsec = 20000000};
	size_t was;

	do {
		was = resident();
		for (int i = 0; i < 5; i++)
			nanosleep(&moment, NULL);
	} while (resident() != was);
}

static void assert_few_bytes(struct world *w, size_t before, bool ahead)
{
	size_t few, many;

	use_all(w, 0, FEW);
	if (ahead)
		settle();
	few = (resident() - before) / FEW;
	for (uint32_t i = FEW; i < MANY; i += FEW) {
		use_all(w, i, i + FEW);
		if (ahead)
			sched_yield();
	}
	if (ahead)
		settle();
	many = (resident() - before) / MANY;
	printf("%zu bytes a session of %u, %zu of %u\n", few, FEW, many, MANY);
	assert_in_range(few, 1, FEW_BYTES);
	assert_in_range(many, 64, 96);
}

static void a_session_costs_few_bytes(void **state)
{
	assert_few_bytes(*state, resident(), false);
}

static void a_mapping_costs_few_bytes_more(void **state)
{
	assert_few_bytes(*state, resident(), false);
}

static const struct sn_state_shard *a_shard(const struct world *w)
{
	return shard_at(w->state->tables[0], 5);
}

/* Sessions of one shard: it has all tiers of buckets, and most of its entries in its tail. */
#define CROWD_SIZE 100000u

/* A session of a host's port, as are all of that port of one shard. NULL: there is none, and none was to be
 * made. */
static struct sn_session *get_of_port(struct world *w, uint16_t port, uint32_t remote, bool make)
{
	struct sn_flow flow = {SN_SAMPLE_HOST, SN_SAMPLE_REMOTE + remote / 60000, port,
			       (uint16_t)(1 + remote % 60000), SN_UDP};
	struct sn_session *s;

	if (sn_napt_forward(sn_state_partition(w->state, 0), 0, sn_napt_shard(w->state, 0, &flow), &flow,
			    make, w->now, &s) == SN_NAPT_NONE)
		return NULL;
	sn_session_use(w->state, s, NULL, false, w->now);
	return s;
}

static void open_crowd(struct world *w, uint16_t port)
{
	for (uint32_t i = 0; i < CROWD_SIZE; i++)
		assert_non_null(get_of_port(w, port, i, true));
}

static void expire_all(struct world *w)
{
	w->now += 2 * TIMEOUT;
	for (uint32_t i = 0; i < 100; i++) /* a tail goes back in parts */
		tick(w);
}

static void sessions_of_one_shard_cost_few_bytes(void **state)
{
	struct world *w = *state;
	size_t before = resident(), each;

	open_crowd(w, 7);
	each = (resident() - before) / CROWD_SIZE;
	printf("%zu bytes a session of one shard\n", each);
	assert_in_range(each, 64, 200);
	for (uint32_t i = 0; i < CROWD_SIZE; i++)
		assert_non_null(get_of_port(w, 7, i, false));
	assert_null(get_of_port(w, 7, CROWD_SIZE, false));
}

/* So many shards of these may have a last tier of buckets at a time, as each has more than that. */
#define QUARTER	 (MANY / 4)
#define CROWDS	 28u
#define IN_CROWD 8500u

static int setup_quarter(void **state)
{
	return setup_with(state, SINTER__PROGRAM__V1__DEPENDENCE__ENDPOINT_INDEPENDENT, QUARTER, 4);
}

static void assert_within(const struct world *w, size_t before, const char *what)
{
	size_t is = resident() - before, most = sn_state_most(w->state);

	printf("%s: %zu MiB of %zu\n", what, is >> 20, most >> 20);
	assert_in_range(is, 1, most * FEW_BYTES / 400);
}

/* The operator gives an engine memory by this figure. Sessions come in each way that takes other pages. */
static void state_takes_no_more_than_it_says(void **state)
{
	struct world *w = *state;
	size_t before = resident();

	use_all(w, 0, QUARTER - QUARTER / 100); /* even shards; some have all that they may */
	assert_within(w, before, "even");
	expire_all(w);
	for (uint16_t port = 0; port < CROWDS; port++)
		for (uint32_t i = 0; i < IN_CROWD; i++)
			assert_non_null(get_of_port(w, port, i, true));
	assert_within(w, before, "many crowds");
	expire_all(w);
	for (uint32_t i = 0; i < QUARTER / 2; i++)
		assert_non_null(get_of_port(w, 7, i, true));
	assert_within(w, before, "one crowd");
}

/* Whoever has one shard after another crowded has no more memory than for one. */
static void memory_of_a_crowded_shard_goes_back(void **state)
{
	struct world *w = *state;
	size_t before = resident(), one;

	open_crowd(w, 7);
	one = resident() - before;
	for (uint16_t port = 8; port < 20; port++) {
		expire_all(w);
		open_crowd(w, port);
	}
	printf("%zu KiB for one crowd, %zu KiB after thirteen\n", one >> 10, (resident() - before) >> 10);
	assert_in_range(resident() - before, 1, one + one / 4);
	expire_all(w);
	/* Buckets of the first tiers stay, as all shards use them. */
	assert_in_range(resident() - before, 0, one - CROWD_SIZE * 60);
	assert_null(get_of_port(w, 19, 5, false));
}

/* A decision that remembers an entry must not take the one that comes into its place for it. */
static void entries_whose_memory_went_back_have_later_generations(void **state)
{
	enum { AT = 5000, TURNS = 20 };
	static struct sn_entry *was[CROWD_SIZE];
	static uint32_t generation[CROWD_SIZE];
	struct world *w = *state;
	uint32_t same = 0;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t i = 0; i < AT; i++) {
			struct sn_entry *e = &get_of_port(w, 7, i, true)->entry;

			if (turn > 0 && e == was[i]) {
				assert_true(e->generation > generation[i]);
				same++;
			}
			was[i] = e;
			generation[i] = e->generation;
		}
		expire_all(w);
	}
	assert_true(same > AT);
}

static void enter_era(struct world *w, uint32_t era)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		w->state->eras->entered[i] = era;
}

/* The first generation of an even era is that of a line that was never used, too. */
static void a_new_era_brings_no_generation_back(void **state)
{
	struct world *w = *state;
	const uint32_t in_rows = 4 * ROW_ENTRIES;
	struct sn_partition *partition = sn_state_partition(w->state, 0);
	struct sn_state_table *t = w->state->tables[0];
	struct sn_entry *e;
	uint32_t remembered;

	enter_era(w, 1);
	for (uint32_t i = 0; i <= in_rows; i++)
		get_of_port(w, 7, i, true);
	expire_all(w);
	for (uint32_t i = 0; i <= in_rows; i++)
		e = &get_of_port(w, 7, i, true)->entry;
	remembered = e->generation;
	enter_era(w, 2);
	assert_true(is_in_tail(shard_at(t, e->shard & t->mask), e));
	sn_entry_expire(partition, t, shard_at(t, e->shard & t->mask), e);
	assert_ptr_equal(&get_of_port(w, 7, in_rows, true)->entry, e);
	assert_int_not_equal(e->generation, remembered);
}

/* Tails have room for the table's entries, and not for more: then a shard has what lies in rows. */
static void tails_have_a_bound_together(void **state)
{
	struct world *w = *state;
	struct sn_shards *all = a_shard(w)->cold->all;
	int32_t pages = atomic_load(&all->pages);
	uint32_t made = 0;

	assert_int_equal(pages, MANY / TAIL_ENTRIES + (w->state->tables[0]->mask + 1));
	atomic_store(&all->pages, 3);
	for (uint32_t i = 0; i < CROWD_SIZE; i++)
		made += get_of_port(w, 7, i, true) != NULL;
	assert_int_equal(made, 4 * ROW_ENTRIES + 3 * TAIL_ENTRIES);
	expire_all(w);
	assert_int_equal(atomic_load(&all->pages), 3);
}

static void memory_ahead_of_sessions_is_bounded(void **state)
{
	size_t before = resident();
	pthread_t thread;

	assert_true(sn_ahead_begin());
	assert_int_equal(setup(state), 0);
	assert_int_equal(pthread_create(&thread, NULL, sn_ahead_main, NULL), 0);
	assert_few_bytes(*state, before, true);
	/* Memory that it may be at work on is freed meanwhile. */
	teardown(state);
	sn_ahead_stop();
	pthread_join(thread, NULL);
	sn_ahead_end();
	assert_true(resident() < before + (8u << 20));
}

/* Every shard has its last tier in use. */
#define VERY_MANY ((TIER_0_MAX + TIER_1_MAX) * SN_SHARDS / 20 * 21)

static void sessions_are_found_as_a_table_grows_and_shrinks(void **state)
{
	struct world *w = *state;

	for (uint32_t n = 1000; n < 2 * VERY_MANY; n *= 2) {
		use_all(w, n / 2, RTE_MIN(n, VERY_MANY));
		assert_found(w, n / 2, RTE_MIN(n, VERY_MANY), true);
	}
	assert_int_equal(a_shard(w)->tier_0, TIER_0_MAX);
	assert_int_equal(a_shard(w)->tier_1, TIER_1_MAX);
	assert_true(a_shard(w)->live > TIER_0_MAX + TIER_1_MAX);
	w->now += TIMEOUT / 2;
	use_all(w, 600, 700);
	use_all(w, VERY_MANY - 5000, VERY_MANY);
	for (int i = 0; i < 10; i++) {
		w->now += TIMEOUT / 20;
		tick(w);
	}
	w->now += SECOND;
	tick(w);
	assert_found(w, 500, 600, false);
	assert_found(w, 600, 700, true);
	assert_found(w, VERY_MANY - 5000, VERY_MANY, true);
	assert_true(a_shard(w)->tier_0 < TIER_0_MAX / 2);
	/* New ones are put where the first ones were. */
	use_all(w, 0, 10000);
	assert_found(w, 0, 10000, true);
	assert_int_equal(a_shard(w)->tier_1, 0);
	w->now += 2 * TIMEOUT;
	tick(w);
	assert_found(w, 0, MANY, false);
	assert_int_equal(a_shard(w)->tier_0 + a_shard(w)->tier_1 + a_shard(w)->live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_session_costs_few_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(sessions_of_one_shard_cost_few_bytes, setup_crowds, teardown),
		cmocka_unit_test_setup_teardown(memory_of_a_crowded_shard_goes_back, setup_crowds, teardown),
		cmocka_unit_test_setup_teardown(state_takes_no_more_than_it_says, setup_quarter, teardown),
		cmocka_unit_test_setup_teardown(entries_whose_memory_went_back_have_later_generations,
						setup_crowds, teardown),
		cmocka_unit_test_setup_teardown(a_new_era_brings_no_generation_back, setup_crowds, teardown),
		cmocka_unit_test_setup_teardown(tails_have_a_bound_together, setup_crowds, teardown),
		cmocka_unit_test_setup_teardown(a_mapping_costs_few_bytes_more, setup_mappings, teardown),
		cmocka_unit_test_setup_teardown(sessions_are_found_as_a_table_grows_and_shrinks, setup,
						teardown),
		cmocka_unit_test(memory_ahead_of_sessions_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
