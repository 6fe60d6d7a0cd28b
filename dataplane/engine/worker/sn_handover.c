/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_handover.h"

#include "sn_dispatch.h"
#include "sn_flow.h"
#include "sn_state_kind.h"

_Static_assert(SN_EXCHANGE_SHARDS == SN_SHARDS, "the exchange moves the state's shards");
_Static_assert(SN_BURST_MAX <= 64, "sn_worker.handed has a bit for each packet of a burst");

/* A packet that a device with rules for shards would have given to the other's queue. */
static bool is_stray(const struct sn_worker *w, const struct sn_pkt *p, uint8_t place)
{
	return place != SN_PLACE_AWAITED && !w->taking && p->frag == SN_FRAG_WHOLE &&
	       (p->proto == SN_TCP || p->proto == SN_UDP);
}

static void pass(struct sn_worker *w, uint32_t i, uint8_t place)
{
	struct sn_pkt *p = sn_worker_pkt(w, i);
	bool passed;

	w->stats.ports[p->iface].strays += is_stray(w, p, place);

	/* Between workers an interface goes by its port: a program may renumber it. */
	p->m->port = w->addresses.ports[p->iface];
	p->m->hash.rss = w->burst.shards[i];
	passed = place == SN_PLACE_AWAITED ? sn_mailbox_hold(w->mailbox, p->m)
					   : sn_mailbox_hand(w->mailbox, place, p->m);
	if (passed)
		w->stats.handed++;
	else
		sn_worker_drop(w, p->m, SN_REASON_HANDOVER_FULL);
}

/* To the peer that has the shard, by the network that the packet came from; never on from peer to peer. */
static void pass_on(struct sn_worker *w, uint32_t i, uint32_t shard)
{
	struct sn_pkt *p = sn_worker_pkt(w, i);
	uint8_t *frame = rte_pktmbuf_mtod(p->m, uint8_t *);
	uint16_t port = w->addresses.ports[p->iface];
	uint64_t to = sn_peers_way(w->peers, shard, port);

	if (to != 0 && !sn_peers_sent(w->peers, port, sn_mac_number(frame + 6))) {
		memcpy(frame, &to, 6);
		memcpy(frame + 6, &w->addresses.macs[p->iface], 6);
		w->stats.shards[shard].passed++;
		sn_worker_send(w, p->iface, p->m);
	} else {
		sn_worker_drop(w, p->m, SN_REASON_NOT_HERE);
	}
}

void sn_hand_over(struct sn_worker *w, uint32_t i)
{
	uint32_t shard = w->burst.shards[i];
	uint8_t place = w->mailbox->place[shard];

	if (place == SN_PLACE_AWAY)
		pass_on(w, i, shard);
	else
		pass(w, i, place == SN_PLACE_TURNING ? SN_PLACE_AWAITED : place);
	w->burst.handed |= 1ull << i;
	w->burst.shards[i] = SN_PKT_NO_SHARD;
	w->burst.gone++;
}

/* Of a plain packet whose class says that its flow tells the shard, it is told without reading the packet. */
static uint32_t shard_of(struct sn_worker *w, uint32_t i, uint32_t segment)
{
	uint32_t class = w->burst.classes[i];
	const struct sn_class *c;
	struct sn_flow flow;

	if (!sn_burst_plain(&w->burst, i) || class == SN_TABLE_NONE)
		return sn_dispatch_shard(w->program, w->state, sn_worker_pkt(w, i), segment, class);
	c = &w->program->classes[w->program->segments[segment].first_class + class];
	if (c->way != SN_WAY_FORWARD)
		return sn_dispatch_shard(w->program, w->state, sn_worker_pkt(w, i), segment, class);
	flow = sn_flow_of_plain(rte_pktmbuf_mtod(w->burst.frames[i], const uint8_t *));
	return sn_state_kinds[c->kind]->shard_of(w->state, c->state_run, &flow);
}

/* Asks the program. Whether the packet is to be processed here. */
static bool find(struct sn_worker *w, uint32_t i, uint32_t segment)
{
	uint32_t shard = shard_of(w, i, segment);

	w->burst.shards[i] = (uint8_t)shard;
	return sn_hand_over_is_here(w, shard);
}

static bool is_refused(const struct sn_burst *b, uint32_t i)
{
	return !sn_burst_plain(b, i) && b->pkts[i].reason;
}

void sn_hand_over_find(struct sn_worker *w, uint32_t segment, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (w->burst.candidates[i] || unlikely(is_refused(&w->burst, i)) ||
		    likely(find(w, i, segment)))
			continue;
		w->burst.handed |= 1ull << i;
		w->burst.classes[i] = SN_TABLE_NONE; /* its state is not ours to fetch */
	}
}

bool sn_hand_over_late(struct sn_worker *w, uint32_t i, uint32_t segment)
{
	if (find(w, i, segment))
		return true;
	sn_hand_over(w, i);
	return false;
}

uint32_t sn_hand_over_weight(struct sn_worker *w, uint32_t n)
{
	if (n < SN_BURST_MAX / 2)
		return 1;
	w->lot = w->lot * 1664525 + 1013904223; /* Knuth's and Lewis' generator: its high bits are good */
	return w->lot >> 29 == 0 ? 8 : 0;
}

void sn_hand_over_count(struct sn_worker *w, uint32_t n, uint32_t weight, uint64_t until, uint64_t after)
{
	uint64_t cycles;

	if (n == w->burst.gone)
		return;
	cycles = (until / n + after / (n - w->burst.gone)) * weight;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t shard = w->burst.shards[i];

		if (shard == SN_PKT_NO_SHARD)
			continue;
		w->stats.shards[shard].packets += weight;
		w->stats.shards[shard].cycles += cycles;
	}
}
