/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NEIGH_IMPL_H
#define SN_NEIGH_IMPL_H

/* The border between the table's two files: sn_neigh.c has what is learnt, sn_neigh_program.c what a program
 * says. */

#include "sn_neigh.h"

/* A new entry of a key, free; NULL if there is no room. to_ask: it is to be asked for. */
struct sn_neigh *sn_neigh_add(struct sn_neigh_table *t, uint64_t key, bool to_ask);
void sn_neigh_forget(struct sn_neigh_table *t, struct sn_neigh *n);

/* Frames to it have this destination from now on. */
void sn_neigh_set_l2(const struct sn_neigh_table *t, struct sn_neigh *n, const uint8_t mac[6]);

/* The packet that waits longest for it. */
void sn_neigh_drop_first(struct sn_neigh_table *t, struct sn_neigh *n);

#endif /* SN_NEIGH_IMPL_H */
