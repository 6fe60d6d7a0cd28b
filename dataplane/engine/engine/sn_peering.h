/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PEERING_H
#define SN_PEERING_H

/*
 * This engine among those that share a chain's state: who the others are, which of them has what is not here,
 * and whether this one is the front, which answers ARP for the chain's addresses and announces them. For the
 * control thread.
 */

#include <stdbool.h>

#include "sn_peers.h"
#include "sn_threads.h"

struct sn_peering;

/* NULL without memory. */
struct sn_peering *sn_peering_create(bool front);
void sn_peering_free(struct sn_peering *peering);

/* As workers read them, who live shorter. */
const struct sn_peers *sn_peering_peers(const struct sn_peering *peering);
bool sn_peering_front(const struct sn_peering *peering);

/*
 * These are the others from now on; shards that none of them is said to have stay where they were, which is
 * added to peers. To become the front is to announce the addresses; the front announces
 * them again if one of the others left.
 */
void sn_peering_set(struct sn_peering *peering, struct sn_threads *threads, struct sn_peers *peers,
		    bool front);

/* While the workers are held: a peer has the shards; one that is none any more has them nowhere. */
void sn_peering_give(struct sn_peering *peering, const bool shards[SN_SHARDS], const char *peer);

/* While the workers are held: there are so many units now, and a unit is where its first shard is. */
void sn_peering_fit(struct sn_peering *peering, uint32_t units);

#endif /* SN_PEERING_H */
