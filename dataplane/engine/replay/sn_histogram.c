/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_histogram.h"

void sn_histogram_merge(struct sn_histogram *histogram, const struct sn_histogram *other)
{
	histogram->values += other->values;
	histogram->sum += other->sum;
	if (other->max > histogram->max)
		histogram->max = other->max;
	for (size_t i = 0; i < SN_HISTOGRAM_BUCKETS; i++)
		histogram->buckets[i] += other->buckets[i];
}

/* The middle of a bucket's values. */
static double middle(size_t bucket)
{
	size_t octave = bucket >> SN_HISTOGRAM_BITS, first = bucket;

	if (octave < 2)
		return (double)bucket;
	octave--;
	first = (bucket - (octave << SN_HISTOGRAM_BITS)) << octave;
	return (double)first + (double)((1ull << octave) - 1) / 2;
}

double sn_histogram_quantile(const struct sn_histogram *histogram, double part)
{
	uint64_t below = 0;
	double rank = part * (double)histogram->values;

	for (size_t i = 0; i < SN_HISTOGRAM_BUCKETS && histogram->values > 0; i++) {
		below += histogram->buckets[i];
		if (below > 0 && (double)below >= rank)
			return middle(i);
	}
	return 0;
}
