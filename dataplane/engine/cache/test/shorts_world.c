/* SPDX-License-Identifier: Apache-2.0 */
#include "shorts_world.h"

struct sn_session *begin(struct world *w, uint32_t line, uint32_t inside)
{
	struct sn_session *s = &w->lines[line];

	s->entry.live = 1;
	s->inside_addr = inside;
	s->outside_addr = 0xcb007109;
	s->remote_addr = 0x08080808;
	s->inside_port = 4000;
	s->outside_port = 5000;
	s->remote_port = 53;
	s->proto = SN_UDP;
	return s;
}

void end(struct sn_session *s)
{
	s->entry.live = 0;
	s->entry.generation++;
}

struct sn_cache_entry decision(struct world *w, const struct sn_session *s, uint16_t neigh)
{
	struct sn_cache_form form = {
		.neigh = neigh, .min_ttl = 1, .ttl_dec = 1, .flags = SN_CACHE_RETURN0, .how = SN_CACHE_BACK};
	struct sn_cache_short as = {&form, s, NULL, s->entry.generation, 0};
	struct sn_cache_entry e;

	assert_true(sn_cache_expand(&w->cache, &as, &e));
	return e;
}

void keep(struct world *w, const struct sn_session *s, uint16_t neigh, uint64_t hash)
{
	struct sn_cache_entry e = decision(w, s, neigh);

	w->cache.turn = 0; /* it is kept short */
	sn_cache_keep(&w->cache, &e, hash, (struct sn_cache_told){s, s}, true);
}

uint16_t hop(struct world *w)
{
	struct sn_cache_short found;
	struct sn_cache_entry e;

	return sn_cache_find_short(&w->cache, HASH, &found) && sn_cache_expand(&w->cache, &found, &e)
		       ? e.neigh
		       : 0;
}

void fill(struct world *w)
{
	struct sn_cache_entry e;

	sn_cache_flush(&w->cache);
	e = decision(w, begin(w, LINES - 1, 0x0a000099), 9);
	for (uint32_t i = 0; i < SN_CACHE_WAYS; i++) {
		e.signature = i + 1;
		sn_cache_keep(&w->cache, &e, HASH ^ (uint64_t)(i + 1) << 50, (struct sn_cache_told){0}, true);
	}
}

int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(sn_cache_init(&w->cache, SN_CACHE_WAYS), 0);
	w->lines = aligned_alloc(64, LINES * sizeof(*w->lines));
	assert_non_null(w->lines);
	memset(w->lines, 0, LINES * sizeof(*w->lines));
	fill(w);
	w->cache.crowded = true;
	for (uint32_t i = 0; i < 1000 && !w->cache.shorts.buckets; i++)
		sn_cache_tick(&w->cache, 1000, 1);
	assert_non_null(w->cache.shorts.buckets);
	*state = w;
	return 0;
}

int close_world(void **state)
{
	struct world *w = *state;

	sn_cache_free(&w->cache);
	free(w->lines);
	free(w);
	return 0;
}

uint64_t beside(uint32_t i)
{
	return HASH ^ (uint64_t)(i + 1) << 54;
}

const struct sn_session *found(struct world *w, uint64_t hash)
{
	struct sn_cache_short of;
	struct sn_cache_entry e;

	if (!sn_cache_find_short(&w->cache, hash, &of) || !sn_cache_expand(&w->cache, &of, &e))
		return NULL;
	assert_int_equal(rte_be_to_cpu_32(e.dst), of.session->inside_addr);
	assert_int_equal(e.neigh, of.session - w->lines + 1);
	return of.session;
}

struct sn_cache_entry decision_of_two(struct world *w, const struct sn_session *s,
				      const struct sn_session *other, bool before, uint16_t neigh)
{
	struct sn_cache_form form = {.neigh = neigh,
				     .min_ttl = 1,
				     .ttl_dec = 1,
				     .flags = before ? SN_CACHE_RETURN1 : SN_CACHE_RETURN0,
				     .how = SN_CACHE_TWO | SN_CACHE_BOTH | SN_CACHE_BACK |
					    (before ? SN_CACHE_OTHER_FIRST : 0)};
	struct sn_cache_short as = {&form, s, &other->entry, s->entry.generation, other->entry.generation};
	struct sn_cache_entry e;

	assert_true(sn_cache_expand(&w->cache, &as, &e));
	return e;
}

void keep_two(struct world *w, const struct sn_session *s, const struct sn_session *other, bool before,
	      uint16_t neigh, uint64_t hash)
{
	struct sn_cache_entry e = decision_of_two(w, s, other, before, neigh);

	w->cache.turn = 0;
	sn_cache_keep(&w->cache, &e, hash, (struct sn_cache_told){s, s}, true);
}
