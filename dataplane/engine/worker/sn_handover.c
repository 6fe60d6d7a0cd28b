/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_handover.h"

#include "sn_dispatch.h"
#include "sn_flow.h"
#include "sn_output.h"
#include "sn_state_kind.h"

_Static_assert(SN_EXCHANGE_SHARDS == SN_SHARDS, "the exchange moves the state's shards");
_Static_assert(SN_BURST_MAX <= 64, "sn_worker.handed has a bit for each packet of a burst");

/* A packet that a device with rules for shards would have given to the other's queue. */
static bool is_stray(const struct sn_worker *w, const struct sn_pkt *p, uint8_t place)
{
	return place != SN_PLACE_AWAITED && !w->fast.env.taking && p->frag == SN_FRAG_WHOLE &&
	       (p->proto == SN_TCP || p->proto == SN_UDP);
}

static void pass(struct sn_worker *w, uint32_t i, uint8_t place)
{
	struct sn_pkt *p = sn_burst_pkt(&w->fast.env.burst, i);
	uint32_t iface = w->fast.env.burst.iface;
	bool passed;

	w->fast.env.stats.ports[iface].strays += is_stray(w, p, place);

	/* Between workers an interface goes by its port: a program may renumber it. Of a packet from a stop
	 * it is the wire, where the other worker finds the same continuation. */
	p->m->port = w->fast.env.addresses.ports[iface];
	p->m->hash.rss = w->handing.shards[i];
	passed = place == SN_PLACE_AWAITED ? sn_mailbox_hold(w->mailbox, p->m)
					   : sn_mailbox_hand(w->mailbox, place, p->m);
	if (passed)
		w->fast.env.stats.handed++;
	else
		sn_output_drop(&w->fast.env, p->m, SN_REASON_HANDOVER_FULL);
}

/* To the peer that has the shard, by the network that the packet came from; never on from peer to peer. No
 * peer is on a wire, and its frames would lose how they go on. */
static void pass_on(struct sn_worker *w, uint32_t i, uint32_t shard)
{
	struct sn_pkt *p = sn_burst_pkt(&w->fast.env.burst, i);
	uint8_t *frame = rte_pktmbuf_mtod(p->m, uint8_t *);
	uint32_t iface = w->fast.env.burst.iface;
	uint16_t port = w->fast.env.addresses.ports[iface];
	uint64_t to = w->fast.env.program->interfaces[iface].wire ? 0 : sn_peers_way(w->peers, shard, port);

	if (to != 0 && !sn_peers_sent(w->peers, port, sn_mac_number(frame + 6))) {
		memcpy(frame, &to, 6);
		memcpy(frame + 6, &w->fast.env.addresses.macs[iface], 6);
		w->fast.env.stats.shards[shard].passed++;
		sn_output_send(&w->fast.env, (uint16_t)iface, p->m);
	} else {
		sn_output_drop(&w->fast.env, p->m, SN_REASON_NOT_HERE);
	}
}

void sn_hand_over(struct sn_worker *w, uint32_t i)
{
	uint32_t shard = w->handing.shards[i];
	uint8_t place = w->mailbox->place[shard];

	if (place == SN_PLACE_AWAY)
		pass_on(w, i, shard);
	else
		pass(w, i, place == SN_PLACE_TURNING ? SN_PLACE_AWAITED : place);
	w->handing.handed |= 1ull << i;
	w->handing.shards[i] = SN_PKT_NO_SHARD;
	w->handing.gone++;
}

/* The shard of a plain packet whose class says that its flow tells it is known without reading the packet. */
static uint32_t shard_of(struct sn_worker *w, uint32_t i, uint32_t segment)
{
	uint32_t class = w->fast.env.burst.classes[i];
	const struct sn_class *c;
	struct sn_flow flow;

	if (!sn_burst_plain(&w->fast.env.burst, i) || class == SN_TABLE_NONE)
		return sn_dispatch_shard(w->fast.env.program, w->fast.env.state,
					 sn_burst_pkt(&w->fast.env.burst, i), segment, class);
	c = &w->fast.env.program->classes[w->fast.env.program->segments[segment].first_class + class];
	if (c->way != SN_WAY_FORWARD)
		return sn_dispatch_shard(w->fast.env.program, w->fast.env.state,
					 sn_burst_pkt(&w->fast.env.burst, i), segment, class);
	flow = sn_flow_of_plain(rte_pktmbuf_mtod(w->fast.env.burst.frames[i], const uint8_t *));
	return sn_state_kinds[c->kind]->shard_of(w->fast.env.state, c->state_run, &flow);
}

/* Asks the program. Whether the packet is to be processed here. */
static bool find(struct sn_worker *w, uint32_t i, uint32_t segment)
{
	uint32_t shard = shard_of(w, i, segment);

	w->handing.shards[i] = (uint8_t)shard;
	return sn_hand_over_is_here(w, shard);
}

static bool is_refused(const struct sn_burst *b, uint32_t i)
{
	return !sn_burst_plain(b, i) && b->pkts[i].reason;
}

void sn_hand_over_find(struct sn_worker *w, uint32_t segment, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (sn_burst_known(&w->fast.env.burst, i) || unlikely(is_refused(&w->fast.env.burst, i)) ||
		    likely(find(w, i, segment)))
			continue;
		w->handing.handed |= 1ull << i;
		w->fast.env.burst.classes[i] = SN_TABLE_NONE; /* its state is not ours to fetch */
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
	w->handing.lot = w->handing.lot * 1664525 +
			 1013904223; /* Knuth's and Lewis' generator: its high bits are good */
	return w->handing.lot >> 29 == 0 ? 8 : 0;
}

void sn_hand_over_count(struct sn_worker *w, uint32_t n, uint32_t weight, uint64_t until, uint64_t after)
{
	uint64_t cycles;

	if (n == w->handing.gone)
		return;
	cycles = (until / n + after / (n - w->handing.gone)) * weight;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t shard = w->handing.shards[i];

		if (shard == SN_PKT_NO_SHARD)
			continue;
		w->fast.env.stats.shards[shard].packets += weight;
		w->fast.env.stats.shards[shard].cycles += cycles;
	}
}
