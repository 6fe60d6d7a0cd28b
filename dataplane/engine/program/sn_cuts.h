/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CUTS_H
#define SN_CUTS_H

/* Whether the shards that operations tell themselves (SN_OP_OWN_SHARD) agree on every way. */

#include "sn_program.h"

/*
 * 1: all state that a packet meets is of one shard, as far as operations of own shards have to do with it,
 * and that shard can be foreseen. 0: not on all ways, or it is not known. Less than 0 if memory is short.
 */
int sn_cuts_agree(const struct sn_program *program);

#endif /* SN_CUTS_H */
