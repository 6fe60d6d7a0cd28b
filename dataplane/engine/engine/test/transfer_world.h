/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_TRANSFER_WORLD_H
#define SN_TEST_TRANSFER_WORLD_H

/* Two engines without threads that share a chain's state, and the networks between them: which packet goes
 * when, and how far a transfer is, is the test's matter. */

#include "numbered_flow.h"
#include "sn_error.h"
#include "threadless.h"

#include "sn_shards.h"
#include "sn_transfer.h"

#define FLOWS 2000
#define WIRE  8192
#define CHUNK 16 /* sessions */

struct world;

struct side {
	struct world *world;
	struct sn_engine *engine;
	uint8_t number;
	/* Frames for it on the network, in their order. */
	struct {
		struct rte_mbuf *m;
		uint16_t iface;
	} wire[WIRE];
	uint32_t head, tail;
	uint32_t announced; /* addresses */
	uint64_t drops[SN_REASON_BUILTIN];
};

struct world {
	struct sn_arena arena;
	Sinter__Program__V1__Program *msg;
	struct side sides[2];
	uint32_t n_workers;
	struct sn_partitioning partitioning;
	uint64_t n_sent, n_seen;
	struct sn_error err;
	struct flow flows[FLOWS];
};

extern const uint8_t program_hash[4]; /* of the program that both run at first */

int open_world(void **state);
int open_rss_world(void **state);
int close_world(void **state);

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
#define WITH_RSS_WORLD(test)                                            \
	{                                                               \
#test " (RSS)", test, open_rss_world, close_world, NULL \
	}

/* All shards are the first's. */
void open_sides(struct world *w, uint32_t n_workers);
void open_side(struct world *w, uint8_t number, bool bare);
void load_hashed(struct side *side, const uint8_t *hash, size_t len);
/* The agents' news: the other's name and addresses, if there is another; and who is the front. The other
 * has the shards that it had before; if it owns them, all. */
int introduce_with(struct side *side, const char *interface, size_t n_peers, bool front);
void introduce(struct side *side, bool owns);

/* A packet that the network brings to a side. */
void send_to(struct world *w, uint8_t side, uint32_t index, bool back);
/* One of each flow, to either side in turn, and all that comes of it. */
void send_all(struct world *w, uint32_t n, bool back);
void poll_side(struct side *side);
/* The next frame that the network has for a side; a device gives a flow's packets to one queue. */
void deliver(struct side *side);
void settle(struct world *w);

uint64_t dropped(const struct world *w, uint32_t reason);
/* All that was sent came out but for what was lost as not-here. Returns how much that was. */
uint64_t assert_counted(const struct world *w);
void assert_nothing_lost(const struct world *w);

uint64_t sessions_of(const struct side *side);
enum sn_shard_place place(const struct side *side, uint32_t shard);
/* A shard that both could be asked for is a fault; what no one has is on its way. */
void assert_one_has_each(const struct world *w);
/* Entries that may still be made and entries that exist add up to the limit. */
void assert_quotas(const struct side *side);
uint32_t shard_of(const struct world *w, uint32_t index);

/* A transfer as an agent drives it, step by step. */
struct journey {
	struct world *w;
	struct side *from, *to;
	uint8_t id[SN_TRANSFER_ID];
	uint32_t units[SN_SHARDS];
	struct sn_transfer_order order;
	uint64_t cursor, sequence, count, blocked;
	uint8_t chunk[CHUNK * SN_CARRY_BYTES];
	size_t n; /* sessions in it */
	bool read, sealed, taken, over;
	struct sn_taken last;
};

#define OK(call)                                        \
	do {                                            \
		if ((call) != 0)                        \
			fail_msg("%s", j->w->err.text); \
	} while (0)
#define ERR &j->w->err

struct journey journey(struct world *w, uint8_t from, uint32_t first, uint32_t n);
const struct sn_transfer_order *order_of(struct journey *j);
int take_begin(struct journey *j);
void begin(struct journey *j);
void read_chunk(struct journey *j);
int put_chunk(struct journey *j);
void carry(struct journey *j);
void carry_all(struct journey *j);
void seal(struct journey *j);
void take_commit(struct journey *j);
void give_commit(struct journey *j);
void give_abort(struct journey *j);
/* All its steps. */
void transfer(struct world *w, uint8_t from, uint32_t first, uint32_t n);

#endif /* SN_TEST_TRANSFER_WORLD_H */
