/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_BUCKET_H
#define SN_BUCKET_H

/*
 * Token buckets: the arithmetic of RFC 2697 and RFC 2698. Tokens are counted in units of 10^-9, so that a
 * rate in tokens per second times nanoseconds is exact. No time is too long, and no rate too high.
 */

#include <stdbool.h>
#include <stdint.h>

#define SN_TOKEN      1000000000ull /* units */
#define SN_TOKENS_MAX 9200000000ull /* that a bucket may hold: their units fit 63 bits */

enum sn_color {
	SN_GREEN,
	SN_YELLOW,
	SN_RED,
	SN_COLORS,
};

/* Both buckets of a pair: the committed one, and the excess (RFC 2697) or peak bucket (RFC 2698). */
enum sn_bucket {
	SN_COMMITTED,
	SN_SECOND,
	SN_BUCKETS,
};

struct sn_bucket_limits {
	uint64_t capacity[SN_BUCKETS]; /* in units */
	uint64_t rate;
	uint64_t peak_rate; /* 0: RFC 2697 */
};

struct sn_buckets {
	uint64_t has[SN_BUCKETS]; /* units, at most the capacity */
};

static inline uint64_t sn_bucket_rate(const struct sn_bucket_limits *l, enum sn_bucket bucket)
{
	return bucket == SN_SECOND && l->peak_rate ? l->peak_rate : l->rate;
}

/* Fills a bucket; what is over is returned, at most as much as the largest bucket holds. */
static inline uint64_t sn_bucket_fill(uint64_t *has, uint64_t capacity, uint64_t rate, uint64_t elapsed_ns)
{
	__extension__ unsigned __int128 gain = (unsigned __int128)rate * elapsed_ns;
	uint64_t room = capacity - *has;

	if (gain <= room) {
		*has += (uint64_t)gain;
		return 0;
	}
	*has = capacity;
	gain -= room;
	return gain > INT64_MAX ? INT64_MAX : (uint64_t)gain;
}

static inline void sn_buckets_fill(struct sn_buckets *b, const struct sn_bucket_limits *l,
				   uint64_t elapsed_ns)
{
	uint64_t over = sn_bucket_fill(&b->has[SN_COMMITTED], l->capacity[SN_COMMITTED], l->rate, elapsed_ns);

	if (l->peak_rate)
		sn_bucket_fill(&b->has[SN_SECOND], l->capacity[SN_SECOND], l->peak_rate, elapsed_ns);
	else
		sn_bucket_fill(&b->has[SN_SECOND], l->capacity[SN_SECOND], over, 1);
}

static inline bool sn_bucket_take(uint64_t *has, uint64_t cost)
{
	if (*has < cost)
		return false;
	*has -= cost;
	return true;
}

/* The colour of a packet that came with one (blind: green), for which the tokens are taken. */
static inline enum sn_color sn_buckets_take(struct sn_buckets *b, const struct sn_bucket_limits *l,
					    enum sn_color came, uint64_t cost)
{
	if (came == SN_RED)
		return SN_RED;
	if (l->peak_rate) {
		if (!sn_bucket_take(&b->has[SN_SECOND], cost))
			return SN_RED;
		return came == SN_GREEN && sn_bucket_take(&b->has[SN_COMMITTED], cost) ? SN_GREEN : SN_YELLOW;
	}
	if (came == SN_GREEN && sn_bucket_take(&b->has[SN_COMMITTED], cost))
		return SN_GREEN;
	return sn_bucket_take(&b->has[SN_SECOND], cost) ? SN_YELLOW : SN_RED;
}

#endif /* SN_BUCKET_H */
