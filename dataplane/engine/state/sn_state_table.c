/* SPDX-License-Identifier: Apache-2.0 */
/* A table in memory: its shards, their slabs, chains and wheels, and what a kind adds. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sn_state_impl.h"

#define HUGE_PAGE (2u << 20)
#define HUGE_MAX  (64u << 20) /* a table larger than that is used thinly: small pages cost less */
#define LINE	  64u

void sn_state_table_free(struct sn_state_table *t)
{
	if (!t)
		return;
	if (t->kind->table_free)
		t->kind->table_free(t);
	if (t->shards)
		munmap(t->shards, t->size);
	free(t->config.name);
	free(t->config.own);
	free(t);
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static void shard_init(const struct sn_state_table *t, uint32_t number, const struct sn_shard_size *size,
		       uint8_t *base)
{
	struct sn_state_shard *sh = shard_at(t, number);
	uint32_t n = t->mask + 1;

	sh->slab_max = size->entries;
	sh->bucket_mask = size->buckets - 1;
	sh->wheel = (uint32_t *)base + number * WHEEL_SLOTS;
	base += n * WHEEL_SLOTS * sizeof(*sh->wheel);
	sh->buckets = (uint32_t *)base + (size_t)number * size->buckets;
	base += (size_t)n * size->buckets * sizeof(*sh->buckets) + n * t->memory_size;
	sh->slab = (struct sn_entry_line *)base + (size_t)number * size->entries;
	if (t->kind->shard_init)
		t->kind->shard_init(t, sh, number, t->memory + number * t->memory_size);
}

/* Pages are taken from the system as they are first used: a table costs what is used of it. */
static int table_map(struct sn_state_table *t, struct sn_shard_size *size)
{
	uint32_t n = size->shards, buckets = 16;
	size_t shards = round_up(n * t->kind->shard_size, LINE), before;
	uint8_t *base;

	while (buckets < size->buckets)
		buckets *= 2;
	size->buckets = buckets;
	t->mask = n - 1;
	t->memory_size = round_up(size->memory, LINE);
	before = shards + n * (WHEEL_SLOTS + (size_t)buckets) * sizeof(uint32_t);
	t->size =
		round_up(before + n * (t->memory_size + size->entries * sizeof(struct sn_entry_line)), 4096);
	base = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	if (t->size >= HUGE_PAGE && t->size <= HUGE_MAX)
		madvise(base, t->size, MADV_HUGEPAGE);
	t->shards = base;
	t->memory = base + before;
	for (uint32_t i = 0; i < n; i++)
		shard_init(t, i, size, base + shards);
	return 0;
}

static int config_copy(struct sn_table_config *to, const struct sn_table_config *from)
{
	*to = *from;
	to->name = strdup(from->name);
	to->own = malloc(from->own_size + 1);
	to->rules = NULL; /* the program's */
	if (!to->name || !to->own)
		return -ENOMEM;
	if (from->own_size)
		memcpy(to->own, from->own, from->own_size);
	return 0;
}

struct sn_state_table *sn_state_table_create(const struct sn_table_config *c,
					     struct sn_partitioning partitioning)
{
	struct sn_state_table *t = calloc(1, c->kind->table_size);
	struct sn_shard_size size = {0};

	if (!t)
		return NULL;
	t->kind = c->kind;
	if (config_copy(&t->config, c) || c->kind->table_init(t, &partitioning, &size) ||
	    table_map(t, &size)) {
		sn_state_table_free(t);
		return NULL;
	}
	return t;
}
