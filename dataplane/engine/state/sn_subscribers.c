/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_subscribers.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_pause.h>

#include "sn_hash.h"
#include "sn_huge.h"
#include "sn_lines.h"

#define STRIPES	    64u
#define RECORDS_MIN 64u	   /* of a stripe */
#define RECORDS_MAX 65536u /* the same: four million subscribers */
#define PER_HEAD    4u	   /* records, at most, where they spread evenly */
#define TRIES	    1000u  /* for a lock, before another thread gets the CPU */
#define AT_ONCE	    64u	   /* records that are read while workers wait */

struct record {
	struct sn_subscriber is;
	uint32_t set;
	uint32_t next; /* of its chain, or of those that are free; + 1 */
};
_Static_assert(sizeof(struct record) == 32, "two to a cache line");

struct stripe {
	_Atomic bool busy;
	uint32_t fresh; /* records from here on were never used */
	uint32_t free;	/* + 1 */
	uint32_t *heads;
	struct record *records;
} __attribute__((aligned(64)));

struct limits {
	uint32_t mask; /* of a prefix */
	uint32_t max_sessions, max_ports;
};

struct sn_subscribers {
	struct stripe stripes[STRIPES];
	uint64_t seed;
	uint32_t records; /* of a stripe */
	uint32_t heads;	  /* the same: a power of two */
	uint32_t n_limits;
	uint8_t *memory;
	size_t memory_size;
	struct limits limits[];
};

/* ---- a subscriber ---- */

static void enter(struct stripe *st)
{
	for (uint32_t i = 1;; i++) {
		if (!atomic_load_explicit(&st->busy, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&st->busy, true, memory_order_acquire))
			return;
		if (i % TRIES == 0)
			sched_yield();
		rte_pause();
	}
}

static void leave(struct stripe *st)
{
	atomic_store_explicit(&st->busy, false, memory_order_release);
}

/* Where a subscriber is found, and by what. */
struct key {
	struct stripe *stripe;
	uint32_t *head;
	uint32_t set, prefix;
};

static struct key key_of(struct sn_subscribers *s, uint32_t set, uint32_t address)
{
	uint32_t prefix = address & s->limits[set].mask;
	uint64_t hash = sn_hash2(prefix, set, s->seed);
	struct stripe *st = &s->stripes[hash >> 32 & (STRIPES - 1)];

	return (struct key){st, &st->heads[hash & (s->heads - 1)], set, prefix};
}

static struct record *find(const struct key *k)
{
	for (uint32_t i = *k->head; i;) {
		struct record *r = &k->stripe->records[i - 1];

		if (r->is.prefix == k->prefix && r->set == k->set)
			return r;
		i = r->next;
	}
	return NULL;
}

/* NULL: there is no room, which is for more subscribers than a table has sessions. */
static struct record *find_or_add(const struct sn_subscribers *s, const struct key *k)
{
	struct stripe *st = k->stripe;
	struct record *r = find(k);

	if (r != NULL)
		return r;
	if (st->free) {
		r = &st->records[st->free - 1];
		st->free = r->next;
	} else if (st->fresh < s->records) {
		r = &st->records[st->fresh++];
	} else {
		return NULL;
	}
	*r = (struct record){.is.prefix = k->prefix, .set = k->set, .next = *k->head};
	*k->head = (uint32_t)(r - st->records) + 1;
	return r;
}

/* Who has nothing is not known. */
static void forget_idle(const struct key *k, struct record *r)
{
	uint32_t number = (uint32_t)(r - k->stripe->records) + 1, *link = k->head;

	if (r->is.sessions)
		return;
	while (*link != number)
		link = &k->stripe->records[*link - 1].next;
	*link = r->next;
	r->next = k->stripe->free;
	k->stripe->free = number;
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
	struct key k = key_of(s, c->set, c->address);
	struct record *r;
	bool fits;

	enter(k.stripe);
	r = find_or_add(s, &k);
	fits = r != NULL && r->is.sessions < l->max_sessions &&
	       (c->ports == 0 || r->is.ports[c->class] < l->max_ports);
	if (fits)
		change(r, c);
	leave(k.stripe);
	return fits;
}

void sn_subscribers_count(struct sn_subscribers *s, const struct sn_subscriber_change *c)
{
	struct key k = key_of(s, c->set, c->address);
	struct record *r;

	enter(k.stripe);
	r = c->sessions > 0 ? find_or_add(s, &k) : find(&k);
	if (r != NULL) {
		change(r, c);
		forget_idle(&k, r);
	}
	leave(k.stripe);
}

void sn_subscribers_refuse(struct sn_subscribers *s, uint32_t set, uint32_t address)
{
	struct key k = key_of(s, set, address);
	struct record *r;

	enter(k.stripe);
	r = find(&k);
	if (r != NULL && r->is.refused < UINT32_MAX)
		r->is.refused++;
	leave(k.stripe);
}

/* ---- all of them ---- */

bool sn_subscribers_same(const struct sn_subscribers *a, const struct sn_subscribers *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->n_limits == b->n_limits && a->records == b->records &&
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
	for (uint32_t i = 0; i < STRIPES; i++) {
		struct stripe *st = &s->stripes[i];
		bool more = true;

		for (uint32_t j = 0; more; j += AT_ONCE) {
			enter(st);
			for (uint32_t k = j; k < RTE_MIN(j + AT_ONCE, st->fresh); k++) {
				const struct record *r = &st->records[k];

				if (r->set != set || !r->is.sessions)
					continue;
				++*all;
				has = insert(out, has, n, &r->is);
			}
			more = j + AT_ONCE < st->fresh;
			leave(st);
		}
	}
	return has;
}

/* So many subscribers as there may be sessions, and twice as many if they spread badly. */
static uint32_t records_for(const struct sn_program *p)
{
	uint64_t sessions = 0;
	uint32_t records = RECORDS_MIN;

	for (uint32_t i = 0; i < p->n_runs; i++)
		if (p->runs[i].subscribers != SN_NO_INDEX)
			sessions += p->tables[p->runs[i].table].max_entries
					    ? p->tables[p->runs[i].table].max_entries
					    : UINT32_MAX;
	while (records < RECORDS_MAX && records < 2 * sessions / STRIPES)
		records *= 2;
	return records;
}

struct sn_subscribers *sn_subscribers_create(const struct sn_program *p, uint64_t seed)
{
	struct sn_subscribers *s = sn_lines(1, sizeof(*s) + p->n_subscribers * sizeof(*s->limits));
	size_t heads, records;

	if (s == NULL)
		return NULL;
	s->seed = seed;
	s->n_limits = p->n_subscribers;
	s->records = records_for(p);
	s->heads = s->records / PER_HEAD;
	heads = s->heads * sizeof(uint32_t);
	records = s->records * sizeof(struct record);
	s->memory_size = STRIPES * (heads + records);
	s->memory = sn_huge_map(s->memory_size);
	if (s->memory == NULL) {
		free(s);
		return NULL;
	}
	for (uint32_t i = 0; i < STRIPES; i++) {
		s->stripes[i].heads = (uint32_t *)(s->memory + i * heads);
		s->stripes[i].records = (struct record *)(s->memory + STRIPES * heads + i * records);
	}
	for (uint32_t i = 0; i < p->n_subscribers; i++)
		s->limits[i] = (struct limits){UINT32_MAX << (32 - p->subscribers[i].prefix_len),
					       p->subscribers[i].max_sessions, p->subscribers[i].max_ports};
	return s;
}

void sn_subscribers_free(struct sn_subscribers *s)
{
	if (s == NULL)
		return;
	sn_huge_unmap(s->memory, s->memory_size);
	free(s);
}
