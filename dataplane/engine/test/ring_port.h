/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_RING_PORT_H
#define SN_TEST_RING_PORT_H

/* A port that is rings: one to receive from per queue; what is sent by any queue comes out of one, in the
 * order in which it was sent. */

#include <stdint.h>

#include <rte_ring.h>

#include "sn_port.h"

#define RING_PORT_QUEUES 2

struct ring_port {
	struct rte_ring *rx[RING_PORT_QUEUES];
	struct rte_ring *tx;
};

/* Attaches and starts a port of the interface. The name is the device's, and no other port may have had it.
 */
void ring_port_open(struct ring_port *rings, struct sn_port *port, const char *interface, const char *name,
		    uint16_t size, struct rte_mempool *pool);

/* After the port. */
void ring_port_free(struct ring_port *rings);

#endif /* SN_TEST_RING_PORT_H */
