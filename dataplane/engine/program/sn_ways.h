/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WAYS_H
#define SN_WAYS_H

/* Foresight about the state that packets meet, from the program alone; sn_dispatch.h asks packets for the
 * rest. */

#include "sn_program.h"

/*
 * Note on each class what can be told without following packets, and on the program whether its state
 * can be cut: a packet that makes a session and then returns by another would meet two shards. Less than 0 if
 * memory is short.
 */
int sn_ways_note(struct sn_program *program);

#endif /* SN_WAYS_H */
