/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange between real threads, without EAL, so that ThreadSanitizer sees all there is to see:
 * what a shard owns is plain memory, written by whoever has the shard. DPDK itself is not built for
 * ThreadSanitizer: it would not see how its mempools and lcores synchronize.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sn_exchange.h"

#define WORKERS 3
#define FLOWS	(SN_EXCHANGE_SHARDS * WORKERS * 4)
#define PACKETS 65536 /* of a worker, at once on their way at most */
#define MOVES	3000

struct packet {
	uint32_t flow;
	uint32_t number;
};

/* A shard's state: plain memory. */
struct shard {
	uint32_t owner;
	uint32_t next[FLOWS / SN_EXCHANGE_SHARDS]; /* number of each flow's next packet */
};

struct world;

struct worker {
	_Alignas(64) struct world *world;
	struct sn_mailbox *mailbox;
	uint32_t number;
	uint32_t seed;
	bool taking;
	uint32_t sent[FLOWS];
	uint64_t made, misplaced, reordered;
	uint64_t processed;			     /* by this worker, of all workers' packets */
	_Alignas(64) _Atomic uint64_t done[WORKERS]; /* of each worker's packets, by this worker */
	struct packet packets[PACKETS];
};

struct world {
	struct sn_exchange *exchange;
	struct worker *workers;
	struct shard shards[SN_EXCHANGE_SHARDS];
	_Alignas(64) _Atomic bool enough;
	_Atomic uint32_t finished;
};

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % sides;
}

static void process(struct worker *w, const struct packet *p)
{
	struct shard *s = &w->world->shards[p->flow % SN_EXCHANGE_SHARDS];
	uint32_t *next = &s->next[p->flow / SN_EXCHANGE_SHARDS];
	_Atomic uint64_t *done = &w->done[p->flow / SN_EXCHANGE_SHARDS % WORKERS];

	w->misplaced += s->owner != w->number;
	w->reordered += *next != p->number;
	*next = p->number + 1;
	w->processed++;
	atomic_store_explicit(done, atomic_load_explicit(done, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Where a packet's shard is, as this worker sees it. False: there is no room. */
static bool dispatch(struct worker *w, struct packet *p)
{
	uint8_t place = w->mailbox->place[p->flow % SN_EXCHANGE_SHARDS];

	if (place == SN_PLACE_TURNING)
		place = w->taking ? SN_PLACE_HERE : SN_PLACE_AWAITED;
	if (place == SN_PLACE_AWAITED)
		return sn_mailbox_hold(w->mailbox, p);
	if (place != SN_PLACE_HERE)
		return sn_mailbox_hand(w->mailbox, place, p);
	process(w, p);
	return true;
}

static void on_packets(void *context, void **packets, uint32_t n)
{
	struct worker *w = context;

	w->taking = true;
	for (uint32_t i = 0; i < n; i++) {
		struct packet *p = packets[i];

		/* A packet that was handed over is never handed on. */
		w->misplaced += w->mailbox->place[p->flow % SN_EXCHANGE_SHARDS] < WORKERS;
		w->misplaced += !dispatch(w, p);
	}
	w->taking = false;
}

static void on_give(void *context, uint32_t unit)
{
	struct worker *w = context;

	w->misplaced += w->world->shards[unit].owner != w->number;
	w->world->shards[unit].owner = WORKERS;
}

static void on_take(void *context, uint32_t unit)
{
	struct worker *w = context;

	w->misplaced += w->world->shards[unit].owner != WORKERS;
	w->world->shards[unit].owner = w->number;
}

static uint64_t on_now(void *context)
{
	struct worker *w = context;

	return w->made;
}

static uint32_t on_shard(const void *packet)
{
	return ((const struct packet *)packet)->flow % SN_EXCHANGE_SHARDS;
}

static const struct sn_exchange_ops ops = {on_packets, on_give, on_take, on_now, on_shard};

static uint64_t done_of(const struct worker *w)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < WORKERS; i++)
		sum += atomic_load_explicit(&w->world->workers[i].done[w->number], memory_order_acquire);
	return sum;
}

/* A burst as a device gives it: of flows that it keeps to this worker. */
static void receive(struct worker *w)
{
	for (uint32_t i = 0; i < 16 && w->made - done_of(w) < PACKETS; i++) {
		uint32_t flow = dice(&w->seed, SN_EXCHANGE_SHARDS) +
				SN_EXCHANGE_SHARDS * (w->number + WORKERS * dice(&w->seed, 4));
		struct packet *p = &w->packets[w->made % PACKETS];

		*p = (struct packet){flow, w->sent[flow]};
		if (!dispatch(w, p))
			break; /* as if it had not come: no room */
		w->sent[flow]++;
		w->made++;
	}
	sn_mailbox_publish(w->mailbox);
}

static void *run(void *context)
{
	struct worker *w = context;
	bool finished = false;

	while (atomic_load(&w->world->finished) < WORKERS) {
		sn_mailbox_poll(w->mailbox);
		if (w->mailbox->draining)
			sn_mailbox_drained(w->mailbox);
		if (!atomic_load_explicit(&w->world->enough, memory_order_relaxed))
			receive(w);
		else if (!finished && done_of(w) == w->made)
			finished = atomic_fetch_add(&w->world->finished, 1) < WORKERS;
		sched_yield();
	}
	return NULL;
}

static struct world *open_world(void)
{
	struct world *world = aligned_alloc(64, (sizeof(*world) + 63) / 64 * 64);
	uint8_t owner[SN_EXCHANGE_SHARDS];

	memset(world, 0, sizeof(*world));
	world->exchange = sn_exchange_create(WORKERS);
	world->workers = aligned_alloc(64, WORKERS * sizeof(*world->workers));
	memset(world->workers, 0, WORKERS * sizeof(*world->workers));
	for (uint32_t i = 0; i < SN_EXCHANGE_SHARDS; i++)
		world->shards[i].owner = owner[i] = (uint8_t)(i % WORKERS);
	sn_exchange_set(world->exchange, SN_EXCHANGE_SHARDS, owner, NULL);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct worker *w = &world->workers[i];

		w->world = world;
		w->number = w->seed = i;
		w->mailbox = sn_exchange_mailbox(world->exchange, i);
		sn_exchange_join(world->exchange, i, &ops, w);
	}
	return world;
}

static void close_world(struct world *world)
{
	sn_exchange_free(world->exchange, NULL);
	free(world->workers);
	free(world);
}

static void threads_lose_and_reorder_nothing_while_shards_move(void **state)
{
	struct world *world = open_world();
	uint32_t owner[SN_EXCHANGE_SHARDS], seed = 7;
	uint64_t made = 0, processed = 0, taken_ns;
	pthread_t threads[WORKERS];

	(void)state;
	for (uint32_t i = 0; i < SN_EXCHANGE_SHARDS; i++)
		owner[i] = i % WORKERS;
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, &world->workers[i]), 0);
	for (uint32_t i = 0; i < MOVES; i++) {
		uint32_t unit = dice(&seed, SN_EXCHANGE_SHARDS);
		uint32_t to = (owner[unit] + 1 + dice(&seed, WORKERS - 1)) % WORKERS;

		for (uint8_t kind = SN_MOVE_OWNER; kind <= SN_MOVE_DRAIN; kind++) {
			sn_exchange_begin(
				world->exchange,
				(struct sn_move){(uint8_t)unit, (uint8_t)owner[unit], (uint8_t)to, kind});
			while (!sn_exchange_done(world->exchange, &taken_ns))
				sched_yield();
		}
		owner[unit] = to;
	}
	atomic_store(&world->enough, true);
	for (uint32_t i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < WORKERS; i++) {
		const struct worker *w = &world->workers[i];

		assert_int_equal(w->misplaced, 0);
		assert_int_equal(w->reordered, 0);
		assert_true(w->processed > 0);
		made += w->made;
		processed += w->processed;
	}
	assert_int_equal(processed, made);
	for (uint32_t i = 0; i < SN_EXCHANGE_SHARDS; i++)
		assert_int_equal(world->shards[i].owner, owner[i]);
	print_message("%d moves, %lu packets\n", MOVES, (unsigned long)made);
	close_world(world);
}

/* So many packets of each of a worker's flows, one after the other, as dispatched by another. */
static void hand_over(struct worker *w, uint32_t owner, uint32_t rounds)
{
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t shard = owner; shard < SN_EXCHANGE_SHARDS; shard += WORKERS) {
			uint32_t flow = shard + SN_EXCHANGE_SHARDS * w->number;
			struct packet *p = &w->packets[w->made++];

			*p = (struct packet){flow, w->sent[flow]++};
			assert_true(dispatch(w, p));
		}
	}
	sn_mailbox_publish(w->mailbox);
}

/* Rings of which so many packets were taken before. */
static void begin_rings(struct sn_exchange *x, uint32_t taken)
{
	for (uint32_t i = 0; i < WORKERS * WORKERS; i++) {
		struct sn_ring *ring = x->rings[i];

		if (ring == NULL)
			continue;
		atomic_store(&ring->tail, taken);
		atomic_store(&ring->head, taken);
		ring->next = ring->head_seen = ring->tail_seen = taken;
	}
}

static void move_while_rings_are_full(uint32_t taken)
{
	const uint32_t rounds = 70, handed = rounds * (SN_EXCHANGE_SHARDS / WORKERS);
	struct world *world = open_world();
	struct worker *giver = &world->workers[0], *other = &world->workers[1], *taker = &world->workers[2];
	uint64_t taken_ns, processed;

	begin_rings(world->exchange, taken);
	hand_over(other, 0, rounds);
	hand_over(giver, 2, rounds);
	sn_exchange_begin(world->exchange, (struct sn_move){3, 0, 2, SN_MOVE_OWNER});
	sn_mailbox_poll(other->mailbox);
	sn_mailbox_poll(taker->mailbox);
	assert_int_equal(world->shards[3].owner, 0);
	sn_mailbox_poll(giver->mailbox);
	assert_int_equal(world->shards[3].owner, WORKERS);
	assert_int_equal(world->shards[3].next[other->number], rounds);
	assert_in_range(giver->processed, rounds, rounds + (uint64_t)WORKERS * SN_EXCHANGE_BURST);
	sn_mailbox_poll(taker->mailbox);
	assert_int_equal(world->shards[3].owner, 2);
	assert_true(sn_exchange_done(world->exchange, &taken_ns));
	assert_in_range(taker->processed, 0, (uint64_t)WORKERS * SN_EXCHANGE_BURST);

	hand_over(other, 0, 1); /* the moved shard's to the taker, the rest behind what waits */
	do {
		processed = giver->processed + taker->processed;
		for (uint32_t i = 0; i < WORKERS; i++)
			sn_mailbox_poll(world->workers[i].mailbox);
	} while (giver->processed + taker->processed > processed);
	assert_in_range(processed, 2 * handed, other->made + giver->made);
	assert_int_equal(processed, other->made + giver->made);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(world->workers[i].misplaced, 0);
		assert_int_equal(world->workers[i].reordered, 0);
	}
	close_world(world);
}

static void a_move_does_not_wait_for_what_the_rings_hold(void **state)
{
	const uint32_t taken[] = {0, 0x7fffffff, 0x90000000, 0xfffffff0};

	(void)state;
	for (uint32_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		move_while_rings_are_full(taken[i]);
}

/* A unit of which more waits than is processed at once. */
static void a_move_leaves_time_for_others(void **state)
{
	struct world *world = open_world();
	struct worker *giver = &world->workers[0], *other = &world->workers[1];
	uint32_t polls = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct packet *p = &other->packets[other->made++];

		*p = (struct packet){3 + SN_EXCHANGE_SHARDS, other->sent[3 + SN_EXCHANGE_SHARDS]++};
		assert_true(dispatch(other, p));
	}
	sn_mailbox_publish(other->mailbox);
	sn_exchange_begin(world->exchange, (struct sn_move){3, 0, 2, SN_MOVE_OWNER});
	for (; world->shards[3].owner != 2; polls++) {
		uint64_t before = giver->processed;

		for (uint32_t i = 0; i < WORKERS; i++)
			sn_mailbox_poll(world->workers[i].mailbox);
		assert_in_range(giver->processed - before, 0, 256 + SN_EXCHANGE_BURST);
		assert_in_range(polls, 0, 2000 / 256 + 2);
	}
	assert_int_equal(giver->processed, 2000);
	assert_int_equal(giver->misplaced + giver->reordered, 0);
	close_world(world);
}

static void a_ring_keeps_its_order_over_its_end_and_says_when_it_is_full(void **state)
{
	struct sn_ring *ring = sn_ring_create(4);
	char things[16];
	void *seen[8];

	(void)state;
	for (uint32_t turn = 0; turn < 9; turn++) {
		for (uint32_t i = 0; i < 4; i++)
			assert_true(sn_ring_put(ring, &things[i]));
		assert_false(sn_ring_put(ring, things));
		assert_int_equal(sn_ring_take(ring, seen, 8), 0); /* not published */
		sn_ring_publish(ring);
		assert_int_equal(sn_ring_take(ring, seen, 3), 3);
		assert_int_equal(sn_ring_take(ring, seen + 3, 8), 1);
		for (uint32_t i = 0; i < 4; i++)
			assert_ptr_equal(seen[i], &things[i]);
	}
	free(ring);
}

/* Mailboxs without threads: each step is the test's. */
struct scene {
	struct sn_exchange *exchange;
	bool surprise; /* with the next packets an order is given, which worker 1 obeys at once */
	uint32_t gives, takes;
};

static void scene_packets(void *context, void **packets, uint32_t n)
{
	struct scene *scene = context;

	(void)packets;
	(void)n;
	if (!scene->surprise)
		return;
	scene->surprise = false;
	sn_exchange_begin(scene->exchange, (struct sn_move){9, 2, 0, SN_MOVE_OWNER});
	sn_mailbox_poll(sn_exchange_mailbox(scene->exchange, 1));
}

static void scene_give(void *context, uint32_t unit)
{
	struct scene *scene = context;

	assert_int_equal(unit, 9);
	scene->gives++;
}

static void scene_take(void *context, uint32_t unit)
{
	struct scene *scene = context;

	assert_int_equal(unit, 9);
	scene->takes++;
}

static uint64_t scene_now(void *context)
{
	(void)context;
	return 0;
}

static void scene_poll_all(const struct scene *scene)
{
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct sn_mailbox *mailbox = sn_exchange_mailbox(scene->exchange, i);

		sn_mailbox_poll(mailbox);
		if (mailbox->draining)
			sn_mailbox_drained(mailbox);
	}
}

/*
 * Between a worker's look for orders and its reading of a ring there is time for an order, and for its mark
 * in that ring. Heard as if it were of the move before, which was a turn's last step, the mark would be lost,
 * and that step's unit would be thought to be here.
 */
static void a_mark_of_an_order_that_came_during_a_poll_is_heard_as_such(void **state)
{
	static const struct sn_exchange_ops scene_ops = {scene_packets, scene_give, scene_take, scene_now,
							 on_shard};
	struct scene scene = {.exchange = sn_exchange_create(WORKERS)};
	uint8_t owner[SN_EXCHANGE_SHARDS];
	uint64_t taken_ns;
	struct packet packet = {.flow = 8};

	(void)state;
	memset(owner, 2, sizeof(owner));
	owner[7] = 1;
	sn_exchange_set(scene.exchange, SN_EXCHANGE_SHARDS, owner, NULL);
	for (uint32_t i = 0; i < WORKERS; i++)
		sn_exchange_join(scene.exchange, i, &scene_ops, &scene);
	for (uint8_t kind = SN_MOVE_HOLD; kind <= SN_MOVE_DRAIN; kind++) {
		sn_exchange_begin(scene.exchange, (struct sn_move){7, 0, 1, kind});
		for (uint32_t i = 0; i < 3; i++)
			scene_poll_all(&scene);
		assert_true(sn_exchange_done(scene.exchange, &taken_ns));
	}

	scene.surprise = true;
	assert_true(sn_mailbox_hand(sn_exchange_mailbox(scene.exchange, 0), 2, &packet));
	sn_mailbox_publish(sn_exchange_mailbox(scene.exchange, 0));
	sn_mailbox_poll(sn_exchange_mailbox(scene.exchange, 2)); /* worker 0's ring, then worker 1's */
	assert_false(scene.surprise);
	assert_int_equal(sn_exchange_mailbox(scene.exchange, 2)->place[7], 1);
	for (uint32_t i = 0; i < 3; i++)
		scene_poll_all(&scene);
	assert_true(sn_exchange_done(scene.exchange, &taken_ns));
	assert_int_equal(scene.gives, 1);
	assert_int_equal(scene.takes, 1);
	for (uint32_t i = 0; i < WORKERS; i++) {
		const uint8_t *place = sn_exchange_mailbox(scene.exchange, i)->place;

		assert_int_equal(place[7], i == 1 ? SN_PLACE_HERE : 1);
		assert_int_equal(place[9], i == 0 ? SN_PLACE_HERE : 0);
		assert_int_equal(place[8], i == 2 ? SN_PLACE_HERE : 2);
	}
	sn_exchange_free(scene.exchange, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_keeps_its_order_over_its_end_and_says_when_it_is_full),
		cmocka_unit_test(a_move_does_not_wait_for_what_the_rings_hold),
		cmocka_unit_test(a_move_leaves_time_for_others),
		cmocka_unit_test(a_mark_of_an_order_that_came_during_a_poll_is_heard_as_such),
		cmocka_unit_test(threads_lose_and_reorder_nothing_while_shards_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
