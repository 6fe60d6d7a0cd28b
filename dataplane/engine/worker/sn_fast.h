/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FAST_H
#define SN_FAST_H

/* The fast ways of a packet, for sn_worker.c alone: by a simple class, or by a cached decision. */

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "sn_plain.h"
#include "sn_rewrite.h"
#include "sn_tcp.h"
#include "sn_worker_impl.h"

/* What all packets of a burst read. None of it changes within a burst, which the compiler cannot know. */
struct sn_known {
	struct sn_worker *w;
	const struct sn_program *program;
	const struct sn_class *classes;
	const uint16_t *mtus; /* by interface */
	struct sn_neigh *neighbors;
	struct sn_counts *counts;
	struct sn_count *class_counts;
	struct sn_count *path_counts;
	uint64_t now;
};

static __rte_always_inline struct sn_known known_of(struct sn_worker *w, uint64_t now)
{
	return (struct sn_known){
		.w = w,
		.program = w->program,
		.classes = w->program->classes,
		.mtus = w->addresses.mtus,
		.neighbors = w->neigh.entries,
		.counts = w->counts,
		.class_counts = w->counts->classes,
		.path_counts = w->counts->paths,
		.now = now,
	};
}

/* What the fast ways read of a packet. Of a plain frame much of it is constant, so there is a copy of the
 * code for it. */
struct sn_view {
	struct rte_mbuf *m;
	uint8_t *f;
	uint8_t *ip;
	uint8_t *l4;
	uint32_t dst;
	uint32_t frame_len;
	uint16_t ip_len;
	uint16_t vlan;
	uint8_t ttl;
	uint8_t proto;
	bool plain;
};

static __rte_always_inline struct sn_view view_of(const struct sn_pkt *p)
{
	uint8_t *f = rte_pktmbuf_mtod(p->m, uint8_t *);

	return (struct sn_view){
		.m = p->m,
		.f = f,
		.ip = f + p->l3,
		.l4 = f + p->l4,
		.dst = p->dst,
		.frame_len = p->frame_len,
		.ip_len = p->ip_len,
		.vlan = p->vlan,
		.ttl = p->ttl,
		.proto = p->proto,
		.plain = false,
	};
}

static __rte_always_inline struct sn_view view_of_plain(struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	return (struct sn_view){
		.m = m,
		.f = f,
		.ip = f + SN_PLAIN_IP,
		.l4 = f + SN_PLAIN_L4,
		.dst = sn_load32(f + SN_PLAIN_DST),
		.frame_len = m->data_len,
		.ip_len = sn_load16(f + SN_PLAIN_LEN),
		.vlan = SN_VLAN_ABSENT,
		.ttl = f[SN_PLAIN_TTL],
		.proto = f[SN_PLAIN_PROTO],
		.plain = true,
	};
}

/* ---- a simple class ---- */

/* TTL, protocol and checksum of an IPv4 header. */
static inline uint32_t load_head(const uint8_t *ip)
{
	uint32_t head;

	memcpy(&head, ip + 8, sizeof(head));
	return head;
}

/* Write the new TTL and move the IP checksum. */
static inline void move_head(uint8_t *ip, uint32_t move)
{
	uint32_t head = sn_head_moved(load_head(ip), move);

	memcpy(ip + 8, &head, sizeof(head));
}

static __rte_always_inline void count_simple(struct sn_known k, const struct sn_class *c, uint32_t class,
					     uint32_t bytes)
{
	const uint32_t *ids = &k.program->leg_counters[c->first_counter];

	sn_count_add(&k.class_counts[class], bytes);
	for (uint32_t i = 0; i < c->n_counters; i++)
		sn_count_add(&k.counts->counters[ids[i]], bytes);
}

static __rte_noinline struct sn_neigh *find_neighbor(struct sn_worker *w, uint32_t class, uint64_t key)
{
	struct sn_neigh *n = sn_neigh_find(&w->neigh, key);

	if (n)
		w->counts->class_neigh[class] = n - w->neigh.entries;
	return n;
}

/* A simple class's packet: a TTL, a next hop and out. False if that is not all there is to it. */
static __rte_always_inline bool forward_simple(struct sn_known k, struct sn_view v, const struct sn_class *c,
					       uint32_t class)
{
	const struct sn_interface *ifc = &k.program->interfaces[c->target];
	struct sn_neigh *n = &k.neighbors[k.counts->class_neigh[class]];
	bool is_link = ((v.dst ^ ifc->address) & ifc->mask) == 0;
	uint32_t hop = sn_choose(c->next_hop != 0, c->next_hop, sn_choose(is_link, v.dst, ifc->gateway));
	uint64_t key;

	if (unlikely((v.ttl < c->ttl_dec) | (v.ip_len > k.mtus[c->target]) | !hop))
		return false;
	key = sn_neigh_key(c->target, v.vlan, hop);
	if (unlikely(n->key != key) && !(n = find_neighbor(k.w, class, key)))
		return false;
	if (unlikely(!sn_neigh_usable(n)))
		return false;
	n->used = k.now;
	if (likely(c->ttl_dec))
		move_head(v.ip, sn_head_move_of(c->ttl_dec, 0xffff - (c->ttl_dec << 8)));
	sn_write_l2(v.f, n);
	count_simple(k, c, class, v.frame_len);
	sn_worker_send(k.w, c->target, v.m);
	return true;
}

static inline void drop_simple(struct sn_known k, struct sn_view v, const struct sn_class *c, uint32_t class)
{
	count_simple(k, c, class, v.frame_len);
	sn_worker_drop(k.w, v.m, c->target);
}

/* ---- a cached decision ---- */

/* The state of a cache entry, NULL if it ended or is too old. */
static inline struct sn_entry *state_of(uint64_t word, uint64_t now)
{
	struct sn_entry *e = sn_cache_entry_of(word);

	return likely(sn_cache_entry_same(word, e) && sn_entry_live(e, now)) ? e : NULL;
}

/* is_return: 0 or 1; not bool, which would be kept as a byte and read as an index. */
static __rte_always_inline void use_session(struct sn_known k, struct sn_view v, struct sn_entry *s,
					    uint32_t is_return)
{
	struct sn_session *session = (struct sn_session *)s;

	if (!s)
		return;
	if (!v.plain)
		sn_session_use(k.w->state, session, v.proto == SN_TCP ? v.l4 : NULL, is_return, k.now);
	else if (unlikely(!sn_session_use_mixed(session, v.l4, sn_plain_tcp(v.proto), is_return, k.now)))
		sn_session_use_rare(k.w->state, session, v.l4, is_return, k.now);
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
	sn_worker_send(k.w, n->iface, v.m);
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

#endif /* SN_FAST_H */
