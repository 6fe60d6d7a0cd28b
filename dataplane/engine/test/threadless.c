/* SPDX-License-Identifier: Apache-2.0 */
#include "threadless.h"

#include "sn_log.h"

struct rte_mempool *buffers;

int start_threadless(void **state)
{
	sn_log_limit(SN_LOG_ERROR);
	if (start_eal(state) || sn_source_register())
		return -1;
	buffers = rte_pktmbuf_pool_create("threadless", 32767, 0, 0, 1024, SOCKET_ID_ANY);
	return buffers ? 0 : -1;
}

struct rte_mbuf *buffer(const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(buffers);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	sn_source_set(m, 0);
	return m;
}

struct sn_engine *create_threadless(struct sn_engine_config config)
{
	struct sn_engine *engine;
	struct sn_error err;

	config.pool = buffers;
	config.harness = true;
	engine = sn_engine_create(&config, &err);
	if (!engine)
		fail_msg("%s", err.text);
	return engine;
}

void load_threadless(struct sn_engine *engine, const Sinter__Program__V1__Program *msg, const uint8_t *hash,
		     size_t hash_len)
{
	struct sn_engine_loaded loaded;
	struct sn_error err;

	if (sn_engine_load(engine, msg, hash, hash_len, &loaded, &err) != 0)
		fail_msg("%s", err.text);
}

void tick_workers(struct sn_engine *engine, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sn_worker_tick(worker_of(engine, i), now_of(engine));
}

uint64_t sessions_of_engine(const struct sn_engine *engine)
{
	struct sn_state_stats stats;

	sn_state_stats(sn_engine_state(engine), 0, &stats);
	return stats.sessions;
}
