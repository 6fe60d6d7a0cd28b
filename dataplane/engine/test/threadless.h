/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_THREADLESS_H
#define SN_TEST_THREADLESS_H

/* Engines without threads and ports: which worker receives, and when it looks at what others handed over, is
 * the test's matter. */

#include "fixture.h"

#include <rte_mempool.h>

#include "sn_engine.h"

/* The buffers of all packets. */
extern struct rte_mempool *buffers;

int start_threadless(void **state);

/* A packet of source 0. */
struct rte_mbuf *buffer(const uint8_t *frame, uint32_t len);

/* As the configuration says, with the pool of buffers. */
struct sn_engine *create_threadless(struct sn_engine_config config);
void load_threadless(struct sn_engine *engine, const Sinter__Program__V1__Program *msg, const uint8_t *hash,
		     size_t hash_len);

/* Each of so many workers does what is due, as it does between bursts. */
void tick_workers(struct sn_engine *engine, uint32_t n);

uint64_t sessions_of_engine(const struct sn_engine *engine);

#endif /* SN_TEST_THREADLESS_H */
