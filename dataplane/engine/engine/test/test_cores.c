/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine with two workers on lcores of their own, between ports that are rings: each port has a receive
 * queue per worker, and what both workers send by a port comes out of one ring, in the order in which they
 * sent it. Which worker receives a packet is a matter of chance, or that of a device whose rules follow the
 * shards: a stand-in, see stand_in.h.
 */
#include "fixture.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_mempool.h>

#include "numbered_flow.h"
#include "ring_port.h"
#include "sn_log.h"
#include "sn_parse.h"
#include "sn_shards.h"
#include "stand_in.h"

#define WORKERS		 2
#define FLOWS		 4096
#define MOVES		 10000
#define MOVES_WATCHED	 2000
#define MOVES_ON_ONE_CPU 300 /* the workers take turns there, milliseconds each */
#define BUFFERS		 8191
#define RING		 2048
#define ON_THE_WAY	 1000 /* packets in the engine at most: no ring overflows when a worker loses its CPU */
#define BURST		 64
#define SHORT_BURST	 4
#define DEADLINE_S	 300
#define TURNS		 500
#define HOSTS		 128 /* of flows whose shard is their host's */

struct cores {
	struct rte_mempool *pool;
	struct ring_port rings[2]; /* of the inside port, of the outside port */
	struct sn_port ports[2];
	struct sn_engine *engine;
	bool steered; /* by the devices' rules */
	struct sn_arena arena;
	struct flow flows[FLOWS];
	uint64_t sent, seen;
	uint64_t blocked[MOVES]; /* ns, of all moves */
	uint64_t alone[MOVES];	 /* ns, of those during which no worker lost its CPU to another program */
	FILE *status[WORKERS];	 /* of their threads */
	struct sn_error err;
};

static uint32_t n_moves = IS_WATCHED ? MOVES_WATCHED : MOVES;

/* Workers on CPUs of their own, if there are two; this thread goes where there is time. */
static int start(void **state)
{
	char lcores[64];
	char *args[] = {(char *)"test",
			(char *)"--no-huge",
			(char *)"--no-shconf",
			(char *)"--no-pci",
			(char *)"--no-telemetry",
			(char *)"-m",
			(char *)"256",
			(char *)"--lcores",
			lcores,
			(char *)"--log-level=*:error"};
	int cpus[WORKERS] = {0}, n = 0;
	cpu_set_t set;

	(void)state;
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < WORKERS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	if (n == 1) {
		cpus[1] = cpus[0];
		n_moves = MOVES_ON_ONE_CPU;
	}
	snprintf(lcores, sizeof(lcores), "0@(%d,%d),1@%d,2@%d", cpus[0], cpus[1], cpus[0], cpus[1]);
	sn_log_limit(SN_LOG_WARN);
	return rte_eal_init(10, args) < 0 || sn_source_register() ? -1 : 0;
}

static int open_engine(void **state, struct sn_partitioning partitioning)
{
	static unsigned int opened; /* names of pools and ports are not used twice */
	static const char *const interfaces[2] = {"inside", "outside"};
	struct cores *c = calloc(1, sizeof(*c));
	struct sn_engine_config config = {.ports = {.n = 2}, .n_workers = WORKERS, .idle_sleep_us = 0};
	struct sn_engine_loaded loaded;
	Sinter__Program__V1__Program *msg;
	uint8_t macs[2][6] = {{0x02, 0x73, 0x6e, 0, 0, 0}, {0x02, 0x73, 0x6e, 0, 0, 1}};
	char name[32];

	*state = c;
	stand_in_reset(WORKERS);
	c->steered = partitioning.by == SN_PARTITION_BY_ADDRESS;
	config.partitioning = partitioning;
	snprintf(name, sizeof(name), "cores%u", opened);
	c->pool = rte_pktmbuf_pool_create(name, BUFFERS, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(c->pool);
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%u", interfaces[i], opened);
		ring_port_open(&c->rings[i], &c->ports[i], interfaces[i], name, RING, c->pool);
	}
	opened++;
	sn_arena_init(&c->arena);
	msg = sn_sample_napt(&c->arena);
	sn_sample_hosts(&c->arena, msg, HOSTS);
	for (unsigned int i = 0; i < 2; i++) {
		msg->interfaces[i]->mac.data = macs[i];
		msg->interfaces[i]->mac.len = sizeof(macs[i]);
	}
	config.ports.all = c->ports;
	config.pool = c->pool;
	c->engine = sn_engine_create(&config, &c->err);
	if (!c->engine || sn_engine_load(c->engine, msg, NULL, 0, &loaded, &c->err) != 0 ||
	    sn_engine_start(c->engine, &c->err) != 0)
		fail_msg("%s", c->err.text);
	return 0;
}

static int open_cores(void **state)
{
	return open_engine(state, (struct sn_partitioning){0});
}

static int open_steered_cores(void **state)
{
	return open_engine(state, (struct sn_partitioning){.by = SN_PARTITION_BY_ADDRESS});
}

static int close_cores(void **state)
{
	struct cores *c = *state;

	sn_engine_stop(c->engine);
	for (unsigned int i = 0; i < 2; i++)
		sn_port_close(&c->ports[i]);
	sn_engine_free(c->engine);
	for (unsigned int i = 0; i < 2; i++)
		ring_port_free(&c->rings[i]);
	assert_int_equal(rte_mempool_in_use_count(c->pool), 0);
	sn_arena_free(&c->arena);
	free(c);
	return 0;
}

/* With rules for hosts, flows are of several. */
static uint32_t host_of(const struct cores *c, uint32_t flow)
{
	return SN_SAMPLE_HOST + (c->steered ? flow % HOSTS : 0);
}

static uint32_t queue_of(const struct cores *c, uint32_t index, bool back, const uint8_t *frame, uint32_t len)
{
	uint32_t mark;

	if (!c->steered)
		return (index * 7 + back * 3) / 5 % WORKERS;
	return (uint32_t)stand_in_receive(c->ports[back].id, frame, len, &mark);
}

/* A packet of a flow, by the queue that the device chooses for its direction. */
static void send_flow(struct cores *c, uint32_t index, bool back)
{
	struct flow *f = &c->flows[index];
	struct packet p = back ? flow_back(f, index) : flow_out(index);
	struct rte_mbuf *m;
	uint32_t queue;

	if (!back)
		p.src = host_of(c, index);
	m = number_packet(f, index, back, p, c->pool);
	queue = queue_of(c, index, back, rte_pktmbuf_mtod(m, const uint8_t *), m->pkt_len);
	assert_int_equal(rte_ring_enqueue(c->rings[back].rx[queue], m), 0);
	c->sent++;
}

static void see(struct cores *c, const uint8_t *frame, bool back)
{
	uint32_t index = flow_of(frame);

	assert_true(index < FLOWS);
	see_packet(&c->flows[index], frame, back, false);
	c->seen++;
}

static void collect(struct cores *c)
{
	void *pkts[BURST];
	unsigned int n;

	for (unsigned int port = 0; port < 2; port++) {
		while ((n = rte_ring_dequeue_burst(c->rings[port].tx, pkts, BURST, NULL)) > 0) {
			for (unsigned int i = 0; i < n; i++) {
				see(c, rte_pktmbuf_mtod((struct rte_mbuf *)pkts[i], const uint8_t *),
				    port == 0);
				rte_pktmbuf_free(pkts[i]);
			}
		}
	}
}

/* Leaves a CPU to the worker that shares it. */
static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static void collect_all(struct cores *c)
{
	time_t deadline = time(NULL) + DEADLINE_S;

	while (c->seen < c->sent) {
		if (time(NULL) > deadline)
			fail_msg("%lu of %lu packets came", (unsigned long)c->seen, (unsigned long)c->sent);
		nap();
		collect(c);
	}
}

static void find_workers(struct cores *c)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *task;

	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL) {
		char path[512], name[32] = "";
		FILE *comm;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		comm = fopen(path, "r");
		if (comm == NULL)
			continue;
		if (fscanf(comm, "%31s", name) == 1 && strncmp(name, "rte-worker-", 11) == 0 && n < WORKERS) {
			snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
			c->status[n++] = fopen(path, "r");
		}
		fclose(comm);
	}
	closedir(tasks);
	assert_int_equal(n, WORKERS);
}

/* How often the workers have lost their CPUs to others. */
static uint64_t losses(struct cores *c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < WORKERS; i++) {
		char line[256];
		unsigned long n;

		rewind(c->status[i]);
		fflush(c->status[i]);
		while (fgets(line, sizeof(line), c->status[i]) != NULL)
			if (sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
				sum += n;
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_blocked(const char *which, uint64_t *blocked, uint32_t n)
{
	if (n == 0)
		return;
	qsort(blocked, n, sizeof(*blocked), compare);
	print_message("%s (%u): a shard's packets waited at most %.1f us (median), %.1f us (99 %%), %.1f us "
		      "(worst)\n",
		      which, n, (double)blocked[n / 2] / 1e3, (double)blocked[n * 99 / 100] / 1e3,
		      (double)blocked[n - 1] / 1e3);
}

static uint64_t drops(const struct cores *c)
{
	uint64_t sum = 0;

	for (unsigned int w = 0; w < WORKERS; w++)
		for (uint32_t r = 0; r < SN_REASON_BUILTIN; r++)
			sum += sn_worker_stats(worker_of(c->engine, w))->drops[r].packets;
	return sum;
}

static void shards_move_between_cores_under_load(void **state)
{
	struct cores *c = *state;
	struct sn_state_stats stats;
	uint32_t moves = 0, alone = 0;
	uint64_t lost = 0;

	find_workers(c);
	for (uint32_t i = 0; i < FLOWS; i++) {
		send_flow(c, i, false);
		if (i % BURST == BURST - 1)
			collect_all(c);
	}
	assert_true(sn_shards_end(sn_engine_shards(c->engine), &c->blocked[0]));
	while (moves < n_moves) {
		for (uint32_t i = 0; i < BURST && c->sent - c->seen < ON_THE_WAY; i++)
			send_flow(c, dice(FLOWS), dice(2));
		if (!is_moving(c->engine))
			lost = losses(c);
		if (!is_moving(c->engine) && sn_shards_begin(sn_engine_shards(c->engine), dice(SN_SHARDS),
							     dice(WORKERS), &c->err) != 0)
			fail_msg("%s", c->err.text);
		nap();
		collect(c);
		if (!is_moving(c->engine) || !sn_shards_end(sn_engine_shards(c->engine), &c->blocked[moves]))
			continue;
		if (losses(c) - lost <= 1) /* to this thread, when it woke up */
			c->alone[alone++] = c->blocked[moves];
		moves++;
	}
	collect_all(c);
	assert_int_equal(drops(c), 0);
	sn_state_stats(sn_engine_state(c->engine), 0, &stats);
	assert_int_equal(stats.sessions, FLOWS);
	print_message("%u moves under load, %lu packets\n", moves, (unsigned long)c->seen);
	print_blocked("all moves", c->blocked, moves);
	print_blocked("moves during which the workers kept their CPUs", c->alone, alone);
	/* The rest is the machine's: its pauses are not seen as losses of a CPU. */
	if (alone > n_moves / 100)
		assert_in_range(c->alone[alone / 2], 1, 200000);
	if (alone > n_moves / 10 * 9) /* nobody else uses it */
		assert_in_range(c->alone[alone * 99 / 100], 1, 200000);
	for (unsigned int i = 0; i < WORKERS; i++)
		fclose(c->status[i]);
}

/* The devices give a shard's packets to a worker's queue. */
static void steer(struct cores *c, uint32_t shard, uint16_t worker)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct sn_steer_rule rule = {.action = SN_STEER_QUEUE, .queue = worker};
		struct sn_flows *flows = sn_offload_flows(sn_engine_offload(c->engine), &c->ports[i]);
		struct sn_flow_rule *before = sn_flows_find(flows, shard);
		const struct sn_cond cond = {.value = shard, .mask = SN_SHARDS - 1};

		if (i == 0) {
			rule.match.conds[SN_SRC] = cond;
		} else {
			rule.match.conds[SN_PROTO] = sn_cond_is(SN_PROTO, SN_UDP);
			rule.match.conds[SN_DPORT] = cond;
		}
		if ((before != NULL && sn_flows_destroy(flows, before, &c->err) != 0) ||
		    sn_flows_create(flows, shard, &rule, &c->err) != 0)
			fail_msg("%s", c->err.text);
	}
}

struct turning {
	struct cores *c;
	uint32_t shard;
};

/* A shard's flows, in both directions. */
static void send_shard(struct cores *c, uint32_t shard)
{
	uint32_t first = (shard - SN_SAMPLE_HOST) % HOSTS;

	for (uint32_t i = first; i < FLOWS; i += HOSTS)
		send_flow(c, i, dice(2));
}

/* Packets that the rule sends to the new queue at once would overtake those in the old one. */
static void turn(void *context)
{
	struct turning *t = context;

	send_shard(t->c, t->shard);
	steer(t->c, t->shard, (uint16_t)sn_state_owner(sn_engine_state(t->c->engine), t->shard));
	send_shard(t->c, t->shard);
}

static uint64_t handed(const struct cores *c)
{
	uint64_t sum = 0;

	for (unsigned int w = 0; w < WORKERS; w++)
		sum += sn_worker_stats(worker_of(c->engine, w))->handed;
	return sum;
}

static _Atomic(eth_rx_burst_t) whole_burst; /* stored before a worker can come to short_burst() */

/* As drivers do that end a burst where a cache line of descriptors does. */
static uint16_t short_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	return whole_burst(queue, pkts, RTE_MIN(n, (uint16_t)SHORT_BURST));
}

static void cut_bursts(const struct cores *c)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[c->ports[i].id];

		whole_burst = ops->rx_pkt_burst;
		ops->rx_pkt_burst = short_burst;
	}
}

static void rules_follow_shards_under_load(void **state)
{
	struct cores *c = *state;
	uint64_t blocked, before;

	cut_bursts(c);
	/* Each search goes through the room for rules. */
	stand_in[c->ports[0].id].rules = stand_in[c->ports[1].id].rules = SN_SHARDS + 1;
	for (uint32_t shard = 0; shard < SN_SHARDS; shard++)
		steer(c, shard, (uint16_t)sn_state_owner(sn_engine_state(c->engine), shard));
	for (uint32_t i = 0; i < FLOWS; i++) {
		send_flow(c, i, false);
		if (i % BURST == BURST - 1)
			collect_all(c);
	}
	for (uint32_t i = 0; i < TURNS; i++) {
		struct turning t = {.c = c, .shard = dice(SN_SHARDS)};
		uint32_t from = sn_state_owner(sn_engine_state(c->engine), t.shard);

		for (uint32_t j = 0; j < BURST; j++)
			send_flow(c, dice(FLOWS), dice(2));
		if (sn_shards_move(sn_engine_shards(c->engine), t.shard, 1 - from, &blocked, &c->err) != 0 ||
		    sn_shards_turn(sn_engine_shards(c->engine), t.shard, from, turn, &t, &c->blocked[i],
				   &c->err) != 0)
			fail_msg("%s", c->err.text);
		while (c->sent - c->seen > ON_THE_WAY / 2) {
			nap();
			collect(c);
		}
	}
	collect_all(c);
	assert_int_equal(drops(c), 0);
	before = handed(c);
	for (uint32_t i = 0; i < FLOWS; i++) {
		send_flow(c, i, i % 2);
		if (i % BURST == BURST - 1)
			collect_all(c);
	}
	assert_int_equal(handed(c), before);
	print_blocked("shards that changed their queue", c->blocked, TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shards_move_between_cores_under_load, open_cores,
						close_cores),
		cmocka_unit_test_setup_teardown(rules_follow_shards_under_load, open_steered_cores,
						close_cores),
	};

	return cmocka_run_group_tests(tests, start, stop_eal);
}
