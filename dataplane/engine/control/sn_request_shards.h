/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REQUEST_SHARDS_H
#define SN_REQUEST_SHARDS_H

/* Requests about shards between engines. As the others of sn_request.c: 0, or -1 with a message in err;
 * answers live in the arena. */

#include "control.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"
#include "sn_error.h"
#include "sn_shards.h"
#include "sn_transfer.h"

int sn_answer_assign(struct sn_shards *shards, const Sinter__Control__V1__AssignShards *assign,
		     struct sn_error *err);
int sn_answer_peers(struct sn_engine *engine, const Sinter__Control__V1__SetPeers *peers,
		    struct sn_error *err);
int sn_answer_give(struct sn_transfers *transfers, struct sn_arena *arena,
		   const Sinter__Control__V1__GiveShards *give, Sinter__Control__V1__Response *response,
		   struct sn_error *err);
int sn_answer_take(struct sn_transfers *transfers, struct sn_arena *arena,
		   const Sinter__Control__V1__TakeShards *take, Sinter__Control__V1__Response *response,
		   struct sn_error *err);

#endif /* SN_REQUEST_SHARDS_H */
