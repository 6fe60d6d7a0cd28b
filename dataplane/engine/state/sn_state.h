/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STATE_H
#define SN_STATE_H

/*
 * What packets leave behind for those that follow: tables of entries, each of a kind (sn_state_kind.h). State
 * outlives programs: a table is known by its name, an entry's owner by its own: a NAPT's run, or the table
 * itself. State is cut into shards, each of which can be handed to another core with all that belongs to it:
 * both directions of a flow are of one.
 *
 * Every shard is one worker's. What a worker has is its part: functions that
 * take one run on its worker, and touch only shards that the part owns. The
 * others are for the control thread while all workers are quiescent, but for
 * those that are said to be safe.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sn_entry.h"
#include "sn_partitioning.h"
#include "sn_program.h"

#define SN_SHARDS   128
#define SN_NO_SHARD UINT32_MAX

struct sn_state;
struct sn_arena;
struct sn_subscribers;

/* Several engines may share a chain's state. A unit of shards is one engine's at a time. */
enum sn_shard_place {
	SN_SHARD_HERE,
	SN_SHARD_GIVING, /* stands still, its sessions are read */
	SN_SHARD_TAKING, /* its sessions come */
	SN_SHARD_AWAY,	 /* it has no sessions */
};

/* For tests: an entry that an operation made for its packet, or ended to make room for that. */
struct sn_event {
	bool made;
	uint32_t table; /* of the program */
	struct sn_entry_info entry;
};

/* One was in the new one's quota or shard, one had what it holds. */
struct sn_events {
	uint32_t n;
	struct sn_event of[3];
};

/* The eras of generations, counted: see entry_outdate(). */
struct sn_eras {
	_Atomic uint32_t latest;
	uint32_t entered[SN_SHARDS]; /* by the shard's worker */
};

/*
 * What a worker has of the state: shards, and a share of what tables and owners may still hold.
 * Written by its worker alone; the first line is read by slow packets, the others by all.
 */
struct sn_partition {
	const struct sn_state *state;
	int32_t *left;	     /* entries that it may still make: by table, then by owner and class */
	uint64_t *reap_from; /* by table: when all of its shards may be reaped again for want of room */
	uint64_t now;	     /* of the last tick */
	uint32_t n_owned;
	uint32_t cursor;	  /* of the next tick */
	_Atomic bool starved;	  /* wants more of what others have left */
	uint32_t era;		  /* that its worker has entered */
	struct sn_events *events; /* told of what is made and what makes room; NULL: nobody listens */
	struct sn_eras *eras;	  /* of all parts */
	/* lines 2 and 3 */
	_Alignas(64) bool owned[SN_SHARDS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sn_partition) == 192, "a part shares no cache line");

/*
 * For a number of workers, among which the shards are split evenly. seed keeps strangers from choosing
 * flows that meet in one hash bucket; any number in tests.
 */
struct sn_state *sn_state_create(uint64_t seed, uint32_t n_workers, struct sn_partitioning partitioning);
void sn_state_free(struct sn_state *state);

struct sn_partitioning sn_state_partitioning(const struct sn_state *state);

/* Whether NAPTs tell the shard of a flow from inside by both of its ends; see sn_cuts.h. */
bool sn_state_by_ends(const struct sn_state *state);

/* The shard of a prefix, whose other bits are 0, by itself: hashed, or its lowest bits that the cut is by. */
uint32_t sn_prefix_shard(const struct sn_state *state, uint32_t prefix, uint32_t prefix_len);

/* Another cut, before the first sn_state_apply(). */
void sn_state_repartition(struct sn_state *state, struct sn_partitioning partitioning);

/* A worker's part; stays where it is as long as the state. */
struct sn_partition *sn_state_partition(struct sn_state *state, uint32_t worker);

/*
 * How many units of ownership there are, a power of two: 128, or fewer where a pool is too small or the
 * program cannot be cut. Shard s belongs to unit s modulo their number. Safe beside workers.
 */
uint32_t sn_state_units(const struct sn_state *state);

/* The worker that owns a shard, as of the last apply and sn_state_moved(). */
uint32_t sn_state_owner(const struct sn_state *state, uint32_t shard);

/*
 * Hand a unit over: the worker that has it gives it, then (the other worker having been told) that one takes
 * it, and the control thread notes it. Each runs on its own thread; one unit at a time is on its way.
 */
void sn_partition_give(struct sn_partition *partition, uint32_t unit);
void sn_partition_take(struct sn_partition *partition, uint32_t unit);
void sn_state_moved(struct sn_state *state, uint32_t unit, uint32_t worker);

/*
 * Where a unit is, and what tells the shard of a flow from inside, which is the same for all engines that
 * share the state: both change while workers are quiescent, the latter while there are no sessions. Who sets
 * the key shares the state from then on: see sn_state_apply.c. The worker that owns a unit which is not here
 * has its packets, and may not look at its state.
 */
enum sn_shard_place sn_state_place(const struct sn_state *state, uint32_t shard);
void sn_state_set_place(struct sn_state *state, uint32_t unit, enum sn_shard_place place);
uint64_t sn_state_key(const struct sn_state *state);
void sn_state_set_key(struct sn_state *state, uint64_t key);

/*
 * Limits of tables and owners hold for the chain as a whole, on this engine: each part has a share of what is
 * left. Whether one has used up its own (safe beside workers), and a new split of what all have left.
 */
bool sn_state_starved(const struct sn_state *state);
void sn_state_level(struct sn_state *state);

/*
 * Make the state fit a program; workers that use the state must be quiescent, and take the
 * program by sn_worker_set_program() before they go on. kept and dropped count sessions. Less than 0
 * if memory is short: then nothing has changed.
 */
int sn_state_apply(struct sn_state *state, const struct sn_program *program, uint64_t *kept,
		   uint64_t *dropped);

struct sn_state_stats {
	uint64_t sessions;
	uint64_t created;
	uint64_t expired;
	uint64_t exhausted; /* refused: a quota was used up, or what an entry holds */
	uint64_t evicted;   /* ended for another one */
};

/* Statistics of a table of the current program. These three may run beside workers: the numbers are then of
 * slightly different instants. */
void sn_state_stats(const struct sn_state *state, uint32_t table, struct sn_state_stats *stats);

/* Bytes of memory that tables, subscribers and bundles of the current program may take, whatever comes. */
size_t sn_state_most(const struct sn_state *state);

/* The records of its subscribers; NULL: none are limited. */
struct sn_subscribers *sn_state_subscribers(const struct sn_state *state);

/* Add what a table's kind reports. 0, or -1 without memory. */
int sn_state_report_table(const struct sn_state *state, uint32_t table, struct sn_arena *arena,
			  Sinter__Program__V1__TableStats *stats);

/* Statistics of a unit, over all tables of the program. */
void sn_state_unit_stats(const struct sn_state *state, uint32_t unit, struct sn_state_stats *stats);

/* An entry as it is now. */
struct sn_entry_info sn_entry_info(const struct sn_state *state, const struct sn_entry *entry, uint64_t now);

/* An entry that a packet made ends, and gives back what it holds, as if it had never been. */
void sn_entry_undo(struct sn_partition *partition, struct sn_entry *entry);

/* A packet leaves that made an entry in the place of another one: that ends (sn_state_kind.replaced). */
void sn_entry_replace(struct sn_partition *partition, const struct sn_entry *entry);

/* The live entries of a table of the current program, at most max; returns how many were written. */
size_t sn_state_entries(const struct sn_state *state, uint32_t table, uint64_t now, struct sn_entry_info *out,
			size_t max);

/* The entries of the part's shards, in tables of the current program. */
uint32_t sn_partition_entries(const struct sn_partition *partition);

/* Whether the worker is to forget what it remembers of entries by their generations before it looks that up
 * again, and to enter the next era then: that brings the same generations again. */
static inline bool sn_partition_era_ended(const struct sn_partition *partition)
{
	return atomic_load_explicit(&partition->eras->latest, memory_order_relaxed) != partition->era;
}

void sn_partition_enter_era(struct sn_partition *partition);

/* Reclaim what has expired in a few of the part's shards, all are visited in turn; and what kinds do on a
 * tick. */
void sn_partition_tick(struct sn_partition *partition, uint64_t now);

#endif /* SN_STATE_H */
