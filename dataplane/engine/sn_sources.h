/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SOURCES_H
#define SN_SOURCES_H

/*
 * Source addresses that Entry drops: those that are never forwarded (martian), and those that an interface
 * refuses. A few instructions tell that a source is probably none of them; the others are looked up.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "program.pb-c.h"
#include "sn_reason.h"

#define SN_LANES 8

struct sn_refused {
	uint32_t first, last;
	uint32_t reason;
};

/* A source is suspect if (source & mask) is the value of some lane, or its bits of outside_mask are not
 * `outside`. */
struct sn_sources {
	uint32_t mask[SN_LANES];
	uint32_t value[SN_LANES];
	uint32_t outside_mask;
	uint32_t outside;
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

static inline bool sn_sources_suspect(const struct sn_sources *s, uint32_t source)
{
	uint32_t hit = (source ^ s->outside) & s->outside_mask;
#ifdef __AVX2__
	__m256i masked =
		_mm256_and_si256(_mm256_set1_epi32((int)source), _mm256_load_si256((const __m256i *)s->mask));
	__m256i same = _mm256_cmpeq_epi32(masked, _mm256_load_si256((const __m256i *)s->value));

	return !_mm256_testz_si256(same, same) | (hit != 0);
#else
	for (int i = 0; i < SN_LANES; i++)
		hit |= (source & s->mask[i]) == s->value[i];
	return hit != 0;
#endif
}

#endif /* SN_SOURCES_H */
