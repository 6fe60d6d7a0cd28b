/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CHUNKS_H
#define SN_CHUNKS_H

/*
 * Tries over IPv4 addresses with strides of 16, 8 and 8 bits that share what they have in common. A trie has
 * a root of its own; the chunks below it belong to all tries that lead to them, and count these. A chunk that
 * several lead to is never written: who changes something there gets a copy. So the tries of a running
 * program stay as they are while those of the next one are made from them, and workers read without locks.
 *
 * One thread at a time makes, changes and frees tries of a pool.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_ROOT_SLOTS  (1u << 16)
#define SN_CHUNK_SLOTS 256u
/* The slot is a result, not the place of a chunk among the pool's slots. */
#define SN_TRIE_RESULT (1u << 31)
/* The most chunks of a pool: 1 GiB. A table of the Internet has some 27,000. */
#define SN_CHUNKS_MAX (1u << 20)

/* Chunks that tries share. */
struct sn_chunks;

struct sn_trie {
	struct sn_chunks *chunks; /* the trie has a reference to it */
	uint32_t *root;
};

/* A trie whose addresses all have one number (less than SN_TRIE_RESULT), in a pool of its own for at most so
 * many chunks. -1: no memory; then there is nothing to free. */
int sn_trie_init(struct sn_trie *trie, uint32_t number, uint32_t max_chunks);

/* A trie that is as another one, and shares its pool. */
int sn_trie_copy(struct sn_trie *trie, const struct sn_trie *from);

/* The same in a pool of its own, with room for twice as many chunks and some more of them. */
int sn_trie_move(struct sn_trie *trie, const struct sn_trie *from, uint32_t more);

/* Frees what no other trie has. Of one that was never there (all zero) nothing. */
void sn_trie_free(struct sn_trie *trie);

/* Gives the addresses low..high a number. -1: the pool is full; the trie is as good as gone then. */
int sn_trie_fill(struct sn_trie *trie, uint32_t low, uint32_t high, uint32_t number);

/* Frees the chunks below a slot of the root that tell nothing apart. */
void sn_trie_tidy(struct sn_trie *trie, uint32_t slot);

/* The slots of the pool's chunks. They stay where they are. */
const uint32_t *sn_trie_slots(const struct sn_trie *trie);

/* Chunks in use in the trie's pool, by all of its tries. */
uint32_t sn_trie_chunks(const struct sn_trie *trie);

/* The number of an address. */
static inline uint32_t sn_trie_find(const uint32_t *root, const uint32_t *slots, uint32_t address)
{
	uint32_t slot = root[address >> 16];

	if (!(slot & SN_TRIE_RESULT))
		slot = slots[slot + (address >> 8 & 0xff)];
	if (!(slot & SN_TRIE_RESULT))
		slot = slots[slot + (address & 0xff)];
	return slot & ~SN_TRIE_RESULT;
}

#endif /* SN_CHUNKS_H */
