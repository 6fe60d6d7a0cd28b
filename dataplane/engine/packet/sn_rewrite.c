/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_rewrite.h"

uint16_t sn_sum_afresh(const uint8_t *bytes, uint32_t len)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += sn_load16(bytes + i);
	if (i < len)
		sum += (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

uint16_t sn_ip_diff(const struct sn_pkt *p)
{
	return sn_diff_norm(sn_diff32(p->src0, p->src) + sn_diff32(p->dst0, p->dst) +
			    sn_diff16(p->ttl0 << 8, p->ttl << 8) + sn_diff16(p->dscp0 << 2, p->dscp << 2));
}

uint16_t sn_l4_diff(const struct sn_pkt *p)
{
	if (!sn_has_l4(p))
		return 0;
	if (p->proto == SN_ICMP) /* no pseudo header */
		return sn_diff_norm(sn_diff16(p->id0, p->id) +
				    sn_diff16(p->icmp_type0 << 8, p->icmp_type << 8));
	return sn_diff_norm(sn_diff32(p->src0, p->src) + sn_diff32(p->dst0, p->dst) +
			    sn_diff16(p->sport0, p->sport) + sn_diff16(p->dport0, p->dport));
}

bool sn_rewrite_tag(struct sn_pkt *p)
{
	bool had = p->vlan0 != SN_VLAN_ABSENT, has = p->vlan != SN_VLAN_ABSENT;
	uint8_t *f;

	if (had && !has) {
		rte_pktmbuf_adj(p->m,
				SN_TAG_LEN); /* the EtherType lands where it belongs, addresses come later */
		p->l3 -= SN_TAG_LEN;
		p->l4 -= SN_TAG_LEN;
	} else if (!had && has) {
		if (!rte_pktmbuf_prepend(p->m, SN_TAG_LEN))
			return false;
		p->l3 += SN_TAG_LEN;
		p->l4 += SN_TAG_LEN;
	}
	if (has && (p->vlan != p->vlan0 || p->stripped)) {
		f = rte_pktmbuf_mtod(p->m, uint8_t *);
		if (!had || p->stripped) {
			sn_store16(f + 12, 0x8100);
			sn_store16(f + 14, p->vlan);
		} else {
			sn_store16(f + 14, (sn_load16(f + 14) & 0xf000) | p->vlan);
		}
	}
	p->vlan0 = p->vlan;
	p->stripped = 0;
	return true;
}

/* The difference that a 16-bit checksum's own move makes to a checksum that covers it. */
static uint32_t move_inner(uint8_t *at, uint16_t diff, bool udp)
{
	uint16_t old = sn_load16(at);

	if (udp)
		sn_move_udp_at(at, diff);
	else
		sn_move_at(at, diff);
	return sn_diff16(old, sn_load16(at));
}

/* Write the quoted packet; how the checksum of the message around it moves. */
static uint32_t rewrite_quote(const struct sn_quote *q, uint8_t *f)
{
	uint32_t addresses = sn_diff32(q->src0, q->src) + sn_diff32(q->dst0, q->dst);
	uint32_t ports = sn_diff16(q->sport0, q->sport) + sn_diff16(q->dport0, q->dport);
	uint32_t outer = sn_fold(addresses) + sn_fold(ports);
	uint8_t *ip = f + q->l3, *l4 = f + q->l4;

	sn_store32(ip + 12, q->src);
	sn_store32(ip + 16, q->dst);
	outer += move_inner(ip + 10, sn_diff_norm(addresses), false);
	switch (q->proto) {
	case SN_TCP:
		sn_store16(l4, q->sport);
		sn_store16(l4 + 2, q->dport);
		if (q->has_tcp_sum)
			outer += move_inner(l4 + 16, sn_diff_norm(addresses + ports), false);
		break;
	case SN_UDP:
		sn_store16(l4, q->sport);
		sn_store16(l4 + 2, q->dport);
		outer += move_inner(l4 + 6, sn_diff_norm(addresses + ports), true);
		break;
	case SN_ICMP: /* one of the two is the identifier, the other 0 */
		sn_store16(l4 + 4, q->sport | q->dport);
		outer += move_inner(l4 + 2, sn_diff_norm(ports), false);
		break;
	}
	return outer;
}

static void rewrite_l4(struct sn_pkt *p, uint8_t *f)
{
	uint16_t diff = sn_l4_diff(p);
	uint8_t *l4 = f + p->l4;

	switch (p->proto) {
	case SN_TCP:
		sn_store16(l4, p->sport);
		sn_store16(l4 + 2, p->dport);
		sn_move_at(l4 + 16, diff);
		break;
	case SN_UDP:
		sn_store16(l4, p->sport);
		sn_store16(l4 + 2, p->dport);
		sn_move_udp_at(l4 + 6, diff);
		break;
	case SN_ICMP:
		l4[0] = p->icmp_type;
		sn_store16(l4 + 4, p->id);
		if (p->quote.known == SN_QUOTE_FLOW)
			diff = sn_diff_norm(diff + rewrite_quote(&p->quote, f));
		sn_move_at(l4 + 2, diff);
		break;
	}
}

bool sn_rewrite(struct sn_pkt *p)
{
	uint8_t *f = rte_pktmbuf_mtod(p->m, uint8_t *);
	uint8_t *ip = f + p->l3;

	sn_move_at(ip + 10, sn_ip_diff(p));
	ip[1] = (p->dscp << 2) | (ip[1] & 3);
	ip[8] = p->ttl;
	sn_store32(ip + 12, p->src);
	sn_store32(ip + 16, p->dst);
	if (sn_has_l4(p))
		rewrite_l4(p, f);
	return sn_rewrite_tag(p);
}
