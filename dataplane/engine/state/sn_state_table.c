/* SPDX-License-Identifier: Apache-2.0 */
/* A pool's table in memory: its shards, their slots, slabs and chains. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sn_state_impl.h"

#define PORTS_PER_SHARD 64u    /* at least: fewer shards rather than shards with next to no ports */
#define SLOTS_MAX	65536u /* outside addresses and ports of a shard and protocol that are used at most */
#define RSS_SLOTS_MAX	(1u << 21) /* the same, where a remote can use but one of 128 of them */
#define HUGE_PAGE	(2u << 20)
#define HUGE_MAX	(64u << 20) /* a table larger than that is used thinly: small pages cost less */

void sn_state_table_free(struct table *t)
{
	if (!t)
		return;
	if (t->shards)
		munmap(t->shards, t->size);
	free(t->cosets);
	free(t->name);
	free(t->pool);
	free(t->pool_base);
	free(t);
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* What the shards of a table have in common. */
struct layout {
	size_t shards, wheel, buckets, back, queues, slots, slab; /* bytes; but for the first, of one shard */
	uint32_t n_buckets, n_slots, n_sessions;
};

static struct layout layout_of(const struct table *t, uint64_t n_addresses)
{
	struct layout l = {0};
	/* What a shard's sessions need is the same, whichever of the ports they may have. */
	uint64_t slots = (((uint64_t)t->port_max - t->port_min) / (t->mask + 1) + 1) * n_addresses;

	l.n_slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
	l.n_sessions = l.n_slots * SN_PORTED;
	if (t->cosets) {
		l.n_slots = (t->port_max - t->port_min + 1) * (uint32_t)n_addresses;
		l.queues = round_up(SN_PORTED * (t->mask + 1) * n_addresses * sizeof(struct queue), 64);
	}
	if (t->max_sessions && t->max_sessions < l.n_sessions)
		l.n_sessions = t->max_sessions;
	for (l.n_buckets = 16; l.n_buckets < l.n_sessions;)
		l.n_buckets *= 2;
	l.n_sessions += l.n_sessions / (8 * SN_PORTED) + 1; /* those without ports */
	l.shards = round_up((t->mask + 1) * sizeof(struct shard), 64);
	l.wheel = WHEEL_SLOTS * sizeof(uint32_t);
	l.buckets = l.n_buckets * sizeof(uint32_t);
	l.back = BACK_HEADS * sizeof(uint32_t);
	l.slots = round_up((size_t)SN_PORTED * l.n_slots * sizeof(uint32_t), 64);
	l.slab = (size_t)l.n_sessions * sizeof(struct sn_session);
	return l;
}

static void shard_init(const struct table *t, struct shard *sh, uint32_t number, const struct layout *l,
		       uint8_t *base)
{
	uint32_t n = t->mask + 1;
	uint64_t ports;

	sh->number = number;
	sh->port_base = t->port_min + ((number - t->port_min) & t->mask);
	ports = sh->port_base > t->port_max ? 0 : ((t->port_max - sh->port_base) >> t->shift) + 1;
	ports *= t->n_addresses;
	sh->n_slots = ports < l->n_slots ? ports : l->n_slots;
	if (t->cosets) {
		sh->port_base = t->port_min;
		sh->n_slots = l->n_slots;
	}
	sh->slab_max = l->n_sessions;
	sh->bucket_mask = l->n_buckets - 1;
	base += l->shards;
	sh->wheel = (uint32_t *)(base + number * l->wheel);
	base += n * l->wheel;
	sh->buckets = (uint32_t *)(base + number * l->buckets);
	base += n * l->buckets;
	sh->back = (uint32_t *)(base + number * l->back);
	base += n * l->back;
	sh->queues = (struct queue *)(base + number * l->queues);
	base += n * l->queues;
	for (int p = 0; p < SN_PORTED; p++)
		sh->ports[p].slots = (uint32_t *)(base + number * l->slots) + (size_t)p * l->n_slots;
	base += n * l->slots;
	sh->slab = (struct sn_session *)(base + number * l->slab);
}

/* Pages are taken from the system as they are first used: a pool costs what is used of it. */
static int table_map(struct table *t, uint64_t n_addresses)
{
	struct layout l = layout_of(t, n_addresses);
	void *base;

	t->size = round_up(l.shards + (t->mask + 1) *
					      (l.wheel + l.buckets + l.back + l.queues + l.slots + l.slab),
			   4096);
	base = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	if (t->size >= HUGE_PAGE && t->size <= HUGE_MAX)
		madvise(base, t->size, MADV_HUGEPAGE);
	t->shards = base;
	for (uint32_t i = 0; i <= t->mask; i++)
		shard_init(t, &t->shards[i], i, &l, base);
	return 0;
}

/* The ports of the pool, sorted by the bucket that they take a packet to. */
static struct cosets *cosets_create(const struct table *t)
{
	struct cosets *c = calloc(1, sizeof(*c));
	uint32_t n = 0;

	if (!c)
		return NULL;
	for (uint32_t coset = 0; coset <= t->mask; coset++) {
		for (uint32_t port = t->port_min; port <= t->port_max; port++) {
			if (coset_of(t, (uint16_t)port) != coset)
				continue;
			c->position[port] = (uint16_t)n;
			c->port[n++] = (uint16_t)port;
		}
		c->first[coset + 1] = n;
	}
	return c;
}

struct table *sn_state_table_create(const struct sn_table_config *c, struct sn_partitioning partitioning)
{
	struct table *t = calloc(1, sizeof(*t));
	uint32_t ports = c->port_max - c->port_min + 1, base = 0;

	if (!t)
		return NULL;
	t->name = strdup(c->name);
	t->n_pool = c->n_pool;
	t->pool = calloc(c->n_pool, sizeof(*t->pool));
	t->pool_base = calloc(c->n_pool, sizeof(*t->pool_base));
	if (!t->name || !t->pool || !t->pool_base)
		goto fail;
	memcpy(t->pool, c->pool, c->n_pool * sizeof(*t->pool));
	for (uint32_t i = 0; i < c->n_pool; i++) {
		uint64_t next = (uint64_t)base + c->pool[i].last - c->pool[i].first + 1;

		t->pool_base[i] = base;
		base = next < UINT32_MAX ? next : UINT32_MAX; /* far beyond SLOTS_MAX: never used */
	}
	t->n_addresses = c->n_addresses < SLOTS_MAX ? c->n_addresses : SLOTS_MAX;
	t->port_min = c->port_min;
	t->port_max = c->port_max;
	t->max_sessions = c->max_sessions;
	while ((2u << t->shift) <= SN_SHARDS && ports >> (t->shift + 1) >= PORTS_PER_SHARD)
		t->shift++;
	t->mask = (1u << t->shift) - 1;
	if (partitioning.by == SN_PARTITION_BY_RSS) {
		if (t->n_addresses > RSS_SLOTS_MAX / ports)
			t->n_addresses = RSS_SLOTS_MAX / ports;
		t->cosets = cosets_create(t);
		if (!t->cosets)
			goto fail;
	}
	if (table_map(t, t->n_addresses))
		goto fail;
	return t;
fail:
	sn_state_table_free(t);
	return NULL;
}
