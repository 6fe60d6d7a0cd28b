/* SPDX-License-Identifier: Apache-2.0 */

#include "sn_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "sn_huge.h"

#define NO_CHUNK    UINT32_MAX
#define ROOT_BYTES  (SN_ROOT_SLOTS * sizeof(uint32_t))
#define CHUNK_BYTES ((size_t)SN_CHUNK_SLOTS * sizeof(uint32_t))

struct sn_chunks {
	uint32_t *slots;
	uint32_t *leads; /* by chunk: how many slots lead there; of one that is free, the next free one */
	uint32_t n;	 /* chunks that were in use once: only these have memory */
	uint32_t max;
	uint32_t used;
	uint32_t free; /* NO_CHUNK: none */
	uint32_t tries;
};

static struct sn_chunks *chunks_create(uint32_t max)
{
	struct sn_chunks *chunks = calloc(1, sizeof(*chunks));

	if (chunks == NULL)
		return NULL;
	*chunks = (struct sn_chunks){.max = max, .free = NO_CHUNK, .tries = 1};
	chunks->slots = sn_huge_map(max * CHUNK_BYTES);
	chunks->leads = sn_huge_map(max * sizeof(uint32_t));
	if (chunks->slots != NULL && chunks->leads != NULL) {
		sn_huge_advise(chunks->slots, max * CHUNK_BYTES, false);
		return chunks;
	}
	if (chunks->slots != NULL)
		sn_huge_unmap(chunks->slots, max * CHUNK_BYTES);
	if (chunks->leads != NULL)
		sn_huge_unmap(chunks->leads, max * sizeof(uint32_t));
	free(chunks);
	return NULL;
}

static void chunks_leave(struct sn_chunks *chunks)
{
	if (--chunks->tries > 0)
		return;
	sn_huge_unmap(chunks->slots, chunks->max * CHUNK_BYTES);
	sn_huge_unmap(chunks->leads, chunks->max * sizeof(uint32_t));
	free(chunks);
}

static uint32_t chunk_take(struct sn_chunks *chunks)
{
	uint32_t chunk = chunks->free;

	if (chunk != NO_CHUNK)
		chunks->free = chunks->leads[chunk];
	else if (chunks->n < chunks->max)
		chunk = chunks->n++;
	else
		return NO_CHUNK;
	chunks->leads[chunk] = 1;
	chunks->used++;
	return chunk;
}

/* One slot less leads to where this one does. */
static void leave(struct sn_chunks *chunks, uint32_t slot)
{
	uint32_t chunk = slot / SN_CHUNK_SLOTS;

	if ((slot & SN_TRIE_RESULT) || --chunks->leads[chunk] > 0)
		return;
	for (uint32_t i = 0; i < SN_CHUNK_SLOTS; i++)
		leave(chunks, chunks->slots[slot + i]); /* one level deep */
	chunks->leads[chunk] = chunks->free;
	chunks->free = chunk;
	chunks->used--;
}

/* One slot more leads to where each of these does. */
static void lead(struct sn_chunks *chunks, const uint32_t *slots, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!(slots[i] & SN_TRIE_RESULT))
			chunks->leads[slots[i] / SN_CHUNK_SLOTS]++;
}

/* The chunk below a slot that is the trie's alone: made if there is none, copied if others lead to it. NULL:
 * the pool is full. */
static uint32_t *open_chunk(struct sn_chunks *chunks, uint32_t *slot)
{
	uint32_t before = *slot, chunk;
	uint32_t *own;

	if (!(before & SN_TRIE_RESULT) && chunks->leads[before / SN_CHUNK_SLOTS] == 1)
		return &chunks->slots[before];
	chunk = chunk_take(chunks);
	if (chunk == NO_CHUNK)
		return NULL;
	own = &chunks->slots[(size_t)chunk * SN_CHUNK_SLOTS];
	if (before & SN_TRIE_RESULT) {
		for (uint32_t i = 0; i < SN_CHUNK_SLOTS; i++)
			own[i] = before;
	} else {
		memcpy(own, &chunks->slots[before], CHUNK_BYTES);
		lead(chunks, own, SN_CHUNK_SLOTS);
		chunks->leads[before / SN_CHUNK_SLOTS]--;
	}
	*slot = chunk * SN_CHUNK_SLOTS;
	return own;
}

static void put(struct sn_chunks *chunks, uint32_t *slot, uint32_t entry)
{
	leave(chunks, *slot);
	*slot = entry;
}

int sn_trie_fill(struct sn_trie *trie, uint32_t low, uint32_t high, uint32_t number)
{
	uint32_t entry = SN_TRIE_RESULT | number;

	for (;;) {
		uint32_t *slot = &trie->root[low >> 16];
		uint32_t last = low | 0xffff;

		if ((low & 0xffff) != 0 || last > high) {
			slot = open_chunk(trie->chunks, slot);
			if (slot == NULL)
				return -1;
			slot += low >> 8 & 0xff;
			last = low | 0xff;
			if ((low & 0xff) != 0 || last > high) {
				slot = open_chunk(trie->chunks, slot);
				if (slot == NULL)
					return -1;
				slot += low & 0xff;
				last = low;
			}
		}
		put(trie->chunks, slot, entry);
		if (last >= high)
			return 0;
		low = last + 1;
	}
}

static bool all_same(const uint32_t *slots)
{
	for (uint32_t i = 0; i < SN_CHUNK_SLOTS; i++)
		if (slots[i] != slots[0])
			return false;
	return (slots[0] & SN_TRIE_RESULT) != 0;
}

void sn_trie_tidy(struct sn_trie *trie, uint32_t slot)
{
	struct sn_chunks *chunks = trie->chunks;
	uint32_t at = trie->root[slot];
	uint32_t *own = &chunks->slots[at];

	/* The chunks that others lead to are as they were when those were made. */
	if ((at & SN_TRIE_RESULT) || chunks->leads[at / SN_CHUNK_SLOTS] > 1)
		return;
	for (uint32_t i = 0; i < SN_CHUNK_SLOTS; i++)
		if (!(own[i] & SN_TRIE_RESULT) && all_same(&chunks->slots[own[i]]))
			put(chunks, &own[i], chunks->slots[own[i]]);
	if (all_same(own))
		put(chunks, &trie->root[slot], own[0]);
}

static int init(struct sn_trie *trie, struct sn_chunks *chunks)
{
	*trie = (struct sn_trie){.chunks = chunks};
	if (chunks == NULL)
		return -1;
	trie->root = sn_huge_alloc(ROOT_BYTES);
	if (trie->root != NULL)
		return 0;
	chunks_leave(chunks);
	trie->chunks = NULL;
	return -1;
}

int sn_trie_init(struct sn_trie *trie, uint32_t number, uint32_t max_chunks)
{
	if (init(trie, chunks_create(max_chunks)) != 0)
		return -1;
	for (uint32_t i = 0; i < SN_ROOT_SLOTS; i++)
		trie->root[i] = SN_TRIE_RESULT | number;
	return 0;
}

int sn_trie_copy(struct sn_trie *trie, const struct sn_trie *from)
{
	from->chunks->tries++;
	if (init(trie, from->chunks) != 0)
		return -1;
	memcpy(trie->root, from->root, ROOT_BYTES);
	lead(trie->chunks, trie->root, SN_ROOT_SLOTS);
	return 0;
}

/* A copy of what a slot of another pool leads to; the room is there. */
static uint32_t move_slot(struct sn_chunks *to, const struct sn_chunks *from, uint32_t slot)
{
	uint32_t chunk;

	if (slot & SN_TRIE_RESULT)
		return slot;
	chunk = chunk_take(to) * SN_CHUNK_SLOTS;
	for (uint32_t i = 0; i < SN_CHUNK_SLOTS; i++)
		to->slots[chunk + i] = move_slot(to, from, from->slots[slot + i]); /* one level deep */
	return chunk;
}

int sn_trie_move(struct sn_trie *trie, const struct sn_trie *from, uint32_t more)
{
	uint32_t max = 2 * from->chunks->used + more;

	if (init(trie, chunks_create(max < SN_CHUNKS_MAX ? max : SN_CHUNKS_MAX)) != 0)
		return -1;
	for (uint32_t i = 0; i < SN_ROOT_SLOTS; i++)
		trie->root[i] = move_slot(trie->chunks, from->chunks, from->root[i]);
	return 0;
}

void sn_trie_free(struct sn_trie *trie)
{
	if (trie->root == NULL)
		return;
	if (trie->chunks->tries > 1) /* else all goes */
		for (uint32_t i = 0; i < SN_ROOT_SLOTS; i++)
			leave(trie->chunks, trie->root[i]);
	free(trie->root);
	chunks_leave(trie->chunks);
	*trie = (struct sn_trie){0};
}

const uint32_t *sn_trie_slots(const struct sn_trie *trie)
{
	return trie->chunks->slots;
}

uint32_t sn_trie_chunks(const struct sn_trie *trie)
{
	return trie->chunks->used;
}
