/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_RANGE_H
#define SN_RANGE_H

/* Ranges of addresses. */

#include <stdint.h>

#define SN_NO_INDEX UINT32_MAX

struct sn_range {
	uint32_t first;
	uint32_t last;
};

/* The number of the range that holds an address, of n >= 1 that ascend and are disjoint. SN_NO_INDEX: none.
 */
static inline uint32_t sn_range_of(const struct sn_range *ranges, uint32_t n, uint32_t address)
{
	uint32_t lo = 0, hi = n;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (ranges[mid].first <= address)
			lo = mid;
		else
			hi = mid;
	}
	return address < ranges[lo].first || address > ranges[lo].last ? SN_NO_INDEX : lo;
}

/* Has ranges ascend by their first addresses. */
void sn_ranges_sort(struct sn_range *ranges, uint32_t n);

/* Sorts ranges, and makes one of those that overlap or touch. Returns how many there are then. */
uint32_t sn_ranges_merge(struct sn_range *ranges, uint32_t n);

#endif /* SN_RANGE_H */
