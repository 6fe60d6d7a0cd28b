/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PARSE_H
#define SN_PARSE_H

/*
 * A frame's checks and fields, read once. The operations of the chain change the
 * fields; the bytes are written once at the end, from the difference between
 * the fields and what they were at entry.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "sn_field.h"
#include "sn_reason.h"
#include "sn_sources.h"

#define SN_BURST_MAX 64

enum sn_frag {
	SN_FRAG_WHOLE,
	SN_FRAG_FIRST,
	SN_FRAG_LATER,
};

enum sn_ip_proto {
	SN_ICMP = 1,
	SN_TCP = 6,
	SN_UDP = 17,
	SN_DCCP = 33,
	SN_AH = 51,
	SN_UDP_LITE = 136,
};

enum sn_icmp_kind {
	SN_ICMP_ECHO_REPLY = 0,
	SN_ICMP_UNREACHABLE = 3,
	SN_ICMP_ECHO_REQUEST = 8,
	SN_ICMP_TIME_EXCEEDED = 11,
	SN_ICMP_PARAMETER = 12,
	SN_ICMP_TIMESTAMP = 13,
	SN_ICMP_TIMESTAMP_REPLY = 14,
};

/* Codes of SN_ICMP_UNREACHABLE. */
#define SN_ICMP_PROTOCOL 2
#define SN_ICMP_PORT	 3

#define SN_TCP_FIN 0x01u
#define SN_TCP_SYN 0x02u
#define SN_TCP_RST 0x04u
#define SN_TCP_ACK 0x10u

/* Whether a segment with these flags asks to open a connection: SYN without ACK. */
static inline bool sn_tcp_opens(uint32_t flags)
{
	return (flags & (SN_TCP_SYN | SN_TCP_ACK)) == SN_TCP_SYN;
}

#define SN_ETHER_LEN	14
#define SN_TAG_LEN	4
#define SN_PKT_NO_SHARD 0xff

/* The packet that an ICMP error quotes, as far as NAPTs translate it. */
struct sn_quote {
	uint32_t src, dst;     /* now */
	uint32_t src0, dst0;   /* at entry */
	uint16_t sport, dport; /* for echo the identifier on the sender's side, 0 on the other */
	uint16_t sport0, dport0;
	uint16_t l3; /* offsets in the frame */
	uint16_t l4;
	uint8_t proto;
	uint8_t has_tcp_sum; /* the TCP checksum lies within the quoted bytes */
	uint8_t known;	     /* enum sn_quote_known */
	uint8_t icmp_type;   /* of a quoted ICMP packet */
};

enum sn_quote_known {
	SN_QUOTE_UNREAD,
	SN_QUOTE_NONE, /* no packet of a flow is quoted */
	SN_QUOTE_FLOW,
};

/* A packet on its way; two cache lines, the second of which the common way hardly touches. */
struct sn_pkt {
	struct rte_mbuf *m;
	/* fields as they are now; absent values as in sn_field.h */
	uint32_t src, dst;
	uint32_t sport, dport;
	uint32_t next_hop; /* 0: none noted */
	uint16_t vlan;
	uint16_t tcp_flags;
	uint16_t icmp_type, icmp_code;
	uint8_t ttl, dscp, proto, frag;
	uint16_t id; /* of ICMP echo */
	uint16_t ip_len;
	/* fields as they were at entry */
	uint32_t src0, dst0;
	uint16_t sport0, dport0;
	uint16_t id0;
	uint16_t vlan0;
	uint8_t ttl0, dscp0;
	uint8_t l3, l4; /* offsets in the frame */
	/* second cache line */
	uint32_t frame_len;
	uint8_t iface;	/* by which it came in */
	uint8_t reason; /* why entry refuses it; SN_REASON_NONE: it does not */
	uint8_t shard;	/* of state; SN_PKT_NO_SHARD: no state seen yet */
	uint8_t icmp_type0;
	uint8_t df;
	uint8_t stripped; /* lost the tag that it had at entry */
	uint8_t generated;
	uint8_t pad0;
	struct sn_quote quote;
	uint8_t pad[128 - 64 - 12 - 36];
} __rte_cache_aligned;
_Static_assert(sizeof(struct sn_pkt) == 128, "two cache lines");

/* Numbers in network order. Not by DPDK's functions: they are assembly, so the compiler can neither leave one
 * out nor load and turn in one instruction. */
static inline uint16_t sn_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t sn_load32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void sn_store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void sn_store32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint64_t sn_load64(const uint8_t *p)
{
	return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 |
	       (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 | (uint64_t)p[6] << 8 | p[7];
}

static inline void sn_store64(uint8_t *p, uint64_t v)
{
	sn_store32(p, (uint32_t)(v >> 32));
	sn_store32(p + 4, (uint32_t)v);
}

/* A MAC address as a number, in the order of its bytes in memory. */
static inline uint64_t sn_mac_number(const uint8_t mac[6])
{
	uint64_t v = 0;

	memcpy(&v, mac, 6);
	return v;
}

struct sn_parsed {
	/* Bit i: frame i is plain, or a plain fragment (sn_plain.h), and pkts[i] is not filled in. */
	uint64_t plain, fragments;
	uint64_t bytes; /* of all frames, as they came */
};

/*
 * Check n <= 64 frames (docs/elements.md, "Entry"), and read those that are neither. Those that are refused
 * have their reason in pkts[i].reason; ARP is SN_REASON_ARP. vlans: the interface's, see sn_vlans_have();
 * tiny: first fragments that end within their transport header are let in.
 */
struct sn_parsed sn_parse(struct rte_mbuf *const *frames, struct sn_pkt *pkts, unsigned int n, uint8_t iface,
			  uint64_t mac, const uint64_t *vlans, const struct sn_sources *sources, bool tiny);

/* Read a packet that the engine made itself: well-formed, its IP header at offset 14. It will leave in the
 * VLAN. */
void sn_parse_generated(struct sn_pkt *p, uint16_t vlan);

/* Read a packet that was ready to be sent, but for its Ethernet addresses. */
void sn_parse_waited(struct sn_pkt *p);

/* 0 of packets that have none. */
static inline uint8_t sn_pkt_tcp_flags(const struct sn_pkt *p)
{
	return p->tcp_flags <= UINT8_MAX ? (uint8_t)p->tcp_flags : 0;
}

/* Change a field as an operation does. */
static inline void sn_pkt_set(struct sn_pkt *p, enum sn_field field, uint32_t value)
{
	switch (field) {
	case SN_VLAN:
		if (value == SN_VLAN_ABSENT && p->vlan0 != SN_VLAN_ABSENT)
			p->stripped = 1;
		p->vlan = value;
		break;
	case SN_SRC:
		p->src = value;
		break;
	case SN_DST:
		p->dst = value;
		break;
	case SN_DSCP:
		p->dscp = value;
		break;
	case SN_TTL:
		p->ttl = value;
		break;
	case SN_SPORT:
		if (p->sport != SN_PORT_ABSENT)
			p->sport = value;
		break;
	case SN_DPORT:
		if (p->dport != SN_PORT_ABSENT)
			p->dport = value;
		break;
	default:
		break;
	}
}

/* Whether there is a TCP, UDP or ICMP header with fields to be read and written. */
static inline bool sn_has_l4(const struct sn_pkt *p)
{
	return p->sport != SN_PORT_ABSENT || p->icmp_type != SN_BYTE_ABSENT;
}

/* Whether a packet that should have such a header has none that a host would take. */
static inline bool sn_is_odd(const struct sn_pkt *p)
{
	return !sn_has_l4(p) && (p->proto == SN_TCP || p->proto == SN_UDP || p->proto == SN_ICMP);
}

/* Protocols of which a NAPT tells flows apart by port or identifier. */
static inline bool sn_has_ports(uint8_t proto)
{
	return proto == SN_TCP || proto == SN_UDP || proto == SN_ICMP;
}

/* Protocols whose checksums cover addresses, and which a NAPT does not know. */
static inline bool sn_is_sealed(uint8_t proto)
{
	return proto == SN_DCCP || proto == SN_AH || proto == SN_UDP_LITE;
}

/* ICMP requests that a host answers, and their replies. */
static inline bool sn_is_query(uint16_t icmp_type)
{
	return icmp_type == SN_ICMP_ECHO_REQUEST || icmp_type == SN_ICMP_TIMESTAMP;
}

static inline bool sn_is_query_reply(uint16_t icmp_type)
{
	return icmp_type == SN_ICMP_ECHO_REPLY || icmp_type == SN_ICMP_TIMESTAMP_REPLY;
}

/* Also a message without type may be one. */
static inline bool sn_is_icmp_error(const struct sn_pkt *p)
{
	switch (p->icmp_type) {
	case SN_BYTE_ABSENT:
		return p->proto == SN_ICMP;
	case 3:
	case 4:
	case 5:
	case 11:
	case 12:
		return true;
	}
	return false;
}

#endif /* SN_PARSE_H */
