/* SPDX-License-Identifier: Apache-2.0 */
/* Several workers without threads: which one receives, which one is polled and when is the test's matter. */
#include "fixture.h"

#include <stdio.h>

#include <rte_eal.h>
#include <rte_mempool.h>
#include <rte_thash.h>

#include "sn_log.h"
#include "sn_napt.h"
#include "sn_parse.h"
#include "sn_rss.h"
#include "sn_shards.h"
#include "sn_worker_impl.h"

#define WORKERS	   3
#define FLOWS_MAX  (1u << 20)
#define BUFFERS	   16383
#define FIRST_PORT 1024
#define PORTS	   60000 /* of the inside host: further flows go to another port of the remote */

/* A flow from the inside host, and what was seen of it. */
struct flow {
	uint32_t outside_addr;
	uint16_t outside_port; /* 0: none yet */
	uint8_t worker;	       /* that sent its last packet */
	bool wandered;	       /* to another worker than the one before */
	uint32_t sent[2];      /* packets into the engine: to the outside, to the inside */
	uint32_t seen[2];      /* packets out of it */
};

#define NIC_QUEUE 4096

/* A device that hashes: a queue per worker, and the map from buckets to them. */
struct nic {
	struct {
		struct rte_mbuf *m;
		uint16_t iface;
	} packets[WORKERS][NIC_QUEUE];
	uint32_t head[WORKERS], tail[WORKERS];
	uint32_t drain_to[WORKERS]; /* tail when the order to drain was seen */
	bool draining[WORKERS];
	uint8_t map[SN_SHARDS];
};

struct world {
	struct sn_arena arena;
	struct nic *nic; /* NULL: the test says who receives */
	struct sn_engine *engine;
	struct rte_mempool *pool;
	Sinter__Program__V1__Program *msg;
	uint32_t n_workers;
	uint32_t n_hosts; /* every fourth address from the sample's on */
	struct sn_partitioning partitioning;
	uint32_t current; /* worker at work */
	bool swapping;	  /* all of them may be */
	uint64_t n_drops;
	uint32_t last_reason;
	uint64_t n_out;
	const uint8_t *watched; /* the last frame that was no flow's */
	uint8_t frame[FRAME_MAX];
	char err[512];
	struct flow *flows;
};

static struct rte_mempool *buffers;

static int start(void **state)
{
	sn_log_limit(SN_LOG_WARN);
	if (start_eal(state) || sn_source_register())
		return -1;
	buffers = rte_pktmbuf_pool_create("shards", BUFFERS, 0, 0, 2048, SOCKET_ID_ANY);
	return buffers ? 0 : -1;
}

/* A flow whose binding is known. */
static uint32_t shard_of(const struct world *w, uint32_t index)
{
	const struct flow *f = &w->flows[index];
	const struct sn_flow back = {SN_SAMPLE_REMOTE, f->outside_addr, (uint16_t)(80 + index / PORTS),
				     f->outside_port, SN_UDP};

	return sn_state_return_shard(w->engine->state, 0, &back);
}

/* Checks a packet against those of its flow before it. */
static void see(struct world *w, uint16_t iface, const uint8_t *frame)
{
	const uint8_t *payload = l4_of(frame) + 8;
	uint32_t index = sn_load32(payload), number = sn_load32(payload + 4);
	uint32_t back = iface == 0;
	struct flow *f = &w->flows[index];

	assert_true(index < FLOWS_MAX);
	if (number != f->seen[back])
		fail_msg("flow %u, direction %u: packet %u came after %u", index, back, number,
			 f->seen[back] - 1);
	f->seen[back]++;
	if (!back && f->outside_port == 0) {
		f->outside_addr = src_of(frame);
		f->outside_port = sport_of(frame);
		f->worker = w->current;
	}
	if (!back && (f->outside_addr != src_of(frame) || f->outside_port != sport_of(frame)))
		fail_msg("flow %u: its binding changed from port %u to %u", index, f->outside_port,
			 sport_of(frame));
	if (back)
		assert_int_equal(dport_of(frame), FIRST_PORT + index % PORTS);
	if (w->swapping)
		return;
	f->wandered |= f->worker != w->current;
	f->worker = w->current;
	assert_true(sn_state_partition(w->engine->state, w->current)->owned[shard_of(w, index)]);
}

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct world *w = ctx;

	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(pkts[i], const uint8_t *);

		if (ip_of(frame)[9] == SN_UDP) {
			see(w, iface, frame);
		} else {
			memcpy(w->frame, frame, pkts[i]->pkt_len);
			w->watched = w->frame;
		}
		w->n_out++;
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	struct world *w = ctx;

	(void)m;
	(void)source;
	w->n_drops++;
	w->last_reason = reason;
}

static void map_buckets(void *context, const uint8_t *workers)
{
	struct world *w = context;

	memcpy(w->nic->map, workers, sizeof(w->nic->map));
}

static void load_message(struct world *w)
{
	struct sn_engine_loaded loaded;

	w->swapping = true;
	if (sn_engine_load(w->engine, w->msg, NULL, 0, &loaded, w->err, sizeof(w->err)) != 0)
		fail_msg("%s", w->err);
	w->swapping = false;
}

static void open_workers(struct world *w, uint32_t n)
{
	struct sn_engine_config config = {
		.n_workers = n,
		.partitioning = w->partitioning,
		.pool = buffers,
		.harness = true,
		.tx = tx,
		.drop = drop,
		.map = w->nic ? map_buckets : NULL,
		.harness_context = w,
	};

	w->n_workers = n;
	w->engine = sn_engine_create(&config, w->err, sizeof(w->err));
	if (!w->engine)
		fail_msg("%s", w->err);
	w->engine->now_ns = 1000 * SECOND;
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->flows = calloc(FLOWS_MAX, sizeof(*w->flows));
	w->n_hosts = 1;
	sn_arena_init(&w->arena);
	w->msg = sn_sample_napt(&w->arena);
	*state = w;
	return 0;
}

static int open_rss_world(void **state)
{
	struct world *w;

	open_world(state);
	w = *state;
	w->partitioning.by = SN_PARTITION_BY_RSS;
	return 0;
}

static int open_nic_world(void **state)
{
	struct world *w;

	open_rss_world(state);
	w = *state;
	w->nic = calloc(1, sizeof(*w->nic));
	return 0;
}

static int open_address_world(void **state)
{
	struct world *w;

	open_world(state);
	w = *state;
	w->partitioning = (struct sn_partitioning){SN_PARTITION_BY_ADDRESS, 2};
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	sn_engine_free(w->engine);
	assert_int_equal(rte_mempool_in_use_count(buffers), 0);
	sn_arena_free(&w->arena);
	free(w->flows);
	free(w->nic);
	free(w);
	return 0;
}

static struct rte_mbuf *buffer(const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(buffers);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	sn_source_set(m, 0);
	return m;
}

static struct packet out_packet(const struct world *w, uint32_t index)
{
	struct packet p = outward(SN_UDP, FIRST_PORT + index % PORTS);

	p.src += 4 * (index % w->n_hosts);
	p.dport = 80 + index / PORTS;
	return p;
}

static struct packet back_packet(const struct world *w, uint32_t index)
{
	struct packet p = inward(SN_UDP, w->flows[index].outside_port);

	p.dst = w->flows[index].outside_addr;
	p.sport = 80 + index / PORTS;
	return p;
}

/* The next packet of a flow, in a direction in which it can go. */
static struct rte_mbuf *next_packet(struct world *w, uint32_t index, bool back)
{
	struct packet p = back ? back_packet(w, index) : out_packet(w, index);
	struct flow *f = &w->flows[index];
	uint8_t payload[8], frame[FRAME_MAX];

	sn_store32(payload, index);
	sn_store32(payload + 4, f->sent[back]++);
	p.payload = payload;
	p.payload_len = sizeof(payload);
	return buffer(frame, write_frame(&p, frame));
}

static void receive(struct world *w, uint32_t worker, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	w->current = worker;
	sn_worker_burst(w->engine->threads[worker].worker, iface, pkts, n, w->engine->now_ns);
}

static uint32_t poll_worker(struct world *w, uint32_t worker)
{
	w->current = worker;
	return sn_mailbox_poll(w->engine->threads[worker].mailbox);
}

static void settle(struct world *w)
{
	for (uint32_t quiet = 0; quiet < 2; quiet++)
		for (uint32_t i = 0; i < w->n_workers; i++)
			if (poll_worker(w, i))
				quiet = 0;
}

/* A move goes on beside packets: nobody may have any, and it is not over yet. */
static void end_move(struct world *w)
{
	uint64_t blocked;

	settle(w);
	for (uint32_t i = 0; i < 5 && !sn_shards_end(w->engine, &blocked); i++)
		settle(w);
	assert_false(w->engine->moving);
}

/* A packet received by a worker, and all that comes of it. */
static void send_flow(struct world *w, uint32_t worker, uint32_t index, bool back)
{
	struct rte_mbuf *m = next_packet(w, index, back);

	receive(w, worker, back, &m, 1);
	settle(w);
}

static void move(struct world *w, uint32_t unit, uint32_t worker)
{
	uint64_t blocked;

	if (sn_shards_move(w->engine, unit, worker, &blocked, w->err, sizeof(w->err)) != 0)
		fail_msg("%s", w->err);
}

static uint64_t sum_sessions(const struct world *w)
{
	struct sn_state_stats stats;

	sn_state_stats(w->engine->state, 0, &stats);
	return stats.sessions;
}

static struct sn_worker_stats *stats_of(const struct world *w, uint32_t worker)
{
	return sn_worker_stats(w->engine->threads[worker].worker);
}

static uint32_t owner_of(const struct world *w, uint32_t flow)
{
	return sn_state_owner(w->engine->state, shard_of(w, flow));
}

static void shards_are_split_evenly_among_the_workers(void **state)
{
	struct world *w = *state;
	uint32_t owned[WORKERS] = {0};

	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), SN_SHARDS);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		owned[sn_state_owner(w->engine->state, i)]++;
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_in_range(owned[i], SN_SHARDS / WORKERS, SN_SHARDS / WORKERS + 1);
		assert_int_equal(sn_state_partition(w->engine->state, i)->n_owned, owned[i]);
	}
}

static void both_directions_of_a_flow_are_its_owners_whoever_receives(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < 300; i++)
		for (uint32_t n = 0; n < 9; n++)
			send_flow(w, n % WORKERS, i, n > 0 && dice(2));
	for (uint32_t i = 0; i < 300; i++) {
		assert_false(w->flows[i].wandered);
		assert_int_equal(w->flows[i].worker, owner_of(w, i));
	}
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(w->n_out, 2700);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_in_range(stats_of(w, i)->packets, 600, 1200);
		assert_true(stats_of(w, i)->cache_hits > 200);
	}
}

static void a_million_flows_through_nat_are_each_seen_by_one_worker(void **state)
{
	struct world *w = *state;
	const uint32_t n = 1000000;
	uint64_t handed = 0, taken = 0, packets = 0, of_shards = 0;

	w->msg->tables[0]->pool[0]->last = SN_SAMPLE_POOL + 31;
	w->msg->tables[0]->max_sessions = 0;
	open_workers(w, 2);
	load_message(w);
	for (uint32_t turn = 0; turn < 3; turn++) { /* out, back, out */
		for (uint32_t i = 0; i < n; i += 32) {
			struct rte_mbuf *burst[32];

			for (uint32_t j = 0; j < 32; j++)
				burst[j] = next_packet(w, i + j, turn == 1);
			receive(w, (i / 32 + turn) % 2, turn == 1, burst, 32);
			settle(w);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (w->flows[i].wandered || w->flows[i].seen[0] != 2 || w->flows[i].seen[1] != 1)
			fail_msg("flow %u was seen by two workers or lost a packet", i);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n);
	for (uint32_t i = 0; i < 2; i++) {
		handed += stats_of(w, i)->handed;
		taken += stats_of(w, i)->taken;
		packets += stats_of(w, i)->packets;
		for (uint32_t s = 0; s < SN_SHARDS; s++) {
			const struct sn_shard_count *count = &stats_of(w, i)->shards[s];

			assert_int_equal(count->packets > 0, sn_state_owner(w->engine->state, s) == i);
			of_shards += count->packets;
		}
	}
	assert_int_equal(packets, 3 * n);
	assert_in_range(of_shards, 3 * n / 20 * 19, 3 * n / 20 * 21); /* large bursts are counted by lot */
	assert_int_equal(handed, taken);
	assert_in_range(handed, n, 2 * n); /* every other packet comes to the wrong worker */
}

/* One step of something that goes on: packets at some worker, or a look at what others handed over. */
static void step(struct world *w, uint32_t n_flows)
{
	uint32_t worker = dice(w->n_workers), n = dice(16) + 1;
	struct rte_mbuf *burst[16];
	bool back = dice(2);

	if (dice(5) < 2) {
		poll_worker(w, worker);
		return;
	}
	/* A device keeps a flow's direction to one queue, which need not be the owner's. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = dice(n_flows);

		flow -= flow % w->n_workers;
		flow += back ? (worker + flow / w->n_workers) % w->n_workers : worker;
		burst[i] = next_packet(w, flow, back);
	}
	receive(w, worker, back, burst, n);
	w->engine->now_ns += 1000;
}

static void all_packets_came(struct world *w, uint32_t n_flows)
{
	for (uint32_t i = 0; i < n_flows; i++)
		for (uint32_t d = 0; d < 2; d++)
			if (w->flows[i].sent[d] != w->flows[i].seen[d])
				fail_msg("flow %u, direction %u: %u of %u packets came", i, d,
					 w->flows[i].seen[d], w->flows[i].sent[d]);
}

static void moves_under_load_lose_reorder_and_change_nothing(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 3000, n_moves = 10000;
	uint32_t moves = 0, wandered = 0;
	uint64_t blocked, steps = 0;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++)
		send_flow(w, i % WORKERS, i, false);
	while (moves < n_moves) {
		step(w, n_flows);
		steps++;
		if (!sn_shards_end(w->engine, &blocked))
			continue;
		if (sn_shards_begin(w->engine, dice(SN_SHARDS), dice(WORKERS), w->err, sizeof(w->err)) != 0)
			fail_msg("%s", w->err);
		moves += w->engine->moving;
	}
	end_move(w);
	all_packets_came(w, n_flows);
	for (uint32_t i = 0; i < n_flows; i++)
		wandered += w->flows[i].wandered;
	assert_in_range(wandered, n_flows * 9 / 10, n_flows); /* the moves did happen */
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		for (uint32_t j = 0; j < WORKERS; j++)
			assert_int_equal(sn_state_partition(w->engine->state, j)->owned[i],
					 sn_state_owner(w->engine->state, i) == j);
	print_message("%u moves, %lu steps, %lu packets\n", moves, (unsigned long)steps,
		      (unsigned long)w->n_out);
}

static void moves_and_swaps_of_the_program_may_meet(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 600;
	uint32_t swaps = 0;
	uint64_t blocked;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++)
		send_flow(w, i % WORKERS, i, false);
	for (uint32_t moves = 0; moves < 500;) {
		step(w, n_flows);
		if (!sn_shards_end(w->engine, &blocked))
			continue;
		if (moves % 5 == 0) {	 /* packets are in the rings */
			if (swaps++ % 2) /* else the state fits as it is: the swap is warmed up */
				w->msg->tables[0]->max_sessions = 10000 + swaps % 3;
			load_message(w);
		}
		assert_int_equal(
			sn_shards_begin(w->engine, dice(SN_SHARDS), dice(WORKERS), w->err, sizeof(w->err)),
			0);
		moves++;
	}
	end_move(w);
	all_packets_came(w, n_flows);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
}

/* Another table, which no packet meets; its pool has ports for four shards only. */
static void add_small_table(struct world *w)
{
	Sinter__Program__V1__StateTable **tables = sn_arena_alloc(&w->arena, 2 * sizeof(*tables));
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(&w->arena, sizeof(*table));

	*table = *w->msg->tables[0];
	table->name = (char *)"small";
	table->port_min = 2000;
	table->port_max = 2255;
	tables[0] = w->msg->tables[0];
	tables[1] = table;
	w->msg->tables = tables;
}

enum change {
	CHANGE_NOTHING, /* the swap is warmed up */
	CHANGE_LIMIT,	/* sessions are visited */
	CHANGE_UNITS,	/* 128 or four */
	CHANGES,
};

static void load_changed(struct world *w, enum change change)
{
	if (change == CHANGE_LIMIT)
		w->msg->tables[0]->max_sessions = 10000 + w->msg->tables[0]->max_sessions % 7;
	if (change == CHANGE_UNITS)
		w->msg->n_tables = 3 - w->msg->n_tables;
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), w->msg->n_tables == 1 ? SN_SHARDS : 4);
}

static void a_program_may_be_loaded_at_each_step_of_a_move(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 600, most = 40;
	uint32_t under_way = 0, in_rings = 0;
	uint64_t blocked;

	add_small_table(w);
	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++)
		send_flow(w, i % WORKERS, i, false);
	for (uint32_t i = 0; i < CHANGES * most * 5; i++) {
		uint64_t handed = 0, taken = 0;

		assert_int_equal(sn_shards_begin(w->engine, dice(sn_state_units(w->engine->state)),
						 dice(WORKERS), w->err, sizeof(w->err)),
				 0);
		for (uint32_t n = 0; n < i / CHANGES % most; n++) {
			step(w, n_flows);
			sn_shards_end(w->engine, &blocked);
		}
		under_way += w->engine->moving;
		for (uint32_t j = 0; j < WORKERS; j++) {
			handed += stats_of(w, j)->handed;
			taken += stats_of(w, j)->taken;
		}
		in_rings += handed > taken;
		load_changed(w, i % CHANGES);
		for (uint32_t n = 0; n < 20; n++)
			step(w, n_flows);
		while (!sn_shards_end(w->engine, &blocked))
			step(w, n_flows);
	}
	settle(w);
	all_packets_came(w, n_flows);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
	assert_in_range(under_way, CHANGES * most * 5 / 4, CHANGES * most * 5);
	assert_in_range(in_rings, CHANGES * most * 5 / 2, CHANGES * most * 5);
	print_message("%u programs, %u of them during a move, %u with packets in the rings\n",
		      CHANGES * most * 5, under_way, in_rings);
}

/* A flow whose owner is, or is not, the worker. */
static uint32_t flow_of_worker(struct world *w, uint32_t worker, uint32_t from)
{
	for (uint32_t i = from;; i++) {
		send_flow(w, 0, i, false);
		if (owner_of(w, i) == worker)
			return i;
	}
}

static void packets_for_a_shard_on_its_way_wait_for_it(void **state)
{
	struct world *w = *state;
	struct rte_mbuf *m;
	uint32_t flow, unit;
	uint64_t blocked;

	open_workers(w, WORKERS);
	load_message(w);
	flow = flow_of_worker(w, 0, 0);
	unit = shard_of(w, flow);
	w->n_out = 0;
	m = next_packet(w, flow, false);
	receive(w, 1, 0, &m, 1); /* in the ring to worker 0 */
	assert_int_equal(sn_shards_begin(w->engine, unit, 2, w->err, sizeof(w->err)), 0);
	poll_worker(w, 2);
	m = next_packet(w, flow, false);
	receive(w, 2, 0, &m, 1); /* held */
	poll_worker(w, 1);
	m = next_packet(w, flow, false);
	receive(w, 1, 0, &m, 1); /* in the ring to worker 2, */
	poll_worker(w, 2);	 /* then held */
	assert_int_equal(w->n_out, 0);
	assert_false(sn_shards_end(w->engine, &blocked));
	w->engine->now_ns += 5000;
	poll_worker(w, 0); /* gives, having sent the first */
	assert_int_equal(w->n_out, 1);
	assert_false(sn_shards_end(w->engine, &blocked));
	poll_worker(w, 2);
	assert_int_equal(w->n_out, 3);
	assert_true(sn_shards_end(w->engine, &blocked));
	assert_int_equal(blocked, 5000);
	assert_int_equal(w->n_drops, 0);
}

static void a_ring_that_is_full_costs_packets_under_a_reason_of_their_own(void **state)
{
	struct world *w = *state;
	uint32_t flow, more = 100;
	uint64_t handed;

	open_workers(w, WORKERS);
	load_message(w);
	flow = flow_of_worker(w, 1, 0);
	w->n_out = 0;
	handed = stats_of(w, 0)->handed;
	for (uint32_t i = 0; i < SN_EXCHANGE_RING + more; i++) {
		struct rte_mbuf *m = next_packet(w, flow, false);

		receive(w, 0, 0, &m, 1);
	}
	assert_int_equal(w->n_drops, more);
	assert_string_equal(sn_reason_name(w->last_reason), "handover-full");
	assert_int_equal(stats_of(w, 0)->drops[SN_REASON_HANDOVER_FULL].packets, more);
	assert_int_equal(stats_of(w, 0)->handed - handed, SN_EXCHANGE_RING);
	settle(w);
	assert_int_equal(w->n_out, SN_EXCHANGE_RING);
}

static void icmp_errors_go_to_the_worker_of_the_flow_that_they_quote(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < 60; i++) {
		struct packet error = {.proto = SN_ICMP, .type = 3, .code = 1, .payload_len = 28};
		struct packet about = outward(SN_UDP, FIRST_PORT + i);
		uint8_t quoted[FRAME_MAX], frame[FRAME_MAX];
		struct rte_mbuf *m;

		send_flow(w, i % WORKERS, i, false);
		move(w, shard_of(w, i), dice(WORKERS));
		error.payload = quoted + 14;
		if (i % 2) { /* from outside, about what went out */
			about.src = w->flows[i].outside_addr;
			about.sport = w->flows[i].outside_port;
			error.iface = 1;
			error.src = 0xcb007101;
			error.dst = about.src;
		} else { /* from inside, about what came back */
			about = (struct packet){.proto = SN_UDP,
						.src = SN_SAMPLE_REMOTE,
						.dst = SN_SAMPLE_HOST,
						.sport = 80,
						.dport = FIRST_PORT + i};
			error.src = SN_SAMPLE_HOST;
			error.dst = SN_SAMPLE_REMOTE;
		}
		write_frame(&about, quoted);
		m = buffer(frame, write_frame(&error, frame));
		w->watched = NULL;
		receive(w, dice(WORKERS), error.iface, &m, 1);
		settle(w);
		assert_non_null(w->watched);
		assert_int_equal(w->current, WORKERS - 1); /* settled */
		if (i % 2) {
			assert_int_equal(dst_of(w->watched), SN_SAMPLE_HOST);
			assert_int_equal(sn_load16(l4_of(w->watched) + 8 + 20), FIRST_PORT + i);
		} else {
			assert_int_equal(src_of(w->watched), w->flows[i].outside_addr);
			assert_int_equal(sn_load16(l4_of(w->watched) + 8 + 22), w->flows[i].outside_port);
		}
	}
	assert_int_equal(w->n_drops, 0);
}

static void the_rate_of_icmp_errors_is_that_of_all_workers_together(void **state)
{
	struct world *w = *state;
	struct packet p = outward(SN_TCP, 5000);
	uint8_t frame[FRAME_MAX];

	open_workers(w, WORKERS);
	load_message(w); /* with 100 errors per second */
	p.ttl = 1;
	for (uint32_t i = 0; i < 60 * WORKERS; i++) {
		struct rte_mbuf *m = buffer(frame, write_frame(&p, frame));

		receive(w, i % WORKERS, 0, &m, 1);
		settle(w);
	}
	assert_int_equal(w->n_out, 100);
	assert_int_equal(w->n_drops, 60 * WORKERS - 100);
	assert_string_equal(sn_reason_name(w->last_reason), "icmp-rate");
}

static void assert_lines(const void *memory)
{
	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % 64, 0);
}

static void what_a_worker_writes_begins_a_cache_line_of_its_own(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sizeof(struct sn_thread) % 64, 0);
	assert_int_equal(sizeof(struct sn_worker) % 64, 0);
	for (uint32_t i = 0; i < WORKERS; i++) {
		const struct sn_thread *thread = &w->engine->threads[i];
		const struct sn_worker *worker = thread->worker;
		const struct sn_partition *partition = thread->partition;

		assert_lines(thread);
		assert_lines(worker);
		assert_lines(worker->cache.tags);
		assert_lines(worker->cache.entries);
		assert_lines(worker->neigh.entries);
		assert_lines(worker->neigh.wait.slots);
		assert_lines(worker->neigh.gone);
		assert_lines(worker->neigh.buckets);
		assert_lines(worker->counts);
		assert_lines(worker->mailbox);
		assert_lines(partition);
		assert_lines(partition->left);
		assert_lines(partition->spent);
		for (uint32_t j = 0; j < WORKERS; j++)
			if (i != j)
				assert_lines(w->engine->exchange->rings[i * WORKERS + j]);
	}
}

static void fragments_are_dropped_where_they_come(void **state)
{
	struct world *w = *state;
	struct packet p = outward(SN_UDP, 5000);
	uint8_t frame[FRAME_MAX];

	open_workers(w, WORKERS);
	load_message(w);
	p.frag = 0x2000;
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct rte_mbuf *m = buffer(frame, write_frame(&p, frame));

		receive(w, i, 0, &m, 1);
		assert_int_equal(stats_of(w, i)->drops[SN_REASON_NAT_FRAGMENT].packets, 1);
		assert_int_equal(stats_of(w, i)->handed, 0);
	}
}

static void tick_all(struct world *w)
{
	for (uint32_t n = 0; n < SN_SHARDS; n++)
		for (uint32_t i = 0; i < w->n_workers; i++)
			sn_worker_tick(w->engine->threads[i].worker, w->engine->now_ns);
}

static void sessions_expire_where_their_shard_is(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < 300; i++)
		send_flow(w, i % WORKERS, i, false);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		move(w, i, 2);
	tick_all(w);
	assert_int_equal(sum_sessions(w), 300);
	w->engine->now_ns += 301 * SECOND;
	for (uint32_t n = 0; n < SN_SHARDS; n++)
		for (uint32_t i = 0; i < 2; i++)
			sn_worker_tick(w->engine->threads[i].worker, w->engine->now_ns);
	assert_int_equal(sum_sessions(w), 300); /* they own nothing */
	tick_all(w);
	assert_int_equal(sum_sessions(w), 0);
}

/* Try a new flow at its owner. */
static bool opens(struct world *w, uint32_t index)
{
	uint64_t drops = w->n_drops;

	send_flow(w, 0, index, false);
	if (w->n_drops != drops)
		assert_string_equal(sn_reason_name(w->last_reason), "nat-exhausted");
	return w->n_drops == drops;
}

static void limits_hold_for_all_workers_together(void **state)
{
	struct world *w = *state;
	uint32_t opened = 0;

	w->msg->tables[0]->max_sessions = 50;
	w->msg->runs[0]->max_sessions = 40;
	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < SN_SHARDS; i++) /* one worker has it all, but not all room */
		move(w, i, i < SN_SHARDS / 2 ? 0 : 1);
	for (uint32_t i = 0; i < 1000; i++) {
		opened += opens(w, i);
		if (i % 10 == 9)
			sn_shards_level(w->engine);
		assert_true(opened <= 40);
	}
	assert_int_equal(opened, 40);
	assert_int_equal(sum_sessions(w), 40);
	w->engine->now_ns += 301 * SECOND;
	tick_all(w);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		move(w, i, 2);
	for (uint32_t i = 1000; i < 1041; i++)
		assert_int_equal(opens(w, i), i < 1040); /* the room came with the shards */
}

static void a_program_that_cannot_be_cut_stays_with_one_worker(void **state)
{
	struct world *w = *state;
	Sinter__Program__V1__Leg *out = w->msg->segments[0]->classes[0]->legs[0];

	/* What goes out is looked up as if it came back: a hairpin. */
	out->outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT;
	out->segment = 1;
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), 1);
	assert_int_equal(sn_shards_begin(w->engine, 1, 0, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "move: shard 1, there are 1");
	move(w, 0, 2);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_true(sn_state_partition(w->engine->state, 2)->owned[i]);
}

/* What goes out is copied to another port, whose own address replies to hosts inside. */
static void add_capture(struct world *w, Sinter__Program__V1__Leg *from_capture)
{
	static Sinter__Program__V1__Interface capture;
	static Sinter__Program__V1__Interface *interfaces[3];
	static Sinter__Program__V1__Segment segment;
	static Sinter__Program__V1__Segment *segments[5];
	static Sinter__Program__V1__Class only, *classes = &only;
	static Sinter__Program__V1__Generator host, *generators[2];
	static Sinter__Program__V1__Leg copy, *legs[2], *last;
	Sinter__Program__V1__Class *out = w->msg->segments[0]->classes[0];

	sinter__program__v1__leg__init(&copy);
	copy.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT;
	copy.output = 2;
	legs[0] = out->legs[0];
	legs[1] = &copy;
	out->legs = legs;
	out->n_legs = 2;
	host = *w->msg->generators[0];
	host.name = (char *)"capture/host";
	host.kind = SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST;
	host.type = 0;
	generators[0] = w->msg->generators[0];
	generators[1] = &host;
	w->msg->generators = generators;
	w->msg->n_generators = 2;
	capture = *w->msg->interfaces[0];
	capture.name = (char *)"capture";
	capture.address = SN_SAMPLE_INSIDE + 0x10000;
	capture.segment = 4;
	capture.n_neighbors = 0;
	memcpy(interfaces, w->msg->interfaces, 2 * sizeof(*interfaces));
	interfaces[2] = &capture;
	w->msg->interfaces = interfaces;
	w->msg->n_interfaces = 3;
	only = *w->msg->segments[3]->classes[0];
	last = from_capture;
	only.legs = &last;
	segment = *w->msg->segments[3];
	segment.name = (char *)"capture";
	segment.classes = &classes;
	memcpy(segments, w->msg->segments, 4 * sizeof(*segments));
	segments[4] = &segment;
	w->msg->segments = segments;
	w->msg->n_segments = 5;
}

static void errors_about_copies_that_nobody_answers_do_not_hinder_the_cut(void **state)
{
	struct world *w = *state;
	Sinter__Program__V1__Leg leg = SINTER__PROGRAM__V1__LEG__INIT;

	leg.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR;
	leg.generator = 1;
	add_capture(w, &leg);
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), SN_SHARDS);
}

static void a_program_whose_errors_about_copies_meet_state_is_not_cut(void **state)
{
	struct world *w = *state;
	Sinter__Program__V1__Leg leg = SINTER__PROGRAM__V1__LEG__INIT;

	leg.outcome_case = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT; /* by the NAPT */
	leg.segment = 0;
	add_capture(w, &leg);
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), 1);
}

static void a_small_pool_has_as_many_units_as_it_can_feed(void **state)
{
	struct world *w = *state;

	w->msg->tables[0]->port_min = 2000;
	w->msg->tables[0]->port_max = 2255;
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), 4);
	for (uint32_t n = 0; n < 400; n++) {
		move(w, dice(4), dice(WORKERS));
		send_flow(w, dice(WORKERS), n % 20, n >= 20 && dice(2));
	}
	all_packets_came(w, 20);
	assert_int_equal(w->n_drops, 0);
}

/* Where a device with our key hashes a packet to. */
static uint32_t bucket_of(const struct packet *p)
{
	static uint8_t key[40];
	union rte_thash_tuple tuple = {0};

	sn_rss_key(key, sizeof(key));
	tuple.v4.src_addr = p->src;
	tuple.v4.dst_addr = p->dst;
	tuple.v4.sport = p->sport;
	tuple.v4.dport = p->dport;
	return rte_softrss((uint32_t *)&tuple, RTE_THASH_V4_L4_LEN, key) % SN_SHARDS;
}

static void a_device_that_hashes_needs_no_worker_to_hand_over(void **state)
{
	struct world *w = *state;
	const uint32_t n = 20000;
	uint32_t of_worker[WORKERS] = {0};

	w->msg->tables[0]->pool[0]->last = SN_SAMPLE_POOL + 7;
	w->msg->tables[0]->max_sessions = 0;
	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t turn = 0; turn < 4; turn++) {
		for (uint32_t i = 0; i < n; i++) {
			struct packet p = turn % 2 ? back_packet(w, i) : out_packet(w, i);
			uint32_t worker = sn_state_owner(w->engine->state, bucket_of(&p));

			of_worker[worker]++;
			send_flow(w, worker, i, turn % 2);
		}
	}
	all_packets_came(w, n);
	assert_int_equal(w->n_drops, 0);
	for (uint32_t i = 0; i < n; i++)
		assert_false(w->flows[i].wandered);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(stats_of(w, i)->handed, 0);
		assert_in_range(of_worker[i], n, 2 * n);
	}
}

static void arrive(struct world *w, uint32_t index, bool back)
{
	struct packet p = back ? back_packet(w, index) : out_packet(w, index);
	struct nic *nic = w->nic;
	uint32_t q = nic->map[bucket_of(&p)], at = nic->tail[q]++ % NIC_QUEUE;

	assert_in_range(nic->tail[q] - nic->head[q], 1, NIC_QUEUE);
	nic->packets[q][at].m = next_packet(w, index, back);
	nic->packets[q][at].iface = back;
}

/* A round of a worker: a burst from its queue, then what the others handed over. */
static void run_round(struct world *w, uint32_t worker)
{
	struct sn_mailbox *mailbox = w->engine->threads[worker].mailbox;
	struct nic *nic = w->nic;
	struct rte_mbuf *burst[16];
	uint16_t n = 0, iface = nic->packets[worker][nic->head[worker] % NIC_QUEUE].iface;

	for (; n < 16 && nic->head[worker] != nic->tail[worker]; n++, nic->head[worker]++) {
		if (nic->packets[worker][nic->head[worker] % NIC_QUEUE].iface != iface)
			break;
		burst[n] = nic->packets[worker][nic->head[worker] % NIC_QUEUE].m;
	}
	if (n > 0)
		receive(w, worker, iface, burst, n);
	poll_worker(w, worker);
	if (mailbox->draining && !nic->draining[worker])
		nic->drain_to[worker] = nic->tail[worker];
	nic->draining[worker] = mailbox->draining;
	if (mailbox->draining && (int32_t)(nic->head[worker] - nic->drain_to[worker]) >= 0)
		sn_mailbox_drained(mailbox);
	nic->draining[worker] = mailbox->draining;
}

static void run_dry(struct world *w)
{
	for (uint32_t i = 0; i < 10000; i++)
		run_round(w, i % WORKERS);
}

static void a_device_that_is_told_of_moves_loses_and_reorders_nothing(void **state)
{
	struct world *w = *state;
	const uint32_t n_flows = 24, n_moves = 3000; /* few: the shards that move are busy ones */
	uint64_t blocked, handed[2] = {0};
	uint32_t moves = 0;

	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t i = 0; i < n_flows; i++) {
		arrive(w, i, false);
		run_round(w, i % WORKERS);
	}
	run_dry(w);
	while (moves < n_moves) {
		for (uint32_t i = dice(50) == 0 ? 64 : 0; i > 0; i--)
			arrive(w, dice(n_flows), dice(2));
		run_round(w, dice(WORKERS));
		w->engine->now_ns += 1000;
		if (!sn_shards_end(w->engine, &blocked))
			continue;
		assert_int_equal(sn_shards_begin(w->engine, shard_of(w, dice(n_flows)), dice(WORKERS), w->err,
						 sizeof(w->err)),
				 0);
		moves += w->engine->moving;
	}
	while (!sn_shards_end(w->engine, &blocked))
		run_round(w, dice(WORKERS));
	run_dry(w);
	for (uint32_t turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < WORKERS; i++)
			handed[turn] += stats_of(w, i)->handed;
		for (uint32_t i = 0; i < n_flows && turn == 0; i++)
			arrive(w, i, dice(2));
		run_dry(w);
	}
	all_packets_came(w, n_flows);
	assert_int_equal(w->n_drops, 0);
	assert_int_equal(sum_sessions(w), n_flows);
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		assert_int_equal(w->nic->map[i], sn_state_owner(w->engine->state, i));
	assert_true(handed[0] > 0);
	assert_int_equal(handed[1], handed[0]); /* the device gives all to their owners again */
	print_message("%u moves, %lu packets, %lu handed over\n", moves, (unsigned long)w->n_out,
		      (unsigned long)handed[0]);
}

/* The hosts' addresses are known. */
static void add_neighbors(struct world *w)
{
	Sinter__Program__V1__Interface *inside = w->msg->interfaces[0];
	Sinter__Program__V1__Neighbor **list = sn_arena_alloc(&w->arena, w->n_hosts * sizeof(*list));

	for (uint32_t i = 0; i < w->n_hosts; i++) {
		list[i] = sn_arena_alloc(&w->arena, sizeof(**list));
		*list[i] = *inside->neighbors[0];
		list[i]->address += 4 * i;
	}
	inside->n_neighbors = w->n_hosts;
	inside->neighbors = list;
}

static void flow_rules_on_address_and_port_bits_need_no_worker_to_hand_over(void **state)
{
	struct world *w = *state;
	const uint32_t n = 2000;

	w->n_hosts = 60;
	add_neighbors(w);
	open_workers(w, WORKERS);
	load_message(w);
	for (uint32_t turn = 0; turn < 4; turn++) {
		for (uint32_t i = 0; i < n; i++) {
			struct packet p = turn % 2 ? back_packet(w, i) : out_packet(w, i);
			/* What a rule matches: seven bits of the source's address, or of the destination
			 * port. */
			uint32_t shard = (turn % 2 ? p.dport : p.src >> 2) % SN_SHARDS;

			send_flow(w, sn_state_owner(w->engine->state, shard), i, turn % 2);
		}
	}
	all_packets_came(w, n);
	assert_int_equal(w->n_drops, 0);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(stats_of(w, i)->handed, 0);
		assert_int_equal(stats_of(w, i)->packets > 0, i < 2); /* sixty of 128 shards */
	}
}

static void a_hashed_pool_is_used_up_to_the_last_port_that_leads_home(void **state)
{
	struct world *w = *state;
	uint32_t opened = 0;

	w->msg->tables[0]->port_min = 2000;
	w->msg->tables[0]->port_max =
		2255; /* four shards: a remote may have a quarter of the ports in each */
	open_workers(w, WORKERS);
	load_message(w);
	assert_int_equal(sn_state_units(w->engine->state), 4);
	for (uint32_t i = 0; i < 5000; i++)
		opened += opens(w, i);
	assert_int_equal(opened, 256);
	assert_int_equal(sum_sessions(w), 256);
	for (uint32_t i = 0; i < 5000; i++)
		if (w->flows[i].outside_port)
			send_flow(w, dice(WORKERS), i, true);
	w->engine->now_ns += 301 * SECOND;
	tick_all(w);
	assert_int_equal(sum_sessions(w), 0);
}

#define ARP_REQUEST 1
#define ARP_REPLY   2
#define NEIGHBOR    (SN_SAMPLE_HOST + 1)

/* A neighbour's ARP comes to a worker. */
static void hear_arp(struct world *w, uint32_t worker, uint16_t op, uint8_t mac, uint32_t target)
{
	uint8_t frame[60] = {0x02, 0x73, 0x6e, 0, 0, 0, 0x02, 1, 1,    1, 1, mac, 0x08, 0x06,
			     0,	   1,	 8,    0, 6, 4, 0,    0, 0x02, 1, 1, 1,	  1,	mac};
	struct rte_mbuf *m;

	if (op == ARP_REQUEST)
		memset(frame, 0xff, 6);
	sn_store16(frame + 20, op);
	sn_store32(frame + 28, NEIGHBOR);
	sn_store32(frame + 38, target);
	m = buffer(frame, sizeof(frame));
	receive(w, worker, 0, &m, 1);
	settle(w);
}

/* The last byte of the MAC that a worker knows the neighbour by; 0: it does not. */
static uint8_t known_mac(const struct world *w, uint32_t worker)
{
	struct sn_neigh_info infos[8];
	size_t n = sn_worker_neighbors(w->engine->threads[worker].worker, infos, 8);

	for (size_t i = 0; i < n; i++)
		if (infos[i].address == NEIGHBOR)
			return infos[i].mac[5];
	return 0;
}

static struct sn_neigh *neighbor_of(const struct world *w, uint32_t worker)
{
	return sn_neigh_find(&w->engine->threads[worker].worker->neigh,
			     sn_neigh_key(0, SN_VLAN_ABSENT, NEIGHBOR));
}

static void an_arp_reply_reaches_every_worker(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(known_mac(w, i), 1);
		assert_int_equal(stats_of(w, i)->ports[0].rx.packets, i == 1);
		assert_int_equal(stats_of(w, i)->drops[SN_REASON_ARP].packets, i == 1);
		assert_int_equal(stats_of(w, i)->packets, i == 1);
		assert_int_equal(stats_of(w, i)->handed + stats_of(w, i)->taken, 0);
	}
}

static void a_question_for_us_teaches_every_worker_and_one_answers(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REQUEST, 1, SN_SAMPLE_INSIDE);
	assert_int_equal(w->n_out, 1);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 1);
}

static void a_neighbours_new_mac_reaches_every_worker_that_uses_it(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
	hear_arp(w, 2, ARP_REQUEST, 2, SN_SAMPLE_INSIDE);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 2);
	hear_arp(w, 0, ARP_REQUEST, 3, NEIGHBOR + 1); /* it asks for another */
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 3);
	/* The one to which the device gives ARP does not use the neighbour, and has forgotten it. */
	w->engine->now_ns += 50 * SECOND;
	for (uint32_t i = 1; i < WORKERS; i++)
		neighbor_of(w, i)->used = w->engine->now_ns;
	w->engine->now_ns += 50 * SECOND;
	tick_all(w);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), i == 0 ? 0 : 3);
	hear_arp(w, 0, ARP_REQUEST, 4, NEIGHBOR);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), i == 0 ? 0 : 4);
}

/* Each worker asks for itself, unless another's answer has told it. */
static void an_answer_to_one_workers_probe_confirms_the_neighbour_for_all(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
	w->engine->now_ns += 46 * SECOND; /* reachable no longer */
	for (uint32_t i = 0; i < WORKERS; i++)
		neighbor_of(w, i)->used = w->engine->now_ns;
	tick_all(w);
	w->engine->now_ns += 5 * SECOND;
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(neighbor_of(w, i)->state, i < 2 ? SN_NEIGH_DELAY : SN_NEIGH_REACHABLE);
		w->n_out = 0;
		sn_worker_tick(w->engine->threads[i].worker, w->engine->now_ns);
		if (i == 1) {
			assert_int_equal(w->n_out, 1);
			hear_arp(w, 2, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
		} else {
			assert_int_equal(w->n_out, i == 0 ? 1 : 0);
		}
	}
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(neighbor_of(w, i)->state, SN_NEIGH_REACHABLE);
}

static void a_move_says_what_is_wrong_with_it(void **state)
{
	struct world *w = *state;
	uint64_t blocked;

	open_workers(w, 2);
	assert_int_equal(sn_shards_move(w->engine, 0, 0, &blocked, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "move: the engine runs no program that keeps state");
	load_message(w);
	assert_int_equal(sn_shards_move(w->engine, 128, 0, &blocked, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "move: shard 128, there are 128");
	assert_int_equal(sn_shards_move(w->engine, 0, 2, &blocked, w->err, sizeof(w->err)), -1);
	assert_string_equal(w->err, "move: worker 2, there are 2");
	assert_int_equal(sn_shards_move(w->engine, 0, 0, &blocked, w->err, sizeof(w->err)), 0);
	assert_int_equal(blocked, 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
#define WITH_RSS_WORLD(test)                                            \
	{                                                               \
#test " (RSS)", test, open_rss_world, close_world, NULL \
	}
#define WITH_ADDRESS_WORLD(test) cmocka_unit_test_setup_teardown(test, open_address_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(shards_are_split_evenly_among_the_workers),
		WITH_WORLD(both_directions_of_a_flow_are_its_owners_whoever_receives),
		WITH_WORLD(a_million_flows_through_nat_are_each_seen_by_one_worker),
		WITH_WORLD(moves_under_load_lose_reorder_and_change_nothing),
		WITH_WORLD(moves_and_swaps_of_the_program_may_meet),
		WITH_WORLD(a_program_may_be_loaded_at_each_step_of_a_move),
		WITH_RSS_WORLD(a_program_may_be_loaded_at_each_step_of_a_move),
		WITH_WORLD(packets_for_a_shard_on_its_way_wait_for_it),
		WITH_WORLD(a_ring_that_is_full_costs_packets_under_a_reason_of_their_own),
		WITH_WORLD(icmp_errors_go_to_the_worker_of_the_flow_that_they_quote),
		WITH_WORLD(the_rate_of_icmp_errors_is_that_of_all_workers_together),
		WITH_WORLD(what_a_worker_writes_begins_a_cache_line_of_its_own),
		WITH_WORLD(fragments_are_dropped_where_they_come),
		WITH_WORLD(sessions_expire_where_their_shard_is),
		WITH_WORLD(limits_hold_for_all_workers_together),
		WITH_WORLD(a_program_that_cannot_be_cut_stays_with_one_worker),
		WITH_WORLD(errors_about_copies_that_nobody_answers_do_not_hinder_the_cut),
		WITH_WORLD(a_program_whose_errors_about_copies_meet_state_is_not_cut),
		WITH_WORLD(a_small_pool_has_as_many_units_as_it_can_feed),
		WITH_RSS_WORLD(both_directions_of_a_flow_are_its_owners_whoever_receives),
		WITH_RSS_WORLD(moves_under_load_lose_reorder_and_change_nothing),
		WITH_RSS_WORLD(moves_and_swaps_of_the_program_may_meet),
		WITH_RSS_WORLD(icmp_errors_go_to_the_worker_of_the_flow_that_they_quote),
		WITH_RSS_WORLD(limits_hold_for_all_workers_together),
		WITH_RSS_WORLD(a_small_pool_has_as_many_units_as_it_can_feed),
		WITH_RSS_WORLD(a_device_that_hashes_needs_no_worker_to_hand_over),
		cmocka_unit_test_setup_teardown(a_device_that_is_told_of_moves_loses_and_reorders_nothing,
						open_nic_world, close_world),
		WITH_ADDRESS_WORLD(flow_rules_on_address_and_port_bits_need_no_worker_to_hand_over),
		WITH_RSS_WORLD(a_hashed_pool_is_used_up_to_the_last_port_that_leads_home),
		WITH_WORLD(an_arp_reply_reaches_every_worker),
		WITH_WORLD(a_question_for_us_teaches_every_worker_and_one_answers),
		WITH_WORLD(a_neighbours_new_mac_reaches_every_worker_that_uses_it),
		WITH_WORLD(an_answer_to_one_workers_probe_confirms_the_neighbour_for_all),
		WITH_WORLD(a_move_says_what_is_wrong_with_it),
	};

	return cmocka_run_group_tests(tests, start, stop_eal);
}
