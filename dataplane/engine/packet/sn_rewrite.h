/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REWRITE_H
#define SN_REWRITE_H

/*
 * The one combined write: what the fields are now against what they were at
 * entry, with checksums moved by the difference (RFC 1624, equation 3; the exact rule is in
 * docs/elements.md, "Checksums").
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_plain.h"

static inline uint32_t sn_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* The change of the sum D when it goes from old to now. */
static inline uint32_t sn_diff16(uint32_t old, uint32_t now)
{
	return (~old & 0xffff) + (now & 0xffff);
}

static inline uint32_t sn_diff32(uint32_t old, uint32_t now)
{
	return sn_diff16(old >> 16, now >> 16) + sn_diff16(old, now);
}

/* D as it is kept: 0 if it moves nothing. */
static inline uint16_t sn_diff_norm(uint32_t sum)
{
	sum = sn_fold(sum);
	return sum == 0xffff ? 0 : sum;
}

/* C' of a checksum C by a normal D: C itself if D is 0. */
static inline uint16_t sn_sum_move(uint16_t sum, uint16_t diff)
{
	uint32_t moved = (uint32_t)(uint16_t)~sum + diff; /* 17 bits: one fold will do */

	return (uint16_t) ~(moved + (moved >> 16));
}

static inline void sn_move_at(uint8_t *at, uint16_t diff)
{
	sn_store16(at, sn_sum_move(sn_load16(at), diff));
}

/* UDP: no checksum stays no checksum, and 0 is written 0xffff (RFC 768). */
static inline void sn_move_udp_at(uint8_t *at, uint16_t diff)
{
	uint16_t old = sn_load16(at), now;

	if (!old || !diff)
		return;
	now = sn_sum_move(old, diff);
	sn_store16(at, now ? now : 0xffff);
}

/* All ones if x is 0, which has less than 32 bits. */
static inline uint32_t sn_if_zero(uint32_t x)
{
	return (uint32_t)((int32_t)(x - 1) >> 31);
}

/*
 * The transport checksum of a packet that is TCP or else UDP: which of the two takes no branch. tcp: as
 * sn_plain_tcp(). D as it lies in memory: the sum of words is the same in any byte order (RFC 1071).
 */
static inline void sn_move_mixed(uint8_t *l4, uint32_t tcp, uint16_t diff)
{
	uint8_t *at = l4 + 6 + (tcp & (16 - 6));
	uint32_t not_udp = tcp & 0x10000, now;
	uint16_t old;

	memcpy(&old, at, sizeof(old));
	now = sn_sum_move(old, diff);
	now = (now | sn_if_zero(now | not_udp)) & ~sn_if_zero(old | not_udp);
	old = (uint16_t)now;
	memcpy(at, &old, sizeof(old));
}

/* ---- the IPv4 header from the TTL on: TTL, protocol and checksum as one word, as they lie in memory ---- */

_Static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "a word's carry leaves it behind the checksum");

/* How they move: the TTL falls by ttl_dec, the checksum moves by a normal D. */
static inline uint32_t sn_head_move_of(uint8_t ttl_dec, uint16_t diff)
{
	return (uint32_t)(uint16_t)(diff << 8 | diff >> 8) << 16 | ttl_dec;
}

static inline uint8_t sn_head_ttl_dec(uint32_t move)
{
	return (uint8_t)move;
}

static inline uint16_t sn_head_diff(uint32_t move)
{
	return (uint16_t)(move >> 8 & 0xff00) | (uint16_t)(move >> 24);
}

/* The word moved; the TTL is not less than what it falls by. Its complement rises then, as that of the
 * checksum does: one sum, whose carry goes round. */
static inline uint32_t sn_head_moved(uint32_t head, uint32_t move)
{
	uint64_t sum = (uint64_t)(uint32_t)~head + move;

	return ~((uint32_t)sum + ((uint32_t)(sum >> 32) << 16));
}

/* ~fold(Σ words) over bytes whose checksum field is 0. */
uint16_t sn_sum_afresh(const uint8_t *bytes, uint32_t len);

/* How the IPv4 and the transport checksum move from entry to now (the quoted packet left out). */
uint16_t sn_ip_diff(const struct sn_pkt *p);
uint16_t sn_l4_diff(const struct sn_pkt *p);

/* Put the tag on, change it or take it off; false if there is no room before the frame. */
bool sn_rewrite_tag(struct sn_pkt *p);

/* Write all that changed; false if there is no room before the frame for a tag. The packet's fields at entry
 * are then no more. */
bool sn_rewrite(struct sn_pkt *p);

#endif /* SN_REWRITE_H */
