/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STATE_IMPL_H
#define SN_STATE_IMPL_H

/* What state is built from; for the files that keep it and for the kinds. */

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_hash.h"
#include "sn_state.h"
#include "sn_state_kind.h"

#define WHEEL_SHIFT 28	 /* a slot is 0.27 s … */
#define WHEEL_SLOTS 256u /* … and a turn 69 s; what is due later is looked at once a turn */
#define NS_PER_MS   1000000ull

#define SN_QUOTA_CLASSES  4 /* of entries of an owner, at most */
#define SN_OWNER_TIMEOUTS 5

/*
 * A shard of a table; a kind's shards begin with it. Line 1 is read by every look-up, what is in the next
 * only by what makes and ends entries.
 */
struct sn_state_shard {
	struct sn_entry_line *slab;
	uint32_t *buckets; /* index + 1 of a chain's first entry */
	uint32_t bucket_mask;
	uint32_t slab_fresh;
	uint32_t slab_free; /* + 1 */
	uint32_t slab_max;
	uint32_t live; /* entries that are not reclaimed */
	uint32_t hand; /* the slab's entry that is looked at next for one that may end */
	uint32_t *wheel;
	uint64_t tick; /* slots before it are done */
	uint64_t created;
	/* line 2 */
	uint64_t expired;
	uint64_t exhausted;
	uint64_t evicted;
};
_Static_assert(sizeof(struct sn_state_shard) == 88, "the first line, and a bit of the second");

/* A table; a kind's tables begin with it. */
struct sn_state_table {
	const struct sn_state_kind *kind;
	struct sn_table_config config; /* a copy */
	uint32_t id;		       /* in state->tables */
	uint32_t owner;		       /* of all entries; SN_NO_INDEX: runs are */
	uint32_t mask;		       /* shards - 1 */
	uint8_t *shards;	       /* of kind->shard_size each */
	uint8_t *memory;	       /* of the shards, that is the kind's own */
	size_t memory_size;	       /* of one shard's */
	size_t size;		       /* of the mapping that holds the shards and all of theirs */
};

/* The owner of entries: a run, or a table without runs. */
struct sn_state_owner {
	char *name;
	uint32_t table; /* in state->tables */
	uint32_t max_entries;
	uint32_t timeout_ms[SN_OWNER_TIMEOUTS]; /* as the kind numbers them */
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
	uint32_t unit_mask;
	uint32_t n_partitions;
	struct sn_partition *partitions;
	int32_t *gift; /* goes with a unit from partition to partition */
	/* Entries that came (less than 0) and went with units from and to other engines, where the partitions
	 * do not know of them yet; its left is by quota, as theirs. */
	struct sn_partition carried;
	uint8_t owner[SN_SHARDS];
	uint8_t place[SN_SHARDS]; /* enum sn_shard_place */
};

/* Of a part's worker. */
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

/* ---- slab, chains, wheel ---- */

static inline uint32_t index_of(const struct sn_state_shard *sh, const struct sn_entry *e)
{
	return (uint32_t)((const struct sn_entry_line *)e - sh->slab) + 1;
}

static inline struct sn_entry *at_index(const struct sn_state_shard *sh, uint32_t index)
{
	return &sh->slab[index - 1].entry;
}

static inline void hang(struct sn_state_shard *sh, struct sn_entry *e)
{
	uint64_t tick = (e->last_use + e->timeout_ms * NS_PER_MS) >> WHEEL_SHIFT;
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

static inline uint32_t *bucket_of(const struct sn_state_shard *sh, uint64_t hash)
{
	return &sh->buckets[hash & sh->bucket_mask];
}

static inline void chain(struct sn_state_shard *sh, struct sn_entry *e, uint64_t hash)
{
	uint32_t *bucket = bucket_of(sh, hash);

	e->hash_next = *bucket;
	*bucket = index_of(sh, e);
}

static inline void unchain(const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t hash)
{
	uint32_t *link = bucket_of(sh, hash), index = index_of(sh, e);

	while (*link != index)
		link = &at_index(sh, *link)->hash_next;
	*link = e->hash_next;
}

static inline bool slab_empty(const struct sn_state_shard *sh)
{
	return !sh->slab_free && sh->slab_fresh == sh->slab_max;
}

/* NULL: it is empty. */
static inline struct sn_entry *slab_take(struct sn_state_shard *sh)
{
	struct sn_entry *e;

	/* Each time the line of the next one is sent for: its turn comes when other shards had theirs. */
	if (sh->slab_free) {
		e = at_index(sh, sh->slab_free);
		sh->slab_free = e->hash_next;
		if (sh->slab_free)
			rte_prefetch0(at_index(sh, sh->slab_free));
		return e;
	}
	if (sh->slab_fresh == sh->slab_max)
		return NULL;
	e = at_index(sh, ++sh->slab_fresh);
	rte_prefetch0((struct sn_entry_line *)e + 1);
	return e;
}

/* Decisions that remember the entry do not hold any more. */
static inline void slab_give(struct sn_state_shard *sh, struct sn_entry *e)
{
	e->live = 0;
	e->generation++;
	e->hash_next = sh->slab_free;
	sh->slab_free = index_of(sh, e);
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
	unchain(sh, e, hash);
	unhang(sh, e);
	slab_give(sh, e);
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

/* Reclaim what has expired; the slot of this very moment, which is not over, only if asked for. */
void sn_state_reap(struct sn_partition *partition, const struct sn_state_table *t, struct sn_state_shard *sh,
		   uint64_t now, bool to_the_moment);

/* Count and note an entry that is about to end for another one. */
void sn_state_note_evicted(struct sn_partition *partition, const struct sn_state_table *t,
			   struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now);

/* Of some entries, others at each call: the one that would expire first. NULL: the shard has none. */
struct sn_entry *sn_state_first_due(struct sn_state_shard *sh);

/* ---- what the files do for one another ---- */

/* NULL without memory; nothing is kept of the configuration. */
struct sn_state_table *sn_state_table_create(const struct sn_table_config *c,
					     struct sn_partitioning partitioning);
void sn_state_table_free(struct sn_state_table *t);

/* The shards' units: places and owners are those of each unit's first shard. */
void sn_state_set_units(struct sn_state *state, uint32_t mask);

#endif /* SN_STATE_IMPL_H */
