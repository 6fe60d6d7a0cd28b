/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_DECIDED_H
#define SN_DECIDED_H

/* A packet by a decision that the cache has. */

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "sn_observed.h"
#include "sn_tcp.h"
#include "sn_view.h"

/* The state of a cache entry, NULL if it ended or is too old. */
static inline struct sn_entry *state_of(uint64_t word, uint64_t now)
{
	struct sn_entry *e = sn_cache_entry_of(word);

	return likely(sn_cache_entry_same(word, e) && sn_entry_live_itself(e, now)) ? e : NULL;
}

/* is_return: 0 or 1; not bool, which would be kept as a byte and read as an index. */
static __rte_always_inline void use_session(struct sn_known k, struct sn_view v, struct sn_entry *s,
					    uint32_t is_return)
{
	struct sn_session *session = (struct sn_session *)s;

	if (!s)
		return;
	if (!v.plain)
		sn_session_use(k.env->state, session, v.proto == SN_TCP ? v.l4 : NULL, is_return, k.now);
	else if (unlikely(!sn_session_use_mixed(session, v.l4, sn_plain_tcp(v.proto), is_return, k.now)))
		sn_session_use_rare(k.env->state, session, v.l4, is_return, k.now);
}

/* From the TTL to the ports, which lie in a row: one write. */
static __rte_always_inline void rewrite_plain(uint8_t *ip, const struct sn_cache_entry *e)
{
#ifdef __SSE4_1__
	__m128i words = _mm_load_si128((const __m128i *)&e->head_move);

	words = _mm_insert_epi32(words, (int)sn_head_moved(load_head(ip), e->head_move), 0);
	_mm_storeu_si128((__m128i *)(ip + 8), words);
#else
	move_head(ip, e->head_move);
	memcpy(ip + 12, &e->src, 12);
#endif
}

/* The same of a packet that may have options, or be of another protocol, with the transport checksum. */
static inline void rewrite_other(struct sn_view v, const struct sn_cache_entry *e)
{
	uint16_t diff = rte_be_to_cpu_16(e->l4_diff);

	move_head(v.ip, e->head_move);
	memcpy(v.ip + 12, &e->src, 8);
	if (v.proto == SN_TCP) {
		memcpy(v.l4, &e->sport, 4);
		sn_move_at(v.l4 + 16, diff);
	} else if (v.proto == SN_UDP) {
		memcpy(v.l4, &e->sport, 4);
		sn_move_udp_at(v.l4 + 6, diff);
	} else if (v.proto == SN_ICMP) {
		memcpy(v.l4 + 4, &e->sport, 2);
		sn_move_at(v.l4 + 2, diff);
	}
}

/* Whether a decision with at most one session holds for a packet. */
static __rte_always_inline bool holds_with(struct sn_known k, struct sn_view v,
					   const struct sn_cache_entry *e, struct sn_entry **s)
{
	const struct sn_neigh *n = &k.neighbors[e->neigh];

	*s = NULL;
	if (unlikely((v.ttl < e->min_ttl) | (v.ip_len > k.mtus[n->iface]) | !sn_neigh_usable(n)))
		return false;
	return unlikely(!e->sessions[0]) || likely((*s = state_of(e->sessions[0], k.now)));
}

/* Whether a decision holds for a packet, and with which sessions. */
static __rte_always_inline bool holds(struct sn_known k, struct sn_view v, const struct sn_cache_entry *e,
				      struct sn_entry **s0, struct sn_entry **s1)
{
	*s1 = NULL;
	return holds_with(k, v, e, s0) &&
	       (!e->sessions[1] || likely((*s1 = state_of(e->sessions[1], k.now))));
}

/* One write, and out. */
static __rte_always_inline void send_decided(struct sn_known k, struct sn_view v,
					     const struct sn_cache_entry *e, struct sn_entry *s0,
					     struct sn_entry *s1)
{
	struct sn_neigh *n = &k.neighbors[e->neigh];

	n->used = k.now;
	if (unlikely(e->dscp != SN_CACHE_KEEP_DSCP))
		v.ip[1] = e->dscp << 2 | (v.ip[1] & 3);
	use_session(k, v, s0, e->flags & SN_CACHE_RETURN0);
	use_session(k, v, s1, (e->flags & SN_CACHE_RETURN1) != 0);
	if (v.plain) {
		rewrite_plain(v.ip, e);
		sn_move_mixed(v.l4, sn_plain_tcp(v.proto), e->l4_diff);
	} else {
		rewrite_other(v, e);
	}
	sn_write_l2(v.f, n);
	sn_count_add(&k.path_counts[e->path], v.frame_len);
	sn_output_send(k.env, n->iface, v.m);
}

/* The same of a packet that may have another tag then. False if there is no room for it. */
static __rte_always_inline bool send_tagged(struct sn_known k, struct sn_pkt *p,
					    const struct sn_cache_entry *e, struct sn_entry *s0,
					    struct sn_entry *s1)
{
	if (unlikely(e->vlan != SN_CACHE_KEEP_VLAN)) {
		p->vlan = e->vlan;
		p->stripped = e->flags & SN_CACHE_STRIPPED ? 1 : 0;
		if (!sn_rewrite_tag(p))
			return false;
	}
	send_decided(k, view_of(p), e, s0, s1);
	return true;
}

#define LOOKS_AGAIN 64 /* packets, … */
#define CROWDED	    16 /* … and so many times as many where flows are more than the cache has entries */

/* Two sessions that a decision names were not changed alike when it was made. Whether that is looked at
 * again, as it is now and then. */
static inline bool looks_again(const struct sn_fast *f, uint32_t i)
{
	uint64_t hits = f->env.stats.cache_hits;

	return hits % LOOKS_AGAIN == 0 &&
	       (sn_cache_has_room(&f->cache, f->found.hashes[i]) || hits % (LOOKS_AGAIN * CROWDED) == 0);
}

/* A decided packet that uses two sessions. */
static __rte_noinline bool forward_two(struct sn_fast *f, uint32_t i, const struct sn_cache_entry *e,
				       uint64_t now)
{
	struct sn_known k = known_of(f, now);
	struct sn_view v = view_of_plain(f->env.burst.frames[i]);
	struct sn_entry *s0, *s1;

	if (unlikely(!holds(k, v, e, &s0, &s1)) || looks_again(f, i))
		return false;
	send_decided(k, v, e, s0, s1);
	return true;
}

/* ---- a cached decision whose packets are observed ---- */

static __rte_noinline void observe_short(struct sn_known k, const struct sn_cache_entry *e, uint32_t bytes,
					 uint8_t tcp_flags)
{
	struct sn_flow_cell flow = flow_of_short(k.env, e);

	sn_observer_packet(k.env->counts->observer, &flow, bytes, tcp_flags, k.now);
}

static inline void observe(struct sn_known k, const struct sn_cache_entry *e, uint32_t bytes,
			   uint8_t tcp_flags)
{
	if (unlikely(!sn_cache_has(&k.fast->cache, e)))
		observe_short(k, e, bytes, tcp_flags);
	else
		sn_observer_count(k.env->counts->observer, sn_cache_cell(&k.fast->cache, e), bytes, tcp_flags,
				  k.now);
}

/* A plain packet: as without, and counted. */
static __rte_noinline bool forward_observed(struct sn_fast *f, uint32_t i, const struct sn_cache_entry *e,
					    uint64_t now)
{
	struct sn_known k = known_of(f, now);
	struct sn_view v = view_of_plain(f->env.burst.frames[i]);
	uint8_t tcp_flags = v.proto == SN_TCP ? v.f[SN_PLAIN_TCP_FLAGS] : 0;
	struct sn_entry *s0, *s1;

	if (unlikely(!holds(k, v, e, &s0, &s1)) || (e->sessions[1] && looks_again(f, i)))
		return false;
	send_decided(k, v, e, s0, s1);
	observe(k, e, v.ip_len, tcp_flags);
	return true;
}

/* A packet that was read, to which nothing else is to be done than is written. */
static __rte_always_inline bool forward_read(struct sn_known k, struct sn_pkt *p,
					     const struct sn_cache_entry *e)
{
	struct sn_entry *s0, *s1;

	if (unlikely(!holds(k, view_of(p), e, &s0, &s1)) || !send_tagged(k, p, e, s0, s1))
		return false;
	if (unlikely(e->flags & SN_CACHE_OBSERVED))
		observe(k, e, p->ip_len, sn_pkt_tcp_flags(p));
	return true;
}

#endif /* SN_DECIDED_H */
