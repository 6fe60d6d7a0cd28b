/* SPDX-License-Identifier: Apache-2.0 */
#include <rte_cycles.h>

#include "sn_classes.h"
#include "sn_continuation.h"
#include "sn_devices.h"
#include "sn_handover.h"
#include "sn_share.h"
#include "sn_fast_ways.h"
#include "sn_worker_private.h"

_Static_assert(SN_TABLE_NONE == UINT32_MAX, "classes of bytes 0xff are none");

static inline void mark(const struct sn_worker *w, uint64_t *stages, enum sn_stage stage, uint64_t *since)
{
	uint64_t now;

	if (likely(!w->profile))
		return;
	now = rte_rdtsc();
	stages[stage] += now - *since;
	*since = now;
}

/* Drop a packet that Entry refuses. */
static void refuse(struct sn_worker *w, struct sn_pkt *p, uint64_t now)
{
	if (p->reason == SN_REASON_ARP) {
		bool news = sn_share_learn(w, p, now);

		if (w->fast.env.taking) {
			w->copies++;
			rte_pktmbuf_free(p->m);
			return;
		}
		if (news)
			sn_share(w, p);
	}
	sn_output_drop(&w->fast.env, p->m, p->reason);
}

static inline bool is_handed(const struct sn_worker *w, uint32_t i)
{
	return w->handing.handed >> i & 1;
}

/* By what is cached of its flow. False if the packet is not done with; *key: what is decided of it may be
 * kept under. */
static __rte_always_inline bool by_cache(struct sn_worker *w, struct sn_known k, uint32_t i, uint32_t segment,
					 bool dispatching, bool plain, const struct sn_cache_key **key)
{
	const struct sn_looked_up *found = &k.fast->found;
	const struct sn_cache_entry *e = found->candidates[i];
	bool here = true;

	if (e &&
	    likely(sn_cache_is(e, &found->keys[i]) && sn_cache_current(&k.fast->cache, &found->keys[i]))) {
		if (dispatching) {
			w->handing.shards[i] = e->shard;
			here = sn_hand_over_is_here(w, e->shard);
			if (unlikely(!here) && !w->fast.env.taking) {
				sn_hand_over(w, i);
				return true;
			}
		}
		if (likely(here) && likely(forward_cached(k, i, e, plain))) {
			w->fast.env.stats.cache_hits++;
			return true;
		}
		/* An answer to it may be of another shard than its flow. If that is why another worker gave
		 * it to this one, it would never end if this one went by the flow. */
		if (dispatching && !sn_hand_over_late(w, i, segment))
			return true;
	} else if (dispatching && e && !sn_hand_over_late(w, i, segment)) {
		return true;
	}
	w->fast.env.stats.cache_misses++;
	if (plain || sn_cache_eligible(&w->fast.env.burst.pkts[i]))
		*key = &found->keys[i];
	return false;
}

/* One packet, in its turn, that Entry does not refuse. returned: the burst's packets come back from stops. */
static __rte_always_inline void forward_one(struct sn_worker *w, struct sn_known k, uint32_t i,
					    uint32_t segment, bool caching, bool dispatching, bool returned,
					    bool plain)
{
	const struct sn_cache_key *key = NULL;

	if (dispatching && !sn_burst_known(&k.env->burst, i) && unlikely(is_handed(w, i))) {
		sn_hand_over(w, i);
		return;
	}
	if (caching && by_cache(w, k, i, segment, dispatching, plain, &key))
		return;
	if (by_class(k, i, segment, caching, key != NULL, returned, plain))
		return;
	sn_fast_decide(k.fast, sn_burst_pkt(&k.env->burst, i), segment, k.env->burst.classes[i], key,
		       k.fast->found.hashes[i], k.now);
}

static __rte_noinline void forward_other(struct sn_worker *w, uint32_t i, uint32_t segment, uint64_t now)
{
	if (unlikely(w->fast.env.burst.pkts[i].reason))
		refuse(w, &w->fast.env.burst.pkts[i], now);
	else
		forward_one(w, known_of(&w->fast, now), i, segment, w->fast.env.caching, w->dispatching,
			    w->fast.env.burst.ons != NULL, false);
}

/* Packets from `first` to before `end`. */
static __rte_always_inline void forward(struct sn_worker *w, uint32_t first, uint32_t end, uint32_t segment,
					bool caching, bool dispatching, bool returned, uint64_t now)
{
	struct sn_known k = known_of(&w->fast, now);

	for (uint32_t i = first; i < end; i++) {
		if (likely(sn_burst_plain(&w->fast.env.burst, i)))
			forward_one(w, k, i, segment, caching, dispatching, returned, true);
		else
			forward_other(w, i, segment, now);
	}
}

/* Bit per packet: the ways are open to it on which nothing behind the addresses is read. */
static inline uint64_t straight(const struct sn_burst *b)
{
	return b->plain | b->fragments;
}

/* Outcomes of plain packets of a program without state, which are counted by them: classes of a segment, or
 * paths.
 */
struct outcomes {
	struct sn_adjacency *adjacencies;
	struct sn_count *counts;
	uint32_t n; /* numbers from there on are none */
};

static inline struct outcomes outcomes_of(const struct sn_worker *w, uint32_t segment)
{
	uint32_t first_class = w->fast.env.program->segments[segment].first_class;

	if (w->fast.env.burst.by_path)
		return (struct outcomes){w->fast.env.counts->follow.ends, w->fast.env.counts->paths.counts,
					 SN_PATHS_MAX};
	return (struct outcomes){w->fast.env.counts->adjacencies + first_class,
				 w->fast.env.counts->classes + first_class, SN_TABLE_NONE};
}

static __rte_noinline void forward_apart(struct sn_worker *w, uint32_t i, uint32_t segment, uint64_t now)
{
	struct outcomes o = outcomes_of(w, segment);
	uint32_t number = w->fast.env.burst.classes[i];

	if (straight(&w->fast.env.burst) >> i & 1) {
		if (number < o.n && by_adjacency(known_of(&w->fast, now), i, &o.adjacencies[number],
						 &o.counts[number], false, true))
			return;
		if (w->fast.env.burst.by_path)
			w->fast.env.burst.classes[i] = sn_follow_class(number);
		if (unlikely(w->fast.env.burst.fragments >> i & 1))
			sn_burst_pkt(&w->fast.env.burst, i);
	}
	forward(w, i, i + 1, segment, false, false, false, now);
}

/* How most packets will leave: as the first one whose outcome has a shape. NULL: there is none. */
static const struct sn_adjacency *find_model(const struct sn_worker *w, uint32_t first, uint32_t end,
					     const struct outcomes *o)
{
	for (uint32_t i = first; i < end; i++) {
		uint32_t number = w->fast.env.burst.classes[i];

		if (straight(&w->fast.env.burst) >> i & 1 && number < o->n && o->adjacencies[number].shape)
			return &o->adjacencies[number];
	}
	return NULL;
}

/* Packets of a program without state, most of which leave alike. All of it lies on one page: where it lay on
 * two, packets took 5 % longer. */
static __rte_noinline __attribute__((aligned(1024))) void
forward_stateless(struct sn_worker *w, uint32_t first, uint32_t end, uint32_t segment, uint64_t now)
{
	struct sn_known k = known_of(&w->fast, now);
	const struct outcomes o = outcomes_of(w, segment);
	const struct sn_adjacency *model = find_model(w, first, end, &o);
	/* Copies: what changes of them is the packet's at hand alone. */
	struct rte_mbuf *const *frames = w->fast.env.burst.frames;
	const uint64_t open = straight(&w->fast.env.burst);
	struct sn_shape shape;

	if (unlikely(!model)) {
		for (uint32_t i = first; i < end; i++)
			forward_apart(w, i, segment, now);
		return;
	}
	shape = shape_of(k.env, model);
	for (uint32_t i = first; i < end; i++) {
		uint32_t number = w->fast.env.burst.classes[i];

		if (likely((open >> i & 1) && number < o.n) &&
		    likely(forward_alike(k, view_of_plain(frames[i]), &o.adjacencies[number], shape,
					 &o.counts[number])))
			continue;
		forward_apart(w, i, segment, now);
	}
	if (likely(shape.out->n > 0))
		w->fast.env.sending.pending |= 1ull << shape.iface;
}

static __rte_noinline void forward_returned(struct sn_worker *w, uint32_t first, uint32_t end,
					    uint32_t segment, uint64_t now)
{
	forward(w, first, end, segment, w->fast.env.caching, w->dispatching, true, now);
}

/* With what is the same for all packets put in. */
static void forward_all(struct sn_worker *w, uint32_t first, uint32_t end, uint32_t segment, uint64_t now)
{
	if (w->dispatching)
		forward(w, first, end, segment, w->fast.env.caching, true, false, now);
	else if (w->fast.env.caching)
		forward(w, first, end, segment, true, false, false, now);
	else
		forward_stateless(w, first, end, segment, now);
}

static void trace_decision(struct sn_env *env, uint32_t path)
{
	const struct sn_paths *paths = &env->counts->paths;

	trace_path(env, path, paths->first[path + 1] - paths->first[path]);
}

/* The path of a packet that was followed to its end; SN_NO_INDEX: it was not. */
static uint32_t path_at(const struct sn_worker *w, uint32_t i)
{
	uint32_t number = w->fast.env.burst.classes[i];

	return w->fast.env.burst.by_path && sn_burst_plain(&w->fast.env.burst, i) && number < SN_PATHS_MAX
		       ? number
		       : SN_NO_INDEX;
}

/* A burst's packets, told to the trace, with the classes that the fast ways know and do not tell. */
static __rte_noinline void forward_traced(struct sn_worker *w, uint32_t n, uint32_t segment, uint64_t now)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t hits = w->fast.env.stats.cache_hits;
		bool watched = sn_trace_turn(w->fast.env.trace, i);
		uint32_t path = path_at(w, i);

		if (w->fast.env.burst.ons)
			forward_returned(w, i, i + 1, segment, now);
		else
			forward_all(w, i, i + 1, segment, now);
		if (w->dispatching && w->handing.shards[i] != SN_PKT_NO_SHARD)
			sn_trace_shard(w->fast.env.trace, w->handing.shards[i]);
		if (is_handed(w, i))
			sn_trace_handed(w->fast.env.trace);
		if (!watched || is_handed(w, i))
			continue;
		if (sn_trace_has_class(w->fast.env.trace))
			continue;
		if (w->fast.env.stats.cache_hits != hits)
			trace_decision(&w->fast.env, w->fast.found.candidates[i]->path);
		else if (path != SN_NO_INDEX)
			trace_decision(&w->fast.env, path);
		else if (w->fast.env.burst.classes[i] != SN_TABLE_NONE)
			sn_trace_class(w->fast.env.trace, w->fast.env.program->segments[segment].first_class +
								  w->fast.env.burst.classes[i]);
	}
	sn_trace_no_turn(w->fast.env.trace);
}

/* Restore the lengths of packets that lost a priority tag at their port: none of them is plain. */
static void restore_lengths(struct sn_worker *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (w->fast.env.burst.frames[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			w->fast.env.burst.pkts[i].frame_len =
				w->fast.env.burst.frames[i]->pkt_len + SN_TAG_LEN;
}

/* Whether plain packets are followed over all segments before anything is done to them. Marks tell a class.
 */
static inline bool goes_by_path(const struct sn_worker *w, const struct sn_segment *s, uint16_t iface)
{
	return s->follows.possible && !w->dispatching && !(w->fast.env.devices.believed >> iface & 1);
}

/* Fragments are read where more than addresses, protocol and DSCP may count: state, a mark, several segments.
 */
static __rte_noinline void read_fragments(struct sn_worker *w)
{
	while (w->fast.env.burst.fragments)
		sn_burst_pkt(&w->fast.env.burst, (uint32_t)__builtin_ctzll(w->fast.env.burst.fragments));
}

static inline bool reads_fragments(const struct sn_worker *w, uint16_t iface)
{
	return w->fast.env.caching || w->dispatching || w->fast.env.devices.believed >> iface & 1 ||
	       w->fast.env.burst.by_path;
}

/* All of a burst that comes back from stops but its plain packets is read. */
static __rte_noinline void take_up(struct sn_worker *w, uint32_t n)
{
	struct sn_burst *b = &w->fast.env.burst;
	uint64_t read = UINT64_MAX >> (64 - n) & ~(b->plain | b->fragments);

	read_fragments(w);
	for (; read; read &= read - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(read);

		if (!b->pkts[i].reason)
			sn_burst_take_up(b, &b->pkts[i], i);
	}
}

/* Frames become packets, as they came: to go on in a segment. ons: see struct sn_burst. */
static __rte_always_inline void take_in(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames,
					uint32_t n, const struct sn_continuation *ons, uint32_t segment,
					uint64_t now)
{
	const struct sn_interface *ifc = &w->fast.env.program->interfaces[iface];
	struct sn_count *rx = &w->fast.env.stats.ports[iface].rx;
	struct sn_parsed parsed;

	if (unlikely(w->fast.env.trace))
		sn_trace_begin(w->fast.env.trace, iface, frames, n, now);
	parsed = sn_parse(frames, w->fast.env.burst.pkts, n, iface, w->fast.env.addresses.macs[iface],
			  ifc->vlans, ifc->sources, ifc->tiny_fragments);
	w->fast.env.burst.frames = frames;
	w->fast.env.burst.iface = iface;
	w->fast.env.burst.now = now;
	w->fast.env.burst.plain = parsed.plain;
	w->fast.env.burst.fragments = parsed.fragments;
	w->fast.env.burst.ons = ons;
	w->fast.env.burst.by_path = !ons && goes_by_path(w, &w->fast.env.program->segments[segment], iface);
	if (unlikely(ons != NULL))
		take_up(w, n);
	else if (unlikely(parsed.fragments) && reads_fragments(w, iface))
		read_fragments(w);
	if (unlikely(w->fast.env.taking | w->fast.env.passing)) {
		restore_lengths(w, n);
		return;
	}
	rx->packets += n;
	rx->bytes += parsed.bytes;
	if (unlikely(w->fast.env.devices.watched >> iface & 1))
		sn_devices_sample(&w->fast.env, n, now);
}

static __rte_always_inline void count_burst(struct sn_worker *w, uint32_t n, uint64_t cycles)
{
	w->fast.env.stats.packets += n - w->handing.gone - w->copies;
	w->fast.env.stats.bursts++;
	w->fast.env.stats.busy_cycles += cycles;
	w->fast.env.stats
		.latency[RTE_MIN(63u - (unsigned int)__builtin_clzll(cycles | 1), SN_LATENCY_BUCKETS - 1u)]++;
}

/* Packets that go on in one segment. ons: how each does that came back from a stop; NULL: none did. */
static __rte_always_inline void burst_of(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames,
					 uint32_t n, const struct sn_continuation *ons, uint64_t now)
{
	uint64_t *stages = w->fast.env.stats.stage_cycles, since = rte_rdtsc(), begun = since,
		 handing = since, cycles;
	uint32_t segment = ons ? ons->segment : w->fast.env.program->interfaces[iface].segment, known = 0,
		 weight = 0;

	take_in(w, iface, frames, n, ons, segment, now);
	mark(w, stages, SN_STAGE_PARSE, &since);
	w->fast.env.burst.known = 0;
	if (w->fast.env.caching)
		known = sn_fast_look_up(&w->fast, iface, n);
	mark(w, stages, SN_STAGE_LOOKUP, &since);
	if (known == n)
		memset(w->fast.env.burst.classes, 0xff, n * sizeof(*w->fast.env.burst.classes));
	else if (unlikely(w->fast.env.devices.believed >> iface & 1) && !ons)
		sn_devices_find_classes(&w->fast.env, iface, &w->fast.env.program->segments[segment], n);
	else
		sn_classes_find(&w->fast.env, &w->fast.env.program->segments[segment], n);
	w->handing.gone = 0;
	w->handing.handed = 0;
	if (unlikely(w->dispatching)) {
		memset(w->handing.shards, SN_PKT_NO_SHARD, sizeof(w->handing.shards));
		if (known < n)
			sn_hand_over_find(w, segment, n);
		weight = sn_hand_over_weight(w, n);
		if (weight > 0)
			handing = rte_rdtsc();
	}
	w->fast.env.burst.hinted = 0;
	if (w->fast.env.caching && known < n && likely(!w->fast.env.trace))
		sn_classes_prefetch_state(&w->fast.env, &w->fast.env.program->segments[segment], n);
	mark(w, stages, SN_STAGE_CLASSIFY, &since);
	if (unlikely(w->fast.env.trace))
		forward_traced(w, n, segment, now);
	else if (ons)
		forward_returned(w, 0, n, segment, now);
	else
		forward_all(w, 0, n, segment, now);
	mark(w, stages, SN_STAGE_REWRITE, &since);
	sn_output_flush(&w->fast.env);
	if (unlikely(w->fast.env.trace))
		sn_trace_finish(w->fast.env.trace);
	mark(w, stages, SN_STAGE_SEND, &since);

	cycles = rte_rdtsc() - begun;
	if (unlikely(weight > 0))
		sn_hand_over_count(w, n, weight, handing - begun, cycles - (handing - begun));
	if (unlikely(w->dispatching))
		sn_mailbox_publish(w->mailbox);
	count_burst(w, n, cycles);
}

void sn_worker_run(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n, uint64_t now)
{
	burst_of(w, iface, frames, n, NULL, now);
}

void sn_worker_run_returned(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n,
			    uint64_t now)
{
	burst_of(w, iface, frames, n, w->ons, now);
}
