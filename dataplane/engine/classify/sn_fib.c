/* SPDX-License-Identifier: Apache-2.0 */

#include "sn_fib.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sn_huge.h"

#define BLOCK	(1u << 16) /* addresses of a block, and blocks */
#define FAN_OUT 256u	   /* blocks below a node of the tree of hashes, and nodes */
#define LEAF	0	   /* in front of what is hashed: RFC 6962 section 2.1 */
#define NODE	1

struct hashes {
	uint8_t block[BLOCK][SN_SHA256_LEN];
	uint8_t node[FAN_OUT][SN_SHA256_LEN];
	uint8_t root[SN_SHA256_LEN];
	uint16_t top[BLOCK]; /* the largest number of each block */
};

struct sn_fib {
	struct sn_trie trie;
	struct hashes *hashes;
	uint32_t references;
	uint32_t top;
};

/* The hashed part of a block: a step where the number changes. */
struct steps {
	uint8_t *bytes; /* room for all addresses of a block */
	size_t len;
	uint32_t number; /* of the last step */
	uint32_t top;
};

static void step(struct steps *s, uint32_t address, uint32_t entry)
{
	uint32_t number = entry & ~SN_TRIE_RESULT;

	if (s->len > 1 && number == s->number)
		return;
	s->bytes[s->len++] = (uint8_t)(address >> 8);
	s->bytes[s->len++] = (uint8_t)address;
	s->bytes[s->len++] = (uint8_t)(number >> 8);
	s->bytes[s->len++] = (uint8_t)number;
	s->number = number;
	if (number > s->top)
		s->top = number;
}

static void hash_block(struct sn_fib *fib, struct steps *s, uint32_t block)
{
	const uint32_t *slots = sn_trie_slots(&fib->trie);
	uint32_t at = fib->trie.root[block];

	s->bytes[0] = LEAF;
	s->len = 1;
	s->top = 0;
	if (at & SN_TRIE_RESULT) {
		step(s, 0, at);
	} else {
		for (uint32_t i = 0; i < SN_CHUNK_SLOTS; i++) {
			uint32_t slot = slots[at + i];

			if (slot & SN_TRIE_RESULT) {
				step(s, i << 8, slot);
				continue;
			}
			for (uint32_t k = 0; k < SN_CHUNK_SLOTS; k++)
				step(s, i << 8 | k, slots[slot + k]);
		}
	}
	sn_sha256(s->bytes, s->len, fib->hashes->block[block]);
	fib->hashes->top[block] = (uint16_t)s->top;
}

static void hash_children(uint8_t (*children)[SN_SHA256_LEN], uint8_t hash[SN_SHA256_LEN])
{
	uint8_t bytes[1 + FAN_OUT * SN_SHA256_LEN] = {NODE};

	memcpy(bytes + 1, children, FAN_OUT * SN_SHA256_LEN);
	sn_sha256(bytes, sizeof(bytes), hash);
}

static bool is_marked(const uint64_t *marks, uint32_t i)
{
	return marks[i / 64] >> i % 64 & 1;
}

/* Hash the blocks that are marked, and what lies above them. */
static int hash(struct sn_fib *fib, const uint64_t *marks)
{
	struct steps s = {.bytes = malloc(1 + 4 * (size_t)BLOCK)};

	if (s.bytes == NULL)
		return -1;
	for (uint32_t n = 0; n < FAN_OUT; n++) {
		bool any = false;

		for (uint32_t block = n * FAN_OUT; block < (n + 1) * FAN_OUT; block++) {
			if (!is_marked(marks, block))
				continue;
			any = true;
			sn_trie_tidy(&fib->trie, block);
			hash_block(fib, &s, block);
		}
		if (any)
			hash_children(&fib->hashes->block[n * FAN_OUT], fib->hashes->node[n]);
	}
	free(s.bytes);
	hash_children(fib->hashes->node, fib->hashes->root);
	for (uint32_t block = 0; block < BLOCK; block++)
		if (fib->hashes->top[block] > fib->top)
			fib->top = fib->hashes->top[block];
	return 0;
}

static int check(const struct sn_fib_change *change, struct sn_error *err)
{
	if (change->n > SN_FIB_RANGES_MAX)
		return sn_fail(err, "%zu ranges, want at most %u", change->n, SN_FIB_RANGES_MAX);
	for (size_t i = 0; i < change->n; i++) {
		if (change->first[i] > change->last[i] || (i && change->first[i] <= change->last[i - 1]))
			return sn_fail(err, "range %zu is %#x-%#x, want ascending, disjoint ranges", i,
				       change->first[i], change->last[i]);
		if (change->number[i] > SN_FIB_NUMBER_MAX)
			return sn_fail(err, "range %zu has number %u, want at most %u", i, change->number[i],
				       SN_FIB_NUMBER_MAX);
	}
	return 0;
}

/* Applies the change, and marks the blocks that it is about. -1: the pool is full. */
static int apply(struct sn_fib *fib, const struct sn_fib_change *change, uint64_t *marks)
{
	for (size_t i = 0; i < change->n; i++) {
		uint32_t block = change->first[i] >> 16;

		if (sn_trie_fill(&fib->trie, change->first[i], change->last[i], change->number[i]) != 0)
			return -1;
		for (; block <= change->last[i] >> 16; block++)
			marks[block / 64] |= 1ull << block % 64;
	}
	return 0;
}

/* The most chunks that a trie of some ranges has: four ends of chunks for each. */
static uint32_t room_for(const struct sn_fib_change *change)
{
	return change->n < SN_CHUNKS_MAX / 8 ? (uint32_t)(4 * change->n) + SN_CHUNKS_MAX / 64 : SN_CHUNKS_MAX;
}

/* Makes the trie. Where the pool of the base has no room left, it moves to one that has. */
static int build(struct sn_fib *fib, const struct sn_fib *base, const struct sn_fib_change *change,
		 uint64_t *marks)
{
	if (base == NULL) {
		memset(marks, 0xff, BLOCK / 8);
		if (sn_trie_init(&fib->trie, 0, room_for(change)) != 0)
			return -1;
		return apply(fib, change, marks);
	}
	if (sn_trie_copy(&fib->trie, &base->trie) != 0)
		return -1;
	if (apply(fib, change, marks) == 0)
		return 0;
	sn_trie_free(&fib->trie);
	if (sn_trie_move(&fib->trie, &base->trie, room_for(change)) != 0)
		return -1;
	return apply(fib, change, marks);
}

struct sn_fib *sn_fib_create(const struct sn_fib *base, const struct sn_fib_change *change,
			     struct sn_error *err)
{
	uint64_t marks[BLOCK / 64] = {0};
	struct sn_fib *fib;

	if (check(change, err) != 0)
		return NULL;
	fib = calloc(1, sizeof(*fib));
	if (fib == NULL)
		goto fail;
	fib->references = 1;
	fib->hashes = sn_huge_alloc(sizeof(*fib->hashes));
	if (fib->hashes == NULL)
		goto fail;
	if (base != NULL)
		memcpy(fib->hashes, base->hashes, sizeof(*fib->hashes));
	if (build(fib, base, change, marks) != 0 || hash(fib, marks) != 0)
		goto fail;
	return fib;
fail:
	sn_fib_put(fib);
	sn_fail(err, "no memory for a table of routes after %zu changed ranges: at most %u MiB are possible",
		change->n, SN_CHUNKS_MAX / 1024);
	return NULL;
}

struct sn_fib *sn_fib_take(struct sn_fib *fib)
{
	fib->references++;
	return fib;
}

void sn_fib_put(struct sn_fib *fib)
{
	if (fib == NULL || --fib->references > 0)
		return;
	sn_trie_free(&fib->trie);
	free(fib->hashes);
	free(fib);
}

const uint8_t *sn_fib_hash(const struct sn_fib *fib)
{
	return fib->hashes->root;
}

uint32_t sn_fib_top(const struct sn_fib *fib)
{
	return fib->top;
}

uint32_t sn_fib_find(const struct sn_fib *fib, uint32_t address)
{
	return sn_trie_find(fib->trie.root, sn_trie_slots(&fib->trie), address);
}

size_t sn_fib_size(const struct sn_fib *fib)
{
	return sizeof(*fib) + sizeof(*fib->hashes) + SN_ROOT_SLOTS * sizeof(uint32_t) +
	       (size_t)sn_trie_chunks(&fib->trie) * SN_CHUNK_SLOTS * sizeof(uint32_t);
}

int sn_fib_trie(const struct sn_fib *fib, struct sn_trie *trie)
{
	return sn_trie_copy(trie, &fib->trie);
}
