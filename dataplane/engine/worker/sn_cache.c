/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "sn_cache.h"
#include "sn_huge.h"
#include "sn_lines.h"
#include "sn_napt.h"
#include "sn_rewrite.h"

#define FORMS	   65536u /* that a slot can name */
#define SHORTS_MAX (1u << 21)
#define BEFORE_NS  10000000000ull
#define PAGE	   4096u

/* Buckets: at first room for twice as many as there are entries. */
static uint32_t first_room(const struct sn_cache *c)
{
	return 2 * (c->mask + 1);
}

static size_t room_size(uint32_t buckets)
{
	size_t size = buckets * sizeof(struct sn_cache_shorts);

	return size < PAGE ? PAGE : size;
}

/* Entries, short decisions, forms: of each as much as there may ever be, and in memory what is used. */
static bool map_memory(struct sn_cache *c, size_t entries)
{
	size_t forms = (entries + SN_HUGE_PAGE - 1) & ~(size_t)(SN_HUGE_PAGE - 1), at;
	uint32_t n, rooms = 0;

	for (n = first_room(c); n <= SHORTS_MAX; n *= 4, rooms++)
		forms += room_size(n);
	at = forms;
	c->memory = sn_growing_map(forms + FORMS * sizeof(*c->forms), 1 + rooms);
	if (c->memory == NULL)
		return false;
	c->all = sn_growing_add(c->memory, 0, entries, true);
	c->rooms = c->all + 1;
	/* The largest first: each begins at a multiple of its size. */
	for (n = first_room(c); n <= SHORTS_MAX; n *= 4) {
		at -= room_size(n);
		sn_growing_add(c->memory, at, room_size(n), true);
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
	c->first_form = 1;
	c->cells_memory = calloc(1, entries * sizeof(*c->cells) + 2 * SN_LINE);
	c->cells = (struct sn_flow_cell *)(((uintptr_t)c->cells_memory + SN_LINE - 1) / SN_LINE * SN_LINE);
	if (!c->tags || !c->cells_memory || !map_memory(c, entries * sizeof(*c->entries))) {
		sn_cache_free(c);
		return -ENOMEM;
	}
	memset(c->tags, 0, entries * sizeof(*c->tags));
	return 0;
}

static void shorts_free(struct sn_cache_short_table *t)
{
	if (t->buckets)
		sn_stretch_give_up(t->stretch);
	*t = (struct sn_cache_short_table){0};
}

void sn_cache_free(struct sn_cache *c)
{
	free(c->tags);
	free(c->cells_memory);
	sn_growing_free(c->memory);
	c->tags = NULL;
	c->cells_memory = NULL;
	c->memory = NULL;
	c->entries = NULL;
	c->forms = NULL;
}

bool sn_cache_prepare(struct sn_cache *c)
{
	return sn_stretch_whole(c->all);
}

/* Forms are numbered from 1 again: what slots name now is none of them. */
static void forget_shorts(struct sn_cache_short_table *t)
{
	for (uint32_t i = 0; t->buckets && i <= t->mask; i++)
		memset(t->buckets[i].forms, 0, sizeof(t->buckets[i].forms));
}

static void forget_forms(struct sn_cache *c)
{
	c->first_form += c->n_forms;
	c->n_forms = 0;
	c->shorts.used = 0;
	if (c->first_form < FORMS / 2)
		return;
	forget_shorts(&c->shorts);
	forget_shorts(&c->before);
	c->first_form = 1;
}

void sn_cache_flush(struct sn_cache *c)
{
	/* The generation is for keys that were made before, in the same burst. */
	c->generation++;
	forget_forms(c);
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

/* ---- short decisions ---- */

static struct sn_cache_shorts *shorts_of(const struct sn_cache_short_table *t, uint64_t hash)
{
	return &t->buckets[hash >> 16 & t->mask];
}

static const struct sn_cache_form *form_of(const struct sn_cache *c, uint16_t number)
{
	return (uint16_t)(number - c->first_form) < c->n_forms ? &c->forms[number] : NULL;
}

bool sn_cache_expand(const struct sn_cache *c, const struct sn_cache_short *found, struct sn_cache_entry *e)
{
	const struct sn_cache_form *form = found->form;
	const struct sn_session *s = found->session;
	bool back = form->flags & SN_CACHE_RETURN0;
	uint32_t was = back ? s->outside_addr : s->inside_addr, is = back ? s->inside_addr : s->outside_addr;
	uint16_t port = back ? s->outside_port : s->inside_port,
		 now = back ? s->inside_port : s->outside_port;
	uint32_t sum = sn_diff32(was, is);

	if (!s->entry.live || s->entry.owner != form->owner || sn_entry_bundled(&s->entry))
		return false;
	memset(e, 0, sizeof(*e));
	e->addresses = back ? (uint64_t)s->remote_addr << 32 | was : (uint64_t)was << 32 | s->remote_addr;
	e->ports_key = (back ? (uint64_t)s->remote_port << 48 | (uint64_t)port << 32
			     : (uint64_t)port << 48 | (uint64_t)s->remote_port << 32) |
		       (uint32_t)s->proto << 24 | (uint32_t)form->iface << 16 | c->generation;
	e->signature = form->signature;
	e->src = rte_cpu_to_be_32(back ? s->remote_addr : is);
	e->dst = rte_cpu_to_be_32(back ? is : s->remote_addr);
	e->sport = rte_cpu_to_be_16(back ? s->remote_port : now);
	e->dport = rte_cpu_to_be_16(back ? now : s->remote_port);
	e->head_move = sn_head_move_of(form->ttl_dec, sn_diff_norm(sum + form->ip_diff));
	e->l4_diff = rte_cpu_to_be_16(sn_diff_norm(sum + sn_diff16(port, now)));
	e->neigh = form->neigh;
	e->vlan = SN_CACHE_KEEP_VLAN;
	e->path = form->path;
	e->shard = s->entry.shard;
	e->min_ttl = form->min_ttl;
	e->dscp = SN_CACHE_KEEP_DSCP;
	e->flags = form->flags;
	e->sessions[0] = sn_cache_entry_word(&s->entry);
	return true;
}

static bool find_in(struct sn_cache *c, const struct sn_cache_short_table *t, uint64_t hash,
		    struct sn_cache_short *found, uint16_t *number)
{
	const struct sn_cache_shorts *b = shorts_of(t, hash);

	for (uint32_t ways = sn_cache_match(b->tags, sn_cache_tag(hash)); ways; ways &= ways - 1) {
		uint32_t way = (uint32_t)__builtin_ctz(ways);

		found->form = form_of(c, b->forms[way]);
		if (!found->form)
			continue;
		*number = b->forms[way];
		found->session = (const struct sn_session *)(uintptr_t)(found->form->high << 38 |
									(uint64_t)b->sessions[way] << 6);
		return true;
	}
	return false;
}

/* A slot of the bucket that is empty, else one that is given up. */
static void put(struct sn_cache *c, uint64_t hash, uint16_t form, const struct sn_session *session)
{
	struct sn_cache_shorts *b = shorts_of(&c->shorts, hash);
	uint32_t way = 0;

	while (way < SN_CACHE_WAYS && form_of(c, b->forms[way]))
		way++;
	if (way == SN_CACHE_WAYS)
		way = c->hand++ % SN_CACHE_WAYS;
	else if (++c->shorts.used > (c->shorts.mask + 1) * SN_CACHE_WAYS / 2)
		c->crowded = true;
	b->tags[way] = sn_cache_tag(hash);
	b->forms[way] = form;
	b->sessions[way] = (uint32_t)((uintptr_t)session >> 6);
}

bool sn_cache_find_short(struct sn_cache *c, uint64_t hash, struct sn_cache_short *found)
{
	uint16_t number;

	if (find_in(c, &c->shorts, hash, found, &number))
		return true;
	if (likely(!c->before.buckets) || !find_in(c, &c->before, hash, found, &number))
		return false;
	put(c, hash, number, found->session);
	return true;
}

/* The form of a decision, as a number; 0: there is no room for another one. */
static uint16_t form_for(struct sn_cache *c, const struct sn_cache_form *form)
{
	uint32_t i;

	/* They are few: the next hops, interfaces and classes of flows. */
	for (i = 0; i < c->n_forms && i < 64; i++) {
		const struct sn_cache_form *other = &c->forms[c->first_form + c->n_forms - 1 - i];

		if (!memcmp(other, form, sizeof(*form)))
			return (uint16_t)(c->first_form + c->n_forms - 1 - i);
	}
	if (c->first_form + c->n_forms == FORMS)
		return 0;
	c->forms[c->first_form + c->n_forms] = *form;
	return (uint16_t)(c->first_form + c->n_forms++);
}

/* Keeps a decision short, if it is what its session says. */
static bool keep_short(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
		       const struct sn_session *s)
{
	uint8_t proto = (uint8_t)(e->ports_key >> 24), ttl_dec = sn_head_ttl_dec(e->head_move);
	struct sn_cache_form form = {
		.high = (uintptr_t)s >> 38,
		.signature = e->signature,
		.owner = s->entry.owner,
		.ip_diff = sn_diff_norm(sn_diff16((uint32_t)ttl_dec << 8, 0)),
		.neigh = e->neigh,
		.path = e->path,
		.iface = (uint8_t)(e->ports_key >> 16),
		.min_ttl = e->min_ttl,
		.ttl_dec = ttl_dec,
		.flags = e->flags,
	};
	struct sn_cache_short as = {&form, s};
	struct sn_cache_entry same;
	struct sn_cache_short old;
	uint16_t number;

	if ((proto != SN_TCP && proto != SN_UDP) || e->flags & ~SN_CACHE_RETURN0 ||
	    !sn_cache_expand(c, &as, &same) || memcmp(&same, e, sizeof(same)) != 0)
		return false;
	if (!c->shorts.buckets) {
		c->crowded = true;
		return false;
	}
	number = form_for(c, &form);
	if (!number)
		return false;
	if (!find_in(c, &c->shorts, hash, &old, &number) || old.session != s ||
	    memcmp(old.form, &form, sizeof(form)))
		put(c, hash, number, s);
	return true;
}

struct sn_cache_entry *sn_cache_keep(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
				     const struct sn_session *session)
{
	/* One in eight, whichever, takes the place of another: that may have ended. */
	struct sn_cache_entry *to = place(c, e, hash, !session || ++c->turn % 8 == 0);

	if (!to && keep_short(c, e, hash, session))
		return NULL;
	if (!to)
		to = place(c, e, hash, true);
	*to = *e;
	return to;
}

/* Whether sessions are so many that a table of n buckets would be used. */
static bool is_room_wanted(const struct sn_cache *c, uint32_t n, uint32_t sessions)
{
	if (n > SHORTS_MAX)
		return false;
	return !c->shorts.buckets || n / 4 * SN_CACHE_WAYS <= 4 * (uint64_t)sessions;
}

static void use_room(struct sn_cache *c, uint32_t n, uint64_t now)
{
	shorts_free(&c->before);
	c->before = c->shorts;
	c->before_until = now + BEFORE_NS;
	c->shorts = (struct sn_cache_short_table){
		.buckets = (struct sn_cache_shorts *)c->rooms->base, .stretch = c->rooms, .mask = n - 1};
	c->rooms++;
}

void sn_cache_tick(struct sn_cache *c, uint32_t sessions, uint64_t now)
{
	uint32_t n = c->shorts.buckets ? 4 * (c->shorts.mask + 1) : first_room(c);
	bool wanted;

	if (c->before.buckets && now >= c->before_until)
		shorts_free(&c->before);
	if (likely(!c->crowded))
		return;
	wanted = is_room_wanted(c, n, sessions);
	if (wanted && !sn_stretch_whole(c->rooms))
		return; /* it is being brought */
	c->crowded = false;
	/* Most slots may be of sessions that have ended: these go as others come. */
	c->shorts.used = c->shorts.mask * (SN_CACHE_WAYS / 4);
	if (wanted)
		use_room(c, n, now);
}
