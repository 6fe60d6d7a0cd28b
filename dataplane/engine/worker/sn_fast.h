/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FAST_H
#define SN_FAST_H

/* The fast ways of a packet, for sn_worker.c alone: by a simple class, or by a cached decision. */

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "sn_flow.h"
#include "sn_plain.h"
#include "sn_rewrite.h"
#include "sn_state_kind.h"
#include "sn_tcp.h"
#include "sn_window.h"
#include "sn_worker_impl.h"

/* What all packets of a burst read. None of it changes within a burst, which the compiler cannot know. */
struct sn_known {
	struct sn_worker *w;
	const struct sn_program *program;
	const struct sn_class *classes;
	struct sn_adjacency *adjacencies; /* by class */
	const uint16_t *mtus;		  /* by interface */
	struct sn_neigh *neighbors;
	struct sn_count *counters;
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
		.adjacencies = w->counts->adjacencies,
		.mtus = w->addresses.mtus,
		.neighbors = w->neigh.entries,
		.counters = w->counts->counters,
		.class_counts = w->counts->classes,
		.path_counts = w->counts->paths.counts,
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

/* count: the class's, or the path's. */
static __rte_always_inline void count_simple(struct sn_known k, const struct sn_adjacency *a,
					     struct sn_count *count, uint32_t bytes)
{
	const uint32_t *ids = &k.program->leg_counters[a->first_counter];

	sn_count_add(count, bytes);
	for (uint32_t i = 0; i < a->n_counters; i++)
		sn_count_add(&k.counters[ids[i]], bytes);
}

static inline uint32_t iface_of(const struct sn_adjacency *a)
{
	return (uint32_t)(a->key >> 48);
}

/* NULL: it is not known, or there is no next hop. */
static __rte_noinline struct sn_neigh *find_neighbor(struct sn_worker *w, struct sn_adjacency *a,
						     uint64_t key)
{
	struct sn_neigh *n = (uint32_t)key ? sn_neigh_find(&w->neigh, key) : NULL;

	if (n)
		a->neigh = (uint16_t)(n - w->neigh.entries);
	return n;
}

/* Where a simple class's packet goes to; NULL: that is not all there is to it. */
static __rte_always_inline struct sn_neigh *neighbor_of(struct sn_known k, struct sn_view v,
							struct sn_adjacency *a)
{
	struct sn_neigh *n = &k.neighbors[a->neigh];
	uint32_t hop = sn_choose((v.dst & a->mask) == a->net, v.dst, (uint32_t)a->key);
	uint64_t key = sn_neigh_key((uint8_t)iface_of(a), v.vlan, hop);

	if (unlikely((v.ttl < sn_head_ttl_dec(a->head_move)) | (v.ip_len > a->mtu)))
		return NULL;
	if (unlikely(n->key != key) && !(n = find_neighbor(k.w, a, key)))
		return NULL;
	return likely(sn_neigh_usable(n)) ? n : NULL;
}

/* A simple class's packet: a TTL, a next hop and out. False if that is not all there is to it. */
static __rte_always_inline bool forward_simple(struct sn_known k, struct sn_view v, struct sn_adjacency *a,
					       struct sn_count *count)
{
	struct sn_neigh *n = neighbor_of(k, v, a);

	if (unlikely(!n))
		return false;
	n->used = k.now;
	move_head(v.ip, a->head_move);
	sn_write_l2(v.f, n);
	count_simple(k, a, count, v.frame_len);
	sn_worker_send(k.w, (uint16_t)iface_of(a), v.m);
	return true;
}

/* What the classes of a shape have in common, as it is used. */
struct sn_shape {
	int64_t ttl_dec, mtu;
	uint32_t net, mask;
	uint32_t head_move;
	uint32_t number;
	uint32_t iface;
	struct sn_tx_buffer *out;
};

static inline struct sn_shape shape_of(struct sn_worker *w, const struct sn_adjacency *a)
{
	return (struct sn_shape){
		.ttl_dec = sn_head_ttl_dec(a->head_move),
		.mtu = a->mtu,
		.net = a->net,
		.mask = a->mask,
		.head_move = a->head_move,
		.number = a->shape,
		.iface = iface_of(a),
		.out = &w->sending.out[iface_of(a)],
	};
}

/*
 * As forward_simple() of a plain packet, if its class is of the shape. What does not hold is gathered rather
 * than branched on. The caller notes that something is to be sent.
 */
static __rte_always_inline bool forward_alike(struct sn_known k, struct sn_view v,
					      const struct sn_adjacency *a, struct sn_shape shape,
					      struct sn_count *count)
{
	struct sn_neigh *n = &k.neighbors[a->neigh];
	int64_t low = (v.ttl - shape.ttl_dec) | (shape.mtu - v.ip_len);

	low |= (int64_t)((v.dst & shape.mask) ^ shape.net) - 1;
	low |= (int64_t)n->state - SN_NEIGH_REACHABLE;
	if (unlikely((low < 0) | (n->key != a->key) | (a->shape != shape.number)))
		return false;
	n->used = k.now;
	move_head(v.ip, shape.head_move);
	sn_write_l2(v.f, n);
	sn_count_add(count, v.frame_len);
	shape.out->pkts[shape.out->n++] = v.m;
	if (unlikely(shape.out->n >= k.w->sending.wake))
		sn_worker_queued(k.w, (uint16_t)shape.iface);
	return true;
}

static inline void drop_simple(struct sn_known k, struct sn_view v, const struct sn_adjacency *a,
			       struct sn_count *count)
{
	count_simple(k, a, count, v.frame_len);
	sn_worker_drop(k.w, v.m, sn_adjacency_reason(a));
}

/* ---- a cached decision ---- */

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

/* ---- a decision of which each packet is looked at ---- */

/* The TCP header of a packet whose numbers a strict firewall asks for; NULL: of this session's none does. */
static inline const uint8_t *checked_by(const struct sn_pkt *p, const struct sn_entry *e)
{
	const struct sn_session *s = (const struct sn_session *)e;

	if (!e || p->proto != SN_TCP || !(s->seen & SN_SEEN_CHECKED))
		return NULL;
	return rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
}

static inline bool is_own(const struct sn_cache_entry *e, uint32_t i)
{
	return e->flags & SN_CACHE_EACH0 << i;
}

/* Whether a packet fits the windows of its sessions; else it is none of the decision's. */
static inline bool fits_windows(const struct sn_pkt *p, const struct sn_cache_entry *e,
				struct sn_entry *const *sessions)
{
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++) {
		const uint8_t *tcp = is_own(e, i) ? NULL : checked_by(p, sessions[i]);

		if (tcp && !sn_window_fits((const struct sn_session *)sessions[i], tcp,
					   sn_window_length(p, tcp), e->flags >> i & SN_CACHE_RETURN0))
			return false;
	}
	return true;
}

/* The packet leaves: sessions whose windows it moves are used, and those that operations had; the others are
 * left. */
static inline void use_own(struct sn_worker *w, const struct sn_pkt *p, const struct sn_cache_entry *e,
			   struct sn_entry **sessions, uint64_t now)
{
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++) {
		struct sn_session *s = (struct sn_session *)sessions[i];
		const uint8_t *tcp = is_own(e, i) ? NULL : checked_by(p, sessions[i]);
		bool is_return = e->flags >> i & SN_CACHE_RETURN0;

		if (tcp) {
			sn_window_move(s, tcp, sn_window_length(p, tcp), is_return);
			sn_session_use_rare(w->state, s, tcp, is_return, now);
		}
		if (tcp || is_own(e, i))
			sessions[i] = NULL;
	}
}

#define LOOKS_AGAIN 64 /* packets */

/* A decided packet that uses two sessions, which were not changed alike when it was decided. Now and then
 * that is looked at again. */
static __rte_noinline bool forward_two(struct sn_worker *w, uint32_t i, const struct sn_cache_entry *e,
				       uint64_t now)
{
	struct sn_known k = known_of(w, now);
	struct sn_view v = view_of_plain(w->burst.frames[i]);
	struct sn_entry *s0, *s1;

	if (unlikely(!holds(k, v, e, &s0, &s1)) || w->stats.cache_hits % LOOKS_AGAIN == 0)
		return false;
	send_decided(k, v, e, s0, s1);
	return true;
}

/* ---- a cached decision whose packets are observed ---- */

/* The flow of a short decision where it is observed: as it comes, or as it leaves. */
static inline struct sn_flow_cell flow_of_short(const struct sn_paths *paths, const struct sn_cache_entry *e)
{
	struct sn_flow_cell flow = {.proto = (uint8_t)(e->ports_key >> 24),
				    .iface = (uint8_t)(e->ports_key >> 16)};
	uint32_t steps = paths->first[e->path + 1] - paths->first[e->path];

	if (sn_paths_observed(paths, e->path, steps) & SN_STEP_CHANGED) {
		flow.src = rte_be_to_cpu_32(e->src);
		flow.dst = rte_be_to_cpu_32(e->dst);
		flow.sport = rte_be_to_cpu_16(e->sport);
		flow.dport = rte_be_to_cpu_16(e->dport);
	} else {
		flow.src = (uint32_t)(e->addresses >> 32);
		flow.dst = (uint32_t)e->addresses;
		flow.sport = (uint16_t)(e->ports_key >> 48);
		flow.dport = (uint16_t)(e->ports_key >> 32);
	}
	return flow;
}

static inline void prefetch_observed(const struct sn_worker *w, const struct sn_cache_entry *e)
{
	struct sn_flow_cell flow = flow_of_short(&w->counts->paths, e);

	rte_prefetch0(sn_flow_cells_line(&w->counts->observer->own, &flow));
}

static __rte_noinline void observe_short(struct sn_known k, const struct sn_cache_entry *e, uint32_t bytes,
					 uint8_t tcp_flags)
{
	struct sn_flow_cell flow = flow_of_short(&k.w->counts->paths, e);

	sn_observer_packet(k.w->counts->observer, &flow, bytes, tcp_flags, k.now);
}

static inline void observe(struct sn_known k, const struct sn_cache_entry *e, uint32_t bytes,
			   uint8_t tcp_flags)
{
	if (unlikely(!sn_cache_has(&k.w->cache, e)))
		observe_short(k, e, bytes, tcp_flags);
	else
		sn_observer_count(k.w->counts->observer, sn_cache_cell(&k.w->cache, e), bytes, tcp_flags,
				  k.now);
}

/* A plain packet: as without, and counted. */
static __rte_noinline bool forward_observed(struct sn_worker *w, uint32_t i, const struct sn_cache_entry *e,
					    uint64_t now)
{
	struct sn_known k = known_of(w, now);
	struct sn_view v = view_of_plain(w->burst.frames[i]);
	uint8_t tcp_flags = v.proto == SN_TCP ? v.f[SN_PLAIN_TCP_FLAGS] : 0;
	struct sn_entry *s0, *s1;

	if (unlikely(!holds(k, v, e, &s0, &s1)) || (e->sessions[1] && w->stats.cache_hits % LOOKS_AGAIN == 0))
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

/* ---- a new flow ---- */

/* Writes what a session says from inside. */
static inline void translate_plain(struct sn_view v, const struct sn_session *s, uint32_t ttl_dec)
{
	uint32_t addresses = sn_diff32(s->inside_addr, s->outside_addr);
	uint16_t head = sn_diff_norm(addresses + sn_diff16(ttl_dec << 8, 0));
	uint16_t l4 = sn_diff_norm(addresses + sn_diff16(s->inside_port, s->outside_port));

	move_head(v.ip, sn_head_move_of((uint8_t)ttl_dec, head));
	sn_store32(v.ip + 12, s->outside_addr);
	sn_store16(v.l4, s->outside_port);
	sn_move_mixed(v.l4, sn_plain_tcp(v.proto), rte_cpu_to_be_16(l4));
}

/*
 * The plain packet i, of a class that is SN_SIMPLE_FORWARD and whose hint is there, opens a session. What the
 * slow path does, in the same order, of a packet of which all that may come between is known not to come.
 * False: that is not known, or the flow has a session; nothing was done.
 */
static __rte_noinline bool forward_new(struct sn_worker *w, uint32_t i, uint32_t class, uint64_t now)
{
	struct sn_known k = known_of(w, now);
	const struct sn_flow_hint *hint = &w->burst.hints[i];
	const struct sn_class *c = &k.classes[class];
	struct sn_view v = view_of_plain(w->burst.frames[i]);
	struct sn_adjacency *a = &k.adjacencies[class];
	struct sn_flow flow = sn_flow_of_plain(v.f);
	struct sn_neigh *n = neighbor_of(k, v, a);
	uint32_t reason = 0;
	enum sn_open result;
	struct sn_session *s;

	if (unlikely(!n || !w->partition->owned[hint->number]))
		return false;
	result = sn_state_kinds[c->kind]->open(w->partition, c->state_run, &flow, hint, now, &s, &reason);
	if (result == SN_OPEN_KNOWN)
		return false;
	count_simple(k, a, &k.class_counts[class], v.frame_len);
	sn_worker_tell_events(w, v.m);
	if (unlikely(result == SN_OPEN_DROP)) {
		sn_worker_drop(w, v.m, reason);
		return true;
	}
	use_session(k, v, &s->entry, 0);
	n->used = now;
	translate_plain(v, s, sn_head_ttl_dec(a->head_move));
	sn_write_l2(v.f, n);
	sn_worker_send(w, (uint16_t)iface_of(a), v.m);
	return true;
}

#endif /* SN_FAST_H */
