/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "sn_cache.h"

int sn_cache_init(struct sn_cache *c, uint32_t entries)
{
	memset(c, 0, sizeof(*c));
	c->mask = entries / SN_CACHE_WAYS - 1;
	c->seed = 0xe7037ed1a0b428dbull ^ (uintptr_t)c;
	c->tags = aligned_alloc(64, (entries * sizeof(*c->tags) + 63) / 64 * 64);
	c->entries = aligned_alloc(64, entries * sizeof(*c->entries));
	if (!c->tags || !c->entries) {
		sn_cache_free(c);
		return -ENOMEM;
	}
	memset(c->tags, 0, entries * sizeof(*c->tags));
	memset(c->entries, 0, entries * sizeof(*c->entries));
	return 0;
}

void sn_cache_free(struct sn_cache *c)
{
	free(c->tags);
	free(c->entries);
	c->tags = NULL;
	c->entries = NULL;
}

void sn_cache_flush(struct sn_cache *c)
{
	/* The generation is for keys that were made before, in the same burst. */
	c->generation++;
	memset(c->tags, 0, (size_t)(c->mask + 1) * SN_CACHE_WAYS * sizeof(*c->tags));
}

struct sn_cache_entry *sn_cache_place(struct sn_cache *c, const struct sn_cache_key *key, uint64_t hash)
{
	uint32_t base = sn_cache_bucket(c, hash) * SN_CACHE_WAYS, way, ways;
	uint16_t *tags = &c->tags[base];

	for (ways = sn_cache_match(tags, sn_cache_tag(hash)); ways; ways &= ways - 1) {
		way = (uint32_t)__builtin_ctz(ways);
		if (sn_cache_is(&c->entries[base + way], key))
			return &c->entries[base + way];
	}
	ways = sn_cache_match(tags, 0);
	way = ways ? (uint32_t)__builtin_ctz(ways) : c->hand++ % SN_CACHE_WAYS;
	tags[way] = sn_cache_tag(hash);
	return &c->entries[base + way];
}
