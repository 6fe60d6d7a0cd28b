/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_RSS_H
#define SN_RSS_H

/*
 * Receive-side scaling as devices do it: the Toeplitz hash of addresses and ports. With a key that repeats
 * after 16 bits the hash is one of the exclusive or of all 16-bit words, so it is the same in both
 * directions; and it is linear, so the port that takes a packet to a bucket can be told.
 */

#include <stdint.h>

#define SN_RSS_KEY_WORD	  0x6d5a
#define SN_RSS_KEY_MAX	  52 /* bytes: the longest that devices take */
#define SN_RSS_BUCKETS	  128
#define SN_RSS_BUCKET_LOG 7

/* The words of an IPv4 flow, all in one. */
static inline uint16_t sn_rss_words(uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	uint32_t both = src ^ dst;

	return (uint16_t)(both >> 16 ^ both ^ sport ^ dport);
}

/* The low bits of the hash: bit b is the parity of the words under the key, rotated. */
static inline uint32_t sn_rss_bucket(uint16_t words)
{
	uint32_t bucket = 0;

	for (uint32_t b = 0; b < SN_RSS_BUCKET_LOG; b++) {
		uint32_t key = (uint32_t)SN_RSS_KEY_WORD << (15 - b);

		bucket |= (uint32_t)__builtin_parity((key | key >> 16) & 0xffffu & words) << b;
	}
	return bucket;
}

/* len: even. */
static inline void sn_rss_key(uint8_t *key, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		key[i] = i % 2 ? SN_RSS_KEY_WORD & 0xff : SN_RSS_KEY_WORD >> 8;
}

#endif /* SN_RSS_H */
