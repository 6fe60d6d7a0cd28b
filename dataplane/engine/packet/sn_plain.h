/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PLAIN_H
#define SN_PLAIN_H

/*
 * The frame that nearly all are: to us, in one piece of memory, untagged, IPv4 without options, whole, TCP or
 * UDP, and right in all that Entry checks. Its fields lie where they always do, so the fast ways read them
 * from the frame, and its struct sn_pkt is filled in only for a packet that goes another way.
 *
 * A plain fragment is not the first one of its datagram, of any protocol, and right in all that Entry checks
 * of such a packet; all else is as of a plain frame. It has no transport header: nothing behind its addresses
 * may be read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_parse.h"

/* Offsets in the frame. */
enum sn_plain_at {
	SN_PLAIN_IP = SN_ETHER_LEN,
	SN_PLAIN_TOS = SN_PLAIN_IP + 1,
	SN_PLAIN_LEN = SN_PLAIN_IP + 2,
	SN_PLAIN_FRAG = SN_PLAIN_IP + 6,
	SN_PLAIN_TTL = SN_PLAIN_IP + 8,
	SN_PLAIN_PROTO = SN_PLAIN_IP + 9,
	SN_PLAIN_SRC = SN_PLAIN_IP + 12,
	SN_PLAIN_DST = SN_PLAIN_IP + 16,
	SN_PLAIN_L4 = SN_PLAIN_IP + 20,
	SN_PLAIN_SPORT = SN_PLAIN_L4,
	SN_PLAIN_DPORT = SN_PLAIN_L4 + 2,
	SN_PLAIN_UDP_LEN = SN_PLAIN_L4 + 4,
	SN_PLAIN_TCP_OFFSET = SN_PLAIN_L4 + 12,
	SN_PLAIN_TCP_FLAGS = SN_PLAIN_L4 + 13,
	SN_PLAIN_MIN = SN_PLAIN_L4 + 20, /* also of UDP, so that all of this may be read */
};

/* a if `yes`, else b: never a branch. Whether a packet is TCP or UDP cannot be predicted. */
static inline uint32_t sn_choose(bool yes, uint32_t a, uint32_t b)
{
	uint32_t all = -(uint32_t)yes;

	__asm__("" : "+r"(all));
	return b ^ ((a ^ b) & all);
}

/* All ones if a plain frame's protocol is TCP, 0 if it is UDP: never a branch either. */
static inline uint32_t sn_plain_tcp(uint8_t proto)
{
	uint32_t all = -(uint32_t)(proto == SN_TCP);

	__asm__("" : "+r"(all));
	return all;
}

/* All of a plain frame's packet, which came in by iface. */
void sn_parse_plain(struct sn_pkt *p, struct rte_mbuf *m, uint8_t iface);

/* The same of a plain fragment. */
void sn_parse_fragment(struct sn_pkt *p, struct rte_mbuf *m, uint8_t iface);

#endif /* SN_PLAIN_H */
