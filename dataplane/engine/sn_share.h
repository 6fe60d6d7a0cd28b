/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARE_H
#define SN_SHARE_H

/*
 * A device gives an ARP reply to one queue, but every worker keeps its own neighbours. So the worker
 * that receives a reply hands a copy to each of the others.
 */

#include "sn_worker.h"

/* Copies the ARP replies among n packets of an interface to the other workers. */
void sn_share_replies(struct sn_worker *worker, uint16_t iface, struct rte_mbuf **pkts, uint16_t n);

#endif /* SN_SHARE_H */
