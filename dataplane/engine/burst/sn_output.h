/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OUTPUT_H
#define SN_OUTPUT_H

/* Where packets of a worker end: they are sent, or dropped and counted. */

#include "sn_env.h"

/* A packet without a buffer is dropped: the reason is counted, the hook told. */
void sn_output_count_drop(struct sn_env *env, const struct rte_mbuf *m, uint32_t source, uint32_t bytes,
			  uint32_t reason);

/* A copy of a packet, in one segment, for a leg of its own; NULL: there is no memory, which is counted. */
struct rte_mbuf *sn_output_copy(struct sn_env *env, struct rte_mbuf *m, uint32_t frame_len);

/* Gives the buffers of what was dropped back. */
void sn_output_bury(struct sn_env *env);

/* The one place where packets die: the same, and the buffer is given back after the burst. */
static inline void sn_output_drop(struct sn_env *env, struct rte_mbuf *m, uint32_t reason)
{
	/* The source lies in a line of the buffer that is not in the cache. */
	sn_output_count_drop(env, m, env->hooks.drop ? sn_source(m) : SN_SOURCE_NONE, m->pkt_len, reason);
	env->sending.dead[env->sending.n_dead++] = m;
	if (env->sending.n_dead == SN_BURST_MAX)
		sn_output_bury(env);
}

/* Send what is queued, and give dead buffers back. */
void sn_output_flush(struct sn_env *env);

/* A frame was queued that is traced, or that fills its buffer. */
void sn_output_queued(struct sn_env *env, uint16_t iface);

/* Queue a complete frame. */
static inline void sn_output_send(struct sn_env *env, uint16_t iface, struct rte_mbuf *m)
{
	struct sn_tx_buffer *b = &env->sending.out[iface];

	b->pkts[b->n++] = m;
	env->sending.pending |= 1ull << iface;
	if (unlikely(b->n >= env->sending.wake))
		sn_output_queued(env, iface);
}

/* The buffers that it holds are given back. */
void sn_output_free(struct sn_env *env);

#endif /* SN_OUTPUT_H */
