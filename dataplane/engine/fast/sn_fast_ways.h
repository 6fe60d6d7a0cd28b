/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FAST_WAYS_H
#define SN_FAST_WAYS_H

/* The fast ways of a packet, for sn_worker.c alone: by a cached decision, or by a simple class. */

#include "sn_each.h"
#include "sn_new_flow.h"

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

/* By its class, if that is simple. False if it is not. */
static __rte_always_inline bool by_class(struct sn_known k, uint32_t i, uint32_t segment, bool caching,
					 bool keep, bool plain)
{
	uint32_t class = k.env->burst.classes[i];
	struct sn_adjacency *a;

	if (unlikely(class == SN_TABLE_NONE))
		return false;
	class += k.program->segments[segment].first_class;
	a = &k.adjacencies[class];
	if (caching && plain && a->simple == SN_SIMPLE_FORWARD)
		return k.env->burst.hinted >> i & 1 && forward_new(k.fast, i, class, k.now);
	return by_adjacency(k, i, a, &k.class_counts[class], keep, plain);
}

#endif /* SN_FAST_WAYS_H */
