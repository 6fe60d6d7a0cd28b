/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WORKER_PRIVATE_H
#define SN_WORKER_PRIVATE_H

/* The inside of a worker; for this library only. */

#include "sn_fast.h"
#include "sn_peers.h"
#include "sn_worker.h"

/* The packets of a burst that are another worker's, or another engine's. */
struct sn_handing {
	uint64_t handed; /* bit per packet: it is gone so, or will be in its turn */
	uint32_t gone;	 /* packets */
	uint32_t lot;	 /* see sn_hand_over_weight() */
	uint8_t shards[SN_BURST_MAX];
};

struct sn_worker {
	struct sn_fast fast;	      /* first: with what every burst reads */
	struct sn_mailbox *mailbox;   /* NULL: the only worker, of the only engine */
	const struct sn_peers *peers; /* read by packets for shards that are away */
	bool dispatching;	      /* packets may be for others */
	bool profile;
	uint32_t lcore;
	uint32_t n_workers;
	uint32_t copies; /* in a burst from others, of packets that count where they came */
	struct sn_handing handing;
	struct sn_continuation ons[SN_BURST_MAX]; /* of a burst that came by a wire */
} __rte_cache_aligned;

/* A burst by the program: of at most SN_BURST_MAX frames that came by an interface, … */
void sn_worker_run(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n, uint64_t now);

/* … or that go on in one segment, each by its continuation in w->ons. */
void sn_worker_run_returned(struct sn_worker *w, uint16_t iface, struct rte_mbuf **frames, uint32_t n,
			    uint64_t now);

#endif /* SN_WORKER_PRIVATE_H */
