/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARE_H
#define SN_SHARE_H

/*
 * A device gives an ARP reply to one queue, but every worker keeps its own neighbours. So the worker
 * that receives a reply hands a copy to each of the others.
 */

#include "sn_worker_impl.h"

/* Copies an ARP packet to the other workers, if there are any and it is a reply. */
void sn_share_reply(struct sn_worker *worker, const struct sn_pkt *p);

#endif /* SN_SHARE_H */
