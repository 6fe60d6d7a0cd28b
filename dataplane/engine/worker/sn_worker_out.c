/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets of a worker end: they are sent, or dropped and counted. */

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

#include "sn_worker_impl.h"

#define SECOND 1000000000ull

int sn_source_offset = -1;

int sn_source_register(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "sinter_source",
		.size = sizeof(uint32_t),
		.align = __alignof__(uint32_t),
	};

	sn_source_offset = rte_mbuf_dynfield_register(&field);
	return sn_source_offset < 0 ? -rte_errno : 0;
}

uint32_t sn_source(const struct rte_mbuf *m)
{
	return *RTE_MBUF_DYNFIELD(m, sn_source_offset, const uint32_t *);
}

void sn_source_set(struct rte_mbuf *m, uint32_t source)
{
	*RTE_MBUF_DYNFIELD(m, sn_source_offset, uint32_t *) = source;
}

void sn_worker_count_drop(struct sn_worker *w, const struct rte_mbuf *m, uint32_t source, uint32_t bytes,
			  uint32_t reason)
{
	if (reason < SN_REASON_BUILTIN)
		sn_count_add(&w->stats.drops[reason], bytes);
	else
		sn_count_add(&w->counts->reasons[reason - SN_REASON_CHAIN], bytes);
	if (w->hooks.drop)
		w->hooks.drop(w->hooks.ctx, m, source, reason);
	if (unlikely(w->trace))
		sn_trace_drop(w->trace, m, reason);
}

void sn_worker_bury(struct sn_worker *w)
{
	rte_pktmbuf_free_bulk(w->sending.dead, w->sending.n_dead);
	w->sending.n_dead = 0;
}

void sn_worker_flush(struct sn_worker *w, uint16_t iface)
{
	struct sn_tx_buffer *b = &w->sending.out[iface];
	struct sn_count *tx = &w->stats.ports[iface].tx;
	uint64_t bytes = 0;
	uint32_t n = b->n;
	uint16_t sent;

	for (uint32_t i = 0; i < n; i++)
		bytes += b->pkts[i]->pkt_len; /* what is sent is no longer ours */
	b->n = 0;
	w->sending.pending &= ~(1ull << iface);
	sent = w->sending.tx(w->sending.ctx, iface, b->pkts, n);
	tx->packets += sent;
	for (uint32_t i = sent; i < n; i++) {
		bytes -= b->pkts[i]->pkt_len;
		sn_worker_drop(w, b->pkts[i], SN_REASON_TX_FULL);
	}
	tx->bytes += bytes;
}

void sn_worker_queued(struct sn_worker *w, uint16_t iface)
{
	struct sn_tx_buffer *b = &w->sending.out[iface];

	if (w->trace)
		sn_trace_sent(w->trace, iface, b->pkts[b->n - 1]);
	if (b->n == SN_BURST_MAX)
		sn_worker_flush(w, iface);
}

void sn_worker_flush_all(struct sn_worker *w)
{
	while (w->sending.pending)
		sn_worker_flush(w, (uint16_t)__builtin_ctzll(w->sending.pending));
	if (w->sending.n_dead)
		sn_worker_bury(w);
}

bool sn_worker_icmp_allowed(struct sn_worker *w, uint64_t now)
{
	uint64_t rate = w->icmp.rate, elapsed = now - w->icmp.filled;

	if (!w->program->icmp_rate)
		return true;
	if (elapsed > SECOND)
		elapsed = SECOND;
	w->icmp.filled = now;
	w->icmp.tokens += elapsed * rate;
	if (w->icmp.tokens > rate * SECOND) /* a second's worth at most */
		w->icmp.tokens = rate * SECOND;
	if (w->icmp.tokens < SECOND)
		return false;
	w->icmp.tokens -= SECOND;
	return true;
}

uint32_t sn_worker_iface_of(const struct sn_worker *w, uint16_t port)
{
	for (uint32_t i = 0; w->program && i < w->program->n_interfaces; i++)
		if (w->addresses.ports[i] == port)
			return i;
	return SN_NO_INDEX;
}
