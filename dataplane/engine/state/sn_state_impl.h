/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STATE_IMPL_H
#define SN_STATE_IMPL_H

/* What state is made of; for the files that keep it only. */

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_parse.h"
#include "sn_hash.h"
#include "sn_rss.h"
#include "sn_state.h"

#define WHEEL_SHIFT 28	 /* a slot is 0.27 s … */
#define WHEEL_SLOTS 256u /* … and a turn 69 s; what is due later is looked at once a turn */
#define NS_PER_MS   1000000ull
#define BACK_HEADS  1024u /* of chains by which sessions without ports are found from outside */
#define BACK_ADDRS  32u /* of a pool are used for them at most: with every partitioning a table has as many \
			 */
#define SLOT_FREE 0x80000000u

/*
 * Outside addresses and ports that serve alike. A slot never used is 0; one in use holds the session's
 * index + 1; a free one SLOT_FREE and the next free one + 1, so that the port that rests longest is taken
 * next.
 */
struct queue {
	uint32_t fresh; /* slots from here on were never used (or are taken by sessions that moved in) */
	uint32_t head;	/* + 1; 0: none */
	uint32_t tail;
	uint32_t hand; /* the slot that is looked at next for an opening that may end */
};

/* Those of a shard for one protocol. */
struct ports {
	uint32_t *slots;
	struct queue queue; /* of all */
};

/* A queue with its slots; numbers of slots in the queue count from the first of these. */
struct list {
	uint32_t *slots;
	struct queue *queue;
	uint32_t begin; /* slots of the shard before it */
	uint32_t n;
};

/*
 * The ports of a pool by the bucket that they alone would hash to: a return packet's bucket is its port's,
 * and that of the rest of its words.
 */
struct cosets {
	uint32_t first[SN_RSS_BUCKETS + 1]; /* into port */
	uint16_t port[65536];
	uint16_t position[65536]; /* by port */
};

/*
 * A shard of a table. Line 1 is read by every look-up, lines 2 and 3 only by
 * what makes and ends sessions.
 */
struct shard {
	struct sn_session *slab;
	uint32_t *buckets; /* index + 1 of a chain's first session */
	uint32_t bucket_mask;
	uint32_t port_base; /* the shard's first port */
	uint32_t n_slots;
	uint32_t number;
	uint32_t *wheel;
	uint64_t tick; /* slots before it are done */
	uint32_t slab_fresh;
	uint32_t slab_free; /* + 1 */
	uint32_t slab_max;
	uint32_t live; /* sessions that are not reclaimed */
	/* lines 2 and 3 */
	struct ports ports[SN_PORTED];
	uint32_t *back; /* heads: index + 1 */
	uint64_t created;
	uint64_t expired;
	uint64_t exhausted;
	uint64_t evicted;
	uint32_t hand;	      /* the same for sessions in the slab */
	uint32_t portless;    /* sessions without ports */
	struct queue *queues; /* SN_PARTITION_BY_RSS: by protocol, coset and address */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct shard) == 192, "three cache lines");

struct table {
	char *name;
	uint32_t mask; /* shards - 1 */
	uint32_t shift;
	uint32_t n_addresses;  /* that are used */
	uint32_t max_sessions; /* 0: none */
	uint32_t id;	       /* in state->tables */
	struct shard *shards;
	size_t size;	       /* of the mapping that holds the shards and all of theirs */
	struct cosets *cosets; /* SN_PARTITION_BY_RSS */
	uint32_t n_pool;
	uint32_t port_min, port_max;
	struct sn_range *pool;
	uint32_t *pool_base; /* number of addresses before the range */
};

struct run {
	char *name;
	uint32_t index; /* in the program; SN_NO_INDEX: gone */
	uint32_t table; /* in state->tables */
	uint32_t max_sessions;
	uint32_t timeout_ms[SN_PROTOS];
	uint32_t tcp_ms; /* established; timeout_ms[SN_PROTO_TCP] is the transitory one */
};

/* Workers read it; what they write is in shards and parts. */
struct sn_state {
	uint64_t seed;
	uint64_t key; /* tells the shard of a flow from inside: SN_PARTITION_BY_HOST */
	struct sn_partitioning partitioning;
	uint32_t n_tables;
	uint32_t n_runs;
	struct table **tables; /* those of the program, in its order */
	struct run *runs;
	uint32_t *run_of; /* by the program's run */
	uint32_t unit_mask;
	uint32_t n_partitions;
	struct sn_partition *partitions;
	int32_t *gift; /* goes with a unit from part to part */
	/* Sessions that came (less than 0) and went with units from and to other engines, where the parts do
	 * not know of them yet; its left is by room, as theirs. */
	struct sn_partition carried;
	uint8_t owner[SN_SHARDS];
	uint8_t place[SN_SHARDS]; /* enum sn_shard_place */
};

/* Room: how many sessions may still be made, of a table, and of a run and protocol. */
static inline uint32_t n_quotas(uint32_t n_tables, uint32_t n_runs)
{
	return n_tables + n_runs * SN_PROTOS;
}

static inline int32_t *run_quota(const struct sn_partition *partition, uint32_t run,
				 enum sn_proto_class class)
{
	return &partition->left[partition->state->n_tables + run * SN_PROTOS + class];
}

static inline bool is_full(const struct sn_partition *partition, const struct table *t, uint32_t run,
			   enum sn_proto_class class)
{
	return partition->left[t->id] <= 0 || *run_quota(partition, run, class) <= 0;
}

/* Of a protocol that has ports. */
static inline enum sn_proto_class ported_class_of(uint8_t proto)
{
	return proto == SN_TCP ? SN_PROTO_TCP : proto == SN_UDP ? SN_PROTO_UDP : SN_PROTO_ICMP;
}

static inline enum sn_proto_class class_of(uint8_t proto)
{
	return likely(sn_has_ports(proto)) ? ported_class_of(proto) : SN_PROTO_OTHER;
}

static inline bool is_established(uint8_t seen)
{
	return seen == (SN_SEEN_ANSWERED | SN_SEEN_ACKNOWLEDGED);
}

static inline uint32_t timeout_of(const struct run *r, uint8_t proto, uint8_t seen)
{
	if (proto == SN_TCP && is_established(seen))
		return r->tcp_ms;
	return r->timeout_ms[class_of(proto)];
}

/* ---- slab, chains, wheel ---- */

static inline uint32_t index_of(const struct shard *sh, const struct sn_session *s)
{
	return (uint32_t)(s - sh->slab) + 1;
}

static inline struct sn_session *at_index(const struct shard *sh, uint32_t index)
{
	return &sh->slab[index - 1];
}

static inline void hang(struct shard *sh, struct sn_session *s)
{
	uint64_t tick = (s->last_use + s->timeout_ms * NS_PER_MS) >> WHEEL_SHIFT;
	uint32_t index = index_of(sh, s), *head;

	if (tick < sh->tick)
		tick = sh->tick;
	if (tick > sh->tick + WHEEL_SLOTS - 1)
		tick = sh->tick + WHEEL_SLOTS - 1;
	s->wheel_slot = tick & (WHEEL_SLOTS - 1);
	head = &sh->wheel[s->wheel_slot];
	s->wheel_prev = 0;
	s->wheel_next = *head;
	if (*head)
		at_index(sh, *head)->wheel_prev = index;
	*head = index;
}

static inline void unhang(struct shard *sh, struct sn_session *s)
{
	if (s->wheel_prev)
		at_index(sh, s->wheel_prev)->wheel_next = s->wheel_next;
	else
		sh->wheel[s->wheel_slot] = s->wheel_next;
	if (s->wheel_next)
		at_index(sh, s->wheel_next)->wheel_prev = s->wheel_prev;
}

static inline uint64_t hash_inside(const struct sn_state *state, uint32_t run, const struct sn_flow *f)
{
	return sn_hash2((uint64_t)f->src << 32 | f->dst,
			(uint64_t)f->sport << 48 | (uint64_t)f->dport << 32 | run << 8 | f->proto,
			state->seed);
}

static inline uint32_t *bucket_of(const struct shard *sh, uint64_t hash)
{
	return &sh->buckets[hash & sh->bucket_mask];
}

static inline uint64_t hash_session(const struct sn_state *state, const struct sn_session *s)
{
	struct sn_flow f = {s->inside_addr, s->remote_addr, s->inside_port, s->remote_port, s->proto};

	return hash_inside(state, s->run, &f);
}

static inline void unchain(const struct sn_state *state, struct shard *sh, const struct sn_session *s)
{
	uint32_t *link = bucket_of(sh, hash_session(state, s)), index = index_of(sh, s);

	while (*link != index)
		link = &at_index(sh, *link)->hash_next;
	*link = s->hash_next;
}

static inline struct sn_session *slab_take(struct shard *sh)
{
	struct sn_session *s;

	/* Each time the line of the next one is sent for: its turn comes when other shards had theirs. */
	if (sh->slab_free) {
		s = at_index(sh, sh->slab_free);
		sh->slab_free = s->hash_next;
		if (sh->slab_free)
			rte_prefetch0(at_index(sh, sh->slab_free));
		return s;
	}
	if (sh->slab_fresh == sh->slab_max)
		return NULL;
	s = &sh->slab[sh->slab_fresh++];
	rte_prefetch0(s + 1);
	return s;
}

/* ---- ports ---- */

static inline uint32_t address_index(const struct table *t, uint32_t address)
{
	uint32_t lo = 0, hi = t->n_pool, index;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (t->pool[mid].first <= address)
			lo = mid;
		else
			hi = mid;
	}
	if (address < t->pool[lo].first || address > t->pool[lo].last)
		return SN_NO_INDEX;
	index = t->pool_base[lo] + (address - t->pool[lo].first);
	return index < t->n_addresses ? index : SN_NO_INDEX;
}

static inline uint32_t coset_of(const struct table *t, uint16_t words)
{
	return sn_rss_bucket(words) & t->mask;
}

/* The outside ports that serve alike, of the address with an index, for a protocol. */
static inline struct list list_of(const struct table *t, struct shard *sh, enum sn_proto_class class,
				  uint32_t coset, uint32_t address)
{
	const struct cosets *c = t->cosets;
	struct list l = {sh->ports[class].slots, &sh->ports[class].queue, 0, sh->n_slots};

	if (likely(!c))
		return l;
	l.n = c->first[coset + 1] - c->first[coset];
	l.begin = c->first[coset] * t->n_addresses + address * l.n;
	l.slots += l.begin;
	l.queue = &sh->queues[(class * (t->mask + 1) + coset) * t->n_addresses + address];
	return l;
}

static inline struct list list_of_session(const struct table *t, struct shard *sh, const struct sn_session *s)
{
	if (likely(!t->cosets))
		return list_of(t, sh, ported_class_of(s->proto), 0, 0);
	return list_of(t, sh, ported_class_of(s->proto), coset_of(t, s->outside_port),
		       address_index(t, s->outside_addr));
}

/* The slot of an outside address and port; neighbouring slots are of different addresses. */
static inline uint32_t slot_of(const struct table *t, const struct shard *sh, uint32_t address, uint32_t port)
{
	uint32_t index;
	uint64_t slot;

	if (port < sh->port_base || port > t->port_max)
		return SN_NO_INDEX;
	index = address_index(t, address);
	if (index == SN_NO_INDEX)
		return SN_NO_INDEX;
	if (t->cosets) {
		uint32_t coset = coset_of(t, port), first = t->cosets->first[coset];

		return first * t->n_addresses + index * (t->cosets->first[coset + 1] - first) +
		       t->cosets->position[port] - first;
	}
	slot = (uint64_t)((port - sh->port_base) >> t->shift) * t->n_addresses + index;
	return slot < sh->n_slots ? slot : SN_NO_INDEX;
}

static inline uint32_t slot_of_session(const struct table *t, const struct shard *sh,
				       const struct sn_session *s)
{
	return slot_of(t, sh, s->outside_addr, s->outside_port);
}

/* ---- sessions without ports ---- */

/* The chain of all sessions of a protocol with a remote, among others. */
static inline uint32_t *back_head(const struct sn_state *state, const struct shard *sh, uint8_t proto,
				  uint32_t remote)
{
	return &sh->back[sn_hash2(remote, proto, state->seed) & (BACK_HEADS - 1)];
}

static inline void back_link(const struct sn_state *state, struct shard *sh, struct sn_session *s)
{
	uint32_t *head = back_head(state, sh, s->proto, s->remote_addr);

	s->back_next = *head;
	*head = index_of(sh, s);
	sh->portless++;
}

static inline void back_unlink(const struct sn_state *state, struct shard *sh, const struct sn_session *s)
{
	uint32_t *link = back_head(state, sh, s->proto, s->remote_addr), index = index_of(sh, s);

	while (*link != index)
		link = &at_index(sh, *link)->back_next;
	*link = s->back_next;
	sh->portless--;
}

/* The live session of a flow, as its return packets are outside. */
static inline struct sn_session *back_find(const struct sn_state *state, const struct shard *sh,
					   const struct sn_flow *f, uint64_t now)
{
	for (uint32_t i = *back_head(state, sh, f->proto, f->src); i;) {
		struct sn_session *s = at_index(sh, i);

		if (s->remote_addr == f->src && s->outside_addr == f->dst && s->proto == f->proto &&
		    sn_session_live(s, now))
			return s;
		i = s->back_next;
	}
	return NULL;
}

/* Sessions without ports that a shard has room for: strangers may choose remotes as they like. */
static inline uint32_t portless_max(const struct shard *sh)
{
	return sh->slab_max / 25 + 1; /* see layout_of() */
}

static inline bool may_be_portless(const struct table *t, uint32_t address)
{
	return address_index(t, address) < BACK_ADDRS;
}

/* ---- the life of a session ---- */

static inline struct shard *shard_of(const struct sn_state *state, const struct sn_session *s,
				     struct table **table)
{
	*table = state->tables[state->runs[s->run].table];
	return &(*table)->shards[s->shard & (*table)->mask];
}

/* Put a session, whose tuples are set, where look-ups find it; slot is its outside address and port. */
static inline void settle(struct sn_partition *partition, struct table *t, struct shard *sh,
			  struct sn_session *s, uint32_t slot, uint64_t hash)
{
	enum sn_proto_class class = class_of(s->proto);
	uint32_t *bucket = bucket_of(sh, hash);

	s->live = 1;
	s->hash_next = *bucket;
	*bucket = index_of(sh, s);
	if (likely(class != SN_PROTO_OTHER))
		sh->ports[class].slots[slot] = index_of(sh, s);
	else
		back_link(partition->state, sh, s);
	hang(sh, s);
	sh->live++;
	partition->left[t->id]--;
	--*run_quota(partition, s->run, class);
}

/* Both directions know the remote, and nothing else in common. */
static inline uint32_t portless_shard(uint32_t remote)
{
	return sn_mum(remote, 0x9e3779b97f4a7c15ull) & (SN_SHARDS - 1);
}

static inline uint32_t return_shard(const struct sn_state *state, const struct table *t,
				    const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return portless_shard(f->src) & t->mask;
	return (state->partitioning.by == SN_PARTITION_BY_RSS ? sn_state_shard(state, f) : f->dport) &
	       t->mask;
}

/* ---- what the files do for one another ---- */

/* NULL without memory; nothing is kept of the configuration. */
struct table *sn_state_table_create(const struct sn_table_config *c, struct sn_partitioning partitioning);
void sn_state_table_free(struct table *t);

/* The shards' units: places and owners are those of each unit's first shard. */
void sn_state_set_units(struct sn_state *state, uint32_t mask);

struct sn_session_info sn_session_info(const struct sn_state *state, const struct sn_session *s,
				       uint64_t now);

#endif /* SN_STATE_IMPL_H */
