/* SPDX-License-Identifier: Apache-2.0 */
/* How far a shard's entries go, and what of its tail goes back to the system. */

#include "sn_shard.h"

#include <string.h>
#include <sys/mman.h>

#define ROWS_AHEAD	  4u /* that each shard may have: few entries are spread unevenly */
#define TIMES_THE_AVERAGE 4u /* and so many times as many as the average */
#define TRIM_PAGES	  8u /* at a time: some 10 us, in which packets wait */

struct sn_entry *sn_shard_tail_entry(const struct sn_state_shard *sh, uint32_t index)
{
	return &sh->cold->tail[index - 1 - sh->slab_head].entry;
}

uint32_t sn_shard_tail_index(const struct sn_state_shard *sh, const struct sn_entry *e)
{
	return sh->slab_head + (uint32_t)((const struct sn_entry_line *)e - sh->cold->tail) + 1;
}

/* Whether shards fill alike, nearly: of several engines each has a part of them. A shard that has no tail
 * cannot have many more than the others. */
static bool may_begin_row(const struct sn_state_shard *sh)
{
	uint32_t rows = atomic_load_explicit(&sh->cold->all->rows, memory_order_relaxed);

	return sh->slab_max == sh->slab_head ||
	       sh->slab_open / ROW_ENTRIES < ROWS_AHEAD + (rows * TIMES_THE_AVERAGE >> sh->spread);
}

static void begin_row(struct sn_state_shard *sh)
{
	atomic_fetch_add_explicit(&sh->cold->all->rows, 1, memory_order_relaxed);
	sn_stretch_reach(&sh->stretches[STRETCH_SLAB],
			 row_end(sh, ROW_ENTRIES, sh->slab_open) * sizeof(struct sn_entry_line));
	sh->slab_open += ROW_ENTRIES;
	if (sh->slab_open > sh->slab_head)
		sh->slab_open = sh->slab_head;
}

void sn_shard_reserve(struct sn_state_shard *sh, uint32_t entries)
{
	while (sh->slab_open < entries && sh->slab_open < sh->slab_head)
		begin_row(sh);
}

static bool take_page(struct sn_shards *all)
{
	if (atomic_load_explicit(&all->pages, memory_order_relaxed) <= 0)
		return false;
	if (atomic_fetch_sub_explicit(&all->pages, 1, memory_order_relaxed) > 0)
		return true;
	atomic_fetch_add_explicit(&all->pages, 1, memory_order_relaxed);
	return false;
}

bool sn_shard_extend(struct sn_state_shard *sh)
{
	struct sn_shard_cold *cold = sh->cold;

	if (sh->slab_open < sh->slab_head && may_begin_row(sh)) {
		begin_row(sh);
		return true;
	}
	if (cold->free || cold->fresh < cold->open)
		return true;
	if (cold->open >= sh->slab_max - sh->slab_head || !take_page(cold->all))
		return false;
	cold->open += TAIL_ENTRIES;
	if (cold->open > sh->slab_max - sh->slab_head)
		cold->open = sh->slab_max - sh->slab_head;
	return true;
}

struct sn_entry *sn_shard_take_from_tail(struct sn_state_shard *sh)
{
	struct sn_shard_cold *cold = sh->cold;
	struct sn_entry *e;

	cold->live++;
	if (cold->free) {
		e = at_index(sh, cold->free);
		cold->free = e->hash_next;
		return e;
	}
	e = &cold->tail[cold->fresh++].entry;
	if (cold->fresh > cold->written) {
		e->generation = cold->generation;
		cold->written = cold->fresh;
	}
	sh->trims = 1;
	return e;
}

void sn_shard_put_into_tail(struct sn_state_shard *sh, struct sn_entry *e)
{
	struct sn_shard_cold *cold = sh->cold;

	if (--cold->live == 0) {
		cold->free = cold->fresh = 0;
		return;
	}
	e->hash_next = cold->free;
	cold->free = index_of(sh, e);
}

void sn_shard_forget(struct sn_state_shard *sh)
{
	struct sn_shard_cold *cold = sh->cold;

	/* Lines are used again in their order: that is fast. Rows that are begun stay so. */
	sh->live = sh->slab_free = sh->slab_fresh = 0;
	cold->live = cold->free = cold->fresh = 0;
}

/* Pages that go are zero when they come back: no entry of theirs may then have a generation that it had. */
static void note_generations(struct sn_shard_cold *cold, uint32_t from, uint32_t first)
{
	if ((cold->generation ^ first) & SN_ERA)
		cold->generation = first;
	for (uint32_t i = from; i < cold->written; i++) {
		uint32_t generation = cold->tail[i].entry.generation;

		if (!((generation ^ first) & SN_ERA) && generation > cold->generation)
			cold->generation = generation;
	}
}

static void trim_tail(struct sn_shard_cold *cold, uint32_t first)
{
	uint32_t pages = (cold->open + TAIL_ENTRIES - 1) / TAIL_ENTRIES,
		 n = pages < TRIM_PAGES ? pages : TRIM_PAGES;
	uint32_t from = (pages - n) * TAIL_ENTRIES;

	note_generations(cold, from, first);
	madvise(&cold->tail[from], (size_t)n * TAIL_PAGE, MADV_DONTNEED); /* best effort */
	cold->open = from;
	if (cold->written > from)
		cold->written = from;
	atomic_fetch_add_explicit(&cold->all->pages, (int32_t)n, memory_order_relaxed);
}

void sn_shard_trim(struct sn_state_shard *sh, uint32_t first)
{
	struct sn_shard_cold *cold = sh->cold;

	if (cold->last_tier_used && sh->live == (uint32_t)sh->tier_0 + sh->tier_1) {
		madvise(cold->last_tier, sizeof(uint32_t) << sh->tier_2_log,
			MADV_DONTNEED); /* they are zero */
		cold->last_tier_used = false;
	}
	if (cold->live == 0 && cold->open > 0)
		trim_tail(cold, first);
	sh->trims = cold->open > 0 || cold->last_tier_used;
}
