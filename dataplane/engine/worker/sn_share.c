/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_share.h"

#include "sn_arp.h"

#define MAC_BROADCAST 0xffffffffffffull

static bool is_ours(const struct sn_interface *i, uint32_t address)
{
	if (address == i->address)
		return true;
	for (uint32_t j = 0; j < i->n_proxy; j++)
		if (i->proxy[j] == address)
			return true;
	return false;
}

/* Whether another host of the interface's prefix may have sent it. */
static bool is_host(const struct sn_interface *i, const struct sn_arp *h)
{
	return ((h->sender ^ i->address) & i->mask) == 0 && h->sender != i->address && !(h->mac[0] & 1) &&
	       sn_mac_number(h->mac);
}

bool sn_share_learn(struct sn_worker *w, const struct sn_pkt *p, uint64_t now)
{
	const struct sn_interface *ifc = &w->fast.env.program->interfaces[p->iface];
	const uint8_t *f = rte_pktmbuf_mtod(p->m, const uint8_t *), *a = f + p->l3;
	struct sn_arp h;
	uint16_t op;
	bool news = false;

	if (ifc->wire) /* there is no host to be known, nor one who asks */
		return false;
	if (p->m->data_len < p->l3 + SN_ARP_LEN || sn_load16(a) != 1 || sn_load16(a + 2) != 0x0800 ||
	    a[4] != 6 || a[5] != 4)
		return false;
	op = sn_load16(a + 6);
	if (op != SN_ARP_REQUEST && op != SN_ARP_REPLY)
		return false;
	h = (struct sn_arp){.sender = sn_load32(a + 14), .mac = a + 8, .target = sn_load32(a + 24)};
	h.to_us = op == SN_ARP_REPLY ? sn_mac_number(f) != MAC_BROADCAST : is_ours(ifc, h.target);
	if (is_host(ifc, &h))
		news = sn_neigh_hear(&w->fast.neighbors, sn_neigh_key(p->iface, p->vlan, h.sender), h.mac,
				     h.to_us, now) ||
		       h.sender == h.target;
	if (op == SN_ARP_REQUEST && h.to_us && !w->fast.env.taking && !w->fast.neighbors.silent)
		sn_arp_answer(&w->fast.neighbors, p, &h);
	return news;
}

void sn_share(struct sn_worker *w, const struct sn_pkt *p)
{
	if (w->n_workers == 1 || w->mailbox == NULL)
		return;
	for (uint32_t to = 0; to < w->n_workers; to++) {
		struct rte_mbuf *copy = to == w->fast.env.number
						? NULL
						: rte_pktmbuf_copy(p->m, w->fast.env.pool, 0, UINT32_MAX);

		if (copy == NULL)
			continue;
		copy->port = w->fast.env.addresses.ports[p->iface];
		sn_source_set(copy, SN_SOURCE_NONE);
		/* Full: the worker asks, or is told again. */
		if (!sn_mailbox_hand(w->mailbox, to, copy))
			rte_pktmbuf_free(copy);
	}
	sn_mailbox_publish(w->mailbox);
}
