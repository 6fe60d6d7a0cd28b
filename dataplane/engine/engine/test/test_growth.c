/* SPDX-License-Identifier: Apache-2.0 */
/* Tables grow while packets come, and no packet waits for memory: it is there before. */

#include "fixture.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include <rte_mbuf.h>

#include "sn_ahead.h"
#include "sn_helper.h"
#include "sn_parse.h"
#include "sn_state_impl.h"

#define BURST	  32u
#define FRAME	  128u
#define MANY	  1200000u /* all tiers of buckets are used */
#define KNOWN	  200000u
#define ROOMY	  120000u      /* of the known flows: behind it is room for all short decisions */
#define A_TICK	  (128u << 10) /* bytes of a stretch that a flood uses from one tick to the next, at most */
#define ADDRESSES 256u
#define RUNS	  12
#define NAMED	  8 /* of the bursts that stalled */
#define STALL_NS \
	1000000 /* a burst takes 10,000; to move a table as large as the largest, 10,000,000 and more */
/* A page fault of the system's own now and then, of the many that growth would cost. */
#define FAULTS_MAX 32

struct grown {
	uint64_t faults; /* of this thread */
	uint64_t late;
	uint64_t *took; /* its processor time by burst, in ns; NULL: is not asked for */
};

static struct rte_mempool *pool;
static struct sn_helper helper;

static int start(void **state)
{
	if (start_eal(state) != 0)
		return -1;
	pool = rte_pktmbuf_pool_create("growth", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return pool != NULL ? 0 : -1;
}

static int open_world(void **state)
{
	struct fixture *f;

	if (open_fixture(state) != 0)
		return -1;
	f = *state;
	f->msg->tables[0]->max_sessions = 2 * MANY;
	f->msg->tables[0]->pool[0]->last += ADDRESSES - 1;
	load(f);
	return 0;
}

/* With somebody who goes ahead. */
static int open_ahead(void **state)
{
	sn_helper_start(&helper);
	assert_true(helper.started);
	return open_world(state);
}

static int close_ahead(void **state)
{
	int rc = close_fixture(state);

	sn_helper_stop(&helper);
	return rc;
}

/* Packets of flows from `first` on. */
static void make_burst(uint8_t frames[2][FRAME], uint32_t first, struct rte_mbuf *pkts[BURST])
{
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, BURST), 0);
	for (uint32_t i = 0; i < BURST; i++) {
		uint8_t *data = (uint8_t *)rte_pktmbuf_append(pkts[i], FRAME);

		memcpy(data, frames[i & 1], FRAME);
		sn_store16(data + 34, (uint16_t)(1024 + (first + i) % 60000));
		sn_store16(data + 36, (uint16_t)(1000 + (first + i) / 60000));
	}
}

static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt;
}

static void send_one(struct fixture *f, uint8_t frames[2][FRAME], uint32_t first, struct grown *grown)
{
	struct rte_mbuf *pkts[BURST];
	uint64_t had, began, took;

	make_burst(frames, first, pkts);
	f->n_out = f->n_drops = 0;
	had = faults();
	began = processor_ns();
	sn_worker_burst(f->worker, 0, pkts, BURST, f->now);
	took = processor_ns() - began;
	grown->faults += faults() - had;
	if (grown->took != NULL)
		grown->took[first / BURST] = RTE_MIN(took, grown->took[first / BURST]);
	assert_int_equal(f->n_out, BURST);
}

/* The helper gets its time, however busy the machine is. */
static void wait_ahead(void)
{
	const struct timespec moment = {.tv_nsec = 200000};

	for (int i = 0; i < 100000 && !sn_ahead_is_there(A_TICK); i++)
		nanosleep(&moment, NULL);
	assert_true(sn_ahead_is_there(A_TICK));
}

/* New flows [from, to), with so many packets each. */
static struct grown grow(struct fixture *f, uint32_t from, uint32_t to, uint32_t packets, bool waits,
			 uint64_t *took)
{
	struct packet tcp = outward(SN_TCP, 1), udp = outward(SN_UDP, 1);
	uint8_t frames[2][FRAME] = {0};
	uint64_t late = sn_ahead_stats().late;
	struct grown grown = {.took = took}, none = {0};

	tcp.flags = 0x10;
	write_frame(&tcp, frames[0]);
	write_frame(&udp, frames[1]);
	if (waits)
		wait_ahead();
	for (uint32_t i = from; i < to; i += BURST) {
		if (waits && i % 1024 == 0)
			wait_ahead();
		for (uint32_t n = 0; n < packets; n++)
			send_one(f, frames, i, i == from ? &none : &grown);
		if (i % 1024 == 0) {
			f->now += MS;
			sn_worker_tick(f->worker, f->now);
		}
	}
	grown.late = sn_ahead_stats().late - late;
	return grown;
}

/* Sanitizers keep memory of their own about that which is written for the first time. */
static void assert_no_faults(const struct grown *g)
{
	assert_true(g->faults <= FAULTS_MAX || IS_WATCHED);
}

static void print(const char *what, const struct grown *g)
{
	printf("%s: %lu page faults, late %lu times\n", what, (unsigned long)g->faults,
	       (unsigned long)g->late);
}

/* But for the first, for which nothing is in the processor's caches. */
static uint32_t n_stalls(const uint64_t *took)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < MANY / BURST; i++) {
		if (took[i] <= STALL_NS)
			continue;
		n++;
		if (n <= NAMED)
			printf("burst %u took %lu us or more in all runs so far\n", i,
			       (unsigned long)took[i] / 1000);
	}
	return n;
}

/*
 * On a busy machine any burst may take long, as something else ran on the processor in between. What growth
 * takes it takes in each run, of the same burst.
 */
static void no_packet_of_a_new_flow_waits_for_memory(void **state)
{
	uint64_t *took = malloc(MANY / BURST * sizeof(*took));
	uint32_t stalls = MANY / BURST;

	assert_non_null(took);
	memset(took, 0xff, MANY / BURST * sizeof(*took));
	for (int run = 0; run < RUNS && stalls > 0; run++) {
		struct grown grown;

		assert_int_equal(open_ahead(state), 0);
		grown = grow(*state, 0, MANY, 1, true, took);
		print("new flows", &grown);
		assert_int_equal(sessions(*state), MANY);
		assert_no_faults(&grown);
		assert_int_equal(grown.late, 0);
		close_ahead(state);
		stalls = n_stalls(took);
	}
	assert_int_equal(stalls, 0);
	free(took);
}

/* Or nothing of this would be shown. */
static void without_help_packets_wait(void **state)
{
	struct fixture *f = *state;
	struct grown grown = grow(f, 0, MANY, 1, false, NULL);

	print("the same without help", &grown);
	assert_int_equal(sessions(f), MANY);
	assert_true(grown.faults > 10 * FAULTS_MAX || IS_WATCHED);
	assert_int_equal(grown.late, 0);
}

/* Nobody waits for the helper: what is not there yet is used all the same, and that is counted. */
static void who_is_ahead_of_the_helper_is_counted(void **state)
{
	struct fixture *f;
	struct grown grown;

	assert_true(sn_ahead_begin()); /* it never runs */
	assert_int_equal(open_world(state), 0);
	f = *state;
	grown = grow(f, 0, 200000, 1, false, NULL);
	print("a helper that does not come", &grown);
	assert_int_equal(sessions(f), 200000);
	assert_true(grown.late > 100);
	/* Tiers fill up before the next one is used unasked. */
	assert_int_equal(shard_at(f->state->tables[0], 5)->tier_0, CROWD * TIER_0_MAX);
	assert_true(shard_at(f->state->tables[0], 5)->tier_1 > 0);
	close_fixture(state);
	sn_ahead_end();
	assert_int_equal(sn_ahead_stats().late - grown.late, 0);
}

/* As the helper is waited for, the room for 524288 of them comes at the same flow each time: 108576. */
static void room_for_short_decisions_is_there_before_it_is_used(void **state)
{
	struct fixture *f = *state;
	struct grown grown = grow(f, 0, KNOWN, 3, true, NULL);
	uint64_t hits;

	print("short decisions", &grown);
	assert_no_faults(&grown);
	/* The table before goes, and with it its memory. */
	f->now += 20 * SECOND;
	sn_worker_tick(f->worker, f->now);
	hits = sn_worker_stats(f->worker)->cache_hits;
	grown = grow(f, ROOMY, KNOWN, 1, true, NULL);
	hits = sn_worker_stats(f->worker)->cache_hits - hits;
	print("known flows", &grown);
	printf("%lu hits\n", (unsigned long)hits);
	/* One decision in eight is kept in one of the fixture's 1024 entries instead, and others take its
	 * place. */
	assert_in_range(hits, (KNOWN - ROOMY) * 85 / 100, KNOWN - ROOMY);
	assert_no_faults(&grown);
}

/* By turns of the memory that one before has given up. */
static void programs_to_come_have_room_for_short_decisions_too(void **state)
{
	struct fixture *f = *state;

	(void)grow(f, 0, KNOWN, 3, true, NULL);
	for (int round = 0; round < 4; round++) /* some took each other's places, or went with a table */
		(void)grow(f, 0, KNOWN, 1, true, NULL);
	for (int swap = 0; swap < 4; swap++) {
		struct grown grown;
		uint64_t hits;

		load_warmed_up(f);
		hits = sn_worker_stats(f->worker)->cache_hits;
		grown = grow(f, 0, KNOWN, 1, true, NULL);
		hits = sn_worker_stats(f->worker)->cache_hits - hits;
		print("another program", &grown);
		printf("%lu hits\n", (unsigned long)hits);
		assert_in_range(hits, KNOWN * 98ull / 100, KNOWN);
		assert_no_faults(&grown);
		assert_int_equal(grown.late, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_packet_of_a_new_flow_waits_for_memory),
		cmocka_unit_test_setup_teardown(without_help_packets_wait, open_world, close_fixture),
		cmocka_unit_test(who_is_ahead_of_the_helper_is_counted),
		cmocka_unit_test_setup_teardown(room_for_short_decisions_is_there_before_it_is_used,
						open_ahead, close_ahead),
		cmocka_unit_test_setup_teardown(programs_to_come_have_room_for_short_decisions_too,
						open_ahead, close_ahead),
	};

	return cmocka_run_group_tests(tests, start, stop_eal);
}
