/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STOPPING_H
#define SN_STOPPING_H

/* A packet without state whose class leads to a stop, or that came back from one. */

#include "sn_simple.h"

/* Where a packet entered the chain, and the place of the next hop that it noted; false: the program has no
 * such place. */
static inline bool noted_of(const struct sn_burst *b, uint32_t i, uint32_t *entry, uint32_t *place)
{
	const struct sn_continuation *on = b->ons ? &b->ons[i] : NULL;

	*entry = on ? on->entry : b->iface;
	*place = on ? on->place : 0;
	return !on || on->number != SN_NO_INDEX;
}

/* The plain packet i of a class that is SN_SIMPLE_STOP. False if that is not all there is to it. */
static __rte_noinline bool forward_to_stop(struct sn_fast *f, uint32_t i, struct sn_adjacency *a,
					   struct sn_count *count, uint64_t now)
{
	struct sn_known k = known_of(f, now);
	struct sn_view v = view_of_plain(f->env.burst.frames[i]);
	struct sn_neigh *n = &k.neighbors[a->neigh];
	uint32_t entry, place, number;

	if (unlikely((v.ttl < sn_head_ttl_dec(a->head_move)) | (v.ip_len > a->mtu)) ||
	    !noted_of(&f->env.burst, i, &entry, &place))
		return false;
	if ((uint32_t)a->key != SN_NO_INDEX)
		place = (uint32_t)a->key;
	number = sn_continuation_number(k.program, a->net, place, entry);
	if (n->key != sn_neigh_stop_key(iface_of(a), k.program->nonce, number)) {
		n = sn_neigh_of_stop(&f->neighbors, a->net, number);
		if (!n)
			return false;
		a->neigh = (uint16_t)(n - k.neighbors);
	}
	if (unlikely(!sn_neigh_usable(n)))
		return false;
	move_head(v.ip, a->head_move);
	sn_write_l2(v.f, n);
	count_simple(k, a, count, v.frame_len);
	sn_output_send(k.env, (uint16_t)iface_of(a), v.m);
	return true;
}

/* The plain packet i came back with a next hop that it had noted, and its class is SN_SIMPLE_OUTPUT and notes
 * none. False if that is not all there is to it. */
static __rte_noinline bool forward_to_noted(struct sn_fast *f, uint32_t i, struct sn_adjacency *a,
					    struct sn_count *count, uint64_t now)
{
	struct sn_known k = known_of(f, now);
	struct sn_adjacency own = *a;
	bool done;

	own.key = (a->key & ~(uint64_t)UINT32_MAX) | f->env.burst.ons[i].next_hop;
	own.net = 1;
	own.mask = 0;
	done = forward_simple(k, view_of_plain(f->env.burst.frames[i]), &own, count);
	a->neigh = own.neigh;
	return done;
}

#endif /* SN_STOPPING_H */
