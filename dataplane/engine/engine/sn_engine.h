/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ENGINE_H
#define SN_ENGINE_H

/*
 * The engine as a whole: it makes the parts and puts one program in the place of another. What one can ask of
 * a part is in the part's header, and only its own file sees what it holds. All functions are for the control
 * thread; none waits for a lock, and the workers know none.
 *
 * Programs change under quiescence: the new one is built beside the running one,
 * then published, and each worker takes it at its next burst boundary and says so.
 * Only when the tables of state change are the workers held meanwhile; packets
 * wait in the receive rings. The old program is freed when nobody runs it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "control.pb-c.h"
#include "program.pb-c.h"
#include "sn_error.h"
#include "sn_plan.h"
#include "sn_port.h"
#include "sn_shards.h"
#include "sn_state.h"
#include "sn_worker.h"

#define SN_IDLE_AUTO (-1)

struct sn_engine_config {
	struct sn_ports ports; /* started; outlive the engine */
	unsigned int n_workers;
	struct sn_partitioning partitioning; /* by RSS: the ports were started so */
	bool bare; /* all shards are away at first, and another engine is the front */
	struct rte_mempool *pool;
	int idle_sleep_us;	/* SN_IDLE_AUTO: when all ports are the kernel's */
	uint32_t cache_entries; /* of each worker's decision cache: a power of two; 0: as many as usual */
	/* No ports, no threads: interfaces are numbers, packets are injected and come out here. */
	bool harness;
	sn_tx_fn tx;
	sn_drop_fn drop;
	sn_events_fn tell;
	void (*map)(void *context, const uint8_t *workers); /* the harness's device: by bucket; may be NULL */
	void *harness_context;
};

struct sn_engine;

struct sn_engine_loaded {
	uint8_t hash[SN_HASH_LEN]; /* of the encoded program, if it came so */
	uint64_t build_ns;
	uint64_t swap_ns;
	uint64_t sessions_kept;
	uint64_t sessions_dropped;
};

/* The functions that can fail return NULL or -1, with a message in err. */

struct sn_engine *sn_engine_create(const struct sn_engine_config *config, struct sn_error *err);

/* Starts the workers, one per worker lcore. */
int sn_engine_start(struct sn_engine *engine, struct sn_error *err);

/* Returns when every worker has sent its last burst. */
void sn_engine_stop(struct sn_engine *engine);

void sn_engine_free(struct sn_engine *engine);

/* Replaces the program. On error the running one goes on, untouched. */
int sn_engine_load(struct sn_engine *engine, const Sinter__Program__V1__Program *program, const uint8_t *hash,
		   size_t hash_len, struct sn_engine_loaded *loaded, struct sn_error *err);

/* An encoded program. */
struct sn_engine_bytes {
	const uint8_t *data;
	size_t len;
	const uint8_t *hash; /* SHA-256 that the bytes must have (as program.Hash in Go); of length 0: any */
	size_t hash_len;
	struct sn_marks marks; /* that devices write for it */
	/* Changes that turn FIBs of the running program into those that it names. */
	Sinter__Control__V1__FibChange *const *fibs;
	size_t n_fibs;
	ProtobufCAllocator *allocator; /* for the time of the call; NULL: the heap */
};

/* The same for an encoded program, which is named by its hash. */
int sn_engine_load_bytes(struct sn_engine *engine, const struct sn_engine_bytes *bytes,
			 struct sn_engine_loaded *loaded, struct sn_error *err);

/* The health of backends, in place of what was said before: for this program, and those to come. */
int sn_engine_set_backends(struct sn_engine *engine, const Sinter__Program__V1__SetBackends *said,
			   bool *changed, struct sn_error *err);

/*
 * Partitions flows in another way, see sn_shards_partition(). gone: a port does not start any more; after any
 * other error nothing was changed.
 */
int sn_engine_partition(struct sn_engine *engine, struct sn_partitioning partitioning, struct sn_error *why,
			bool *gone, struct sn_error *err);

/* ---- the parts, which live as long as the engine ---- */

struct sn_link;
struct sn_offload;
struct sn_peering;
struct sn_threads;
struct sn_tracing;
struct sn_transfers;

bool sn_engine_is_harness(const struct sn_engine *engine);
const struct sn_ports *sn_engine_ports(const struct sn_engine *engine);
const struct sn_totals *sn_engine_totals(const struct sn_engine *engine);
struct sn_state *sn_engine_state(const struct sn_engine *engine);
struct sn_threads *sn_engine_threads(const struct sn_engine *engine);
struct sn_shards *sn_engine_shards(const struct sn_engine *engine);
struct sn_peering *sn_engine_peering(const struct sn_engine *engine);
struct sn_transfers *sn_engine_transfers(const struct sn_engine *engine);
struct sn_offload *sn_engine_offload(const struct sn_engine *engine);
struct sn_link *sn_engine_link(const struct sn_engine *engine);
struct sn_tracing *sn_engine_tracing(const struct sn_engine *engine);

#endif /* SN_ENGINE_H */
