/* SPDX-License-Identifier: Apache-2.0 */
/* Foresight about the flows of a burst's packets, before their turns. */

#include "sn_observed.h"

/* The number of where a packet goes on; a key that has none is never current, so nothing is kept under it. */
static inline void on_from(const struct sn_continuation *on, uint32_t *ingress, uint32_t *none)
{
	*none = on->number >= SN_CACHE_CONTINUATIONS_MAX;
	*ingress = *none ? 0 : SN_CACHE_CONTINUATIONS + on->number;
}

/* The keys of the packets' flows, for those that Entry does not refuse. ons: by packet, or NULL. */
static __rte_always_inline void make_keys(struct sn_fast *f, uint32_t iface,
					  const struct sn_continuation *ons, uint32_t n)
{
	const struct sn_atoms *atoms = f->env.program->atoms;
	/* Copies: none of it changes as keys are written, which the compiler cannot know. */
	const struct sn_cache c = f->cache;
	const struct sn_burst *b = &f->env.burst;
	struct rte_mbuf *const *frames = b->frames;
	const uint64_t plain = b->plain;
	struct sn_looked_up *found = &f->found;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t ingress = iface, none = 0;
		uint64_t hash;

		if (ons)
			on_from(&ons[i], &ingress, &none);
		if (likely(plain >> i & 1))
			hash = sn_cache_key_of_plain(&c, atoms, rte_pktmbuf_mtod(frames[i], const uint8_t *),
						     ingress, &found->keys[i]);
		else if (!b->pkts[i].reason)
			hash = sn_cache_key_of(&c, atoms, &b->pkts[i], ingress, &found->keys[i]);
		else
			continue;
		found->keys[i].ports ^= none;
		found->hashes[i] = hash;
		sn_cache_prefetch_tags(&c, hash);
	}
}

static __rte_noinline void make_keys_of_wire(struct sn_fast *f, const struct sn_continuation *ons, uint32_t n)
{
	make_keys(f, 0, ons, n);
}

/* Short decisions whose sessions are on their way; how many there are. bits: of which packets. */
static uint32_t expand(struct sn_fast *f, uint64_t bits)
{
	struct sn_looked_up *found = &f->found;
	uint32_t known = 0;

	for (; bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(bits);

		if (!sn_cache_expand(&f->cache, &found->shorts[i], &found->expanded[i]))
			continue;
		found->candidates[i] = &found->expanded[i];
		known++;
		if (unlikely(found->expanded[i].flags & SN_CACHE_OBSERVED))
			prefetch_observed(f, &found->expanded[i]);
	}
	return known;
}

/* Decisions remember state by its generations, and go before any of these comes again. */
static inline void forget_in_time(struct sn_fast *f)
{
	if (likely(!sn_partition_era_ended(f->env.partition)))
		return;
	sn_fast_forget_all(f);
	sn_partition_enter_era(f->env.partition);
}

static uint64_t known_bits(const struct sn_looked_up *found, uint32_t n)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++)
		bits |= (uint64_t)(found->candidates[i] != NULL) << i;
	return bits;
}

uint32_t sn_fast_look_up(struct sn_fast *f, uint32_t iface, uint32_t n)
{
	struct sn_looked_up *found = &f->found;
	struct sn_burst *b = &f->env.burst;
	uint32_t known = 0;
	uint64_t shorts = 0;

	forget_in_time(f);
	if (unlikely(b->ons != NULL))
		make_keys_of_wire(f, b->ons, n);
	else
		make_keys(f, iface, NULL, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_cache_entry *e;

		found->candidates[i] = NULL;
		if (!likely(sn_burst_plain(b, i)) &&
		    (unlikely(b->pkts[i].reason) || !sn_cache_eligible(&b->pkts[i])))
			continue;
		e = sn_cache_candidate(&f->cache, found->hashes[i]);
		if (!e && f->cache.shorts.buckets &&
		    sn_cache_find_short(&f->cache, found->hashes[i], &found->shorts[i])) {
			rte_prefetch0(found->shorts[i].session);
			shorts |= 1ull << i;
			continue;
		}
		found->candidates[i] = e;
		known += e != NULL;
		rte_prefetch0(e ? e : sn_cache_vacant(&f->cache, found->hashes[i]));
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_cache_entry *e = found->candidates[i];

		if (e && e->sessions[0])
			rte_prefetch0(sn_cache_entry_of(e->sessions[0]));
	}
	if (unlikely(f->env.counts->observer))
		sn_cache_prefetch_cells(&f->cache, found->candidates, n);
	if (unlikely(shorts))
		known += expand(f, shorts);
	/* Mostly all are known, or none is. */
	if (likely(known == n))
		b->known = UINT64_MAX >> (64 - n);
	else
		b->known = known ? known_bits(found, n) : 0;
	return known;
}
