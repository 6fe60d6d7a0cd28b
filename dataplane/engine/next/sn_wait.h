/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WAIT_H
#define SN_WAIT_H

/*
 * Packets that wait for a neighbour's address. A worker keeps a fixed number of them, and every interface has
 * an equal share of it, so that a silent network takes no room from another. In a full share the packet that
 * has waited longest gives way.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_program.h"

#define SN_WAIT_PACKETS 1024 /* of a worker, unless its configuration says otherwise */

/* A neighbour's packets, in their order; 0: none. */
struct sn_wait_queue {
	uint16_t head, tail;
};

struct sn_wait_slot {
	struct rte_mbuf *m;
	uint16_t neigh;	       /* index of the neighbour */
	uint16_t next;	       /* of the neighbour's; of those that are free */
	uint16_t older, newer; /* of the interface's */
};

struct sn_wait {
	struct sn_wait_slot *slots; /* from 1 on */
	uint16_t max;
	uint16_t share; /* packets of an interface */
	uint16_t free;
	struct sn_wait_list {
		uint16_t oldest, newest, n;
	} ifaces[SN_IFACES_MAX];
};

/* max: from SN_IFACES_MAX on; 0 or -ENOMEM. */
int sn_wait_init(struct sn_wait *t, uint16_t max);
void sn_wait_free(struct sn_wait *t);

/* Divides the room among n interfaces; those that hold more than their share are to be trimmed. */
void sn_wait_divide(struct sn_wait *t, uint32_t n);

/* The neighbour whose first packet has to leave before the interface has room for `more` packets; 0: it has.
 */
uint16_t sn_wait_evictee(const struct sn_wait *t, uint8_t iface, uint16_t more);

/* There is room. */
void sn_wait_push(struct sn_wait *t, struct sn_wait_queue *q, uint8_t iface, uint16_t neigh,
		  struct rte_mbuf *m);

/* The first of a neighbour's packets, NULL if there is none. */
struct rte_mbuf *sn_wait_pop(struct sn_wait *t, struct sn_wait_queue *q, uint8_t iface);

#endif /* SN_WAIT_H */
