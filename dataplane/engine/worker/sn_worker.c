/* SPDX-License-Identifier: Apache-2.0 */
#include <rte_cycles.h>

#include "sn_each.h"
#include "sn_exec.h"
#include "sn_fast.h"
#include "sn_handover.h"
#include "sn_share.h"

_Static_assert(SN_TABLE_NONE == UINT32_MAX, "classes of bytes 0xff are none");

/* ---- a decided packet ---- */

/* A decided packet: the sessions' timers, one write, out. False if the decision does not hold for it. */
static __rte_always_inline bool forward_cached(struct sn_known k, uint32_t i, const struct sn_cache_entry *e,
					       bool plain)
{
	struct sn_pkt *p;

	if (plain && likely(!(e->flags & (SN_CACHE_READ | SN_CACHE_OBSERVED)))) {
		struct sn_view v = view_of_plain(k.w->burst.frames[i]);
		struct sn_entry *s0;

		if (e->sessions[1])
			return forward_two(k.w, i, e, k.now);
		if (unlikely(!holds_with(k, v, e, &s0)))
			return false;
		send_decided(k, v, e, s0, NULL);
		return true;
	}
	if (plain && !(e->flags & SN_CACHE_READ))
		return forward_observed(k.w, i, e, k.now);
	p = sn_worker_pkt(k.w, i);
	if (unlikely(e->flags & SN_CACHE_EACH))
		return forward_each(k.w, p, e, k.now);
	return forward_read(k, p, e);
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

/* The keys of the packets' flows, for those that Entry does not refuse. */
static void make_keys(struct sn_worker *w, uint32_t iface, uint32_t n)
{
	const struct sn_atoms *atoms = w->program->atoms;
	/* Copies: none of it changes as keys are written, which the compiler cannot know. */
	const struct sn_cache c = w->cache;
	struct rte_mbuf *const *frames = w->burst.frames;
	const uint64_t plain = w->burst.plain;
	struct sn_burst *b = &w->burst;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t hash;

		if (likely(plain >> i & 1))
			hash = sn_cache_key_of_plain(&c, atoms, rte_pktmbuf_mtod(frames[i], const uint8_t *),
						     iface, &b->keys[i]);
		else if (!b->pkts[i].reason)
			hash = sn_cache_key_of(&c, atoms, &b->pkts[i], &b->keys[i]);
		else
			continue;
		b->hashes[i] = hash;
		sn_cache_prefetch_tags(&c, hash);
	}
}

/* Short decisions whose sessions are on their way; how many there are. bits: of which packets. */
static uint32_t expand(struct sn_worker *w, uint64_t bits)
{
	struct sn_burst *b = &w->burst;
	uint32_t known = 0;

	for (; bits; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(bits);

		if (!sn_cache_expand(&w->cache, &b->shorts[i], &b->expanded[i]))
			continue;
		b->candidates[i] = &b->expanded[i];
		known++;
		if (unlikely(b->expanded[i].flags & SN_CACHE_OBSERVED))
			prefetch_observed(w, &b->expanded[i]);
	}
	return known;
}

/* Decisions remember state by its generations, and go before any of these comes again. */
static inline void forget_in_time(struct sn_worker *w)
{
	if (likely(!sn_partition_era_ended(w->partition)))
		return;
	sn_cache_flush(&w->cache);
	sn_cache_flush(&w->warm_up.cache);
	sn_partition_enter_era(w->partition);
}

/* Find what is known of the packets' flows. Returns of how many there may be something. */
static uint32_t look_up(struct sn_worker *w, uint32_t iface, uint32_t n)
{
	struct sn_burst *b = &w->burst;
	uint32_t known = 0;
	uint64_t shorts = 0;

	forget_in_time(w);
	make_keys(w, iface, n);
	for (uint32_t i = 0; i < n; i++) {
		b->candidates[i] = NULL;
		if (!likely(sn_burst_plain(b, i)) &&
		    (unlikely(b->pkts[i].reason) || !sn_cache_eligible(&b->pkts[i])))
			continue;
		b->candidates[i] = sn_cache_candidate(&w->cache, b->hashes[i]);
		if (!b->candidates[i] && w->cache.shorts.buckets &&
		    sn_cache_find_short(&w->cache, b->hashes[i], &b->shorts[i])) {
			rte_prefetch0(b->shorts[i].session);
			shorts |= 1ull << i;
			continue;
		}
		known += b->candidates[i] != NULL;
		rte_prefetch0(b->candidates[i] ? b->candidates[i] : sn_cache_vacant(&w->cache, b->hashes[i]));
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct sn_cache_entry *e = b->candidates[i];

		if (e && e->sessions[0])
			rte_prefetch0(sn_cache_entry_of(e->sessions[0]));
	}
	if (unlikely(w->counts->observer))
		sn_cache_prefetch_cells(&w->cache, b->candidates, n);
	return known + (shorts ? expand(w, shorts) : 0);
}

static inline bool is_handed(const struct sn_worker *w, uint32_t i)
{
	return w->burst.handed >> i & 1;
}

/* By what is cached of its flow. False if the packet is not done with; *key: what is decided of it may be
 * kept under. */
static __rte_always_inline bool by_cache(struct sn_known k, uint32_t i, uint32_t segment, bool dispatching,
					 bool plain, const struct sn_cache_key **key)
{
	struct sn_worker *w = k.w;
	const struct sn_cache_entry *e = w->burst.candidates[i];

	if (e &&
	    likely(sn_cache_is(e, &w->burst.keys[i]) && sn_cache_current(&w->cache, &w->burst.keys[i]))) {
		if (dispatching) {
			w->burst.shards[i] = e->shard;
			if (unlikely(!sn_hand_over_is_here(w, e->shard))) {
				sn_hand_over(w, i);
				return true;
			}
		}
		if (likely(forward_cached(k, i, e, plain))) {
			w->stats.cache_hits++;
			return true;
		}
		/* An answer to it may be of another shard than its flow. */
		if (dispatching && !sn_hand_over_late(w, i, segment))
			return true;
	} else if (dispatching && e && !sn_hand_over_late(w, i, segment)) {
		return true;
	}
	w->stats.cache_misses++;
	if (plain || sn_cache_eligible(&w->burst.pkts[i]))
		*key = &w->burst.keys[i];
	return false;
}

/* By what says all, if it does; it is counted there. keep: a decision is wanted. */
static __rte_always_inline bool by_adjacency(struct sn_known k, uint32_t i, struct sn_adjacency *a,
					     struct sn_count *count, bool keep, bool plain)
{
	struct sn_view v;

	if (a->simple < SN_SIMPLE_OUTPUT)
		return false;
	v = plain ? view_of_plain(k.w->burst.frames[i]) : view_of(&k.w->burst.pkts[i]);
	if (a->simple == SN_SIMPLE_OUTPUT)
		return !keep && likely(forward_simple(k, v, a, count));
	drop_simple(k, v, a, count);
	return true;
}

/* By its class, if that is simple. False if it is not. */
static __rte_always_inline bool by_class(struct sn_known k, uint32_t i, uint32_t segment, bool caching,
					 bool keep, bool plain)
{
	uint32_t class = k.w->burst.classes[i];
	struct sn_adjacency *a;

	if (unlikely(class == SN_TABLE_NONE))
		return false;
	class += k.program->segments[segment].first_class;
	a = &k.adjacencies[class];
	if (caching && plain && a->simple == SN_SIMPLE_FORWARD)
		return k.w->burst.hinted >> i & 1 && forward_new(k.w, i, class, k.now);
	return by_adjacency(k, i, a, &k.class_counts[class], keep, plain);
}

/* One packet, in its turn, that Entry does not refuse. */
static __rte_always_inline void forward_one(struct sn_known k, uint32_t i, uint32_t segment, bool caching,
					    bool dispatching, bool plain)
{
	const struct sn_cache_key *key = NULL;
	struct sn_worker *w = k.w;

	if (dispatching && !w->burst.candidates[i] && unlikely(is_handed(w, i))) {
		sn_hand_over(w, i);
		return;
	}
	if (caching && by_cache(k, i, segment, dispatching, plain, &key))
		return;
	if (by_class(k, i, segment, caching, key != NULL, plain))
		return;
	sn_exec(w, sn_worker_pkt(w, i), segment, w->burst.classes[i], key, w->burst.hashes[i], k.now);
}

static __rte_noinline void forward_other(struct sn_worker *w, uint32_t i, uint32_t segment, uint64_t now)
{
	if (unlikely(w->burst.pkts[i].reason))
		refuse(w, &w->burst.pkts[i], now);
	else
		forward_one(known_of(w, now), i, segment, w->caching, w->dispatching, false);
}

/* Packets from `first` to before `end`. */
static __rte_always_inline void forward(struct sn_worker *w, uint32_t first, uint32_t end, uint32_t segment,
					bool caching, bool dispatching, uint64_t now)
{
	struct sn_known k = known_of(w, now);

	for (uint32_t i = first; i < end; i++) {
		if (likely(sn_burst_plain(&w->burst, i)))
			forward_one(k, i, segment, caching, dispatching, true);
		else
			forward_other(w, i, segment, now);
	}
}

/* Bit per packet: the ways are open to it on which nothing behind the addresses is read. */
static inline uint64_t straight(const struct sn_burst *b)
{
	return b->plain | b->fragments;
}

/* What plain packets of a program without state leave by, and are counted by: classes of a segment, or paths.
 */
struct outcomes {
	struct sn_adjacency *adjacencies;
	struct sn_count *counts;
	uint32_t n; /* numbers from there on are none */
};

static inline struct outcomes outcomes_of(const struct sn_worker *w, uint32_t segment)
{
	uint32_t first_class = w->program->segments[segment].first_class;

	if (w->burst.by_path)
		return (struct outcomes){w->counts->follow.ends, w->counts->paths.counts, SN_PATHS_MAX};
	return (struct outcomes){w->counts->adjacencies + first_class, w->counts->classes + first_class,
				 SN_TABLE_NONE};
}

static __rte_noinline void forward_apart(struct sn_worker *w, uint32_t i, uint32_t segment, uint64_t now)
{
	struct outcomes o = outcomes_of(w, segment);
	uint32_t number = w->burst.classes[i];

	if (straight(&w->burst) >> i & 1) {
		if (number < o.n &&
		    by_adjacency(known_of(w, now), i, &o.adjacencies[number], &o.counts[number], false, true))
			return;
		if (w->burst.by_path)
			w->burst.classes[i] = sn_follow_class(number);
		if (unlikely(w->burst.fragments >> i & 1))
			sn_worker_pkt(w, i);
	}
	forward(w, i, i + 1, segment, false, false, now);
}

/* How most packets will leave: as the first one whose outcome has a shape. NULL: there is none. */
static const struct sn_adjacency *find_model(const struct sn_worker *w, uint32_t first, uint32_t end,
					     const struct outcomes *o)
{
	for (uint32_t i = first; i < end; i++) {
		uint32_t number = w->burst.classes[i];

		if (straight(&w->burst) >> i & 1 && number < o->n && o->adjacencies[number].shape)
			return &o->adjacencies[number];
	}
	return NULL;
}

/* Packets of a program without state, most of which leave alike. */
static __rte_noinline void forward_stateless(struct sn_worker *w, uint32_t first, uint32_t end,
					     uint32_t segment, uint64_t now)
{
	struct sn_known k = known_of(w, now);
	const struct outcomes o = outcomes_of(w, segment);
	const struct sn_adjacency *model = find_model(w, first, end, &o);
	/* Copies: what changes of them is the packet's at hand alone. */
	struct rte_mbuf *const *frames = w->burst.frames;
	const uint64_t open = straight(&w->burst);
	struct sn_shape shape;

	if (unlikely(!model)) {
		for (uint32_t i = first; i < end; i++)
			forward_apart(w, i, segment, now);
		return;
	}
	shape = shape_of(w, model);
	for (uint32_t i = first; i < end; i++) {
		uint32_t number = w->burst.classes[i];

		if (likely((open >> i & 1) && number < o.n) &&
		    likely(forward_alike(k, view_of_plain(frames[i]), &o.adjacencies[number], shape,
					 &o.counts[number])))
			continue;
		forward_apart(w, i, segment, now);
	}
	if (likely(shape.out->n > 0))
		w->sending.pending |= 1ull << shape.iface;
}

/* With what is the same for all packets put in. */
static void forward_all(struct sn_worker *w, uint32_t first, uint32_t end, uint32_t segment, uint64_t now)
{
	if (w->dispatching)
		forward(w, first, end, segment, w->caching, true, now);
	else if (w->caching)
		forward(w, first, end, segment, true, false, now);
	else
		forward_stateless(w, first, end, segment, now);
}

static void trace_decision(struct sn_worker *w, uint32_t path)
{
	const struct sn_paths *paths = &w->counts->paths;

	trace_path(w, path, paths->first[path + 1] - paths->first[path]);
}

/* The path of a packet that was followed to its end; SN_NO_INDEX: it was not. */
static uint32_t path_at(const struct sn_worker *w, uint32_t i)
{
	uint32_t number = w->burst.classes[i];

	return w->burst.by_path && sn_burst_plain(&w->burst, i) && number < SN_PATHS_MAX ? number
											 : SN_NO_INDEX;
}

/* A burst's packets, told to the trace, with the classes that the fast ways know and do not tell. */
static __rte_noinline void forward_traced(struct sn_worker *w, uint32_t n, uint32_t segment, uint64_t now)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t hits = w->stats.cache_hits;
		bool watched = sn_trace_turn(w->trace, i);
		uint32_t path = path_at(w, i);

		forward_all(w, i, i + 1, segment, now);
		if (w->dispatching && w->burst.shards[i] != SN_PKT_NO_SHARD)
			sn_trace_shard(w->trace, w->burst.shards[i]);
		if (is_handed(w, i))
			sn_trace_handed(w->trace);
		if (!watched || is_handed(w, i))
			continue;
		if (sn_trace_has_class(w->trace))
			continue;
		if (w->stats.cache_hits != hits)
			trace_decision(w, w->burst.candidates[i]->path);
		else if (path != SN_NO_INDEX)
			trace_decision(w, path);
		else if (w->burst.classes[i] != SN_TABLE_NONE)
			sn_trace_class(w->trace,
				       w->program->segments[segment].first_class + w->burst.classes[i]);
	}
	sn_trace_no_turn(w->trace);
}

/* Of packets that lost a priority tag where they came: none of them is plain. */
static void restore_lengths(struct sn_worker *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (w->burst.frames[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			w->burst.pkts[i].frame_len = w->burst.frames[i]->pkt_len + SN_TAG_LEN;
}

/* Whether plain packets are followed over all segments before anything is done to them. Marks tell a class.
 */
static inline bool goes_by_path(const struct sn_worker *w, const struct sn_segment *s, uint16_t iface)
{
	return s->follows.possible && !w->dispatching && !(w->devices.believed >> iface & 1);
}

/* Fragments are read where more than addresses, protocol and DSCP may count: state, a mark, several segments.
 */
static __rte_noinline void read_fragments(struct sn_worker *w)
{
	while (w->burst.fragments)
		sn_worker_pkt(w, (uint32_t)__builtin_ctzll(w->burst.fragments));
}

static inline bool reads_fragments(const struct sn_worker *w, uint16_t iface)
{
	return w->caching || w->dispatching || w->devices.believed >> iface & 1 || w->burst.by_path;
}

/* Frames become packets, as they came. */
static __rte_always_inline void take_in(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames,
					uint32_t n, uint64_t now)
{
	const struct sn_interface *ifc = &w->program->interfaces[iface];
	struct sn_count *rx = &w->stats.ports[iface].rx;
	struct sn_parsed parsed;

	if (unlikely(w->trace))
		sn_trace_begin(w->trace, iface, frames, n, now);
	parsed = sn_parse(frames, w->burst.pkts, n, iface, w->addresses.macs[iface], ifc->vlans, ifc->sources,
			  ifc->tiny_fragments);
	w->burst.frames = frames;
	w->burst.iface = iface;
	w->burst.plain = parsed.plain;
	w->burst.fragments = parsed.fragments;
	w->burst.by_path = goes_by_path(w, &w->program->segments[ifc->segment], iface);
	if (unlikely(parsed.fragments) && reads_fragments(w, iface))
		read_fragments(w);
	if (unlikely(w->taking)) {
		restore_lengths(w, n);
		return;
	}
	rx->packets += n;
	rx->bytes += parsed.bytes;
	if (unlikely(w->devices.watched >> iface & 1))
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
		known = look_up(w, iface, n);
	else
		memset(w->burst.candidates, 0, n * sizeof(*w->burst.candidates));
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
	w->burst.hinted = 0;
	if (w->caching && known < n && likely(!w->trace))
		sn_worker_prefetch_state(w, &w->program->segments[segment], n);
	mark(w, stages, SN_STAGE_CLASSIFY, &since);
	if (unlikely(w->trace))
		forward_traced(w, n, segment, now);
	else
		forward_all(w, 0, n, segment, now);
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

static void tick_cache(const struct sn_worker *w, struct sn_cache *c, uint64_t now)
{
	if (c->crowded || c->before.buckets)
		sn_cache_tick(c, sn_partition_entries(w->partition), now);
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
	tick_cache(w, &w->cache, now);
	tick_cache(w, &w->warm_up.cache, now);
	if (w->counts->observer)
		sn_worker_observe(w, now);
	sn_neigh_tick(w, sn_exec_unreachable, now);
	sn_worker_flush_all(w);
}
