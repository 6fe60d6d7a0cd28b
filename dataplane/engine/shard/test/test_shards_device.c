/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that give packets to the owners of their shards: by hash, or by rules. */
#include "shards_world.h"

#include <rte_thash.h>

#include "sn_rss.h"

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

static void map_buckets(void *context, const uint8_t *workers)
{
	struct nic *nic = ((struct world *)context)->nic;

	memcpy(nic->map, workers, sizeof(nic->map));
}

static int open_nic_world(void **state)
{
	struct world *w;

	open_rss_world(state);
	w = *state;
	w->nic = calloc(1, sizeof(struct nic));
	w->map = map_buckets;
	return 0;
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
			uint32_t worker = sn_state_owner(sn_engine_state(w->engine), bucket_of(&p));

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
	struct sn_mailbox *mailbox = mailbox_of(w->engine, worker);
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
	const struct nic *nic = w->nic;
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
		let_pass(w->engine, 1000);
		if (!sn_shards_end(sn_engine_shards(w->engine), &blocked))
			continue;
		assert_int_equal(sn_shards_begin(sn_engine_shards(w->engine), shard_of(w, dice(n_flows)),
						 dice(WORKERS), &w->err),
				 0);
		moves += is_moving(w->engine);
	}
	while (!sn_shards_end(sn_engine_shards(w->engine), &blocked))
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
		assert_int_equal(nic->map[i], sn_state_owner(sn_engine_state(w->engine), i));
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
			/* The match of a rule: seven bits of the source's address, or of the destination
			 * port. */
			uint32_t shard = (turn % 2 ? p.dport : p.src >> 2) % SN_SHARDS;

			send_flow(w, sn_state_owner(sn_engine_state(w->engine), shard), i, turn % 2);
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
	assert_int_equal(sn_state_units(sn_engine_state(w->engine)), 4);
	for (uint32_t i = 0; i < 5000; i++)
		opened += opens(w, i);
	assert_int_equal(opened, 256);
	assert_int_equal(sum_sessions(w), 256);
	for (uint32_t i = 0; i < 5000; i++)
		if (w->flows[i].outside_port)
			send_flow(w, dice(WORKERS), i, true);
	let_pass(w->engine, 301 * SECOND);
	tick_all(w);
	assert_int_equal(sum_sessions(w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RSS_WORLD(a_device_that_hashes_needs_no_worker_to_hand_over),
		cmocka_unit_test_setup_teardown(a_device_that_is_told_of_moves_loses_and_reorders_nothing,
						open_nic_world, close_world),
		WITH_ADDRESS_WORLD(flow_rules_on_address_and_port_bits_need_no_worker_to_hand_over),
		WITH_RSS_WORLD(a_hashed_pool_is_used_up_to_the_last_port_that_leads_home),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
