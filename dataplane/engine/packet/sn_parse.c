/* SPDX-License-Identifier: Apache-2.0 */
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "sn_parse_eight.h"

#define MAC_BROADCAST 0xffffffffffffull

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

static __rte_noinline bool is_refused(const struct sn_sources *sources, const uint8_t *addresses)
{
	uint32_t source = sn_load32(addresses), destination = sn_load32(addresses + 4);

	return is_martian(source) || is_martian(destination) ||
	       sn_sources_reason(sources, source) != SN_REASON_NONE;
}

/* As header_sum_ok() of a header without options: a sum of words is 0 in one's complement if 0xffff divides
 * it, which a product by its inverse tells. */
static inline bool plain_sum_ok(const uint8_t *ip)
{
	const uint64_t inverse = 0xfffefffefffeffffull;
	uint64_t sum = 0;
	uint32_t word;

	for (unsigned int i = 0; i < 5; i++) {
		memcpy(&word, ip + 4 * i, 4);
		sum += word;
	}
	return sum * inverse <= UINT64_MAX / 0xffff;
}

/* Shapes of frames of SN_PLAIN_MIN bytes or more, but for addresses. */
enum shape {
	OTHER,
	PLAIN,
	FRAGMENT,
};

/* No branch on what the frame holds, but for fragments. */
static inline enum shape shape_of(const uint8_t *f, uint32_t len, uint64_t mac)
{
	uint32_t start, proto = f[SN_PLAIN_PROTO], room, need, least;
	uint64_t to, wrong;
	uint16_t frag;
	bool udp = proto == SN_UDP;

	memcpy(&to, f, sizeof(to));
	memcpy(&start, f + 12, sizeof(start));
	memcpy(&frag, f + SN_PLAIN_FRAG, sizeof(frag));
	wrong = (to ^ mac) << 16;
	wrong |= (start ^ rte_cpu_to_be_32((uint32_t)ETHER_IPV4 << 16 | 0x4500)) &
		 rte_cpu_to_be_32(0xffffff00);
	room = sn_load16(f + SN_PLAIN_LEN) - 20u; /* wraps if it is too small, and is too large then */
	wrong |= (uint64_t)(room > len - SN_PLAIN_L4) | !plain_sum_ok(f + SN_PLAIN_IP);
	if (unlikely(frag & rte_cpu_to_be_16(0x1fff)))
		return wrong ? OTHER : FRAGMENT;
	wrong |= frag & rte_cpu_to_be_16(0x2000);
	need = sn_choose(udp, sn_load16(f + SN_PLAIN_UDP_LEN), (uint32_t)(f[SN_PLAIN_TCP_OFFSET] >> 4) * 4);
	least = sn_choose(udp, 8, 20);
	wrong |= (uint64_t) !(udp | (proto == SN_TCP)) | (need > room) | (need < least);
	return wrong ? OTHER : PLAIN;
}

static __rte_always_inline enum shape look_at(const struct rte_mbuf *m, uint64_t mac,
					      const struct sn_sources *sources)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	enum shape shape;

	/* A frame that lost a tag at its port is longer than it seems. */
	if (unlikely((m->data_len < SN_PLAIN_MIN) | (m->nb_segs > 1) |
		     ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)))
		return OTHER;
	shape = shape_of(f, m->data_len, mac);
	if (unlikely(shape == OTHER))
		return OTHER;
	return likely(!sn_sources_suspect(sources, f + SN_PLAIN_SRC)) ||
			       !is_refused(sources, f + SN_PLAIN_SRC)
		       ? shape
		       : OTHER;
}

/* All but what is behind the IP header. */
static inline void parse_straight(struct sn_pkt *p, struct rte_mbuf *m, uint8_t iface)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	p->m = m;
	p->iface = iface;
	p->generated = 0;
	no_history(p);
	p->src = p->src0 = sn_load32(f + SN_PLAIN_SRC);
	p->dst = p->dst0 = sn_load32(f + SN_PLAIN_DST);
	p->vlan = p->vlan0 = SN_VLAN_ABSENT;
	p->proto = f[SN_PLAIN_PROTO];
	p->ttl = p->ttl0 = f[SN_PLAIN_TTL];
	p->dscp = p->dscp0 = f[SN_PLAIN_TOS] >> 2;
	p->ip_len = sn_load16(f + SN_PLAIN_LEN);
	p->l3 = SN_PLAIN_IP;
	p->l4 = SN_PLAIN_L4;
	p->df = f[SN_PLAIN_FRAG] >> 6 & 1;
	p->frame_len = m->data_len;
	p->reason = SN_REASON_NONE;
}

void sn_parse_plain(struct sn_pkt *p, struct rte_mbuf *m, uint8_t iface)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	parse_straight(p, m, iface);
	p->sport = p->sport0 = sn_load16(f + SN_PLAIN_SPORT);
	p->dport = p->dport0 = sn_load16(f + SN_PLAIN_DPORT);
	p->tcp_flags = sn_choose(p->proto == SN_TCP, f[SN_PLAIN_TCP_FLAGS], SN_BYTE_ABSENT);
	p->icmp_type = p->icmp_code = SN_BYTE_ABSENT;
	p->icmp_type0 = 0;
	p->id = p->id0 = 0;
	p->frag = SN_FRAG_WHOLE;
}

void sn_parse_fragment(struct sn_pkt *p, struct rte_mbuf *m, uint8_t iface)
{
	parse_straight(p, m, iface);
	no_transport(p);
	p->frag = SN_FRAG_LATER;
}

/* The arguments of sn_parse() for all frames. */
struct entry {
	uint64_t mac;
	const uint64_t *vlans;
	const struct sn_sources *sources;
	uint8_t iface;
	bool tiny;
};

static __rte_noinline void parse_other(const struct entry *e, struct sn_pkt *p, struct rte_mbuf *m)
{
	p->m = m;
	p->iface = e->iface;
	p->generated = 0;
	no_history(p);
	p->reason = parse_frame(p, m, e->mac, e->vlans, e->sources, e->tiny);
}

/* Frames from `first` to before `end`, one by one. */
static void parse_each(const struct entry *e, struct rte_mbuf *const *frames, struct sn_pkt *pkts,
		       unsigned int first, unsigned int end, struct sn_parsed *parsed)
{
	for (unsigned int i = first; i < end; i++) {
		enum shape shape = look_at(frames[i], e->mac, e->sources);

		parsed->bytes += frames[i]->pkt_len;
		if (likely(shape == PLAIN))
			parsed->plain |= 1ull << i;
		else if (shape == FRAGMENT)
			parsed->fragments |= 1ull << i;
		else
			parse_other(e, &pkts[i], frames[i]);
	}
}

static inline void prefetch_frames(struct rte_mbuf *const *frames, unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
}

struct sn_parsed sn_parse(struct rte_mbuf *const *frames, struct sn_pkt *pkts, unsigned int n, uint8_t iface,
			  uint64_t mac, const uint64_t *vlans, const struct sn_sources *sources, bool tiny)
{
	struct entry e = {.mac = mac, .vlans = vlans, .sources = sources, .iface = iface, .tiny = tiny};
	struct sn_parsed parsed = {0};
	unsigned int i;

	prefetch_frames(frames, 0, n < SN_EIGHT ? n : SN_EIGHT);
	for (i = 0; i + SN_EIGHT <= n; i += SN_EIGHT) {
		uint64_t fragments = 0;

		prefetch_frames(frames, i + SN_EIGHT, n < i + 2 * SN_EIGHT ? n : i + 2 * SN_EIGHT);
		if (likely(sn_eight_are_plain(frames + i, mac, sources, &fragments, &parsed.bytes))) {
			parsed.plain |= (0xff & ~fragments) << i;
			parsed.fragments |= fragments << i;
		} else {
			parse_each(&e, frames, pkts, i, i + SN_EIGHT, &parsed);
		}
	}
	parse_each(&e, frames, pkts, i, n, &parsed);
	return parsed;
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
