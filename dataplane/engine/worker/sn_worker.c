/* SPDX-License-Identifier: Apache-2.0 */
#include <rte_cycles.h>

#include "sn_exec.h"
#include "sn_handover.h"
#include "sn_rewrite.h"
#include "sn_share.h"
#include "sn_tcp.h"

_Static_assert(SN_TABLE_NONE == UINT32_MAX, "classes of bytes 0xff are none");

/* ---- the fast ways ---- */

/* Write the new TTL and move the IP checksum. */
static inline void lower_ttl(uint8_t *ip, uint8_t by, uint16_t diff)
{
	ip[8] -= by;
	sn_move_at(ip + 10, diff);
}

/* A simple class's packet: a TTL, a next hop and out. False if that is not all there is to it. */
static __rte_always_inline bool forward_simple(struct sn_worker *w, struct sn_pkt *p,
					       const struct sn_class *c, uint32_t class, uint64_t now)
{
	const struct sn_interface *ifc = &w->program->interfaces[c->target];
	struct sn_neigh *n = &w->neigh.entries[w->counts->class_neigh[class]];
	const uint32_t *ids = &w->program->leg_counters[c->first_counter];
	uint32_t hop = c->next_hop;
	uint8_t *f;

	if (!hop)
		hop = ((p->dst ^ ifc->address) & ifc->mask) == 0 ? p->dst : ifc->gateway;
	if (unlikely(p->ttl < c->ttl_dec || p->ip_len > ifc->mtu || !hop))
		return false;
	if (unlikely(n->key != sn_neigh_key(c->target, p->vlan, hop))) {
		n = sn_neigh_find(&w->neigh, sn_neigh_key(c->target, p->vlan, hop));
		if (!n)
			return false;
		w->counts->class_neigh[class] = n - w->neigh.entries;
	}
	if (unlikely(!sn_neigh_usable(n)))
		return false;
	n->used = now;
	f = rte_pktmbuf_mtod(p->m, uint8_t *);
	if (c->ttl_dec)
		lower_ttl(f + p->l3, c->ttl_dec, 0xffff - (c->ttl_dec << 8));
	sn_write_l2(f, n);
	sn_count_add(&w->counts->classes[class], p->frame_len);
	for (uint32_t i = 0; i < c->n_counters; i++)
		sn_count_add(&w->counts->counters[ids[i]], p->frame_len);
	sn_worker_send(w, c->target, p->m);
	return true;
}

static inline void drop_simple(struct sn_worker *w, struct sn_pkt *p, const struct sn_class *c,
			       uint32_t class)
{
	const uint32_t *ids = &w->program->leg_counters[c->first_counter];

	sn_count_add(&w->counts->classes[class], p->frame_len);
	for (uint32_t i = 0; i < c->n_counters; i++)
		sn_count_add(&w->counts->counters[ids[i]], p->frame_len);
	sn_worker_drop(w, p->m, c->target);
}

/* The state of a cache entry, NULL if it ended or is too old. */
static inline struct sn_entry *state_of(uint64_t word, uint64_t now)
{
	struct sn_entry *e = sn_cache_entry_of(word);

	return likely(sn_cache_entry_same(word, e) && sn_entry_live(e, now)) ? e : NULL;
}

static __rte_always_inline void use_sessions(const struct sn_worker *w, const struct sn_cache_entry *e,
					     struct sn_entry *s0, struct sn_entry *s1, const uint8_t *tcp,
					     uint64_t now)
{
	if (s0)
		sn_session_use(w->state, (struct sn_session *)s0, tcp, e->flags & SN_CACHE_RETURN0, now);
	if (s1)
		sn_session_use(w->state, (struct sn_session *)s1, tcp, e->flags & SN_CACHE_RETURN1, now);
}

/* The ports and the checksum of what is not TCP. */
static __rte_always_inline void rewrite_other(const struct sn_pkt *p, const struct sn_cache_entry *e,
					      uint8_t *l4)
{
	if (p->proto == SN_UDP) {
		memcpy(l4, &e->sport, 4);
		sn_move_udp_at(l4 + 6, e->l4_diff);
	} else if (p->proto == SN_ICMP) {
		memcpy(l4 + 4, &e->sport, 2);
		sn_move_at(l4 + 2, e->l4_diff);
	}
}

/* Whether a decision holds for a packet, and with which sessions. */
static __rte_always_inline bool holds(const struct sn_worker *w, const struct sn_pkt *p,
				      const struct sn_cache_entry *e, struct sn_entry **s0,
				      struct sn_entry **s1, uint64_t now)
{
	const struct sn_neigh *n = &w->neigh.entries[e->neigh];

	*s0 = *s1 = NULL;
	if (unlikely(p->ttl < e->min_ttl || p->ip_len > w->program->interfaces[n->iface].mtu ||
		     !sn_neigh_usable(n)))
		return false;
	if (e->sessions[0] && unlikely(!(*s0 = state_of(e->sessions[0], now))))
		return false;
	return !e->sessions[1] || likely((*s1 = state_of(e->sessions[1], now)));
}

/* One write, and out. False if there is no room for a tag. */
static __rte_always_inline bool send_decided(struct sn_worker *w, struct sn_pkt *p,
					     const struct sn_cache_entry *e, struct sn_entry *s0,
					     struct sn_entry *s1, uint64_t now)
{
	struct sn_neigh *n = &w->neigh.entries[e->neigh];
	uint8_t *f, *ip, *l4;

	if (unlikely(e->vlan != SN_CACHE_KEEP_VLAN)) {
		p->vlan = e->vlan;
		p->stripped = e->flags & SN_CACHE_STRIPPED ? 1 : 0;
		if (!sn_rewrite_tag(p))
			return false;
	}
	f = rte_pktmbuf_mtod(p->m, uint8_t *);
	ip = f + p->l3;
	l4 = f + p->l4;
	n->used = now;
	if (unlikely(e->dscp != SN_CACHE_KEEP_DSCP))
		ip[1] = e->dscp << 2 | (ip[1] & 3);
	lower_ttl(ip, e->ttl_dec, e->ip_diff);
	memcpy(ip + 12, &e->src, 4);
	memcpy(ip + 16, &e->dst, 4);
	if (p->proto == SN_TCP) {
		use_sessions(w, e, s0, s1, l4, now);
		memcpy(l4, &e->sport, 4);
		sn_move_at(l4 + 16, e->l4_diff);
	} else {
		use_sessions(w, e, s0, s1, NULL, now);
		rewrite_other(p, e, l4);
	}
	sn_write_l2(f, n);
	sn_count_add(&w->counts->paths[e->path], p->frame_len);
	sn_worker_send(w, n->iface, p->m);
	return true;
}

/* The classes of the first steps of a cached decision's path. */
static void trace_path(struct sn_worker *w, uint32_t path, uint32_t steps)
{
	const struct sn_counts *c = w->counts;

	for (uint32_t i = c->first[path]; i < c->first[path] + steps; i++)
		if (!(c->steps[i] & (SN_STEP_COUNTER | SN_STEP_EACH)))
			sn_trace_class(w->trace, c->steps[i]);
}

/* What each packet has done to it, step by step on the decision's path. The step at which it is to be
 * dropped, with the reason; the path's end: it is not. */
static uint32_t do_each(struct sn_worker *w, struct sn_pkt *p, const struct sn_cache_entry *e,
			struct sn_entry *const *sessions, uint64_t now, uint32_t *reason)
{
	const struct sn_counts *c = w->counts;
	uint32_t slot = 0, i;

	for (i = c->first[e->path]; i < c->first[e->path + 1]; i++) {
		uint32_t step = c->steps[i];
		const struct sn_op *op = &w->program->ops[step & (SN_STEP_ENTRY - 1)];
		struct sn_entry *entry = NULL;
		struct sn_verdict v;

		if (step & SN_STEP_COUNTER || !(step & SN_STEP_EACH))
			continue;
		if (step & SN_STEP_ENTRY) {
			while (!(e->flags & SN_CACHE_EACH0 << slot))
				slot++;
			entry = sessions[slot++];
		}
		v = sn_operation_of(op)->each(w->program, op, w->partition, entry, p, now);
		if (v.kind == SN_VERDICT_DROP) {
			*reason = v.value;
			break;
		}
	}
	return i - c->first[e->path];
}

/* A decided packet ends at a step of its path. */
static void drop_decided(struct sn_worker *w, struct sn_pkt *p, uint32_t path, uint32_t steps,
			 uint32_t reason)
{
	sn_counts_part(w->counts, path, steps, p->frame_len);
	if (w->trace)
		trace_path(w, path, steps);
	sn_worker_drop(w, p->m, reason);
}

/* A decided packet of a flow each of whose packets has something done to it, which may drop it or change its
 * DSCP. */
static __rte_noinline bool forward_each(struct sn_worker *w, struct sn_pkt *p, const struct sn_cache_entry *e,
					uint64_t now)
{
	uint32_t length = w->counts->first[e->path + 1] - w->counts->first[e->path], steps, reason = 0;
	struct sn_cache_entry own = *e;
	struct sn_entry *s[SN_CACHE_SESSIONS];
	uint8_t dscp = e->dscp != SN_CACHE_KEEP_DSCP ? e->dscp : p->dscp;

	/* After this nothing may refuse the decision, or what is done to each packet would be done twice. */
	if (!holds(w, p, e, &s[0], &s[1], now) ||
	    (e->vlan != SN_CACHE_KEEP_VLAN && rte_pktmbuf_headroom(p->m) < SN_TAG_LEN))
		return false;
	p->dscp = dscp;
	steps = do_each(w, p, e, s, now, &reason);
	if (steps < length) {
		drop_decided(w, p, e->path, steps, reason);
		return true;
	}
	if (p->dscp != dscp) {
		own.dscp = p->dscp;
		own.ip_diff = sn_diff_norm(e->ip_diff + sn_diff16(dscp << 2, p->dscp << 2));
	}
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++)
		if (e->flags & SN_CACHE_EACH0 << i)
			s[i] = NULL;
	return send_decided(w, p, &own, s[0], s[1], now);
}

/* A decided packet: the sessions' timers, one write, out. False if the decision does not hold for it. */
static __rte_always_inline bool forward_cached(struct sn_worker *w, struct sn_pkt *p,
					       const struct sn_cache_entry *e, uint64_t now)
{
	struct sn_entry *s0, *s1;

	if (unlikely(e->flags & SN_CACHE_EACH))
		return forward_each(w, p, e, now);
	return likely(holds(w, p, e, &s0, &s1, now)) && send_decided(w, p, e, s0, s1, now);
}

/* ---- a burst ---- */

static inline void mark(const struct sn_worker *w, uint64_t *stages, enum sn_stage stage, uint64_t *since)
{
	uint64_t now;

	if (likely(!w->profile))
		return;
	now = rte_rdtsc();
	stages[stage] += now - *since;
	*since = now;
}

/* What Entry refuses. */
static void refuse(struct sn_worker *w, struct sn_pkt *p, uint64_t now)
{
	if (p->reason == SN_REASON_ARP) {
		bool news = sn_share_learn(w, p, now);

		if (w->taking) {
			w->copies++;
			rte_pktmbuf_free(p->m);
			return;
		}
		if (news)
			sn_share(w, p);
	}
	sn_worker_drop(w, p->m, p->reason);
}

/* Find what is known of the packets' flows. Returns of how many there may be something. */
static uint32_t look_up(struct sn_worker *w, uint32_t n)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (unlikely(w->burst.pkts[i].reason))
			continue;
		w->burst.hashes[i] =
			sn_cache_key_of(&w->cache, w->program->atoms, &w->burst.pkts[i], &w->burst.keys[i]);
		sn_cache_prefetch_tags(&w->cache, w->burst.hashes[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (unlikely(w->burst.pkts[i].reason) || !sn_cache_eligible(&w->burst.pkts[i]))
			continue;
		w->burst.candidates[i] = sn_cache_candidate(&w->cache, w->burst.hashes[i]);
		known += w->burst.candidates[i] != NULL;
		rte_prefetch0(w->burst.candidates[i] ? w->burst.candidates[i]
						     : sn_cache_vacant(&w->cache, w->burst.hashes[i]));
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_cache_entry *e = w->burst.candidates[i];

		if (e && e->sessions[0])
			rte_prefetch0(sn_cache_entry_of(e->sessions[0]));
	}
	return known;
}

static inline bool is_handed(const struct sn_worker *w, uint32_t i)
{
	return w->burst.handed >> i & 1;
}

/* One packet, in its turn. */
static __rte_always_inline void forward(struct sn_worker *w, uint32_t i, uint32_t segment, bool dispatching,
					uint64_t now)
{
	struct sn_pkt *p = &w->burst.pkts[i];
	const struct sn_cache_entry *e = w->burst.candidates[i];
	const struct sn_cache_key *key = NULL;
	const struct sn_class *c;
	uint32_t class;

	if (unlikely(p->reason)) {
		refuse(w, p, now);
		return;
	}
	if (dispatching && !e && unlikely(is_handed(w, i))) {
		sn_hand_over(w, i);
		return;
	}
	if (w->caching) {
		if (e && likely(sn_cache_is(e, &w->burst.keys[i]) &&
				sn_cache_current(&w->cache, &w->burst.keys[i]))) {
			if (dispatching) {
				w->burst.shards[i] = e->shard;
				if (unlikely(!sn_hand_over_is_here(w, e->shard))) {
					sn_hand_over(w, i);
					return;
				}
			}
			if (likely(forward_cached(w, p, e, now))) {
				w->stats.cache_hits++;
				return;
			}
			/* An answer to it may be of another shard than its flow. */
			if (dispatching && !sn_hand_over_late(w, i, segment))
				return;
		} else if (dispatching && e && !sn_hand_over_late(w, i, segment)) {
			return;
		}
		w->stats.cache_misses++;
		if (sn_cache_eligible(p))
			key = &w->burst.keys[i];
	}
	class = w->burst.classes[i];
	if (likely(class != SN_TABLE_NONE)) {
		class += w->program->segments[segment].first_class;
		c = &w->program->classes[class];
		if (c->simple == SN_SIMPLE_OUTPUT && !key && likely(forward_simple(w, p, c, class, now)))
			return;
		if (c->simple == SN_SIMPLE_DROP) {
			drop_simple(w, p, c, class);
			return;
		}
	}
	sn_exec(w, p, segment, w->burst.classes[i], key, w->burst.hashes[i], now);
}

static void trace_decision(struct sn_worker *w, uint32_t path)
{
	trace_path(w, path, w->counts->first[path + 1] - w->counts->first[path]);
}

/* A burst's packets, told to the trace, with the classes that the fast ways know and do not tell. */
static __rte_noinline void forward_traced(struct sn_worker *w, uint32_t n, uint32_t segment, uint64_t now)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t hits = w->stats.cache_hits;
		bool watched = sn_trace_turn(w->trace, i);

		forward(w, i, segment, w->dispatching, now);
		if (is_handed(w, i))
			sn_trace_handed(w->trace);
		if (!watched || is_handed(w, i))
			continue;
		if (sn_trace_has_class(w->trace))
			continue;
		if (w->stats.cache_hits != hits)
			trace_decision(w, w->burst.candidates[i]->path);
		else if (w->burst.classes[i] != SN_TABLE_NONE)
			sn_trace_class(w->trace,
				       w->program->segments[segment].first_class + w->burst.classes[i]);
	}
	sn_trace_no_turn(w->trace);
}

/* Of packets that lost a priority tag where they came. */
static void restore_lengths(struct sn_worker *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (w->burst.pkts[i].m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			w->burst.pkts[i].frame_len = w->burst.pkts[i].m->pkt_len + SN_TAG_LEN;
}

/* Frames become packets, as they came. */
static __rte_always_inline void take_in(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames,
					uint32_t n, uint64_t now)
{
	struct sn_count *rx = &w->stats.ports[iface].rx;
	uint64_t bytes = 0;

	if (unlikely(w->trace))
		sn_trace_begin(w->trace, iface, frames, n, now);
	sn_parse(frames, w->burst.pkts, n, iface, w->addresses.macs[iface],
		 w->program->interfaces[iface].vlans, w->program->interfaces[iface].sources,
		 w->program->interfaces[iface].tiny_fragments);
	if (unlikely(w->taking))
		restore_lengths(w, n);
	for (uint32_t i = 0; i < n; i++) {
		bytes += w->burst.pkts[i].frame_len;
		w->burst.candidates[i] = NULL;
	}
	if (likely(!w->taking)) {
		rx->packets += n;
		rx->bytes += bytes;
	}
	if (unlikely(w->devices.watched >> iface & 1) && !w->taking)
		sn_worker_sample(w, n, now);
}

static __rte_always_inline void count_burst(struct sn_worker *w, uint32_t n, uint64_t cycles)
{
	w->stats.packets += n - w->burst.gone - w->copies;
	w->stats.bursts++;
	w->stats.busy_cycles += cycles;
	w->stats.latency[RTE_MIN(63u - (unsigned int)__builtin_clzll(cycles | 1), SN_LATENCY_BUCKETS - 1u)]++;
}

static void burst(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n, uint64_t now)
{
	uint64_t *stages = w->stats.stage_cycles, since = rte_rdtsc(), begun = since, handing = since, cycles;
	uint32_t segment = w->program->interfaces[iface].segment, known = 0, weight = 0;

	take_in(w, iface, frames, n, now);
	mark(w, stages, SN_STAGE_PARSE, &since);
	if (w->caching)
		known = look_up(w, n);
	mark(w, stages, SN_STAGE_LOOKUP, &since);
	if (known == n)
		memset(w->burst.classes, 0xff, n * sizeof(*w->burst.classes));
	else if (unlikely(w->devices.believed >> iface & 1))
		sn_worker_classify_marked(w, iface, &w->program->segments[segment], n);
	else
		sn_worker_classify(w, &w->program->segments[segment], n);
	w->burst.gone = 0;
	w->burst.handed = 0;
	if (unlikely(w->dispatching)) {
		memset(w->burst.shards, SN_PKT_NO_SHARD, sizeof(w->burst.shards));
		if (known < n)
			sn_hand_over_find(w, segment, n);
		weight = sn_hand_over_weight(w, n);
		if (weight > 0)
			handing = rte_rdtsc();
	}
	if (w->caching && known < n)
		sn_worker_prefetch_state(w, &w->program->segments[segment], n);
	mark(w, stages, SN_STAGE_CLASSIFY, &since);
	if (unlikely(w->trace)) {
		forward_traced(w, n, segment, now);
	} else if (unlikely(w->dispatching)) {
		for (uint32_t i = 0; i < n; i++)
			forward(w, i, segment, true, now);
	} else {
		for (uint32_t i = 0; i < n; i++)
			forward(w, i, segment, false, now);
	}
	mark(w, stages, SN_STAGE_REWRITE, &since);
	sn_worker_flush_all(w);
	if (unlikely(w->trace))
		sn_trace_finish(w->trace);
	mark(w, stages, SN_STAGE_SEND, &since);

	cycles = rte_rdtsc() - begun;
	if (unlikely(weight > 0))
		sn_hand_over_count(w, n, weight, handing - begun, cycles - (handing - begun));
	if (unlikely(w->dispatching))
		sn_mailbox_publish(w->mailbox);
	count_burst(w, n, cycles);
}

void sn_worker_burst(struct sn_worker *w, uint16_t iface, struct rte_mbuf **pkts, uint16_t n, uint64_t now)
{
	if (unlikely(!w->program || iface >= w->program->n_interfaces)) {
		for (uint16_t i = 0; i < n; i++)
			sn_worker_drop(w, pkts[i], SN_REASON_NONE);
		sn_worker_flush_all(w);
		return;
	}
	while (n) {
		uint16_t part = RTE_MIN(n, SN_BURST_MAX);

		burst(w, iface, pkts, part, now);
		pkts += part;
		n -= part;
	}
}

void sn_worker_take(struct sn_worker *w, struct rte_mbuf **pkts, uint32_t n, uint64_t now)
{
	w->taking = true;
	for (uint32_t first = 0, i = 1; i <= n; i++) {
		uint32_t iface;

		if (i < n && i - first < SN_BURST_MAX && pkts[i]->port == pkts[first]->port)
			continue;
		iface = sn_worker_iface_of(w, pkts[first]->port);
		if (iface == SN_NO_INDEX) /* the program was swapped on the way */
			sn_worker_burst(w, SN_IFACES_MAX, pkts + first, i - first, now);
		else
			burst(w, iface, pkts + first, i - first, now);
		w->stats.taken += i - first - w->copies;
		w->copies = 0;
		first = i;
	}
	w->taking = false;
}

void sn_worker_tick(struct sn_worker *w, uint64_t now)
{
	if (!w->program)
		return;
	if (w->trace)
		sn_trace_tick(w->trace, now);
	w->devices.samples_left = w->devices.samples ? SN_SAMPLES_PER_TICK : 0;
	w->devices.until_mark_check = 0;
	sn_partition_tick(w->partition, now);
	sn_neigh_tick(w, sn_exec_unreachable, now);
	sn_worker_flush_all(w);
}
