/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_reset.h"
#include "sn_rewrite.h"

#define IP_LEN	  20
#define TCP_LEN	  20
#define DF	  0x4000
#define RESET_TTL 64

/* Sequence numbers that the segment takes: its data, SYN and FIN. */
static uint32_t segment_len(const struct sn_pkt *p, const uint8_t *tcp)
{
	uint32_t header = (uint32_t)(p->l4 - p->l3) + (uint32_t)(tcp[12] >> 4) * 4;

	return p->ip_len - header + !!(p->tcp_flags & SN_TCP_SYN) + !!(p->tcp_flags & SN_TCP_FIN);
}

static void write_ip(uint8_t *ip, const struct sn_pkt *p)
{
	ip[0] = 0x45;
	ip[1] = p->dscp << 2;
	sn_store16(ip + 2, IP_LEN + TCP_LEN);
	sn_store16(ip + 6, DF);
	ip[8] = RESET_TTL;
	ip[9] = SN_TCP;
	sn_store32(ip + 12, p->dst);
	sn_store32(ip + 16, p->src);
	sn_store16(ip + 10, sn_sum_afresh(ip, IP_LEN));
}

/* TCP's checksum, with the pseudo header in front of the segment. */
static uint16_t tcp_sum(const uint8_t *ip)
{
	uint8_t bytes[12 + TCP_LEN] = {0};

	memcpy(bytes, ip + 12, 8);
	bytes[9] = SN_TCP;
	sn_store16(bytes + 10, TCP_LEN);
	memcpy(bytes + 12, ip + IP_LEN, TCP_LEN);
	return sn_sum_afresh(bytes, sizeof(bytes));
}

/* A frame without options is not longer than any whole TCP segment's. */
void sn_reset(struct sn_pkt *p)
{
	struct rte_mbuf *m = p->m;
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *), *ip = f + SN_ETHER_LEN, *tcp = ip + IP_LEN;
	const uint8_t *from = f + p->l4;
	uint32_t ack = sn_load32(from + 4) + segment_len(p, from), seq = sn_load32(from + 8);
	bool acked = p->tcp_flags & SN_TCP_ACK;

	memset(f + 12, 0, SN_ETHER_LEN - 12 + IP_LEN + TCP_LEN);
	sn_store16(f + 12, 0x0800);
	write_ip(ip, p);
	sn_store16(tcp, p->dport);
	sn_store16(tcp + 2, p->sport);
	if (acked)
		sn_store32(tcp + 4, seq);
	else
		sn_store32(tcp + 8, ack);
	tcp[12] = TCP_LEN / 4 << 4;
	tcp[13] = acked ? SN_TCP_RST : SN_TCP_RST | SN_TCP_ACK;
	sn_store16(tcp + 16, tcp_sum(ip));
	m->data_len = SN_ETHER_LEN + IP_LEN + TCP_LEN;
	m->pkt_len = m->data_len;
	sn_parse_generated(p, p->vlan);
}

void sn_reset_foresee(struct sn_pkt *p)
{
	uint32_t src = p->src, sport = p->sport;

	p->src = p->dst;
	p->dst = src;
	p->sport = p->dport;
	p->dport = sport;
	p->tcp_flags = p->tcp_flags & SN_TCP_ACK ? SN_TCP_RST : SN_TCP_RST | SN_TCP_ACK;
	p->ttl = RESET_TTL;
	p->df = 1;
	p->l4 = p->l3 + IP_LEN; /* without the options of the packet */
	p->ip_len = IP_LEN + TCP_LEN;
	p->next_hop = 0;
}
