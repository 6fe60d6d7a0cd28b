/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CARRY_H
#define SN_CARRY_H

/*
 * The entries of shards as bytes, to be carried to another engine that runs the same program: all that makes
 * an entry, with its age in place of times, as clocks differ. For the control thread, and shards that are
 * not here: no worker looks at them.
 *
 * An entry is a record of SN_CARRY_BYTES. Numbers are big-endian, what is unused is zero. Bytes 18, 19 and 22
 * to 31 are the same for all kinds: owner (2), shard (1), table (1), age (8). The others are the kind's.
 * Records have no version: engines hand over only what the same program keeps, by its hash. If a kind's
 * record must change, its tables have to say so in the program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"
#include "sn_state.h"

#define SN_CARRY_BYTES 48 /* see TakeShards in control.proto */
#define SN_CARRY_OWN   32 /* from here on all bytes are the kind's */

/*
 * Writes at most max live entries of the shards to out, from *cursor on (0: the first); returns how many.
 * *cursor is then where to go on, 0: that was all. The same cursor gives the same entries as long as the
 * shards stand still. A cursor that was never given ends the reading.
 */
size_t sn_carry_read(const struct sn_state *state, const bool shards[SN_SHARDS], uint64_t *cursor,
		     uint64_t now, uint8_t *out, size_t max);

/*
 * Has the memory there that about so many entries of a unit without any will need: what is written for the
 * first time costs a page fault each, for which packets would wait.
 */
void sn_carry_reserve(const struct sn_state *state, uint32_t unit, uint32_t entries);

/*
 * Puts n entries into the shards; those that are too old are ignored. Quotas are not asked: nobody
 * loses state by a move. 0, or -1 with a message in err if one cannot be one of the shards', or its place
 * is taken: others may have been put then.
 */
int sn_carry_put(struct sn_state *state, const bool shards[SN_SHARDS], const uint8_t *in, size_t n,
		 uint64_t now, struct sn_error *err);

/* Ends all entries of the shards, and forgets what they have held. Quotas are right after sn_state_level().
 */
void sn_carry_forget(struct sn_state *state, const bool shards[SN_SHARDS]);

#endif /* SN_CARRY_H */
