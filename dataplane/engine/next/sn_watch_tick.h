/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WATCH_TICK_H
#define SN_WATCH_TICK_H

#include <stdint.h>

struct sn_neigh_table;

/* Asks hosts that are watched if that is due, and forgets the MAC addresses of those that went down: between
 * two bursts. */
void sn_watch_tick(struct sn_neigh_table *t, uint64_t now);

#endif /* SN_WATCH_TICK_H */
