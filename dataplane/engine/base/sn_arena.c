/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SN_ARENA_BLOCK (1u << 20)

struct sn_arena_block {
	struct sn_arena_block *older;
	size_t cap;
	size_t used;
	alignas(max_align_t) uint8_t data[];
};

/* protobuf-c fills what it takes: no zeroes needed. */
static void *take(struct sn_arena *arena, size_t size)
{
	struct sn_arena_block *block = arena->blocks;
	size_t rounded = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	void *place;

	if (rounded < size)
		return NULL;
	if (block == NULL || block->cap - block->used < rounded) {
		size_t cap = rounded > SN_ARENA_BLOCK ? rounded : SN_ARENA_BLOCK;

		if (cap > SIZE_MAX - sizeof(*block))
			return NULL;
		block = malloc(sizeof(*block) + cap);
		if (block == NULL)
			return NULL;
		block->older = arena->blocks;
		block->cap = cap;
		block->used = 0;
		arena->blocks = block;
	}
	place = block->data + block->used;
	block->used += rounded;
	return place;
}

static void *allocator_alloc(void *data, size_t size)
{
	return take(data, size);
}

static void allocator_free(void *data, void *pointer)
{
	(void)data;
	(void)pointer; /* goes with the arena */
}

void sn_arena_init(struct sn_arena *arena)
{
	arena->blocks = NULL;
	arena->allocator = (ProtobufCAllocator){
		.alloc = allocator_alloc,
		.free = allocator_free,
		.allocator_data = arena,
	};
}

void *sn_arena_alloc(struct sn_arena *arena, size_t size)
{
	void *place = take(arena, size);

	if (place != NULL)
		memset(place, 0, size);
	return place;
}

void sn_arena_reset(struct sn_arena *arena)
{
	struct sn_arena_block *block = arena->blocks;

	while (block != NULL && (block->older != NULL || block->cap > SN_ARENA_BLOCK)) {
		struct sn_arena_block *older = block->older;

		free(block);
		block = older;
	}
	if (block != NULL)
		block->used = 0;
	arena->blocks = block;
}

void sn_arena_free(struct sn_arena *arena)
{
	sn_arena_reset(arena);
	free(arena->blocks);
	arena->blocks = NULL;
}
