/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_share.h"

#include <rte_arp.h>

static bool is_reply(const struct sn_pkt *p)
{
	const struct rte_arp_hdr *arp = rte_pktmbuf_mtod_offset(p->m, const struct rte_arp_hdr *, p->l3);

	return p->m->data_len >= p->l3 + sizeof(*arp) && arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY);
}

void sn_share_reply(struct sn_worker *w, const struct sn_pkt *p)
{
	if (w->n_workers == 1 || w->station == NULL || !is_reply(p))
		return;
	for (uint32_t to = 0; to < w->n_workers; to++) {
		struct rte_mbuf *copy =
			to == w->number ? NULL : rte_pktmbuf_copy(p->m, w->pool, 0, UINT32_MAX);

		if (copy == NULL)
			continue;
		copy->port = w->ports[p->iface];
		sn_source_set(copy, SN_SOURCE_NONE);
		/* Full: the worker asks again. */
		if (!sn_station_hand(w->station, to, copy))
			rte_pktmbuf_free(copy);
	}
	sn_station_publish(w->station);
}
