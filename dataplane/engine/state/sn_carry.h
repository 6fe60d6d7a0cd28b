/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CARRY_H
#define SN_CARRY_H

/*
 * The entries of shards as bytes, to be carried to another engine that runs the same program: all that makes
 * an entry, with its age in place of times, as clocks differ. For the control thread, and shards that are
 * not here: no worker looks at them.
 *
 * A record has SN_CARRY_BYTES. Those from SN_CARRY_COMMON on are the same for all kinds, and say in the
 * middle whose the others are: owner (2), two of the kind's, shard (1), table (1), age (8). The kind has
 * SN_CARRY_HEAD bytes before, and SN_CARRY_TAIL bytes from SN_CARRY_OWN on. Numbers are big-endian, what is
 * unused is zero. There is no version: engines that run the same program know the same kinds. A kind whose
 * record changes takes another name in the program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_state.h"

#define SN_CARRY_BYTES	48 /* see TakeShards in program.proto */
#define SN_CARRY_COMMON 18
#define SN_CARRY_OWN	32
#define SN_CARRY_HEAD	SN_CARRY_COMMON
#define SN_CARRY_TAIL	(SN_CARRY_BYTES - SN_CARRY_OWN)

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
 * Puts n entries into the shards; those that are too old are passed over. Quotas are not asked: nobody
 * loses state by a move. 0, or -1 with a message in err if one cannot be one of the shards', or its place
 * is taken: others may have been put then.
 */
int sn_carry_put(struct sn_state *state, const bool shards[SN_SHARDS], const uint8_t *in, size_t n,
		 uint64_t now, char *err, size_t err_len);

/* Ends all entries of the shards, and forgets what they have held. Quotas are right after sn_state_level().
 */
void sn_carry_forget(struct sn_state *state, const bool shards[SN_SHARDS]);

#endif /* SN_CARRY_H */
