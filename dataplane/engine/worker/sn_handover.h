/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HANDOVER_H
#define SN_HANDOVER_H

/* The packets of a burst whose state is another worker's: handed over before anything is done to them, in
 * their turn, so that those of a flow keep their order. */

#include "sn_worker_private.h"

/* Whether a shard's packets are processed here. */
static inline bool sn_hand_over_is_here(const struct sn_worker *w, uint32_t shard)
{
	uint8_t place;

	if (shard == SN_PKT_NO_SHARD)
		return true;
	place = w->mailbox->place[shard];
	return likely(place == SN_PLACE_HERE) || (place == SN_PLACE_TURNING && w->fast.env.taking);
}

/* After classification: finds the shards of the packets that have no entry in the cache. What is not to be
 * processed here is in w->handing.handed, and has no class. */
void sn_hand_over_find(struct sn_worker *w, uint32_t segment, uint32_t n);

/* A packet that is not what its entry is for, in its turn. Whether it is to be processed here; else it is
 * gone. */
bool sn_hand_over_late(struct sn_worker *w, uint32_t i, uint32_t segment);

/* A packet, in its turn, of a shard (w->handing.shards) that is not here: gone then, and in
 * w->handing.handed. */
void sn_hand_over(struct sn_worker *w, uint32_t i);

/* How many bursts of so many packets one stands for when the work for shards is counted; 0: it is left out.
 * Of large bursts one in eight is counted, by lot: those come in thousands, and when there is no time to
 * lose. */
uint32_t sn_hand_over_weight(struct sn_worker *w, uint32_t n);

/* Count the cycles of a burst for its shards: the cycles until the first packet's turn were spent on all
 * packets, those after it on what was left. */
void sn_hand_over_count(struct sn_worker *w, uint32_t n, uint32_t weight, uint64_t until, uint64_t after);

#endif /* SN_HANDOVER_H */
