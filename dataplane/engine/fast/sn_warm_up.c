/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A new program would find the decision cache empty, and at high load the time that it takes to decide all
 * flows again is more than a port's ring can bridge. So before the swap, between bursts, the
 * flows that the cache knows are decided by the program to come, into a cache of its own: as packets that are
 * never sent, counted, or able to change state. Both caches change places with the programs.
 *
 * The cache's keys hold atoms of values (see sn_classifier.h); the packet of a warm-up has a typical value
 * of each. Where the new program tells the atom's values apart, packets with the others are decided as they
 * come. Those of packets that come back from a stop go by the number that the new program has for theirs.
 */

#include "sn_classes.h"
#include "sn_fast.h"
#include "sn_tag.h"

#define BUCKETS_PER_STEP 256 /* looked into */
#define FLOWS_PER_STEP	 16  /* 32 at most */

/* Where flows are more than the cache has entries, those that had no packet for so long are decided as they
 * come: that is seldom. */
#define RECENT_NS 1000000000ll

static bool same_neighbors(const struct sn_interface *a, const struct sn_interface *b)
{
	if (a->n_neighbors != b->n_neighbors)
		return false;
	for (uint32_t i = 0; i < a->n_neighbors; i++)
		if (a->neighbors[i].address != b->neighbors[i].address ||
		    memcmp(a->neighbors[i].mac, b->neighbors[i].mac, sizeof(a->neighbors[i].mac)) != 0)
			return false;
	return true;
}

/* Decisions name next hops by their place in the worker's table, which stands if the interfaces do. */
static bool same_interfaces(const struct sn_program *a, const struct sn_program *b)
{
	if (a->n_interfaces != b->n_interfaces)
		return false;
	for (uint32_t i = 0; i < a->n_interfaces; i++) {
		const struct sn_interface *p = &a->interfaces[i], *q = &b->interfaces[i];

		if (strcmp(p->name, q->name) != 0 || p->address != q->address || p->mask != q->mask ||
		    p->gateway != q->gateway || p->mtu != q->mtu || p->wire != q->wire ||
		    p->has_mac != q->has_mac || memcmp(p->mac, q->mac, sizeof(p->mac)) != 0 ||
		    !same_neighbors(p, q))
			return false;
	}
	return true;
}

static bool is_use(const struct sn_fast *f, const struct sn_program *next)
{
	return f->env.caching && next->stateful && next->cacheable && same_interfaces(f->env.program, next);
}

/* A packet, and where the program to come takes it up. */
struct ahead {
	struct sn_pkt pkt;
	uint32_t segment;
	uint32_t ingress; /* of its cache key */
};

/* Where packets of an entry that came back from a stop go on. False: the program to come has no use for them,
 * or no number that a key can have. */
static bool find_on(const struct sn_fast *f, const struct sn_cache_entry *e, struct sn_continuation *on)
{
	uint32_t number = sn_cache_ingress(e->ports_key) - SN_CACHE_CONTINUATIONS;
	const struct sn_program *now = f->env.program;
	uint8_t mac[6];

	sn_tag_write(mac, (struct sn_tag){.nonce = now->nonce, .continuation = number});
	return sn_continuation_find(f->warm_up.program, sn_continuation_stop(now, number)->back, mac, on) &&
	       on->number < SN_CACHE_CONTINUATIONS_MAX;
}

/* Where the packet of an entry enters the program to come. False: nowhere. */
static bool enter(const struct sn_fast *f, const struct sn_cache_entry *e, struct ahead *a)
{
	uint32_t ingress = sn_cache_ingress(e->ports_key);
	struct sn_continuation on;

	if (likely(ingress < SN_CACHE_CONTINUATIONS)) {
		a->pkt.iface = (uint8_t)ingress;
		a->ingress = ingress;
		a->segment = f->warm_up.program->interfaces[ingress].segment;
		return true;
	}
	if (!find_on(f, e, &on))
		return false;
	a->pkt.iface = on.entry;
	a->pkt.next_hop = on.next_hop;
	a->ingress = SN_CACHE_CONTINUATIONS + on.number;
	a->segment = on.segment;
	return true;
}

/* A packet that the entry's decision is for. False: there will be none. */
static bool packet_of(const struct sn_fast *f, const struct sn_cache_entry *e, struct ahead *a)
{
	const struct sn_typical *typical = &f->env.program->atoms->typical;
	struct sn_pkt *p = &a->pkt;
	uint32_t signature = e->signature;
	uint16_t sport = e->ports_key >> 48;

	memset(p, 0, sizeof(*p));
	p->proto = e->ports_key >> 24;
	p->src = p->src0 = e->addresses >> 32;
	p->dst = p->dst0 = (uint32_t)e->addresses;
	p->dport0 = e->ports_key >> 32;
	p->sport = p->dport = SN_PORT_ABSENT;
	p->tcp_flags = p->icmp_type = p->icmp_code = SN_BYTE_ABSENT;
	p->vlan = p->vlan0 = signature & 0x1fff;
	p->dscp = p->dscp0 = typical->dscp[signature >> 13 & 63];
	p->ttl = p->ttl0 = 255;
	p->frag = SN_FRAG_WHOLE;
	p->shard = SN_PKT_NO_SHARD;
	switch (p->proto) {
	case SN_TCP:
		p->tcp_flags = typical->tcp_flags[signature >> 19 & 255];
		/* fallthrough */
	case SN_UDP:
		p->sport = p->sport0 = sport;
		p->dport = p->dport0;
		break;
	case SN_ICMP:
		p->icmp_type = p->icmp_type0 = signature >> 27 & 8;
		p->icmp_code = typical->icmp_code[signature >> 19 & 255];
		p->id = p->id0 = sport;
		break;
	default:
		p->sport0 = sport;
	}
	return enter(f, e, a);
}

/* The worker with the next program, its counters and its cache; and back. */
static void change_places(struct sn_fast *f)
{
	struct sn_warm_up *r = &f->warm_up;
	const struct sn_program *program = f->env.program;
	struct sn_counts *counts = f->env.counts;
	struct sn_cache cache = f->cache;

	f->env.program = r->program;
	f->env.counts = r->counts;
	f->cache = r->cache;
	r->program = program;
	r->counts = counts;
	r->cache = cache;
}

/* Flows that ended, or went to another worker, need no decision. */
static bool is_live(const struct sn_fast *f, const struct sn_cache_entry *e, uint64_t now)
{
	if (e->shard != SN_PKT_NO_SHARD && !f->env.partition->owned[e->shard])
		return false;
	for (uint32_t i = 0; i < SN_CACHE_SESSIONS; i++) {
		const struct sn_entry *s = sn_cache_entry_of(e->sessions[i]);

		if (e->sessions[i] &&
		    !(sn_cache_entry_same(e->sessions[i], s) && sn_entry_live_itself(s, now)))
			return false;
	}
	return true;
}

static bool is_empty(const struct sn_cache *c, uint32_t bucket)
{
	uint64_t halves[2];

	memcpy(halves, &c->tags[bucket * SN_CACHE_WAYS], sizeof(halves));
	return (halves[0] | halves[1]) == 0;
}

/* Packets of some more flows whose decisions are entries. */
static uint32_t gather(struct sn_fast *f, struct ahead *ahead, uint64_t now)
{
	const struct sn_cache *c = &f->cache;
	struct sn_warm_up *r = &f->warm_up;
	uint32_t end = RTE_MIN(r->bucket + BUCKETS_PER_STEP, c->mask + 1), n = 0;

	for (; r->bucket < end && n <= FLOWS_PER_STEP - SN_CACHE_WAYS; r->bucket++) {
		const struct sn_cache_entry *entries = &c->entries[r->bucket * SN_CACHE_WAYS];
		const uint16_t *tags = &c->tags[r->bucket * SN_CACHE_WAYS];

		if (is_empty(c, r->bucket))
			continue;
		for (uint32_t way = 0; way < SN_CACHE_WAYS; way++)
			if (tags[way] && entries[way].sessions[0])
				rte_prefetch0(sn_cache_entry_of(entries[way].sessions[0]));
		for (uint32_t way = 0; way < SN_CACHE_WAYS; way++)
			n += tags[way] && is_live(f, &entries[way], now) &&
			     packet_of(f, &entries[way], &ahead[n]);
	}
	return n;
}

static bool is_recent(const struct sn_cache_entry *e, uint64_t now)
{
	return (int64_t)(now - sn_entry_last_use(sn_cache_entry_of(e->sessions[0]))) <= RECENT_NS;
}

/* The same of those that are kept short. */
static uint32_t gather_short(struct sn_fast *f, struct ahead *ahead, uint64_t now)
{
	struct sn_cache_short found[FLOWS_PER_STEP];
	const struct sn_cache *c = &f->cache;
	struct sn_warm_up *r = &f->warm_up;
	uint32_t end = RTE_MIN(r->short_bucket + BUCKETS_PER_STEP, sn_cache_n_shorts(c)), k = 0, n = 0;

	for (; r->short_bucket < end && k <= FLOWS_PER_STEP - SN_CACHE_SHORTS; r->short_bucket++)
		k += sn_cache_list_shorts(c, r->short_bucket, &found[k]);
	for (uint32_t i = 0; i < k; i++)
		rte_prefetch0(found[i].session);
	for (uint32_t i = 0; i < k; i++) {
		struct sn_cache_entry e;

		n += sn_cache_expand(c, &found[i], &e) && is_live(f, &e, now) && is_recent(&e, now) &&
		     packet_of(f, &e, &ahead[n]);
	}
	return n;
}

/* The packet becomes the burst's i-th one. */
static void take_up(struct sn_fast *f, const struct ahead *a, uint32_t i)
{
	f->env.burst.pkts[i] = a->pkt;
	f->found.hashes[i] = sn_cache_key_of(&f->cache, f->env.program->atoms, &f->env.burst.pkts[i],
					     a->ingress, &f->found.keys[i]);
	sn_cache_prefetch_tags(&f->cache, f->found.hashes[i]);
}

/* The first n packets of the burst, in one segment of the program that runs, which is the one to come. */
static void warm_up(struct sn_fast *f, uint32_t segment, uint32_t n, uint64_t now)
{
	f->env.burst.plain = f->env.burst.fragments = f->env.burst.known = 0;
	sn_classes_find(&f->env, &f->env.program->segments[segment], n);
	sn_classes_prefetch_state(&f->env, &f->env.program->segments[segment], n);
	for (uint32_t i = 0; i < n; i++)
		rte_prefetch0(sn_cache_vacant(&f->cache, f->found.hashes[i]));
	for (uint32_t i = 0; i < n; i++)
		sn_fast_decide_ahead(f, &f->env.burst.pkts[i], segment, f->env.burst.classes[i],
				     &f->found.keys[i], f->found.hashes[i], now);
}

static void warm_up_all(struct sn_fast *f, const struct ahead *ahead, uint32_t n, uint64_t now)
{
	uint32_t left = UINT32_MAX >> (32 - n); /* bit per packet */

	change_places(f);
	while (left) {
		uint32_t segment = ahead[__builtin_ctz(left)].segment, k = 0;

		for (uint32_t i = 0; i < n; i++)
			if (left >> i & 1 && ahead[i].segment == segment) {
				take_up(f, &ahead[i], k++);
				left &= ~(1u << i);
			}
		warm_up(f, segment, k, now);
	}
	change_places(f);
}

bool sn_warm_up_step(struct sn_fast *f, const struct sn_program *program, struct sn_counts *counts,
		     uint64_t now)
{
	struct sn_warm_up *r = &f->warm_up;
	struct ahead ahead[FLOWS_PER_STEP];
	uint32_t n;

	if (r->program != program) {
		if (!f->env.program || !program || !is_use(f, program))
			return true;
		r->program = program;
		r->counts = counts;
		r->bucket = r->short_bucket = 0;
		r->sessions = sn_cache_has_shorts(&f->cache) ? sn_partition_entries(f->env.partition) : 0;
		sn_cache_flush(&r->cache);
		sn_neigh_forget_ahead(&f->neighbors);
	}
	if (!sn_cache_prepare(&r->cache, r->sessions))
		return false;
	n = r->bucket <= f->cache.mask ? gather(f, ahead, now) : gather_short(f, ahead, now);
	if (n > 0)
		warm_up_all(f, ahead, n, now);
	return r->bucket > f->cache.mask && r->short_bucket >= sn_cache_n_shorts(&f->cache);
}

bool sn_warm_up_end(struct sn_fast *f, const struct sn_program *program)
{
	struct sn_warm_up *r = &f->warm_up;
	bool done = program && r->program == program;
	struct sn_cache cache = f->cache;

	if (done) {
		f->cache = r->cache;
		r->cache = cache;
	}
	sn_cache_rest(&r->cache);
	r->program = NULL;
	return done;
}
