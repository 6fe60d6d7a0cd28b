/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_handover.h"

#include "sn_dispatch.h"

_Static_assert(SN_EXCHANGE_SHARDS == SN_SHARDS, "the exchange moves the state's shards");
_Static_assert((int)SN_REASON_HANDED >= (int)SN_REASON_BUILTIN, "what is handed over is not dropped");

static inline uint32_t shard_of(const struct sn_worker *w, uint32_t i, uint32_t segment)
{
	const struct sn_cache_entry *e = w->candidates[i];

	if (e && likely(sn_cache_is(e, &w->keys[i]) && sn_cache_current(&w->cache, &w->keys[i])))
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

uint32_t sn_hand_over(struct sn_worker *w, uint32_t segment, uint32_t n)
{
	uint32_t handed = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t shard;
		uint8_t place;

		w->shards[i] = SN_PKT_NO_SHARD;
		if (unlikely(w->pkts[i].reason))
			continue;
		shard = shard_of(w, i, segment);
		if (shard == SN_PKT_NO_SHARD)
			continue;
		place = w->station->place[shard];
		if (unlikely(place == SN_PLACE_TURNING))
			place = w->taking ? SN_PLACE_HERE : SN_PLACE_AWAITED;
		if (likely(place == SN_PLACE_HERE)) {
			w->shards[i] = shard;
			continue;
		}
		if (unlikely(place == SN_PLACE_AWAY))
			pass_on(w, i, shard);
		else
			pass(w, i, place);
		handed++;
	}
	return handed;
}

void sn_hand_over_finish(struct sn_worker *w, uint32_t n, uint32_t handed, uint64_t until, uint64_t after)
{
	uint64_t cycles;

	sn_station_publish(w->station);
	if (n == handed)
		return;
	cycles = until / n + after / (n - handed);
	for (uint32_t i = 0; i < n; i++) {
		struct sn_shard_count *count = &w->stats.shards[w->shards[i] % SN_SHARDS];

		if (w->shards[i] == SN_PKT_NO_SHARD)
			continue;
		count->packets++;
		count->cycles += cycles;
	}
}
