/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_share.h"

#include <rte_arp.h>
#include <rte_ether.h>

#include "sn_worker_impl.h"

static bool is_reply(const struct rte_mbuf *pkt)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	size_t offset = sizeof(*ether);
	const struct rte_arp_hdr *arp;
	rte_be16_t type;

	if (pkt->data_len < sizeof(*ether) + sizeof(*arp))
		return false;
	type = ether->ether_type;
	if (unlikely(type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ))) {
		type = ((const struct rte_vlan_hdr *)(ether + 1))->eth_proto;
		offset += sizeof(struct rte_vlan_hdr);
	}
	if (likely(type != RTE_BE16(RTE_ETHER_TYPE_ARP)) || pkt->data_len < offset + sizeof(*arp))
		return false;
	arp = rte_pktmbuf_mtod_offset(pkt, const struct rte_arp_hdr *, offset);
	return arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY);
}

static void share(struct sn_worker *w, uint16_t iface, const struct rte_mbuf *pkt)
{
	for (uint32_t to = 0; to < w->n_workers; to++) {
		struct rte_mbuf *copy =
			to == w->number ? NULL : rte_pktmbuf_copy(pkt, w->pool, 0, UINT32_MAX);

		if (copy == NULL)
			continue;
		copy->port = w->ports[iface];
		sn_source_set(copy, SN_SOURCE_NONE);
		/* Full: the worker asks again. */
		if (!sn_station_hand(w->station, to, copy))
			rte_pktmbuf_free(copy);
	}
	sn_station_publish(w->station);
}

void sn_share_replies(struct sn_worker *w, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		if (unlikely(is_reply(pkts[i])))
			share(w, iface, pkts[i]);
}
