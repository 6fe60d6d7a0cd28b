/* SPDX-License-Identifier: Apache-2.0 */
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_parse.h"

#define MAC_BROADCAST  0xffffffffffffull
#define PREFETCH_AHEAD 4

enum ip_option {
	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_LSRR = 131,
	OPTION_SSRR = 137,
};

enum ether_type {
	ETHER_IPV4 = 0x0800,
	ETHER_ARP = 0x0806,
	ETHER_IPV6 = 0x86dd,
	ETHER_TAG = 0x8100,
	ETHER_STAG = 0x88a8,
};

static inline bool is_tag(uint16_t type)
{
	return type == ETHER_TAG || type == ETHER_STAG;
}

static bool is_arp(const uint8_t *f, uint32_t len)
{
	uint16_t type = sn_load16(f + 12);

	if (is_tag(type))
		return len >= SN_ETHER_LEN + SN_TAG_LEN && sn_load16(f + 16) == ETHER_ARP;
	return type == ETHER_ARP;
}

/* RFC 1812, section 5.3.7: "this network", loopback, and all from 224.0.0.0 on are not forwarded. */
static inline bool is_martian(uint32_t address)
{
	uint32_t net = address >> 24;

	return net - 1 > 222 || net == 127;
}

/* The one's complement sum is the same in any byte order and in words of any size (RFC 1071). */
static inline bool header_sum_ok(const uint8_t *ip, unsigned int ihl)
{
	uint64_t low, high, sum;
	uint32_t word;

	memcpy(&low, ip, 8);
	memcpy(&high, ip + 8, 8);
	memcpy(&word, ip + 16, 4);
	sum = low + high;
	sum += sum < low;
	sum += word;
	sum += sum < word;
	for (unsigned int i = 5; unlikely(i < ihl); i++) {
		memcpy(&word, ip + 4 * i, 4);
		sum += word;
		sum += sum < word;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/*
 * The transport header's fields, absent as they are if no host would take it; room is what the total length
 * leaves behind the IP header. False: it ends before the header does.
 */
static inline bool parse_transport(struct sn_pkt *p, const uint8_t *l4, uint32_t room)
{
	uint32_t offset, length;

	switch (p->proto) {
	case SN_TCP:
		if (unlikely(room < 20))
			return false;
		offset = (uint32_t)(l4[12] >> 4) * 4;
		if (unlikely(offset < 20 || (p->frag == SN_FRAG_WHOLE && offset > room)))
			return true;
		p->tcp_flags = l4[13];
		break;
	case SN_UDP:
		if (unlikely(room < 8))
			return false;
		length = sn_load16(l4 + 4);
		if (unlikely(length < 8 || (p->frag == SN_FRAG_WHOLE && length > room)))
			return true;
		break;
	case SN_ICMP:
		if (unlikely(room < 8))
			return false;
		p->icmp_type = p->icmp_type0 = l4[0];
		p->icmp_code = l4[1];
		p->id = p->id0 = sn_load16(l4 + 4);
		return true;
	default:
		return true;
	}
	p->sport = p->sport0 = sn_load16(l4);
	p->dport = p->dport0 = sn_load16(l4 + 2);
	return true;
}

static inline void no_transport(struct sn_pkt *p)
{
	p->sport = p->dport = SN_PORT_ABSENT;
	p->sport0 = p->dport0 = 0;
	p->tcp_flags = p->icmp_type = p->icmp_code = SN_BYTE_ABSENT;
	p->icmp_type0 = 0;
	p->id = p->id0 = 0;
}

/* tiny: a first fragment that ends within its transport header is let in (RFC 1858, section 3). */
static inline enum sn_reason parse_ip(struct sn_pkt *p, const uint8_t *ip, uint32_t room, bool tiny)
{
	unsigned int ihl;
	uint16_t frag;
	bool whole;

	if (unlikely(room < 20))
		return SN_REASON_TRUNCATED;
	ihl = ip[0] & 15;
	p->ip_len = sn_load16(ip + 2);
	if (unlikely(ip[0] >> 4 != 4 || ihl < 5 || p->ip_len < ihl * 4))
		return SN_REASON_MALFORMED;
	if (unlikely(room < p->ip_len)) /* which is not less than the header */
		return SN_REASON_TRUNCATED;
	if (unlikely(!header_sum_ok(ip, ihl)))
		return SN_REASON_BAD_CHECKSUM;

	p->dscp = p->dscp0 = ip[1] >> 2;
	frag = sn_load16(ip + 6);
	p->df = frag >> 14 & 1;
	p->frag = likely(!(frag & 0x3fff)) ? SN_FRAG_WHOLE : frag & 0x1fff ? SN_FRAG_LATER : SN_FRAG_FIRST;
	p->ttl = p->ttl0 = ip[8];
	p->proto = ip[9];
	p->src = p->src0 = sn_load32(ip + 12);
	p->dst = p->dst0 = sn_load32(ip + 16);
	p->l4 = p->l3 + 4 * ihl;
	no_transport(p);
	if (likely(p->frag != SN_FRAG_LATER)) {
		whole = parse_transport(p, ip + 4 * ihl, p->ip_len - 4 * ihl);
		if (unlikely(!whole && !tiny && p->frag == SN_FRAG_FIRST))
			return SN_REASON_TRUNCATED;
	}
	if (unlikely(is_martian(p->src) || is_martian(p->dst)))
		return SN_REASON_MARTIAN;
	return SN_REASON_NONE;
}

static inline void no_history(struct sn_pkt *p)
{
	p->next_hop = 0;
	p->shard = SN_PKT_NO_SHARD;
	p->stripped = 0;
	p->quote.known = SN_QUOTE_UNREAD;
}

/* A priority tag (VID 0) is taken off the frame. */
static void strip_priority_tag(struct sn_pkt *p, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	memmove(f + SN_TAG_LEN, f, 12);
	rte_pktmbuf_adj(m, SN_TAG_LEN);
	/* The length as it came counts, wherever it is handed to; the device's mark is of another frame. */
	m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->ol_flags &= ~RTE_MBUF_F_RX_FDIR_ID;
	p->vlan = p->vlan0 = SN_VLAN_ABSENT;
	p->l3 = SN_ETHER_LEN;
}

/* LSRR or SSRR among the header's options: RFC 7126, sections 4.3 and 4.4. */
static bool source_routed(const uint8_t *ip)
{
	unsigned int end = (ip[0] & 15u) * 4, at = 20;

	while (at < end && ip[at] != OPTION_END) {
		if (ip[at] == OPTION_LSRR || ip[at] == OPTION_SSRR)
			return true;
		if (ip[at] == OPTION_NOP)
			at++;
		else if (at + 1 < end && ip[at + 1] >= 2)
			at += ip[at + 1];
		else
			break;
	}
	return false;
}

static enum sn_reason enter_ip(struct sn_pkt *p, const uint8_t *ip, uint32_t room,
			       const struct sn_sources *sources, bool tiny)
{
	enum sn_reason reason = parse_ip(p, ip, room, tiny);

	if (reason)
		return reason;
	if (source_routed(ip))
		return SN_REASON_SOURCE_ROUTE;
	return sn_sources_reason(sources, p->src);
}

static inline enum sn_reason parse_frame(struct sn_pkt *p, struct rte_mbuf *m, uint64_t mac,
					 const uint64_t *vlans, const struct sn_sources *sources, bool tiny)
{
	const uint8_t *f;
	uint32_t len;
	uint64_t to;
	uint16_t type;

	p->vlan = p->vlan0 = SN_VLAN_ABSENT;
	p->frame_len = m->pkt_len;
	if (unlikely(m->nb_segs > 1) && rte_pktmbuf_linearize(m))
		return SN_REASON_NO_MEMORY;
	f = rte_pktmbuf_mtod(m, const uint8_t *);
	len = m->data_len;
	if (unlikely(len < SN_ETHER_LEN))
		return SN_REASON_TRUNCATED;
	memcpy(&to, f, sizeof(to));
	to &= MAC_BROADCAST;
	if (unlikely(to != mac) && (to != MAC_BROADCAST || !is_arp(f, len)))
		return SN_REASON_OTHER_HOST;
	p->l3 = SN_ETHER_LEN;
	type = sn_load16(f + 12);
	if (unlikely(is_tag(type))) {
		if (len < SN_ETHER_LEN + SN_TAG_LEN)
			return SN_REASON_TRUNCATED;
		p->vlan = p->vlan0 = sn_load16(f + 14) & 0xfff;
		p->l3 = SN_ETHER_LEN + SN_TAG_LEN;
		type = sn_load16(f + 16);
		if (is_tag(type))
			return SN_REASON_VLAN_STACKED;
		if (p->vlan == 0)
			strip_priority_tag(p, m);
		else if (!sn_vlans_have(vlans, p->vlan))
			return SN_REASON_VLAN_UNKNOWN;
		f = rte_pktmbuf_mtod(m, const uint8_t *);
		len = m->data_len;
	}
	if (likely(type == ETHER_IPV4))
		return enter_ip(p, f + p->l3, len - p->l3, sources, tiny);
	if (type == ETHER_ARP)
		return SN_REASON_ARP;
	return type == ETHER_IPV6 ? SN_REASON_IPV6 : SN_REASON_NOT_IP;
}

static __rte_noinline bool is_refused(const struct sn_sources *sources, uint32_t source, uint32_t destination)
{
	return is_martian(source) || is_martian(destination) ||
	       sn_sources_reason(sources, source) != SN_REASON_NONE;
}

/*
 * The frame that nearly all are: to us, untagged, without IP options, whole, TCP or UDP, and right in
 * all that Entry checks. The same as parse_frame() with what is known put in; false: not such a frame.
 */
static inline bool parse_plain(struct sn_pkt *p, const struct rte_mbuf *m, uint64_t mac,
			       const struct sn_sources *sources)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *), *ip = f + SN_ETHER_LEN, *l4 = ip + 20;
	uint32_t len = m->data_len, start, room, need;
	uint64_t to, addresses;
	uint16_t frag;

	if (unlikely(len < SN_ETHER_LEN + 20 + 20 || m->nb_segs > 1))
		return false;
	memcpy(&to, f, sizeof(to));
	memcpy(&start, f + 12, sizeof(start));
	memcpy(&frag, ip + 6, sizeof(frag));
	if (unlikely((to & MAC_BROADCAST) != mac ||
		     (start & rte_cpu_to_be_32(0xffffff00)) !=
			     rte_cpu_to_be_32((uint32_t)ETHER_IPV4 << 16 | 0x4500) ||
		     (frag & rte_cpu_to_be_16(0x3fff)) != 0))
		return false;
	p->ip_len = sn_load16(ip + 2);
	room = p->ip_len - 20u; /* wraps if it is too small, and is too large then */
	if (ip[9] == SN_TCP) {
		p->tcp_flags = l4[13];
		need = (uint32_t)(l4[12] >> 4) * 4;
		if (unlikely(need < 20))
			return false;
	} else if (ip[9] == SN_UDP) {
		p->tcp_flags = SN_BYTE_ABSENT;
		need = sn_load16(l4 + 4);
		if (unlikely(need < 8))
			return false;
	} else {
		return false;
	}
	memcpy(&addresses, ip + 12, sizeof(addresses));
	addresses = rte_be_to_cpu_64(addresses);
	if (unlikely(room > len - SN_ETHER_LEN - 20 || need > room || !header_sum_ok(ip, 5)))
		return false;
	if (unlikely(sn_sources_suspect(sources, ip + 12)) &&
	    is_refused(sources, (uint32_t)(addresses >> 32), (uint32_t)addresses))
		return false;
	p->src = p->src0 = (uint32_t)(addresses >> 32);
	p->dst = p->dst0 = (uint32_t)addresses;
	p->sport = p->sport0 = sn_load16(l4);
	p->dport = p->dport0 = sn_load16(l4 + 2);
	p->vlan = p->vlan0 = SN_VLAN_ABSENT;
	p->icmp_type = p->icmp_code = SN_BYTE_ABSENT;
	p->icmp_type0 = 0;
	p->id = p->id0 = 0;
	p->ttl = p->ttl0 = ip[8];
	p->dscp = p->dscp0 = ip[1] >> 2;
	p->proto = ip[9];
	p->frag = SN_FRAG_WHOLE;
	p->l3 = SN_ETHER_LEN;
	p->l4 = SN_ETHER_LEN + 20;
	p->df = ip[6] >> 6 & 1;
	p->frame_len = len;
	p->reason = SN_REASON_NONE;
	return true;
}

void sn_parse(struct rte_mbuf *const *frames, struct sn_pkt *pkts, unsigned int n, uint8_t iface,
	      uint64_t mac, const uint64_t *vlans, const struct sn_sources *sources, bool tiny)
{
	for (unsigned int i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		struct sn_pkt *p = &pkts[i];

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + PREFETCH_AHEAD], void *));
		p->m = frames[i];
		p->iface = iface;
		p->generated = 0;
		no_history(p);
		if (unlikely(!parse_plain(p, frames[i], mac, sources)))
			p->reason = parse_frame(p, frames[i], mac, vlans, sources, tiny);
	}
}

void sn_parse_generated(struct sn_pkt *p, uint16_t vlan)
{
	struct rte_mbuf *m = p->m;

	p->vlan = vlan;
	p->vlan0 = SN_VLAN_ABSENT;
	p->l3 = SN_ETHER_LEN;
	p->frame_len = m->pkt_len;
	p->generated = 1;
	no_history(p);
	parse_ip(p, rte_pktmbuf_mtod_offset(m, uint8_t *, SN_ETHER_LEN), m->data_len - SN_ETHER_LEN, true);
	p->reason = SN_REASON_NONE; /* martians may be answered where a chain wants it */
}

void sn_parse_waited(struct sn_pkt *p)
{
	struct rte_mbuf *m = p->m;
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	p->vlan = p->vlan0 = SN_VLAN_ABSENT;
	p->l3 = SN_ETHER_LEN;
	if (is_tag(sn_load16(f + 12))) {
		p->vlan = p->vlan0 = sn_load16(f + 14) & 0xfff;
		p->l3 += SN_TAG_LEN;
	}
	p->frame_len = m->pkt_len;
	no_history(p);
	parse_ip(p, f + p->l3, m->data_len - p->l3, true); /* which entry has let pass */
}
