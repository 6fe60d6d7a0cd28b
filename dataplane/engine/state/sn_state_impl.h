/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STATE_IMPL_H
#define SN_STATE_IMPL_H

/* Building blocks of state; for the files that keep it and for the kinds. */

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_ahead.h"
#include "sn_bundle.h"
#include "sn_hash.h"
#include "sn_shard.h"
#include "sn_state.h"
#include "sn_state_kind.h"
#include "sn_subscribers.h"

#define SN_QUOTA_CLASSES  4 /* of entries of an owner, at most */
#define SN_OWNER_TIMEOUTS 6

/* A table; a kind's tables begin with it. */
struct sn_state_table {
	const struct sn_state_kind *kind;
	struct sn_table_config config; /* a copy */
	uint32_t id;		       /* in state->tables */
	uint32_t owner;		       /* of all entries; SN_NO_INDEX: runs are */
	uint32_t mask;		       /* shards - 1 */
	uint8_t *shards;	       /* of kind->shard_size each */
	uint32_t buckets_max;	       /* of a shard in its last tier, a power of two */
	uint8_t *memory;	       /* of the shards, that is the kind's own */
	uint8_t *rows;		       /* the same, in rows */
	size_t memory_size;	       /* of one shard's */
	size_t rows_size;
	size_t elsewhere;	    /* bytes that the kind has beside the mapping */
	size_t most;		    /* bytes that the table may take, all told */
	struct sn_growing *mapping; /* holds the shards and all of theirs */
};

/* The owner of entries: a run, or a table without runs. */
struct sn_state_owner {
	char *name;
	uint32_t table; /* in state->tables */
	uint32_t max_entries;
	uint32_t timeout_ms[SN_OWNER_TIMEOUTS]; /* as the kind numbers them */
	uint32_t subscribers;			/* of the program; SN_NO_INDEX: nobody counts */
	uint32_t limit_reason;			/* to drop what they may not have */
	bool again;	/* packets with sources of state->translated come to it: see sn_run */
	bool one_sided; /* only what clients send comes to it: RSTs are believed, and sessions count as
			   answered */
};

/* Workers read it; what they write is in shards and partitions. */
struct sn_state {
	uint64_t seed;
	uint64_t key; /* tells the shard of a flow from inside: SN_PARTITION_BY_HOST */
	struct sn_partitioning partitioning;
	uint32_t n_tables;
	uint32_t n_owners;
	struct sn_state_table **tables; /* those of the program, in its order */
	struct sn_state_owner *owners;	/* its runs, in its order; behind them the tables without runs */
	/* Sources whose port tells the shard, ascending and disjoint: those of NAPTs. None if no packet that
	 * one has translated comes to another one. */
	struct sn_range *translated;
	uint32_t n_translated;
	bool shared;  /* with other engines */
	bool by_ends; /* NAPTs tell the shard of a flow from inside by both of its ends */
	uint32_t unit_mask;
	uint32_t n_partitions;
	struct sn_partition *partitions;
	struct sn_bundles *bundles;
	struct sn_subscribers *subscribers; /* NULL: none are limited */
	struct sn_eras *eras;
	int32_t *gift; /* goes with a unit from partition to partition */
	/* Entries that came (less than 0) and went with units from and to other engines, where the partitions
	 * do not know of them yet; its left is by quota, as theirs. */
	struct sn_partition carried;
	uint8_t owner[SN_SHARDS];
	uint8_t place[SN_SHARDS]; /* enum sn_shard_place */
};

/* The number of a part's worker. */
static inline uint32_t partition_number(const struct sn_partition *partition)
{
	return (uint32_t)(partition - partition->state->partitions);
}

/* Quotas: how many entries may still be made, of a table, and of an owner and class. */
static inline uint32_t n_quotas(uint32_t n_tables, uint32_t n_owners)
{
	return n_tables + n_owners * SN_QUOTA_CLASSES;
}

static inline int32_t *owner_quota(const struct sn_partition *partition, uint32_t owner, uint32_t class)
{
	return &partition->left[partition->state->n_tables + owner * SN_QUOTA_CLASSES + class];
}

static inline bool is_full(const struct sn_partition *partition, const struct sn_state_table *t,
			   uint32_t owner, uint32_t class)
{
	return partition->left[t->id] <= 0 || *owner_quota(partition, owner, class) <= 0;
}

static inline struct sn_state_shard *shard_at(const struct sn_state_table *t, uint32_t number)
{
	return (struct sn_state_shard *)(t->shards + number * t->kind->shard_size);
}

static inline struct sn_state_table *table_of(const struct sn_state *state, const struct sn_entry *e)
{
	return state->tables[state->owners[e->owner].table];
}

static inline const struct sn_table_cut *cut_of(const struct sn_state *state, const struct sn_state_table *t)
{
	return unlikely(state->by_ends) ? &t->config.cut_by_ends : &t->config.cut;
}

/* ---- chains, wheel ---- */

static inline void hang(struct sn_state_shard *sh, struct sn_entry *e)
{
	uint64_t tick = (sn_entry_last_use(e) + e->timeout_ms * NS_PER_MS) >> WHEEL_SHIFT;
	uint32_t index = index_of(sh, e), *head;

	if (tick < sh->tick)
		tick = sh->tick;
	if (tick > sh->tick + WHEEL_SLOTS - 1)
		tick = sh->tick + WHEEL_SLOTS - 1;
	e->wheel_slot = tick & (WHEEL_SLOTS - 1);
	head = &sh->wheel[e->wheel_slot];
	e->wheel_prev = 0;
	e->wheel_next = *head;
	if (*head)
		at_index(sh, *head)->wheel_prev = index;
	*head = index;
}

static inline void unhang(struct sn_state_shard *sh, struct sn_entry *e)
{
	if (e->wheel_prev)
		at_index(sh, e->wheel_prev)->wheel_next = e->wheel_next;
	else
		sh->wheel[e->wheel_slot] = e->wheel_next;
	if (e->wheel_next)
		at_index(sh, e->wheel_next)->wheel_prev = e->wheel_prev;
}

static inline uint32_t bucket_bit(uint64_t hash)
{
	return 1u << (20 + (hash >> 60) * 3 / 4);
}

static inline bool tier_is_used(const struct sn_state_shard *sh, uint32_t tier)
{
	if (tier == 2)
		return unlikely(sh->live > (uint32_t)sh->tier_0 + sh->tier_1);
	return tier == 0 ? sh->tier_0 > 0 : sh->tier_1 > 0;
}

/* The first entry of the chain of a tier that an entry of a hash would be in, as its index; 0: none. */
static inline uint32_t first_of(const struct sn_state_shard *sh, uint32_t tier, uint64_t hash)
{
	uint32_t bucket = tier_is_used(sh, tier) ? *bucket_of(sh, tier, hash) : 0;

	return bucket & bucket_bit(hash) ? bucket & BUCKET_INDEX : 0;
}

/* Send for where first_of() will read, and an entry be put. */
static inline void expect_first(const struct sn_state_shard *sh, uint64_t hash)
{
	rte_prefetch0(bucket_of(sh, 0, hash));
	if (sh->tier_0 >= TIER_0_MAX || sh->tier_1 > 0)
		rte_prefetch0(bucket_of(sh, 1, hash));
	if (unlikely(sh->tier_1 >= TIER_1_MAX || tier_is_used(sh, 2)))
		rte_prefetch0(bucket_of(sh, 2, hash));
}

/* Send for an entry, if there is one. */
static inline void expect_entry(const struct sn_state_shard *sh, uint32_t index)
{
	if (index)
		rte_prefetch0(at_index(sh, index));
}

/* The tier that an entry is put into. */
static inline uint32_t tier_for(const struct sn_state_shard *sh)
{
	uint32_t tier = sh->tier_0 < TIER_0_MAX ? 0 : sh->tier_1 < TIER_1_MAX ? 1 : 2;
	struct sn_stretch *s = &sh->stretches[STRETCH_FIRST + tier];

	if (likely(tier == 0 || sn_stretch_whole(s)))
		return tier;
	if (tier == 1 ? sh->tier_0 < CROWD * TIER_0_MAX : sh->tier_1 < CROWD * TIER_1_MAX)
		return tier - 1;
	sn_stretch_late(s);
	return tier;
}

/* Before it counts as live. */
static inline void chain(struct sn_state_shard *sh, struct sn_entry *e, uint64_t hash)
{
	uint32_t tier = tier_for(sh);
	uint32_t *bucket = bucket_of(sh, tier, hash);

	sh->tier_0 += tier == 0;
	sh->tier_1 += tier == 1;
	if (unlikely(tier == 2))
		last_tier_used(sh);
	e->hash_next = *bucket & BUCKET_INDEX;
	*bucket = (*bucket & BUCKET_BITS) | bucket_bit(hash) | index_of(sh, e);
}

/* Whether an entry was in the chain of a bucket. */
static inline bool unlink_from(const struct sn_state_shard *sh, uint32_t *bucket, uint32_t index,
			       uint32_t next)
{
	uint32_t i = *bucket & BUCKET_INDEX;

	if (i == index) {
		*bucket = next ? (*bucket & BUCKET_BITS) | next : 0;
		return true;
	}
	for (; i; i = at_index(sh, i)->hash_next) {
		struct sn_entry *e = at_index(sh, i);

		if (e->hash_next == index) {
			e->hash_next = next;
			return true;
		}
	}
	return false;
}

/* While it counts as live. */
static inline void unchain(struct sn_state_shard *sh, const struct sn_entry *e, uint64_t hash)
{
	uint32_t tier = 0;

	while (!tier_is_used(sh, tier) || !(*bucket_of(sh, tier, hash) & bucket_bit(hash)) ||
	       !unlink_from(sh, bucket_of(sh, tier, hash), index_of(sh, e), e->hash_next))
		tier++;
	sh->tier_0 -= tier == 0;
	sh->tier_1 -= tier == 1;
}

/*
 * Decisions that remember the entry do not hold any more. An era ends when one of the entries has had half of
 * its generations; the others begin the next one at their next change, wherever they were. So it is the entry
 * that changes most that says how often decisions are forgotten, not the sum of all. A shard's era is that
 * which its worker has entered, having forgotten its decisions. It enters the next one before its next burst,
 * in which no entry comes to the end of the other half.
 */
static inline void entry_outdate(const struct sn_state *state, struct sn_entry *e)
{
	uint32_t era = state->eras->entered[e->shard], first = era % 2 * SN_ERA;

	if (unlikely((e->generation ^ first) & SN_ERA)) {
		e->generation = first;
		return;
	}
	e->generation++;
	if (unlikely(e->generation % SN_ERA >= SN_ERA / 2))
		atomic_compare_exchange_strong_explicit(&state->eras->latest, &era, era + 1,
							memory_order_relaxed, memory_order_relaxed);
}

static inline void slab_give(const struct sn_state *state, struct sn_state_shard *sh, struct sn_entry *e)
{
	e->live = 0;
	entry_outdate(state, e);
	slab_put(sh, e);
}

/* The number of `n` that is looked at now; the next one is next. */
static inline uint32_t turn(uint32_t *hand, uint32_t n)
{
	uint32_t now = *hand < n ? *hand : 0;

	*hand = now + 1;
	return now;
}

/* ---- the life of an entry ---- */

/* An entry of a shard, that is not in its slab yet, is to come first: then it is the present. */
static inline void shard_wake(struct sn_state_shard *sh, uint64_t now)
{
	if (!sh->live && sh->tick < now >> WHEEL_SHIFT)
		sh->tick = now >> WHEEL_SHIFT;
}

/* Put an entry of the slab, of which all is set, where look-ups and timers find it. */
static inline void entry_settle(struct sn_partition *partition, const struct sn_state_table *t,
				struct sn_state_shard *sh, struct sn_entry *e, uint32_t class, uint64_t hash)
{
	e->live = 1;
	chain(sh, e, hash);
	hang(sh, e);
	sh->live++;
	partition->left[t->id]--;
	--*owner_quota(partition, e->owner, class);
}

/* The end of an entry that has given back what it held. */
static inline void entry_end(struct sn_partition *partition, const struct sn_state_table *t,
			     struct sn_state_shard *sh, struct sn_entry *e, uint32_t class, uint64_t hash)
{
	if (unlikely(sn_entry_bundled(e)))
		sn_bundle_part(partition->state, e);
	unchain(sh, e, hash);
	unhang(sh, e);
	slab_give(partition->state, sh, e);
	sh->live--;
	partition->left[t->id]++;
	++*owner_quota(partition, e->owner, class);
}

/* An entry is used, and has another timeout from now on. */
static inline void entry_refresh(struct sn_state_shard *sh, struct sn_entry *e, uint32_t timeout_ms,
				 uint64_t now)
{
	e->last_use = now;
	if (timeout_ms < e->timeout_ms) { /* due earlier than where it hangs */
		unhang(sh, e);
		e->timeout_ms = timeout_ms;
		hang(sh, e);
	}
	e->timeout_ms = timeout_ms;
}

/* ---- for kinds, of entries that their packet path does not know ---- */

static inline uint32_t class_of_entry(const struct sn_state_kind *kind, const struct sn_entry *e)
{
	return kind->quota_class ? kind->quota_class(e) : 0;
}

static inline bool is_taken(const struct sn_state *state, const struct sn_state_table *t,
			    const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	return t->kind->is_taken && t->kind->is_taken(state, t, sh, e, now);
}

/* Room for one more entry: a line of the slab, and quotas. What has expired or may be evicted makes room. */
bool sn_state_make_room(struct sn_partition *partition, struct sn_state_table *t, struct sn_state_shard *sh,
			uint32_t owner, uint32_t class, uint64_t now);

static inline bool has_room(struct sn_partition *partition, struct sn_state_table *t,
			    struct sn_state_shard *sh, uint32_t owner, uint32_t class, uint64_t now)
{
	if (unlikely(is_full(partition, t, owner, class) || slab_empty(sh)) &&
	    !sn_state_make_room(partition, t, sh, owner, class, now))
		return false;
	shard_wake(sh, now);
	return true;
}

/* An entry that is found not to be live ends. */
void sn_entry_expire(struct sn_partition *partition, const struct sn_state_table *t,
		     struct sn_state_shard *sh, struct sn_entry *e);

/* An entry ends for another one. */
void sn_entry_evict(struct sn_partition *partition, const struct sn_state_table *t, struct sn_state_shard *sh,
		    struct sn_entry *e, uint64_t now);

/* Reclaim what has expired; the slot of this very moment, which is not over, only if asked for. */
uint32_t sn_state_reap(struct sn_partition *partition, const struct sn_state_table *t,
		       struct sn_state_shard *sh, uint64_t now, bool to_the_moment);

/* All of the partition's shards of tables whose entries count for subscribers: what has expired counts no
 * more. If that was done a short while ago, it may count a few milliseconds longer. */
void sn_state_reap_counted(struct sn_partition *partition, uint64_t now);

void sn_state_note(struct sn_partition *partition, const struct sn_state_table *t, const struct sn_entry *e,
		   bool made, uint64_t now);

/* An entry was made for a packet: to be told to who listens. */
static inline void sn_state_note_made(struct sn_partition *partition, const struct sn_state_table *t,
				      const struct sn_entry *e, uint64_t now)
{
	if (unlikely(partition->events != NULL))
		sn_state_note(partition, t, e, true, now);
}

/* Count and note an entry that is about to end for another one. */
void sn_state_note_evicted(struct sn_partition *partition, const struct sn_state_table *t,
			   struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now);

/* The one of some entries, others at each call, that would expire first. NULL: the shard has none. */
struct sn_entry *sn_state_first_due(struct sn_state_shard *sh);

/* ---- what the files do for one another ---- */

/* NULL without memory; nothing is kept of the configuration. */
struct sn_state_table *sn_state_table_create(const struct sn_table_config *c,
					     struct sn_partitioning partitioning);
void sn_state_table_free(struct sn_state_table *t);

/* The shards' units: places and owners are those of each unit's first shard. */
void sn_state_set_units(struct sn_state *state, uint32_t mask);

#endif /* SN_STATE_IMPL_H */
