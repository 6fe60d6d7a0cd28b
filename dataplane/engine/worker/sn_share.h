/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARE_H
#define SN_SHARE_H

/*
 * A device gives an ARP packet to one queue, but every worker keeps its own neighbours, for as long as it
 * uses them. So the worker that receives what others may learn from hands a copy to each of them.
 */

#include "sn_worker_private.h"

/* An ARP frame that Entry let pass. Stays the caller's. A copy (w->fast.env.taking) is learnt from, not
 * answered. True: the other workers may learn from it. */
bool sn_share_learn(struct sn_worker *w, const struct sn_pkt *p, uint64_t now);

/* Copies a packet to the other workers, if there are any. */
void sn_share(struct sn_worker *worker, const struct sn_pkt *p);

#endif /* SN_SHARE_H */
