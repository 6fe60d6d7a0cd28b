/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CARRY_H
#define SN_CARRY_H

/*
 * The sessions of shards as bytes, to be carried to another engine that runs the same program: all that makes
 * a session, with its age in place of times, as clocks differ. For the control thread, and shards that are
 * not here: no worker looks at them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_state.h"

#define SN_CARRY_BYTES 48 /* of a session: see TakeShards in program.proto */

/*
 * Writes at most max live sessions of the shards to out, from *cursor on (0: the first); returns how many.
 * *cursor is then where to go on, 0: that was all. The same cursor gives the same sessions as long as the
 * shards stand still. A cursor that was never given ends the reading.
 */
size_t sn_carry_read(const struct sn_state *state, const bool shards[SN_SHARDS], uint64_t *cursor,
		     uint64_t now, uint8_t *out, size_t max);

/*
 * Has the memory there that about so many sessions of a unit without any will need: what is written for the
 * first time costs a page fault each, for which packets would wait.
 */
void sn_carry_reserve(const struct sn_state *state, uint32_t unit, uint32_t sessions);

/*
 * Puts n sessions into the shards; those that are too old are passed over. Limits are not asked: nobody
 * loses a session by a move. 0, or -1 with a message in err if one cannot be one of the shards', or its place
 * is taken: others may have been put then.
 */
int sn_carry_put(struct sn_state *state, const bool shards[SN_SHARDS], const uint8_t *in, size_t n,
		 uint64_t now, char *err, size_t err_len);

/* Ends all sessions of the shards, and forgets which ports they have used. Rooms are right after
 * sn_state_level(). */
void sn_carry_forget(struct sn_state *state, const bool shards[SN_SHARDS]);

#endif /* SN_CARRY_H */
