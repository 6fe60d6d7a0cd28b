/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdio.h>

#include <rte_eth_ring.h>

#include "ring_port.h"

static struct rte_ring *create_ring(const char *name, uint16_t size, unsigned int flags)
{
	struct rte_ring *ring = rte_ring_create(name, size, SOCKET_ID_ANY, flags);

	assert_non_null(ring);
	return ring;
}

void ring_port_open(struct ring_port *rings, struct sn_port *port, const char *interface, const char *name,
		    uint16_t size, struct rte_mempool *pool)
{
	const struct sn_port_config config = {
		.queues = RING_PORT_QUEUES, .rx_desc = size, .tx_desc = 64, .pool = pool};
	struct rte_ring *tx[RING_PORT_QUEUES];
	struct sn_bind bind;
	char text[64];
	struct sn_error err;

	snprintf(text, sizeof(text), "%s-tx", name);
	rings->tx = create_ring(text, size, RING_F_SC_DEQ);
	for (unsigned int q = 0; q < RING_PORT_QUEUES; q++) {
		snprintf(text, sizeof(text), "%s-rx%u", name, q);
		rings->rx[q] = create_ring(text, size, RING_F_SP_ENQ | RING_F_SC_DEQ);
		tx[q] = rings->tx;
	}
	assert_true(rte_eth_from_rings(name, rings->rx, RING_PORT_QUEUES, tx, RING_PORT_QUEUES, 0) >= 0);
	snprintf(text, sizeof(text), "%s=net_ring_%s", interface, name);
	assert_int_equal(sn_bind_parse(text, &bind, &err), 0);
	if (sn_port_attach(port, &bind, RING_PORT_QUEUES, 1500, &err) != 0 ||
	    sn_port_start(port, &config, &err) != 0)
		fail_msg("%s", err.text);
}

void ring_port_free(struct ring_port *rings)
{
	rte_ring_free(rings->tx);
	for (unsigned int q = 0; q < RING_PORT_QUEUES; q++)
		rte_ring_free(rings->rx[q]);
}
