/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_output.h"

#include "sn_past.h"
#include "sn_spot.h"
#include "sn_trace_mark.h"
#include "sn_wires.h"

void sn_output_count_drop(struct sn_env *env, const struct rte_mbuf *m, uint32_t source, uint32_t bytes,
			  uint32_t reason)
{
	if (reason < SN_REASON_BUILTIN)
		sn_count_add(&env->stats.drops[reason], bytes);
	else
		sn_count_add(&env->counts->reasons[reason - SN_REASON_CHAIN], bytes);
	if (env->hooks.drop)
		env->hooks.drop(env->hooks.ctx, m, source, reason);
	if (unlikely(env->trace))
		sn_trace_drop(env->trace, m, reason);
}

struct rte_mbuf *sn_output_copy(struct sn_env *env, struct rte_mbuf *m, uint32_t frame_len)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, env->pool, 0, UINT32_MAX);

	if (!copy || (copy->nb_segs > 1 && rte_pktmbuf_linearize(copy))) {
		rte_pktmbuf_free(copy);
		sn_output_count_drop(env, NULL, sn_source(m), frame_len, SN_REASON_NO_MEMORY);
		return NULL;
	}
	sn_source_set(copy, sn_source(m));
	return copy;
}

void sn_output_bury(struct sn_env *env)
{
	rte_pktmbuf_free_bulk(env->sending.dead, env->sending.n_dead);
	env->sending.n_dead = 0;
}

/* Takes frames that go past functions out of those that would be sent by a wire. How many are left, in their
 * order. */
static uint32_t take_past(struct sn_env *env, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_stop *s = sn_past_stop(env, frames[i]);

		if (!s)
			frames[left++] = frames[i];
		else if (!sn_past_put(env, frames[i], s))
			sn_output_drop(env, frames[i], SN_REASON_TX_FULL);
	}
	return left;
}

/* Frames that are about to be sent by a wire, of which some are not sent: how many are left, in their order.
 */
static __rte_noinline uint32_t look_through(struct sn_env *env, uint16_t iface, struct rte_mbuf **frames,
					    uint32_t n)
{
	if (env->past_wires >> iface & 1)
		n = take_past(env, frames, n);
	if (n > 0 && env->spotted >> iface & 1)
		sn_spot_send(env, iface, frames, n);
	return n;
}

/* A frame that the port does not take. A probe is no packet of the chain: that it is lost is what it is for.
 */
static void not_sent(struct sn_env *env, uint16_t iface, struct rte_mbuf *m)
{
	const struct sn_interface *to = env->program ? &env->program->interfaces[iface] : NULL;

	if (to && to->wire) {
		if (sn_load16(rte_pktmbuf_mtod_offset(m, const uint8_t *, 12)) == SN_PROBE_TYPE) {
			sn_wires_unsent(env, m);
			rte_pktmbuf_free(m);
			return;
		}
		sn_spot_forget(env, iface, m);
	}
	sn_output_drop(env, m, to ? to->full : SN_REASON_TX_FULL);
}

static void flush(struct sn_env *env, uint16_t iface)
{
	struct sn_tx_buffer *b = &env->sending.out[iface];
	struct sn_count *tx = &env->stats.ports[iface].tx;
	uint64_t bytes = 0;
	uint32_t n = b->n;
	uint16_t sent;

	b->n = 0;
	env->sending.pending &= ~(1ull << iface);
	if (unlikely((env->past_wires | env->spotted) >> iface & 1)) {
		n = look_through(env, iface, b->pkts, n);
		if (n == 0)
			return;
	}
	for (uint32_t i = 0; i < n; i++)
		bytes += b->pkts[i]->pkt_len; /* what is sent is no longer ours */
	sent = env->sending.tx(env->sending.ctx, iface, b->pkts, n);
	tx->packets += sent;
	for (uint32_t i = sent; i < n; i++) {
		bytes -= b->pkts[i]->pkt_len;
		not_sent(env, iface, b->pkts[i]);
	}
	tx->bytes += bytes;
}

/* A frame that is queued while a trace is on. One that goes past a function is not sent. */
static __rte_noinline void trace_queued(struct sn_env *env, uint16_t iface, struct rte_mbuf *m)
{
	bool past = env->past_wires >> iface & 1;

	if (env->program && env->program->interfaces[iface].wire) {
		uint64_t mark = sn_trace_leaves(env->trace);

		if (mark && past)
			sn_trace_mark_set(m, mark);
		else if (mark)
			sn_spot_follow(env, iface, m, mark);
	}
	if (!past)
		sn_trace_sent(env->trace, iface, m);
}

void sn_output_queued(struct sn_env *env, uint16_t iface)
{
	struct sn_tx_buffer *b = &env->sending.out[iface];

	if (unlikely(env->trace != NULL))
		trace_queued(env, iface, b->pkts[b->n - 1]);
	if (b->n == SN_BURST_MAX)
		flush(env, iface);
}

void sn_output_flush(struct sn_env *env)
{
	while (env->sending.pending)
		flush(env, (uint16_t)__builtin_ctzll(env->sending.pending));
	if (env->sending.n_dead)
		sn_output_bury(env);
}

void sn_output_free(struct sn_env *env)
{
	rte_pktmbuf_free_bulk(env->sending.dead, env->sending.n_dead);
	for (uint32_t i = 0; i < SN_IFACES_MAX; i++)
		rte_pktmbuf_free_bulk(env->sending.out[i].pkts, env->sending.out[i].n);
}
