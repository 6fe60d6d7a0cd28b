/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_EXEC_H
#define SN_EXEC_H

/*
 * The slow path: class after class, operation after operation, then one write.
 * State that a packet would change is kept in a journal and changed only when the
 * packet leaves or is answered.
 */

#include <stdint.h>

#include "sn_slow.h"

/*
 * Take a packet from a segment on to its end. class is the packet's class there, SN_TABLE_NONE
 * if it is not known yet. keeper: who may keep the decision; NULL: it is not kept.
 */
void sn_exec(struct sn_slow *slow, struct sn_pkt *p, uint32_t segment, uint32_t class,
	     const struct sn_keeper *keeper, uint64_t now);

/* The same for a packet that there is not (m is NULL): its decision is kept, and nothing else happens. */
void sn_exec_warm_up(struct sn_slow *slow, struct sn_pkt *p, uint32_t segment, uint32_t class,
		     const struct sn_keeper *keeper, uint64_t now);

/* A packet that waited for its next hop, which did not answer, ends here; its sender may be told. */
void sn_exec_unreachable(struct sn_slow *slow, struct rte_mbuf *m, uint32_t iface, uint64_t now);

#endif /* SN_EXEC_H */
