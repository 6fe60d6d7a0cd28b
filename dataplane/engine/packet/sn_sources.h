/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SOURCES_H
#define SN_SOURCES_H

/*
 * Addresses that Entry drops: sources and destinations that are never forwarded (martian), and sources that
 * an interface refuses. A few instructions tell that a packet probably has none; the others are looked up.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "program.pb-c.h"
#include "sn_reason.h"

#define SN_LANES	8
#define SN_SOURCE_LANES 6

struct sn_refused {
	uint32_t first, last;
	uint32_t reason;
};

/*
 * A packet is suspect if in some lane its source, in the last two its destination, is at most span addresses
 * behind first, on the ring of all addresses.
 */
struct sn_sources {
	uint32_t first[SN_LANES];
	uint32_t span[SN_LANES];
	uint32_t n;
	struct sn_refused *refused; /* ascending, disjoint */
} __attribute__((aligned(32)));

/* refused: ascending, disjoint, n of them. NULL: no memory. */
struct sn_sources *sn_sources_create(Sinter__Program__V1__RefusedSources *const *refused, size_t n);
void sn_sources_free(struct sn_sources *s);

/* Whether sources may be refused for the reason. */
bool sn_sources_may_say(uint32_t reason);

/* Why the source is refused, which is not martian; SN_REASON_NONE: it is not. */
enum sn_reason sn_sources_reason(const struct sn_sources *s, uint32_t source);

/* addresses: the source and the destination, as they are in the IP header. */
static inline bool sn_sources_suspect(const struct sn_sources *s, const uint8_t *addresses)
{
#ifdef __AVX2__
	const __m256i order = _mm256_setr_epi8(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, /* sources */
					       3, 2, 1, 0, 3, 2, 1, 0, 7, 6, 5, 4, 7, 6, 5, 4);
	__m256i span = _mm256_load_si256((const __m256i *)s->span), behind, within;
	long long both;

	memcpy(&both, addresses, sizeof(both));
	behind = _mm256_sub_epi32(_mm256_shuffle_epi8(_mm256_set1_epi64x(both), order),
				  _mm256_load_si256((const __m256i *)s->first));
	within = _mm256_cmpeq_epi32(_mm256_min_epu32(behind, span), behind);
	return !_mm256_testz_si256(within, within);
#else
	uint32_t both[2];
	bool hit = false;

	memcpy(both, addresses, sizeof(both));
	for (int i = 0; i < SN_LANES; i++)
		hit |= rte_be_to_cpu_32(both[i >= SN_SOURCE_LANES]) - s->first[i] <= s->span[i];
	return hit;
#endif
}

#endif /* SN_SOURCES_H */
