/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARD_H
#define SN_SHARD_H

/* A shard of a table of state: where its entries and buckets lie, and which of its entries are free. */

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_ahead.h"
#include "sn_entry.h"

#define WHEEL_SHIFT 28	 /* a slot is 0.27 s … */
#define WHEEL_SLOTS 256u /* … and a turn 69 s; what is due later is looked at once a turn */
#define NS_PER_MS   1000000ull

/*
 * What shards use from the start on lies in rows: the first kilobyte of each shard, the second of each, and
 * so on. Shards fill alike, so memory in use lies together, on few pages, however much there may be.
 */
#define ROW_BYTES   1024u
#define ROW_ENTRIES (ROW_BYTES / (uint32_t)sizeof(struct sn_entry_line))
#define ROW_WORDS   (ROW_BYTES / (uint32_t)sizeof(uint32_t))

/*
 * Somebody may see to it that shards do not fill alike: behind a NAPT all sessions of a host's port are of
 * one shard, and clients of a load balancer choose theirs. A row for one of 256 shards would cost 256 times
 * what it holds. So a shard has entries in rows as far as the others have theirs, nearly; those beyond are
 * its tail, which lies together, on small pages. A tail's pages go back to the system when it has no entry,
 * as another shard may have the next one.
 */
#define TAIL_PAGE    4096u
#define TAIL_ENTRIES (TAIL_PAGE / (uint32_t)sizeof(struct sn_entry_line)) /* of a page */

/*
 * Hash buckets lie in tiers of more and more. An entry is put into the first tier that is not half full, and
 * stays there: nothing is ever moved, and memory is used for as many entries as there are. A tier is first
 * used when all of its memory is there: the one before it fills up meanwhile, though not beyond all measure.
 * The last tier of each shard lies together, as it is used as a whole; where shards do not fill alike it is
 * of small pages, and goes back to the system as a tail does.
 */
#define TIERS	   3
#define BUCKETS_0  ROW_WORDS
#define BUCKETS_1  (64 * BUCKETS_0)
#define TIER_0_MAX (BUCKETS_0 / 2)
#define TIER_1_MAX (BUCKETS_1 / 2)
#define CROWD	   2 /* times as many as that */

/* The stretches of a table's memory. */
enum {
	STRETCH_FIRST,	/* what the first entries need: tier 0, the wheels */
	STRETCH_TIER_1, /* these three as a whole */
	STRETCH_TIER_2, /* empty, where shards do not fill alike */
	STRETCH_SLAB,	/* from its start on, as are the next */
	STRETCH_PARTS,	/* of the kind's rows */
	STRETCH_PARTS_MAX = 3,
};

/*
 * A bucket is the index of its chain's first entry, and a bit for each entry by its hash: most look-ups that
 * find nothing read no entry.
 */
#define BUCKET_INDEX 0x000fffffu
#define BUCKET_BITS  (~BUCKET_INDEX)

/* The common part of a table's shards. */
struct sn_shards {
	_Alignas(64) _Atomic uint32_t rows; /* begun, of all shards */
	_Atomic int32_t pages;		    /* that tails may still have */
};

/* The rarely used part of a shard. */
struct sn_shard_cold {
	_Alignas(64) struct sn_entry_line *tail; /* entries from number slab_head on */
	uint32_t *last_tier;			 /* of buckets */
	struct sn_shards *all;
	uint64_t exhausted;
	uint64_t evicted;
	uint32_t fresh;		  /* entries of the tail that were used, … */
	uint32_t open;		  /* … and of which there are pages */
	uint32_t free;		  /* its first free entry, + 1 */
	uint32_t live;		  /* its entries that are taken */
	uint32_t written;	  /* its entries that were used since their pages came */
	uint32_t generation : 21; /* for the others: none whose page was given back had a later one */
	bool last_tier_used : 1;  /* and is to be given back when it is empty */
	bool last_tier_stays : 1;
};
_Static_assert(sizeof(struct sn_shard_cold) == 64, "a cache line");

/*
 * A shard of a table; a kind's shards begin with it. Line 1 is read by every look-up, what is in the next
 * only by what makes and ends entries.
 */
struct sn_state_shard {
	struct sn_entry_line *slab; /* in rows */
	uint32_t *buckets;	    /* in rows */
	uint16_t tier_0;	    /* entries of the first tier */
	uint16_t tier_1;
	uint32_t slab_fresh; /* of slab_open */
	uint32_t slab_free;  /* + 1 */
	uint32_t slab_max : 20;
	uint32_t spread : 4;	 /* there are 2^spread shards */
	uint32_t tier_2_log : 5; /* the last tier has 2^tier_2_log buckets */
	uint32_t trims : 1;	 /* its tail may have something to give back */
	uint32_t live;		 /* entries that are not reclaimed */
	uint32_t slab_head;	 /* entries that lie in rows, at most: the tail's are behind them */
	uint32_t *wheel;
	uint64_t tick;		      /* slots before it are done */
	struct sn_stretch *stretches; /* of the table */
	/* line 2 */
	uint32_t slab_open; /* entries of rows that are begun */
	uint32_t hand;	    /* the used entry that is looked at next for one that may end */
	struct sn_shard_cold *cold;
	uint64_t created;
	uint64_t expired;
};
_Static_assert(sizeof(struct sn_state_shard) == 96, "the first line, and a bit of the second");

/* Where number n of what lies in rows of `row` (a power of two) is, from the shard's first on. */
static inline size_t in_rows(const struct sn_state_shard *sh, uint32_t row, uint32_t n)
{
	return (size_t)(n & ~(row - 1)) << sh->spread | (n & (row - 1));
}

/* Where the row of number n ends, of all shards. */
static inline size_t row_end(const struct sn_state_shard *sh, uint32_t row, uint32_t n)
{
	return ((size_t)(n & ~(row - 1)) + row) << sh->spread;
}

/* The same of the tail; not inline, as it is rare. */
__attribute__((cold)) struct sn_entry *sn_shard_tail_entry(const struct sn_state_shard *sh, uint32_t index);
__attribute__((cold)) uint32_t sn_shard_tail_index(const struct sn_state_shard *sh, const struct sn_entry *e);

static inline bool is_in_tail(const struct sn_state_shard *sh, const struct sn_entry *e)
{
	return (const struct sn_entry_line *)e >= sh->slab + ((size_t)sh->slab_head << sh->spread);
}

static inline uint32_t index_of(const struct sn_state_shard *sh, const struct sn_entry *e)
{
	size_t at = (size_t)((const struct sn_entry_line *)e - sh->slab);

	if (unlikely(is_in_tail(sh, e)))
		return sn_shard_tail_index(sh, e);
	return (uint32_t)((at >> sh->spread & ~(size_t)(ROW_ENTRIES - 1)) | (at & (ROW_ENTRIES - 1))) + 1;
}

static inline struct sn_entry *at_index(const struct sn_state_shard *sh, uint32_t index)
{
	if (unlikely(index > sh->slab_head))
		return sn_shard_tail_entry(sh, index);
	return &sh->slab[in_rows(sh, ROW_ENTRIES, index - 1)].entry;
}

/* Entries that are, or were once. */
static inline uint32_t slab_used(const struct sn_state_shard *sh)
{
	return sh->slab_fresh + sh->cold->fresh;
}

/* The index of one of them, by its number. */
static inline uint32_t used_index(const struct sn_state_shard *sh, uint32_t n)
{
	return n < sh->slab_fresh ? n + 1 : sh->slab_head + (n - sh->slab_fresh) + 1;
}

static inline struct sn_entry *used_entry(const struct sn_state_shard *sh, uint32_t n)
{
	return at_index(sh, used_index(sh, n));
}

static inline uint32_t *bucket_at(const struct sn_state_shard *sh, uint32_t number)
{
	return &sh->buckets[in_rows(sh, ROW_WORDS, number)];
}

static inline uint32_t *bucket_of(const struct sn_state_shard *sh, uint32_t tier, uint64_t hash)
{
	uint32_t h = (uint32_t)hash;

	if (tier == 0)
		return bucket_at(sh, h & (BUCKETS_0 - 1));
	if (tier == 1)
		return bucket_at(sh, BUCKETS_0 + (h & (BUCKETS_1 - 1)));
	return &sh->cold->last_tier[h & ((1u << sh->tier_2_log) - 1)];
}

/* An entry is put into it. */
static inline void last_tier_used(struct sn_state_shard *sh)
{
	if (!sh->cold->last_tier_stays) {
		sh->cold->last_tier_used = true;
		sh->trims = true;
	}
}

/* ---- entries that are free ---- */

/* Opens a row, or a page of the tail. False: the shard has as many entries as it may have. */
__attribute__((cold)) bool sn_shard_extend(struct sn_state_shard *sh);

/* So many entries are to come, as from another engine: they may lie in rows, though others have none yet. */
void sn_shard_reserve(struct sn_state_shard *sh, uint32_t entries);

/* The tail has one that is free or fresh. */
__attribute__((cold)) struct sn_entry *sn_shard_take_from_tail(struct sn_state_shard *sh);
__attribute__((cold)) void sn_shard_put_into_tail(struct sn_state_shard *sh, struct sn_entry *e);

/* Gives back what the shard's tail does not need: a part of it, as that takes time. first: the first
 * generation of the era that the shard's worker has entered. */
void sn_shard_trim(struct sn_state_shard *sh, uint32_t first);

/* No entry is left; nothing is written to what entries were. */
void sn_shard_forget(struct sn_state_shard *sh);

/* Whether slab_take() finds none. */
static inline bool slab_empty(struct sn_state_shard *sh)
{
	return !sh->slab_free && sh->slab_fresh == sh->slab_open && !sn_shard_extend(sh);
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
	if (unlikely(sh->slab_fresh == sh->slab_open)) {
		if (!sn_shard_extend(sh))
			return NULL;
		if (sh->slab_fresh == sh->slab_open)
			return sn_shard_take_from_tail(sh);
	}
	e = at_index(sh, ++sh->slab_fresh);
	rte_prefetch0(at_index(sh, sh->slab_fresh + 1));
	return e;
}

static inline void slab_put(struct sn_state_shard *sh, struct sn_entry *e)
{
	if (unlikely(is_in_tail(sh, e))) {
		sn_shard_put_into_tail(sh, e);
		return;
	}
	e->hash_next = sh->slab_free;
	sh->slab_free = index_of(sh, e);
}

#endif /* SN_SHARD_H */
