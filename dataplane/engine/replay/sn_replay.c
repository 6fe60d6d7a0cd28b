/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_replay.h"

#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf_dyn.h>
#include <rte_memcpy.h>

int sn_replay_arrival(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "sinter_replay_arrival",
		.size = sizeof(uint64_t),
		.align = __alignof__(uint64_t),
	};

	return rte_mbuf_dynfield_register(&field);
}

/* The last four bytes of a frame. */
static void write_number(uint8_t *frame, size_t len, uint32_t number)
{
	rte_be32_t wire = rte_cpu_to_be_32(number);

	memcpy(frame + len - sizeof(wire), &wire, sizeof(wire));
}

static uint32_t read_number(const struct rte_mbuf *pkt)
{
	rte_be32_t wire;

	memcpy(&wire, rte_pktmbuf_mtod(pkt, const uint8_t *) + pkt->data_len - sizeof(wire), sizeof(wire));
	return rte_be_to_cpu_32(wire);
}

/* The next frame becomes a packet, its length rounded up to a slot's. */
static inline void copy(struct sn_replay_rx *rx, struct rte_mbuf *pkt)
{
	const struct sn_capture *capture = rx->capture;
	const struct sn_capture_frame *frame = &capture->frames[rx->at];
	const uint8_t *from = capture->bytes + (size_t)rx->at * capture->slot;
	uint8_t *to = rte_pktmbuf_mtod(pkt, uint8_t *);

	for (uint32_t done = 0; done < frame->len; done += 64)
		rte_mov64(to + done, from + done);
	if (unlikely(rx->numbered))
		write_number(to, frame->len, rx->number++);
	pkt->data_len = (uint16_t)frame->len;
	pkt->pkt_len = frame->len;
	pkt->packet_type = frame->packet_type;
	pkt->ol_flags = rx->checksums ? frame->ol_flags : 0;
	pkt->port = rx->port;
	if (++rx->at == capture->n)
		rx->at = 0;
}

/* Frames that were copied before are received, and others are copied in their place. 0 without buffers. */
static uint16_t take_posted(struct sn_replay_rx *rx, struct rte_mbuf **pkts, uint16_t n)
{
	n = (uint16_t)RTE_MIN(n, rx->depth - rx->head);
	if (rte_pktmbuf_alloc_bulk(rx->pool, pkts, n) != 0)
		return 0;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *posted = rx->posted[rx->head + i];

		copy(rx, pkts[i]);
		rx->posted[rx->head + i] = pkts[i];
		pkts[i] = posted;
	}
	rx->head += n;
	if (rx->head == rx->depth)
		rx->head = 0;
	return n;
}

static uint16_t take(struct sn_replay_rx *rx, struct rte_mbuf **pkts, uint16_t n)
{
	if (rx->depth > 0)
		return take_posted(rx, pkts, n);
	if (rte_pktmbuf_alloc_bulk(rx->pool, pkts, n) != 0)
		return 0;
	for (uint16_t i = 0; i < n; i++)
		copy(rx, pkts[i]);
	return n;
}

/* Notes when frames came that are numbered from first on, or that it is not to be measured. */
static void stamp(const struct sn_replay_rx *rx, struct rte_mbuf **pkts, uint16_t n, uint64_t first)
{
	bool measured = rx->began != 0 && rx->ended == 0;

	for (uint16_t i = 0; i < n; i++)
		*RTE_MBUF_DYNFIELD(pkts[i], rx->arrival, uint64_t *) =
			measured ? rx->pace.begin + (uint64_t)((double)(first + i + 1) * rx->gap) : 0;
}

/* Probes and waits are no part of the time of bursts. */
static inline void note_burst(struct sn_replay_rx *rx, uint64_t cycles)
{
	sn_histogram_add(&rx->cycles, cycles);
	if (unlikely(rx->n_bursts < rx->max_bursts))
		rx->bursts[rx->n_bursts++] = (uint32_t)RTE_MIN(cycles, UINT32_MAX);
	if (rx->quiet.limit == 0 || !sn_quiet_add(&rx->quiet, cycles))
		return;
	sn_quiet_rest(&rx->quiet);
	rx->polled = rte_rdtsc();
}

/* The time of the burst before, and whether this one begins or ends what is measured. */
static inline void note_poll(struct sn_replay_rx *rx, uint64_t now)
{
	bool measured = rx->began != 0 && rx->ended == 0;
	uint64_t polled = rx->polled;

	rx->polled = now;
	if (measured && rx->last >= SN_REPLAY_FULL)
		note_burst(rx, (now - polled) * SN_REPLAY_PARTS / rx->last);
	if (unlikely(rx->began == 0 && rx->packets >= rx->begin))
		rx->began = now;
	if (unlikely(measured && rx->packets >= rx->end))
		__atomic_store_n(&rx->ended, now, __ATOMIC_RELEASE);
}

uint16_t sn_replay_receive(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct sn_replay_rx *rx = queue;
	uint64_t now = rte_rdtsc(), first = rx->pace.taken + rx->pace.missed;
	uint16_t asked = n, taken;

	note_poll(rx, now);
	if (rx->paced) {
		n = sn_pace_take(&rx->pace, now, n);
		first = rx->pace.taken - n + rx->pace.missed;
	}
	taken = take(rx, pkts, n);
	if (unlikely(taken < n)) {
		if (rx->paced)
			rx->pace.taken -= n - taken; /* they come with the next poll */
		rx->nobuffer += taken == 0;
	}
	if (rx->paced)
		stamp(rx, pkts, taken, first);
	rx->last = taken == asked ? taken : 0;
	__atomic_store_n(&rx->packets, rx->packets + taken, __ATOMIC_RELAXED);
	return taken;
}

static void look_at_order(struct sn_replay_order *o, struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		uint32_t number = read_number(pkts[i]);
		uint32_t *last = &o->last[number & o->mask];

		if (number < o->begin || number >= o->end)
			continue;
		o->seen++;
		if (unlikely(number < *last))
			o->late++;
		else
			*last = number + 1;
		o->highest = RTE_MAX(o->highest, number + 1);
	}
}

uint16_t sn_replay_send(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct sn_replay_tx *tx = queue;
	uint64_t now = tx->paced ? rte_rdtsc() : 0, bytes = 0;

	for (uint16_t i = 0; tx->paced && i < n; i++) {
		uint64_t *arrival = RTE_MBUF_DYNFIELD(pkts[i], tx->arrival, uint64_t *);

		if (*arrival != 0)
			sn_histogram_add(&tx->latency, now > *arrival ? now - *arrival : 0);
		*arrival = 0; /* a packet that the program itself builds in this buffer did not come */
	}
	if (unlikely(tx->order.last != NULL))
		look_at_order(&tx->order, pkts, n);
	for (uint16_t i = 0; i < n; i++)
		bytes += pkts[i]->pkt_len;
	tx->bytes += bytes;
	__atomic_store_n(&tx->packets, tx->packets + n, __ATOMIC_RELAXED);
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

static int post(struct sn_replay_rx *rx, struct sn_error *err)
{
	rx->posted = calloc(rx->depth, sizeof(struct rte_mbuf *));
	if (rx->posted == NULL || rte_pktmbuf_alloc_bulk(rx->pool, rx->posted, rx->depth) != 0) {
		free(rx->posted);
		rx->posted = NULL;
		return sn_fail(err, "depth %u: there are only %u free packet buffers", rx->depth,
			       rte_mempool_avail_count(rx->pool));
	}
	for (uint32_t i = 0; i < rx->depth; i++)
		copy(rx, rx->posted[i]);
	return 0;
}

int sn_replay_rx_start(struct sn_replay_rx *rx, const struct sn_replay_config *config, uint32_t first,
		       struct sn_error *err)
{
	uint32_t room = rte_pktmbuf_data_room_size(rx->pool) - RTE_PKTMBUF_HEADROOM;

	if (rx->capture->slot > room)
		return sn_fail(err, "packet buffers have room for %u bytes: want %u for the longest frame",
			       room, rx->capture->slot);
	rx->at = first % rx->capture->n;
	rx->depth = config->depth;
	rx->head = 0;
	rx->last = 0;
	rx->paced = config->rate > 0;
	rx->checksums = config->checksums;
	rx->numbered = config->numbered;
	rx->number = 0;
	rx->packets = rx->nobuffer = rx->began = rx->ended = rx->polled = 0;
	rx->begin = config->warmup;
	rx->end = config->count > 0 ? config->warmup + config->count : UINT64_MAX;
	memset(&rx->cycles, 0, sizeof(rx->cycles));
	sn_quiet_init(&rx->quiet, config->quiet, config->patience * config->hz / 1000);
	if (rx->paced) {
		rx->gap = (double)config->hz / (double)config->rate;
		sn_pace_init(&rx->pace, config->rate, config->hz, config->ring);
	}
	rx->n_bursts = 0;
	rx->max_bursts = config->bursts;
	rx->bursts = config->bursts > 0 ? calloc(config->bursts, sizeof(rx->bursts[0])) : NULL;
	if (config->bursts > 0 && rx->bursts == NULL)
		return sn_fail(err, "bursts %u: no memory", config->bursts);
	return rx->depth > 0 ? post(rx, err) : 0;
}

void sn_replay_rx_stop(struct sn_replay_rx *rx)
{
	if (rx->posted != NULL)
		rte_pktmbuf_free_bulk(rx->posted, rx->depth);
	free(rx->posted);
	rx->posted = NULL;
	free(rx->bursts);
	rx->bursts = NULL;
	rx->n_bursts = rx->max_bursts = 0;
}

int sn_replay_tx_start(struct sn_replay_tx *tx, const struct sn_replay_config *config, struct sn_error *err)
{
	uint64_t end = config->count > 0 ? config->warmup + config->count : UINT32_MAX;

	tx->order = (struct sn_replay_order){0};
	if (config->flows == 0)
		return 0;
	tx->order.last = calloc(config->flows, sizeof(tx->order.last[0]));
	if (tx->order.last == NULL)
		return sn_fail(err, "order %u: no memory", config->flows);
	tx->order.mask = config->flows - 1;
	tx->order.begin = (uint32_t)RTE_MIN(config->warmup, UINT32_MAX);
	tx->order.end = (uint32_t)RTE_MIN(end, UINT32_MAX);
	return 0;
}

void sn_replay_tx_stop(struct sn_replay_tx *tx)
{
	free(tx->order.last);
	tx->order.last = NULL;
}
