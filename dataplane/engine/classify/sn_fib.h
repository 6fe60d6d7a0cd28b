/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FIB_H
#define SN_FIB_H

/*
 * A forwarding information base: the number of each IPv4 destination's next hop, 0 for none. It is known by
 * the hash of what it says (see Hash in dataplane/fib), and never changes. The next one is built from it by
 * what differs, and shares the rest.
 */

#include <stddef.h>
#include <stdint.h>

#include "sn_chunks.h"
#include "sn_error.h"
#include "sn_sha256.h"

#define SN_FIB_RANGES_MAX (1u << 24)
#define SN_FIB_NUMBER_MAX 65535u

struct sn_fib;

/* Ascending, disjoint ranges of addresses, both ends included, and the numbers that they get. */
struct sn_fib_change {
	size_t n;
	const uint32_t *first;
	const uint32_t *last;
	const uint32_t *number;
};

/* The FIB that a change makes of another; base NULL: of one without routes. NULL on error, with a message in
 * err. It has one reference. The threads that make and free FIBs take turns. */
struct sn_fib *sn_fib_create(const struct sn_fib *base, const struct sn_fib_change *change,
			     struct sn_error *err);

struct sn_fib *sn_fib_take(struct sn_fib *fib); /* one reference more */
void sn_fib_put(struct sn_fib *fib);		/* one less; NULL: nothing */

const uint8_t *sn_fib_hash(const struct sn_fib *fib); /* SN_SHA256_LEN bytes */
uint32_t sn_fib_top(const struct sn_fib *fib);	      /* the largest number in use */
uint32_t sn_fib_find(const struct sn_fib *fib, uint32_t address);

/* Bytes that it and what shares its memory take. */
size_t sn_fib_size(const struct sn_fib *fib);

/* A copy of its trie, which shares its memory and outlives it. -1: no memory. */
int sn_fib_trie(const struct sn_fib *fib, struct sn_trie *trie);

#endif /* SN_FIB_H */
