/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CACHE_IMPL_H
#define SN_CACHE_IMPL_H

/* The border between the cache's two files: sn_cache.c has entries, sn_cache_short.c short decisions. */

#include "sn_cache.h"

#define SN_FORMS      65536u	 /* that a slot can name */
#define SN_SHORTS_MAX (1u << 21) /* buckets */
#define SN_PAGE	      4096u

/* Buckets of the smallest table: room for twice as many as there are entries. The next one has twice as many.
 */
static inline uint32_t sn_shorts_first(const struct sn_cache *c)
{
	return 2 * (c->mask + 1);
}

static inline size_t sn_shorts_size(uint32_t buckets)
{
	size_t size = buckets * sizeof(struct sn_cache_shorts);

	return size < SN_PAGE ? SN_PAGE : size;
}

/* Keeps a decision short, if it is what its sessions say. */
bool sn_shorts_keep(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
		    struct sn_cache_told told);

/* The contents of all slots are forgotten. */
void sn_shorts_forget(struct sn_cache *c);

/* Makes a first table for so many sessions; true: there is one. */
bool sn_shorts_begin(struct sn_cache *c, uint32_t sessions);

#endif /* SN_CACHE_IMPL_H */
