/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CUTS_H
#define SN_CUTS_H

/* The choice of what tells the shards of a program's state, so that all state on a packet's way is of one. */

#include "sn_program.h"

/*
 * Notes on the program's tables what their flows' shards are told by (sn_table_cut), and on the program
 * whether that leaves a packet with state of two shards, or with some that cannot be foreseen: then all state
 * is one unit. Both for NAPTs that tell the shard of a flow from inside by that end, and for such that tell
 * it by both ends: the state chooses. Less than 0 if memory is short.
 */
int sn_cuts_note(struct sn_program *program);

#endif /* SN_CUTS_H */
