/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TOP_H
#define SN_TOP_H

/*
 * The heaviest keys of a stream in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi, ICDT 2005),
 * with bytes as weights. With m rows and a stream of N bytes, a row's bytes are at most its error too many,
 * no error is above N/m, and each key of more than N/m bytes has a row.
 */

#include <stddef.h>
#include <stdint.h>

struct sn_top_key {
	uint64_t words[2];
};

struct sn_top_row {
	struct sn_top_key key;
	uint64_t bytes;	  /* never too few */
	uint64_t error;	  /* of these, those that may be of keys that had the row before */
	uint64_t packets; /* since the key has the row */
	uint32_t place;	  /* in the heap */
	uint32_t pad;
};

struct sn_top {
	uint32_t capacity, n;
	uint32_t mask; /* of the buckets */
	uint64_t seed;
	uint64_t packets, bytes; /* of the stream */
	struct sn_top_row *rows;
	uint32_t *heap;	   /* rows by bytes, the lightest first */
	uint32_t *buckets; /* row + 1, by the key's hash; open addressing */
};

/* NULL: no memory. */
struct sn_top *sn_top_create(uint32_t capacity, uint64_t seed);
void sn_top_free(struct sn_top *top);
void sn_top_clear(struct sn_top *top);

void sn_top_add(struct sn_top *top, struct sn_top_key key, uint64_t packets, uint64_t bytes);

/* The bytes that a key without a row may have had at most. */
uint64_t sn_top_least(const struct sn_top *top);

/* The heaviest first. */
void sn_top_sort(struct sn_top_row *rows, size_t n);

#endif /* SN_TOP_H */
