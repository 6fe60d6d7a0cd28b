/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_subscribers.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_pause.h>

#include "sn_ahead.h"
#include "sn_hash.h"
#include "sn_lines.h"
#include "sn_state.h"

#define RECORDS_MIN 16384u
#define RECORDS_MAX 4194304u
#define CHUNK	    64u		/* records that a pool gets at a time */
#define TRIES	    1000u	/* for a lock, before another thread gets the CPU */
#define BUSY	    0x80000000u /* of a head: it is locked */

struct record {
	struct sn_subscriber is;
	uint32_t set;
	uint32_t next; /* of its chain, or of those that are free; + 1 */
};
_Static_assert(sizeof(struct record) == 32, "two to a cache line");

/* Records that a shard's sessions are counted in next. Its worker alone comes here, as a rule. */
struct pool {
	_Atomic bool busy;
	uint32_t free;	/* + 1 */
	uint32_t fresh; /* records from here on were never used, … */
	uint32_t end;	/* … up to here */
} __attribute__((aligned(64)));

struct limits {
	uint32_t mask; /* of a prefix */
	uint32_t max_sessions, max_ports;
};

struct sn_subscribers {
	struct pool pools[SN_SHARDS];
	_Alignas(64) _Atomic uint32_t fresh; /* records from here on are of no pool */
	_Alignas(64) uint64_t seed;
	uint32_t n_records; /* a power of two; there are as many heads */
	uint32_t n_limits;
	_Atomic uint32_t *heads; /* the first record of a chain, + 1; BUSY: somebody works on it */
	struct record *records;
	struct sn_growing
		*memory; /* stretches: of the heads, which are used as a whole, and of the records */
	struct limits limits[];
};

/* ---- records that are in no chain ---- */

static void wait_for(uint32_t *tries)
{
	if (++*tries % TRIES == 0)
		sched_yield();
	rte_pause();
}

static void enter_pool(struct pool *p)
{
	uint32_t tries = 0;

	while (atomic_load_explicit(&p->busy, memory_order_relaxed) ||
	       atomic_exchange_explicit(&p->busy, true, memory_order_acquire))
		wait_for(&tries);
}

static void leave_pool(struct pool *p)
{
	atomic_store_explicit(&p->busy, false, memory_order_release);
}

/* As many as a chunk has, or none. */
static void fill(struct sn_subscribers *s, struct pool *p)
{
	uint32_t at = atomic_load_explicit(&s->fresh, memory_order_relaxed);

	while (at < s->n_records)
		if (atomic_compare_exchange_weak_explicit(&s->fresh, &at, at + CHUNK, memory_order_relaxed,
							  memory_order_relaxed)) {
			sn_stretch_reach(&s->memory->stretches[1], (at + CHUNK) * sizeof(*s->records));
			p->fresh = at;
			p->end = at + CHUNK;
			return;
		}
}

/* NULL: it has none. */
static struct record *take_from(struct sn_subscribers *s, struct pool *p)
{
	struct record *r = NULL;

	enter_pool(p);
	if (!p->free && p->fresh == p->end)
		fill(s, p);
	if (p->free) {
		r = &s->records[p->free - 1];
		p->free = r->next;
	} else if (p->fresh < p->end) {
		r = &s->records[p->fresh++];
	}
	leave_pool(p);
	return r;
}

/* A record of the shard's, else of any. NULL: there is no room, which is for as many subscribers as a table
 * has sessions. */
static struct record *allocate(struct sn_subscribers *s, uint32_t shard)
{
	struct record *r = take_from(s, &s->pools[shard]);

	for (uint32_t i = 0; r == NULL && i < SN_SHARDS; i++)
		r = take_from(s, &s->pools[i]);
	return r;
}

static void release(struct sn_subscribers *s, uint32_t shard, struct record *r)
{
	struct pool *p = &s->pools[shard];

	enter_pool(p);
	r->next = p->free;
	p->free = (uint32_t)(r - s->records) + 1;
	leave_pool(p);
}

/* ---- a subscriber ---- */

/* A chain that nobody else works on, and whom it is asked for. */
struct chain {
	struct sn_subscribers *of;
	_Atomic uint32_t *head;
	uint32_t first; /* + 1 */
	uint32_t set, prefix;
};

static uint64_t hash_of(const struct sn_subscribers *s, uint32_t set, uint32_t prefix)
{
	return sn_hash2(prefix, set, s->seed);
}

static _Atomic uint32_t *head_of(const struct sn_subscribers *s, uint64_t hash)
{
	return &s->heads[hash & (s->n_records - 1)];
}

static uint32_t enter(_Atomic uint32_t *head)
{
	uint32_t tries = 0, first;

	for (;;) {
		first = atomic_load_explicit(head, memory_order_relaxed) & ~BUSY;
		if (atomic_compare_exchange_weak_explicit(head, &first, first | BUSY, memory_order_acquire,
							  memory_order_relaxed))
			return first;
		wait_for(&tries);
	}
}

static struct chain enter_chain(struct sn_subscribers *s, uint32_t set, uint32_t address)
{
	struct chain c = {.of = s, .set = set, .prefix = address & s->limits[set].mask};

	c.head = head_of(s, hash_of(s, set, c.prefix));
	c.first = enter(c.head);
	return c;
}

static void leave_chain(const struct chain *c)
{
	atomic_store_explicit(c->head, c->first, memory_order_release);
}

static struct record *find(const struct chain *c)
{
	for (uint32_t i = c->first; i;) {
		struct record *r = &c->of->records[i - 1];

		if (r->is.prefix == c->prefix && r->set == c->set)
			return r;
		i = r->next;
	}
	return NULL;
}

static struct record *find_or_add(struct chain *c, uint32_t shard)
{
	struct record *r = find(c);

	if (r != NULL || (r = allocate(c->of, shard)) == NULL)
		return r;
	*r = (struct record){.is.prefix = c->prefix, .set = c->set, .next = c->first};
	c->first = (uint32_t)(r - c->of->records) + 1;
	return r;
}

/* A subscriber that has nothing is forgotten. */
static void forget_idle(struct chain *c, struct record *r, uint32_t shard)
{
	uint32_t number = (uint32_t)(r - c->of->records) + 1, *link = &c->first;

	if (r->is.sessions)
		return;
	while (*link != number)
		link = &c->of->records[*link - 1].next;
	*link = r->next;
	release(c->of, shard, r);
}

static void change(struct record *r, const struct sn_subscriber_change *c)
{
	r->is.sessions += (uint32_t)c->sessions;
	if (c->class < SN_PORTED)
		r->is.ports[c->class] += (uint32_t)c->ports;
}

bool sn_subscribers_take(struct sn_subscribers *s, const struct sn_subscriber_change *c)
{
	const struct limits *l = &s->limits[c->set];
	struct chain chain = enter_chain(s, c->set, c->address);
	struct record *r = find_or_add(&chain, c->shard);
	bool fits = r != NULL && r->is.sessions < l->max_sessions &&
		    (c->ports == 0 || r->is.ports[c->class] < l->max_ports);

	if (fits)
		change(r, c);
	leave_chain(&chain);
	return fits;
}

void sn_subscribers_count(struct sn_subscribers *s, const struct sn_subscriber_change *c)
{
	struct chain chain = enter_chain(s, c->set, c->address);
	struct record *r = c->sessions > 0 ? find_or_add(&chain, c->shard) : find(&chain);

	if (r != NULL) {
		change(r, c);
		forget_idle(&chain, r, c->shard);
	}
	leave_chain(&chain);
}

uint64_t sn_subscribers_expect(const struct sn_subscribers *s, uint32_t set, uint32_t address)
{
	uint64_t hash = hash_of(s, set, address & s->limits[set].mask);

	__builtin_prefetch((const void *)head_of(s, hash), 1);
	return hash;
}

void sn_subscribers_expect_more(const struct sn_subscribers *s, uint64_t expected)
{
	uint32_t first = atomic_load_explicit(head_of(s, expected), memory_order_relaxed) & ~BUSY;

	if (first)
		__builtin_prefetch(&s->records[first - 1], 1);
}

void sn_subscribers_refuse(struct sn_subscribers *s, uint32_t set, uint32_t address)
{
	struct chain chain = enter_chain(s, set, address);
	struct record *r = find(&chain);

	if (r != NULL && r->is.refused < UINT32_MAX)
		r->is.refused++;
	leave_chain(&chain);
}

/* ---- all of them ---- */

bool sn_subscribers_same(const struct sn_subscribers *a, const struct sn_subscribers *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->n_limits == b->n_limits && a->n_records == b->n_records &&
	       memcmp(a->limits, b->limits, a->n_limits * sizeof(*a->limits)) == 0;
}

/* In descending order; the last one is forgotten if there are n. */
static uint32_t insert(struct sn_subscriber *out, uint32_t has, uint32_t n, const struct sn_subscriber *new)
{
	uint32_t at = has;

	while (at > 0 && out[at - 1].sessions < new->sessions)
		at--;
	if (at == n)
		return has;
	has = RTE_MIN(has + 1, n);
	memmove(&out[at + 1], &out[at], (has - at - 1) * sizeof(*out));
	out[at] = *new;
	return has;
}

uint32_t sn_subscribers_heaviest(struct sn_subscribers *s, uint32_t set, struct sn_subscriber *out,
				 uint32_t n, uint64_t *all)
{
	uint32_t has = 0;

	*all = 0;
	for (uint32_t i = 0; i < s->n_records; i++) {
		struct chain c = {.of = s, .head = &s->heads[i]};

		if (!atomic_load_explicit(c.head, memory_order_relaxed))
			continue;
		c.first = enter(c.head);
		for (uint32_t k = c.first; k; k = s->records[k - 1].next) {
			if (s->records[k - 1].set != set)
				continue;
			++*all;
			has = insert(out, has, n, &s->records[k - 1].is);
		}
		leave_chain(&c);
	}
	return has;
}

/* So many subscribers as there may be sessions. */
static uint32_t records_for(const struct sn_program *p)
{
	uint64_t sessions = 0;
	uint32_t records = RECORDS_MIN;

	for (uint32_t i = 0; i < p->n_runs; i++)
		if (p->runs[i].subscribers != SN_NO_INDEX)
			sessions += p->tables[p->runs[i].table].max_entries
					    ? p->tables[p->runs[i].table].max_entries
					    : UINT32_MAX;
	for (uint32_t i = 0; i < p->n_tables; i++)
		if (p->tables[i].subscribers != SN_NO_INDEX)
			sessions += p->tables[i].max_entries;
	while (records < RECORDS_MAX && records < sessions)
		records *= 2;
	return records;
}

static bool map_memory(struct sn_subscribers *s)
{
	size_t heads = s->n_records * sizeof(*s->heads), records = s->n_records * sizeof(*s->records);

	s->memory = sn_growing_map(heads + records, 2);
	if (s->memory == NULL)
		return false;
	s->heads = (_Atomic uint32_t *)sn_growing_add(s->memory, 0, heads, true)->base;
	s->records = (struct record *)sn_growing_add(s->memory, heads, records, false)->base;
	sn_growing_begin(s->memory);
	return true;
}

struct sn_subscribers *sn_subscribers_create(const struct sn_program *p, uint64_t seed)
{
	struct sn_subscribers *s = sn_lines(1, sizeof(*s) + p->n_subscribers * sizeof(*s->limits));

	if (s == NULL)
		return NULL;
	s->seed = seed;
	s->n_limits = p->n_subscribers;
	s->n_records = records_for(p);
	if (!map_memory(s)) {
		free(s);
		return NULL;
	}
	for (uint32_t i = 0; i < p->n_subscribers; i++)
		s->limits[i] = (struct limits){UINT32_MAX << (32 - p->subscribers[i].prefix_len),
					       p->subscribers[i].max_sessions, p->subscribers[i].max_ports};
	return s;
}

size_t sn_subscribers_most(const struct sn_subscribers *s)
{
	return s->memory->size;
}

void sn_subscribers_begin(struct sn_subscribers *s)
{
	(void)sn_stretch_whole(&s->memory->stretches[0]);
}

void sn_subscribers_free(struct sn_subscribers *s)
{
	if (s == NULL)
		return;
	sn_growing_free(s->memory);
	free(s);
}
