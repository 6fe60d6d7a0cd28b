/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "sn_cache_impl.h"
#include "sn_huge.h"
#include "sn_lines.h"

/* Entries, short decisions, forms: of each as much as there may ever be, and in memory what is used. */
static bool map_memory(struct sn_cache *c, size_t entries)
{
	size_t forms = (entries + SN_HUGE_PAGE - 1) & ~(size_t)(SN_HUGE_PAGE - 1), at;
	uint32_t n, rooms = 0;

	for (n = sn_shorts_first(c); n <= SN_SHORTS_MAX; n *= 2, rooms++)
		forms += sn_shorts_size(n);
	at = forms;
	c->memory = sn_growing_map(forms + SN_FORMS * sizeof(*c->forms), 1 + rooms);
	if (c->memory == NULL)
		return false;
	c->all = sn_growing_add(c->memory, 0, entries, true);
	c->rooms = c->all + 1;
	/* The largest first: each begins at a multiple of its size. */
	for (n = sn_shorts_first(c); n <= SN_SHORTS_MAX; n *= 2) {
		at -= sn_shorts_size(n);
		sn_growing_add(c->memory, at, sn_shorts_size(n), true);
	}
	c->entries = (struct sn_cache_entry *)c->memory->base;
	c->forms = (struct sn_cache_form *)(c->memory->base + forms);
	sn_growing_begin(c->memory);
	return true;
}

int sn_cache_init(struct sn_cache *c, uint32_t entries)
{
	memset(c, 0, sizeof(*c));
	c->mask = entries / SN_CACHE_WAYS - 1;
	c->seed = 0xe7037ed1a0b428dbull ^ (uintptr_t)c;
	c->tags = aligned_alloc(64, (entries * sizeof(*c->tags) + 63) / 64 * 64);
	c->heads = calloc(SN_CACHE_FORM_HEADS, sizeof(*c->heads));
	c->first_form = 1;
	c->cells_memory = calloc(1, entries * sizeof(*c->cells) + 2 * SN_LINE);
	c->cells = (struct sn_flow_cell *)(((uintptr_t)c->cells_memory + SN_LINE - 1) / SN_LINE * SN_LINE);
	if (!c->tags || !c->heads || !c->cells_memory || !map_memory(c, entries * sizeof(*c->entries))) {
		sn_cache_free(c);
		return -ENOMEM;
	}
	memset(c->tags, 0, entries * sizeof(*c->tags));
	return 0;
}

void sn_cache_free(struct sn_cache *c)
{
	free(c->tags);
	free(c->heads);
	free(c->cells_memory);
	sn_growing_free(c->memory);
	c->tags = NULL;
	c->heads = NULL;
	c->cells_memory = NULL;
	c->cells = NULL;
	c->memory = NULL;
	c->entries = NULL;
	c->forms = NULL;
}

bool sn_cache_prepare(struct sn_cache *c, uint32_t sessions)
{
	bool shorts = sessions == 0 || sn_shorts_begin(c, sessions);

	return sn_stretch_whole(c->all) && shorts;
}

void sn_cache_flush(struct sn_cache *c)
{
	/* The generation is for keys that were made before, in the same burst. */
	c->generation++;
	sn_shorts_forget(c);
	memset(c->tags, 0, (size_t)(c->mask + 1) * SN_CACHE_WAYS * sizeof(*c->tags));
}

/* The entry to fill for a key: that of the same key if there is one, else one that is free or given up. */
static struct sn_cache_entry *place(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
				    bool give_up)
{
	uint32_t base = sn_cache_bucket(c, hash) * SN_CACHE_WAYS, way, ways;
	uint16_t *tags = &c->tags[base];

	for (ways = sn_cache_match(tags, sn_cache_tag(hash)); ways; ways &= ways - 1) {
		struct sn_cache_entry *old = &c->entries[base + (uint32_t)__builtin_ctz(ways)];

		if (old->addresses == e->addresses && old->ports_key == e->ports_key &&
		    old->signature == e->signature)
			return old;
	}
	ways = sn_cache_match(tags, 0);
	if (!ways && !give_up)
		return NULL;
	way = ways ? (uint32_t)__builtin_ctz(ways) : c->hand++ % SN_CACHE_WAYS;
	tags[way] = sn_cache_tag(hash);
	return &c->entries[base + way];
}

struct sn_cache_entry *sn_cache_keep(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
				     struct sn_cache_told told, bool replaces)
{
	/* One in eight, whichever. */
	struct sn_cache_entry *to = place(c, e, hash, !told.comes || (replaces && ++c->turn % 8 == 0));

	if (!to && sn_shorts_keep(c, e, hash, told))
		return NULL;
	if (!to)
		to = place(c, e, hash, true);
	*to = *e;
	return to;
}

void sn_cache_prefetch_cells(const struct sn_cache *c, const struct sn_cache_entry *const *entries,
			     uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (entries[i] && entries[i]->flags & SN_CACHE_OBSERVED)
			rte_prefetch0(sn_cache_cell(c, entries[i]));
}
