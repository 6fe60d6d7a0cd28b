/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sn_range.h"

static int by_first(const void *a, const void *b)
{
	const struct sn_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

void sn_ranges_sort(struct sn_range *ranges, uint32_t n)
{
	if (n)
		qsort(ranges, n, sizeof(*ranges), by_first);
}

uint32_t sn_ranges_merge(struct sn_range *ranges, uint32_t n)
{
	uint32_t to = 0;

	sn_ranges_sort(ranges, n);
	for (uint32_t i = 1; i < n; i++) {
		if (ranges[i].first > ranges[to].last && ranges[i].first - ranges[to].last > 1)
			ranges[++to] = ranges[i];
		else if (ranges[i].last > ranges[to].last)
			ranges[to].last = ranges[i].last;
	}
	return n ? to + 1 : 0;
}
