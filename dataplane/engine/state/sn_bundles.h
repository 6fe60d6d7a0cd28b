/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_BUNDLES_H
#define SN_BUNDLES_H

/*
 * Room for bundles (sn_bundle.h), by their leaders. Each shard has as many as there are flows for it, and
 * some more; they lie in rows, the first ones of each shard, then the next ones of each, so memory follows
 * the bundles that there are. What is of a shard is its worker's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_bundle.h"

/* In one cache line, or two if a flow may have more entries than one holds. */
struct sn_bundle {
	uint32_t next;		    /* of its chain, or that is free: its number + 1; 0: none */
	uint16_t turned;	    /* bit per entry: the leader's inside is its outside */
	uint8_t n;		    /* entries; 0: it is free */
	struct sn_entry *entries[]; /* the leader is first */
};
_Static_assert(offsetof(struct sn_bundle, entries) == 8, "seven entries in a line");

struct sn_bundles_size {
	uint32_t flows;	  /* that have a bundle, if shards have as many */
	uint32_t entries; /* of one; SN_BUNDLE_MAX at most */
};

struct sn_bundles;
struct sn_state_owner;
struct sn_state_table;

/* Room that a state's owners want: for all flows that may have two entries or more. */
struct sn_bundles_size sn_bundles_wanted(const struct sn_state_owner *owners, uint32_t n_owners,
					 struct sn_state_table *const *tables);

/* NULL without memory. */
struct sn_bundles *sn_bundles_create(struct sn_bundles_size size, uint64_t seed);
void sn_bundles_free(struct sn_bundles *bundles);

/* Whether there is as much room, no more and no less. */
bool sn_bundles_have(const struct sn_bundles *bundles, struct sn_bundles_size size);

/* Bytes of memory that they may take. */
size_t sn_bundles_most(const struct sn_bundles *bundles);

/* The bundle that an entry leads; NULL: none. */
struct sn_bundle *sn_bundles_find(const struct sn_bundles *bundles, const struct sn_entry *leader);

/* Whether there is ever room for one with so many entries; false, too, until there is memory for the first.
 */
bool sn_bundles_fit(const struct sn_bundles *bundles, uint32_t entries);

/* Whether there is room now. */
bool sn_bundles_have_room(const struct sn_bundles *bundles, uint32_t shard);

/* One that has its leader alone, where there is room. */
struct sn_bundle *sn_bundles_take(struct sn_bundles *bundles, struct sn_entry *leader);

/* It is free. Its leader is still that of its entries. */
void sn_bundles_give(struct sn_bundles *bundles, struct sn_bundle *bundle);

/* Where a shard has no room: the bundle that is given up for another one. NULL: none, this time. */
struct sn_bundle *sn_bundles_victim(struct sn_bundles *bundles, uint32_t shard);

/* The first of a shard's bundles from number *at on, which is then that behind it; NULL: there is none. */
struct sn_bundle *sn_bundles_next(const struct sn_bundles *bundles, uint32_t shard, uint32_t *at);

#endif /* SN_BUNDLES_H */
