/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HISTOGRAM_H
#define SN_HISTOGRAM_H

/*
 * Counts of values, exact to 0.4 %: values below 256 have a bucket each, and each power of two above has 256.
 * One thread writes.
 */

#include <stddef.h>
#include <stdint.h>

#define SN_HISTOGRAM_BITS    8
#define SN_HISTOGRAM_BUCKETS ((64 - SN_HISTOGRAM_BITS + 1) << SN_HISTOGRAM_BITS)

struct sn_histogram {
	uint64_t values, sum, max;
	uint64_t buckets[SN_HISTOGRAM_BUCKETS];
};

static inline size_t sn_histogram_bucket(uint64_t value)
{
	unsigned int octave;

	if (value >> SN_HISTOGRAM_BITS == 0)
		return value;
	octave = 63 - (unsigned int)__builtin_clzll(value) - SN_HISTOGRAM_BITS;
	return ((size_t)octave << SN_HISTOGRAM_BITS) + (value >> octave);
}

static inline void sn_histogram_add(struct sn_histogram *histogram, uint64_t value)
{
	histogram->values++;
	histogram->sum += value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->buckets[sn_histogram_bucket(value)]++;
}

/* Adds the counts of another. */
void sn_histogram_merge(struct sn_histogram *histogram, const struct sn_histogram *other);

/* The value that a part (0 to 1) of all values does not exceed; the middle of its bucket. 0 without values.
 */
double sn_histogram_quantile(const struct sn_histogram *histogram, double part);

#endif /* SN_HISTOGRAM_H */
