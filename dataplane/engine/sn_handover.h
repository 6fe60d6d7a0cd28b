/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HANDOVER_H
#define SN_HANDOVER_H

/* The packets of a burst whose state is another worker's: handed over before anything is done to them. */

#include "sn_worker_impl.h"

#define SN_REASON_HANDED (SN_REASON_CHAIN - 1) /* in sn_pkt.reason: no reason, but gone to another worker */

/* After look-up and classification. Returns how many packets are gone; what is left is of no shard or of one
 * that is here. */
uint32_t sn_hand_over(struct sn_worker *w, uint32_t segment, uint32_t n);

/* How many bursts of so many packets one stands for when the work for shards is counted; 0: it is left out.
 * Of large bursts one in eight is counted, by lot: those come in thousands, and when there is no time to
 * lose. */
uint32_t sn_hand_over_weight(struct sn_worker *w, uint32_t n);

/* What a burst took is counted for its shards: the cycles until the hand-over were spent on all packets,
 * those after it on what was left. */
void sn_hand_over_count(struct sn_worker *w, uint32_t n, uint32_t handed, uint32_t weight, uint64_t until,
			uint64_t after);

#endif /* SN_HANDOVER_H */
