/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARE_H
#define SN_SHARE_H

/*
 * A device gives an ARP packet to one queue, but every worker keeps its own neighbours, for as long as it
 * uses them. So the worker that receives what others may learn from hands a copy to each of them.
 */

#include "sn_worker_impl.h"

/* Copies a packet to the other workers, if there are any. */
void sn_share(struct sn_worker *worker, const struct sn_pkt *p);

#endif /* SN_SHARE_H */
