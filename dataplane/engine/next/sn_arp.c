/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_arp.h"

#include "sn_output.h"

#define ANNOUNCE_MAX 512 /* of an interface, over its VLANs; another address is asked for again */

static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, none[6];

/* The Ethernet header of a frame that is to be sent; tpid 0: untagged. */
static struct rte_mbuf *make_frame(struct sn_neigh_table *t, uint8_t iface, uint16_t tpid, uint16_t tci,
				   uint32_t source, const uint8_t to[6])
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(t->env->pool);
	uint32_t l2 = SN_ETHER_LEN + (tpid ? SN_TAG_LEN : 0);
	uint8_t *f;

	if (!m)
		return NULL;
	sn_source_set(m, source);
	f = (uint8_t *)rte_pktmbuf_append(m, l2 + SN_ARP_LEN);
	if (!f) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memcpy(f, to, 6);
	memcpy(f + 6, &t->env->addresses.macs[iface], 6);
	if (tpid) {
		sn_store16(f + 12, tpid);
		sn_store16(f + 14, tci);
	}
	sn_store16(f + l2 - 2, 0x0806);
	return m;
}

static void fill(const struct sn_neigh_table *t, uint8_t iface, struct rte_mbuf *m, uint16_t op,
		 uint32_t sender, const uint8_t target_mac[6], uint32_t target)
{
	uint8_t *a = rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - SN_ARP_LEN);

	sn_store16(a, 1);
	sn_store16(a + 2, 0x0800);
	a[4] = 6;
	a[5] = 4;
	sn_store16(a + 6, op);
	memcpy(a + 8, &t->env->addresses.macs[iface], 6);
	sn_store32(a + 14, sender);
	memcpy(a + 18, target_mac, 6);
	sn_store32(a + 24, target);
}

static uint16_t tpid_of(uint16_t vlan)
{
	return vlan == SN_VLAN_ABSENT ? 0 : 0x8100;
}

void sn_arp_ask(struct sn_neigh_table *t, const struct sn_neigh *n, bool unicast, uint32_t source)
{
	uint32_t own = t->silent ? 0 : t->env->program->interfaces[n->iface].address;
	uint16_t vlan = sn_neigh_vlan(n);
	struct rte_mbuf *m = make_frame(t, n->iface, tpid_of(vlan), vlan, source, unicast ? n->l2 : all);

	if (!m)
		return; /* asked again in a second */
	fill(t, n->iface, m, SN_ARP_REQUEST, own, none, sn_neigh_address(n));
	sn_output_send(t->env, n->iface, m);
}

static void announce(struct sn_neigh_table *t, uint8_t iface, uint16_t vlan, uint32_t address)
{
	struct rte_mbuf *m = make_frame(t, iface, tpid_of(vlan), vlan, SN_SOURCE_NONE, all);

	if (!m)
		return; /* announced more than once */
	fill(t, iface, m, SN_ARP_REQUEST, address, none, address);
	sn_output_send(t->env, iface, m);
}

void sn_arp_announce(struct sn_neigh_table *t, uint8_t iface)
{
	const struct sn_interface *ifc = &t->env->program->interfaces[iface];
	uint32_t left = ifc->wire ? 0 : ANNOUNCE_MAX;

	for (uint16_t vlan = SN_VLAN_ABSENT; vlan > 0; vlan--) {
		if (!sn_vlans_have(ifc->vlans, vlan))
			continue;
		for (uint32_t j = 0; left > 0 && j <= ifc->n_proxy; j++, left--)
			announce(t, iface, vlan, j ? ifc->proxy[j - 1] : ifc->address);
	}
}

void sn_arp_answer(struct sn_neigh_table *t, const struct sn_pkt *p, const struct sn_arp *h)
{
	const uint8_t *f = rte_pktmbuf_mtod(p->m, const uint8_t *);
	bool tagged = p->vlan0 != SN_VLAN_ABSENT;
	struct rte_mbuf *m = make_frame(t, p->iface, tagged ? sn_load16(f + 12) : 0,
					tagged ? sn_load16(f + 14) : 0, sn_source(p->m), h->mac);

	if (!m) {
		sn_output_count_drop(t->env, NULL, sn_source(p->m), 0, SN_REASON_NO_MEMORY);
		return;
	}
	fill(t, p->iface, m, SN_ARP_REPLY, h->target, h->mac, h->sender);
	sn_output_send(t->env, p->iface, m);
}
