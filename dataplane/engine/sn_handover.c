/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_handover.h"

#include "sn_dispatch.h"

_Static_assert(SN_EXCHANGE_SHARDS == SN_SHARDS, "the exchange moves the state's shards");
_Static_assert((int)SN_REASON_HANDED >= (int)SN_REASON_BUILTIN, "what is handed over is not dropped");

static inline uint32_t shard_of(const struct sn_worker *w, uint32_t i, uint32_t segment)
{
	const struct sn_cache_entry *e = w->candidates[i];

	if (likely(e && sn_cache_is(e, &w->keys[i]))) /* looked up just now: nothing was forgotten since */
		return e->shard;
	return sn_dispatch_shard(w->program, w->state, &w->pkts[i], segment, w->classes[i]);
}

/* A packet that a device with rules for shards would have given to the other's queue. */
static bool is_stray(const struct sn_worker *w, const struct sn_pkt *p, uint8_t place)
{
	return place != SN_PLACE_AWAITED && !w->taking && p->frag == SN_FRAG_WHOLE &&
	       (p->proto == SN_TCP || p->proto == SN_UDP);
}

static void pass(struct sn_worker *w, uint32_t i, uint8_t place)
{
	struct sn_pkt *p = &w->pkts[i];
	bool passed;

	w->stats.ports[p->iface].strays += is_stray(w, p, place);

	/* Between workers an interface goes by its port: a program may number it anew. */
	p->m->port = w->ports[p->iface];
	passed = place == SN_PLACE_AWAITED ? sn_station_hold(w->station, p->m)
					   : sn_station_hand(w->station, place, p->m);
	if (passed)
		w->stats.handed++;
	else
		sn_worker_drop(w, p->m, SN_REASON_HANDOVER_FULL);
	p->reason = SN_REASON_HANDED;
	w->candidates[i] = NULL;
	w->classes[i] = SN_TABLE_NONE;
}

/* To the peer that has the shard, by the network that the packet came from; never on from peer to peer. */
static void pass_on(struct sn_worker *w, uint32_t i, uint32_t shard)
{
	struct sn_pkt *p = &w->pkts[i];
	uint8_t *frame = rte_pktmbuf_mtod(p->m, uint8_t *);
	uint16_t port = w->ports[p->iface];
	uint64_t to = sn_peers_way(w->peers, shard, port);

	if (to != 0 && !sn_peers_sent(w->peers, port, sn_mac_number(frame + 6))) {
		memcpy(frame, &to, 6);
		memcpy(frame + 6, &w->macs[p->iface], 6);
		w->stats.shards[shard].passed++;
		sn_worker_send(w, p->iface, p->m);
	} else {
		sn_worker_drop(w, p->m, SN_REASON_NOT_HERE);
	}
	p->reason = SN_REASON_HANDED;
	w->candidates[i] = NULL;
	w->classes[i] = SN_TABLE_NONE;
}

/* A packet of a shard that is not simply here. Whether it is gone. */
static __rte_noinline bool move_on(struct sn_worker *w, uint32_t i, uint32_t shard)
{
	uint8_t place = w->station->place[shard];

	if (place == SN_PLACE_TURNING && w->taking)
		return false;
	if (place == SN_PLACE_AWAY)
		pass_on(w, i, shard);
	else
		pass(w, i, place == SN_PLACE_TURNING ? SN_PLACE_AWAITED : place);
	w->shards[i] = SN_PKT_NO_SHARD;
	return true;
}

uint32_t sn_hand_over(struct sn_worker *w, uint32_t segment, uint32_t n)
{
	const uint8_t *place = w->station->place;
	uint32_t handed = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t shard = likely(!w->pkts[i].reason) ? shard_of(w, i, segment) : SN_PKT_NO_SHARD;

		w->shards[i] = (uint8_t)shard;
		if (shard != SN_PKT_NO_SHARD && unlikely(place[shard] != SN_PLACE_HERE))
			handed += move_on(w, i, shard);
	}
	return handed;
}

uint32_t sn_hand_over_weight(struct sn_worker *w, uint32_t n)
{
	if (n < SN_BURST_MAX / 2)
		return 1;
	w->lot = w->lot * 1664525 + 1013904223; /* Knuth's and Lewis' generator: its high bits are good */
	return w->lot >> 29 == 0 ? 8 : 0;
}

void sn_hand_over_count(struct sn_worker *w, uint32_t n, uint32_t handed, uint32_t weight, uint64_t until,
			uint64_t after)
{
	uint64_t cycles;

	if (n == handed)
		return;
	cycles = (until / n + after / (n - handed)) * weight;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t shard = w->shards[i];

		if (shard == SN_PKT_NO_SHARD)
			continue;
		w->stats.shards[shard].packets += weight;
		w->stats.shards[shard].cycles += cycles;
	}
}
