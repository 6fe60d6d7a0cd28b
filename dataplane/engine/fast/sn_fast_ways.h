/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FAST_WAYS_H
#define SN_FAST_WAYS_H

/* The fast ways of a packet, for sn_worker.c alone: by a cached decision, or by a simple class. */

#include "sn_each.h"
#include "sn_new_flow.h"
#include "sn_stopping.h"

/* A decided packet: the sessions' timers, one write, out. False if the decision does not hold for it. */
static __rte_always_inline bool forward_cached(struct sn_known k, uint32_t i, const struct sn_cache_entry *e,
					       bool plain)
{
	struct sn_pkt *p;

	if (plain && likely(!(e->flags & (SN_CACHE_READ | SN_CACHE_OBSERVED)))) {
		struct sn_view v = view_of_plain(k.env->burst.frames[i]);
		struct sn_entry *s0;

		if (e->sessions[1])
			return forward_two(k.fast, i, e, k.now);
		if (unlikely(!holds_with(k, v, e, &s0)))
			return false;
		send_decided(k, v, e, s0, NULL);
		return true;
	}
	if (plain && !(e->flags & SN_CACHE_READ))
		return forward_observed(k.fast, i, e, k.now);
	p = sn_burst_pkt(&k.env->burst, i);
	if (unlikely(e->flags & SN_CACHE_EACH))
		return forward_each(k.fast, p, e, k.now);
	return forward_read(k, p, e);
}

/* By what says all, if it does; it is counted there. keep: a decision is wanted. */
static __rte_always_inline bool by_adjacency(struct sn_known k, uint32_t i, struct sn_adjacency *a,
					     struct sn_count *count, bool keep, bool plain)
{
	struct sn_view v;

	if (a->simple < SN_SIMPLE_OUTPUT)
		return false;
	v = plain ? view_of_plain(k.env->burst.frames[i]) : view_of(&k.env->burst.pkts[i]);
	if (a->simple == SN_SIMPLE_OUTPUT)
		return !keep && likely(forward_simple(k, v, a, count));
	drop_simple(k, v, a, count);
	return true;
}

/* Whether a packet that came back leaves to the next hop that it had noted before. */
static inline bool is_noted_before(struct sn_known k, uint32_t i, uint32_t class)
{
	return k.env->burst.ons[i].next_hop && !k.classes[class].notes_hop;
}

/*
 * Whether the decision of a packet's flow is kept now, which may go by its class as well: if there is room
 * for it. Else it would take the place of another, and to make one takes long; so of the packets whose flows
 * have none one in some makes one, and a flow of many packets has it soon.
 */
static inline bool is_turn_to_keep(struct sn_known k, uint32_t i)
{
	return sn_cache_has_room(&k.fast->cache, k.fast->found.hashes[i]) ||
	       k.env->stats.cache_misses % 32 == 0;
}

/* A plain packet, by a class that is SN_SIMPLE_STOP, or SN_SIMPLE_OUTPUT behind a stop. */
static __rte_always_inline bool at_stop_by_class(struct sn_known k, uint32_t i, uint32_t class, bool caching)
{
	struct sn_adjacency *a = &k.adjacencies[class];
	struct sn_count *count = &k.class_counts[class];

	if (caching && is_turn_to_keep(k, i))
		return false;
	if (a->simple == SN_SIMPLE_STOP)
		return forward_to_stop(k.fast, i, a, count, k.now);
	if (is_noted_before(k, i, class))
		return forward_to_noted(k.fast, i, a, count, k.now);
	return forward_simple(k, view_of_plain(k.env->burst.frames[i]), a, count);
}

/* By its class, if that is simple. False if it is not. returned: the burst's packets come back from stops. */
static __rte_always_inline bool by_class(struct sn_known k, uint32_t i, uint32_t segment, bool caching,
					 bool keep, bool returned, bool plain)
{
	uint32_t class = k.env->burst.classes[i];
	struct sn_adjacency *a;

	if (unlikely(class == SN_TABLE_NONE))
		return false;
	class += k.program->segments[segment].first_class;
	a = &k.adjacencies[class];
	if (plain && (unlikely(a->simple == SN_SIMPLE_STOP) || (returned && a->simple == SN_SIMPLE_OUTPUT)))
		return at_stop_by_class(k, i, class, caching);
	if (returned && a->simple != SN_SIMPLE_DROP && is_noted_before(k, i, class))
		return false;
	if (caching && plain && a->simple == SN_SIMPLE_FORWARD)
		return k.env->burst.hinted >> i & 1 && forward_new(k.fast, i, class, k.now);
	if (caching && keep && a->simple == SN_SIMPLE_OUTPUT)
		keep = is_turn_to_keep(k, i);
	return by_adjacency(k, i, a, &k.class_counts[class], keep, plain);
}

#endif /* SN_FAST_WAYS_H */
