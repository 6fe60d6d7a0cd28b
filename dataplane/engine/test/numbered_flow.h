/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_NUMBERED_FLOW_H
#define SN_TEST_NUMBERED_FLOW_H

/*
 * UDP flows from the sample's inside host, each packet of which says which flow's it is and its number in it:
 * so what comes out of a NAPT shows whether a packet was lost or overtaken, or a binding changed. Index: the
 * flow's, in the test's array.
 */

#include "fixture.h"

#include <rte_mempool.h>

#define FIRST_PORT 1024
#define PORTS	   60000 /* of the inside host: further flows go to another port of the remote */

struct flow {
	uint32_t outside_addr;
	uint16_t outside_port; /* 0: none yet */
	uint8_t worker;	       /* that sent its last packet, if the test sets it */
	bool wandered;	       /* to another worker than the one before, likewise */
	uint32_t sent[2];      /* packets into the engine: to the outside, to the inside */
	uint32_t seen[2];      /* packets out of it */
	uint32_t next[2];      /* the least number that may come out */
};

/* A packet to the outside, and one back, when the flow's binding is known. */
struct packet flow_out(uint32_t index);
struct packet flow_back(const struct flow *f, uint32_t index);

/* The packet with the next number of its flow and direction; of source 0. */
struct rte_mbuf *number_packet(struct flow *f, uint32_t index, bool back, struct packet p,
			       struct rte_mempool *pool);

/* The flow that a packet is of. */
uint32_t flow_of(const uint8_t *frame);

/* Checks a packet that came out against those of its flow before it. Without gaps: none before it is lost. */
void see_packet(struct flow *f, const uint8_t *frame, bool back, bool gaps);

/* A flow whose binding is known. */
uint32_t flow_shard(const struct sn_state *state, const struct flow *f, uint32_t index);

#endif /* SN_TEST_NUMBERED_FLOW_H */
