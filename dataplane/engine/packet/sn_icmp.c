/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_icmp.h"
#include "sn_rewrite.h"

#define IP_LEN	   20
#define ICMP_LEN   8
#define QUOTE_MAX  548	/* 576 bytes in all: RFC 1812, section 4.3.2.3 */
#define ANSWER_TOS 0xc0 /* internetwork control: RFC 1812, section 4.3.2.5 */

bool sn_icmp_suppressed(const struct sn_pkt *p)
{
	return sn_is_icmp_error(p) || p->frag == SN_FRAG_LATER;
}

static enum sn_quote_known read_quote(const struct sn_pkt *p, struct sn_quote *q)
{
	const uint8_t *f = rte_pktmbuf_mtod(p->m, const uint8_t *);
	uint32_t end = p->l3 + (uint32_t)p->ip_len, ihl;
	const uint8_t *ip, *l4;

	if (p->proto != SN_ICMP ||
	    (p->icmp_type != SN_ICMP_UNREACHABLE && p->icmp_type != SN_ICMP_TIME_EXCEEDED &&
	     p->icmp_type != SN_ICMP_PARAMETER))
		return SN_QUOTE_NONE;
	q->l3 = p->l4 + ICMP_LEN;
	if ((uint32_t)q->l3 + IP_LEN > end)
		return SN_QUOTE_NONE;
	ip = f + q->l3;
	ihl = (ip[0] & 15u) * 4;
	q->l4 = q->l3 + ihl;
	if (ip[0] >> 4 != 4 || ihl < IP_LEN || q->l4 + 8u > end || sn_load16(ip + 6) & 0x1fff)
		return SN_QUOTE_NONE;
	l4 = f + q->l4;
	q->src = q->src0 = sn_load32(ip + 12);
	q->dst = q->dst0 = sn_load32(ip + 16);
	q->proto = ip[9];
	q->sport = q->dport = 0;
	switch (q->proto) {
	case SN_TCP:
	case SN_UDP:
		q->sport = sn_load16(l4);
		q->dport = sn_load16(l4 + 2);
		break;
	case SN_ICMP:
		if (sn_is_query(l4[0]))
			q->sport = sn_load16(l4 + 4);
		else if (sn_is_query_reply(l4[0]))
			q->dport = sn_load16(l4 + 4);
		else
			return SN_QUOTE_NONE;
		break;
	default:
		if (sn_is_sealed(q->proto))
			return SN_QUOTE_NONE;
	}
	q->icmp_type = q->proto == SN_ICMP ? l4[0] : 0;
	q->sport0 = q->sport;
	q->dport0 = q->dport;
	q->has_tcp_sum = q->proto == SN_TCP && q->l4 + 18u <= end;
	return SN_QUOTE_FLOW;
}

bool sn_icmp_quote(struct sn_pkt *p)
{
	if (p->quote.known == SN_QUOTE_UNREAD)
		p->quote.known = read_quote(p, &p->quote);
	return p->quote.known == SN_QUOTE_FLOW;
}

enum sn_reason sn_icmp_error(struct sn_pkt *p, uint8_t type, uint8_t code, uint16_t mtu, uint32_t source,
			     uint8_t ttl)
{
	uint32_t quoted = p->ip_len < QUOTE_MAX ? p->ip_len : QUOTE_MAX, to = p->src;
	struct rte_mbuf *m = p->m;
	uint16_t vlan = p->vlan;
	uint8_t *f, *ip, *icmp;

	p->vlan = p->vlan0; /* the tag is not quoted */
	p->stripped = 0;
	sn_rewrite(p);
	rte_pktmbuf_adj(m, p->l3);
	m->data_len = quoted;
	m->pkt_len = quoted;
	f = (uint8_t *)rte_pktmbuf_prepend(m, SN_ETHER_LEN + IP_LEN + ICMP_LEN);
	if (!f)
		return SN_REASON_NO_MEMORY;
	memset(f, 0, SN_ETHER_LEN + IP_LEN + ICMP_LEN);
	sn_store16(f + 12, 0x0800);
	ip = f + SN_ETHER_LEN;
	ip[0] = 0x45;
	ip[1] = ANSWER_TOS;
	sn_store16(ip + 2, IP_LEN + ICMP_LEN + quoted);
	ip[8] = ttl;
	ip[9] = SN_ICMP;
	sn_store32(ip + 12, source);
	sn_store32(ip + 16, to);
	sn_store16(ip + 10, sn_sum_afresh(ip, IP_LEN));
	icmp = ip + IP_LEN;
	icmp[0] = type;
	icmp[1] = code;
	sn_store16(icmp + 6, mtu); /* RFC 1191, section 4 */
	sn_store16(icmp + 2, sn_sum_afresh(icmp, ICMP_LEN + quoted));
	sn_parse_generated(p, vlan);
	return SN_REASON_NONE;
}

/* The result that read_quote() would have in an error about the packet. */
static enum sn_quote_known foresee_quote(const struct sn_pkt *p, uint8_t type, struct sn_quote *q)
{
	if ((type != SN_ICMP_UNREACHABLE && type != SN_ICMP_TIME_EXCEEDED && type != SN_ICMP_PARAMETER) ||
	    p->frag == SN_FRAG_LATER || p->ip_len < p->l4 - p->l3 + 8)
		return SN_QUOTE_NONE;
	*q = (struct sn_quote){.src = p->src, .dst = p->dst, .proto = p->proto, .icmp_type = 0};
	if (p->proto == SN_TCP || p->proto == SN_UDP) {
		q->sport = p->sport;
		q->dport = p->dport;
		if (p->sport == SN_PORT_ABSENT) { /* the error will quote them */
			q->sport = sn_load16(rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4));
			q->dport = sn_load16(rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4 + 2));
		}
		return SN_QUOTE_FLOW;
	}
	if (p->proto != SN_ICMP)
		return sn_is_sealed(p->proto) ? SN_QUOTE_NONE : SN_QUOTE_FLOW;
	if (!sn_is_query(p->icmp_type) && !sn_is_query_reply(p->icmp_type))
		return SN_QUOTE_NONE;
	q->icmp_type = p->icmp_type;
	if (sn_is_query(p->icmp_type))
		q->sport = p->id;
	else
		q->dport = p->id;
	return SN_QUOTE_FLOW;
}

void sn_icmp_foresee_error(struct sn_pkt *p, uint8_t type, uint8_t code, uint32_t source)
{
	enum sn_quote_known known = foresee_quote(p, type, &p->quote);

	p->quote.known = known;
	p->dst = p->src;
	p->src = source;
	p->sport = p->dport = SN_PORT_ABSENT;
	p->tcp_flags = SN_BYTE_ABSENT;
	p->icmp_type = type;
	p->icmp_code = code;
	p->id = 0;
	p->proto = SN_ICMP;
	p->ttl = SN_ANSWER_TTL;
	p->dscp = ANSWER_TOS >> 2;
	p->frag = SN_FRAG_WHOLE;
	p->df = 0;
	p->ip_len = IP_LEN + ICMP_LEN + RTE_MIN(p->ip_len, QUOTE_MAX);
	p->next_hop = 0;
}

void sn_icmp_echo(struct sn_pkt *p)
{
	uint32_t src = p->src;

	p->src = p->dst;
	p->dst = src;
	if (p->frag != SN_FRAG_LATER)
		p->icmp_type = SN_ICMP_ECHO_REPLY;
	p->ttl = SN_ANSWER_TTL;
	p->next_hop = 0;
	p->shard = SN_PKT_NO_SHARD;
	p->generated = 1;
}
