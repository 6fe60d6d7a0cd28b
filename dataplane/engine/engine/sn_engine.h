/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ENGINE_H
#define SN_ENGINE_H

/*
 * The engine as a whole: state, workers, and the program that they run. All
 * functions are for the control thread; none waits for a lock, and the workers
 * know none.
 *
 * Programs change under quiescence: the new one is built beside the running one,
 * then published, and each worker takes it at its next burst boundary and says so.
 * Only when the tables of state change are the workers held meanwhile; packets
 * wait in the receive rings. The old program is freed when nobody runs it.
 */

#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "program.pb-c.h"
#include "sn_exchange.h"
#include "sn_flows.h"
#include "sn_ledger.h"
#include "sn_peers.h"
#include "sn_plan.h"
#include "sn_port.h"
#include "sn_state.h"
#include "sn_thread.h"

#define SN_IDLE_AUTO (-1)

struct sn_engine_config {
	struct sn_port *ports; /* started; outlive the engine */
	unsigned int n_ports;
	unsigned int n_workers;
	struct sn_partitioning partitioning; /* by RSS: the ports were started so */
	bool bare; /* all shards are away at first, and another engine is the front */
	struct rte_mempool *pool;
	int idle_sleep_us; /* SN_IDLE_AUTO: when all ports are the kernel's */
	/* No ports, no threads: interfaces are numbers, packets are injected and come out here. */
	bool harness;
	sn_tx_fn tx;
	sn_drop_fn drop;
	sn_evicted_fn evicted;
	void (*map)(void *context, const uint8_t *workers); /* the harness's device: by bucket; may be NULL */
	void *harness_context;
};

struct sn_engine {
	struct sn_engine_config config;
	struct sn_orders orders;
	bool running;		      /* threads follow the orders by themselves */
	uint64_t now_ns;	      /* the harness's clock */
	struct sn_exchange *exchange; /* NULL: one worker, and all shards are here */
	struct sn_state *state;
	struct sn_peers *peers;
	uint64_t links_seen_ns; /* see sn_link.h */
	bool front;		/* answers ARP for the chain's addresses, and announces them */
	struct sn_transfers *transfers;
	struct sn_move move; /* the last that was asked for */
	bool moving;	     /* it is under way … */
	uint64_t moving_ns;  /* … since; a turn's part is measured for itself */
	uint64_t blocked_ns;
	uint8_t mapped[SN_SHARDS]; /* the worker to whose queue devices that hash give a shard's packets */
	struct sn_ledger reasons;  /* drops under the reasons of programs that are gone */
	struct sn_ledger counters; /* of programs that are gone */
	struct sn_flows *flows;	   /* by port; NULL: there are no devices */
	uint64_t *misclassified;   /* by port: wrong marks that are settled */
	struct sn_thread threads[SN_WORKERS_MAX];
};

struct sn_engine_loaded {
	uint8_t hash[SN_HASH_LEN]; /* of the encoded program, if it came so */
	uint64_t build_ns;
	uint64_t swap_ns;
	uint64_t sessions_kept;
	uint64_t sessions_dropped;
};

/* The functions that can fail return NULL or -1, with a message in err. */

struct sn_engine *sn_engine_create(const struct sn_engine_config *config, char *err, size_t err_len);

/* Starts the workers, one per worker lcore. */
int sn_engine_start(struct sn_engine *engine, char *err, size_t err_len);

/* Returns when every worker has sent its last burst. */
void sn_engine_stop(struct sn_engine *engine);

void sn_engine_free(struct sn_engine *engine);

/* Replaces the program. On error the running one goes on, untouched. */
int sn_engine_load(struct sn_engine *engine, const Sinter__Program__V1__Program *program, const uint8_t *hash,
		   size_t hash_len, struct sn_engine_loaded *loaded, char *err, size_t err_len);

/* An encoded program. */
struct sn_engine_bytes {
	const uint8_t *data;
	size_t len;
	const uint8_t *hash; /* SHA-256 that the bytes must have (as program.Hash in Go); of length 0: any */
	size_t hash_len;
	struct sn_marks marks;	       /* that devices write for it */
	ProtobufCAllocator *allocator; /* for the time of the call; NULL: the heap */
};

/* The same for an encoded program, which is named by its hash. */
int sn_engine_load_bytes(struct sn_engine *engine, const struct sn_engine_bytes *bytes,
			 struct sn_engine_loaded *loaded, char *err, size_t err_len);

/* Moves the epoch on and waits until every worker follows it. */
void sn_engine_announce(struct sn_engine *engine, uint32_t step);

/* Holds all workers at a burst boundary: what is theirs may be read and changed until the release. Keep it
 * short. */
void sn_engine_hold(struct sn_engine *engine);
void sn_engine_release(struct sn_engine *engine);

/* While the workers are held: the engine is the front, or silent. Who becomes the front announces the
 * addresses; who was it before, if it is to do so again. */
void sn_engine_front(struct sn_engine *engine, bool front, bool again);

/* The workers' clock. */
uint64_t sn_engine_now(const struct sn_engine *engine);

#endif /* SN_ENGINE_H */
