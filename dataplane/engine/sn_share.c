/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_share.h"

#include <stdio.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_ether.h>

#define SN_INBOX 512

int sn_share_open(struct sn_share *share, unsigned int n_workers, struct rte_mempool *pool, char *err,
		  size_t err_len)
{
	share->n_workers = n_workers;
	share->pool = pool;
	for (unsigned int i = 0; i < n_workers; i++) {
		char name[32];

		snprintf(name, sizeof(name), "worker-%u", i);
		share->inbox[i] = rte_ring_create(name, SN_INBOX, SOCKET_ID_ANY, RING_F_SC_DEQ);
		if (share->inbox[i] == NULL) {
			snprintf(err, err_len, "no memory for the ring of worker %u", i);
			return -1;
		}
	}
	return 0;
}

void sn_share_close(struct sn_share *share)
{
	for (unsigned int i = 0; i < share->n_workers; i++) {
		void *pkt;

		while (share->inbox[i] != NULL && rte_ring_dequeue(share->inbox[i], &pkt) == 0)
			rte_pktmbuf_free(pkt);
		rte_ring_free(share->inbox[i]);
	}
	memset(share, 0, sizeof(*share));
}

static bool is_reply(const struct rte_mbuf *pkt)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, const struct rte_ether_hdr *);
	size_t offset = sizeof(*ether);
	rte_be16_t type = ether->ether_type;
	const struct rte_arp_hdr *arp;

	if (pkt->data_len < sizeof(*ether) + sizeof(*arp))
		return false;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ)) {
		const struct rte_vlan_hdr *vlan = (const struct rte_vlan_hdr *)(ether + 1);

		type = vlan->eth_proto;
		offset += sizeof(*vlan);
	}
	if (type != RTE_BE16(RTE_ETHER_TYPE_ARP) || pkt->data_len < offset + sizeof(*arp))
		return false;
	arp = rte_pktmbuf_mtod_offset(pkt, const struct rte_arp_hdr *, offset);
	return arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY);
}

void sn_share_replies(struct sn_share *share, unsigned int from, uint16_t iface, struct rte_mbuf **pkts,
		      uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		if (likely(!is_reply(pkts[i])))
			continue;
		for (unsigned int to = 0; to < share->n_workers; to++) {
			struct rte_mbuf *copy =
				to == from ? NULL : rte_pktmbuf_copy(pkts[i], share->pool, 0, UINT32_MAX);

			if (copy == NULL)
				continue;
			copy->hash.usr = iface;
			/* Full: the worker asks again. */
			if (rte_ring_enqueue(share->inbox[to], copy) != 0)
				rte_pktmbuf_free(copy);
		}
	}
}

void sn_share_take(struct sn_share *share, unsigned int to, struct sn_worker *worker, uint32_t n_interfaces,
		   uint64_t now_ns)
{
	void *item;

	while (unlikely(rte_ring_dequeue(share->inbox[to], &item) == 0)) {
		struct rte_mbuf *pkt = item;

		/* A program may have been swapped in between. */
		if (pkt->hash.usr < n_interfaces)
			sn_worker_burst(worker, (uint16_t)pkt->hash.usr, &pkt, 1, now_ns);
		else
			rte_pktmbuf_free(pkt);
	}
}
