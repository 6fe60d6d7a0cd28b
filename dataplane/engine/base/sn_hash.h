/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HASH_H
#define SN_HASH_H

#include <stdint.h>

/* Both halves of the product: every bit of the result hangs on every bit of a and b. */
static inline uint64_t sn_mum(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A hash of two words that strangers cannot steer without the seed. */
static inline uint64_t sn_hash2(uint64_t a, uint64_t b, uint64_t seed)
{
	return sn_mum(sn_mum(a ^ seed, 0x9e3779b97f4a7c15ull ^ b), 0xd1b54a32d192ed03ull ^ seed);
}

/* MurmurHash3's finalizer: the same for everyone, so that others can tell what comes of it. */
static inline uint64_t sn_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

#endif /* SN_HASH_H */
