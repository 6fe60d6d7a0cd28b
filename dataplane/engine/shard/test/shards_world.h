/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_SHARDS_WORLD_H
#define SN_TEST_SHARDS_WORLD_H

/* Several workers without threads: which one receives, which one is polled and when is the test's matter. */

#include "numbered_flow.h"
#include "sn_error.h"
#include "threadless.h"

#include "sn_shards.h"

#define WORKERS	  3
#define FLOWS_MAX (1u << 20)

struct world {
	struct sn_arena arena;
	struct sn_engine *engine;
	/* A device that hashes, and how it is told which worker has which bucket; NULL: the test says who
	 * receives. */
	void *nic;
	void (*map)(void *world, const uint8_t *workers);
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
	struct sn_error err;
	struct flow *flows;
};

/* With the sample NAPT in w->msg and no engine yet. */
int open_world(void **state);
int open_rss_world(void **state);
int open_address_world(void **state);
int close_world(void **state);

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
#define WITH_RSS_WORLD(test)                                            \
	{                                                               \
#test " (RSS)", test, open_rss_world, close_world, NULL \
	}
#define WITH_ADDRESS_WORLD(test) cmocka_unit_test_setup_teardown(test, open_address_world, close_world)

void open_workers(struct world *w, uint32_t n);
void load_message(struct world *w);

struct packet out_packet(const struct world *w, uint32_t index);
struct packet back_packet(const struct world *w, uint32_t index);
/* The next packet of a flow, in a direction in which it can go. */
struct rte_mbuf *next_packet(struct world *w, uint32_t index, bool back);

void receive(struct world *w, uint32_t worker, uint16_t iface, struct rte_mbuf **pkts, uint16_t n);
uint32_t poll_worker(struct world *w, uint32_t worker);
/* Until nobody has handed anything over any more. */
void settle(struct world *w);
/* A packet received by a worker, and all that comes of it. */
void send_flow(struct world *w, uint32_t worker, uint32_t index, bool back);
/* Try a new flow at its owner. */
bool opens(struct world *w, uint32_t index);
void tick_all(struct world *w);

void move(struct world *w, uint32_t unit, uint32_t worker);

/* The shard of a flow whose binding is known. */
uint32_t shard_of(const struct world *w, uint32_t index);
uint32_t owner_of(const struct world *w, uint32_t flow);
/* A flow whose owner is the worker. */
uint32_t flow_of_worker(struct world *w, uint32_t worker, uint32_t from);

uint64_t sum_sessions(const struct world *w);
struct sn_worker_stats *stats_of(const struct world *w, uint32_t worker);
void all_packets_came(struct world *w, uint32_t n_flows);

#endif /* SN_TEST_SHARDS_WORLD_H */
