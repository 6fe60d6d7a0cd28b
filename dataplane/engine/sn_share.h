/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SHARE_H
#define SN_SHARE_H

/*
 * The one thing that workers tell each other: a device gives an ARP reply to one
 * queue, but every worker keeps its own neighbours. So the worker that receives a
 * reply hands a copy to each of the others, through a ring that these empty between bursts.
 */

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "sn_plan.h"
#include "sn_worker.h"

struct sn_share {
	struct rte_mempool *pool;
	unsigned int n_workers;
	struct rte_ring *inbox[SN_WORKERS_MAX];
};

/* 0, or -1 with a message in err. */
int sn_share_open(struct sn_share *share, unsigned int n_workers, struct rte_mempool *pool, char *err,
		  size_t err_len);
void sn_share_close(struct sn_share *share);

/* Copies the ARP replies among n packets of an interface to the workers other than `from`. */
void sn_share_replies(struct sn_share *share, unsigned int from, uint16_t iface, struct rte_mbuf **pkts,
		      uint16_t n);

/* Gives a worker what the others have put into its inbox. */
void sn_share_take(struct sn_share *share, unsigned int to, struct sn_worker *worker, uint32_t n_interfaces,
		   uint64_t now_ns);

#endif /* SN_SHARE_H */
