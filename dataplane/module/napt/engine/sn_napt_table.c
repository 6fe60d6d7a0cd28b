/* SPDX-License-Identifier: Apache-2.0 */
/* A pool's table: its shards, and the slots of their ports. */

#include <errno.h>
#include <stdlib.h>

#include "sn_napt_mapping.h"

#define PORTS_PER_SHARD 64u /* at least: fewer shards rather than shards with next to no ports */
#define HEADS_MIN	64u /* of chains of a shard's mappings */
#define HEADS_MAX	4096u
#define SHARED_MAX \
	(BUCKET_INDEX / 16 * 15) /* sessions of a shard; beside them there are those without ports */
#define SLOTS_MAX     65536u /* outside addresses and ports of a shard and protocol that are used at most */
#define RSS_SLOTS_MAX (1u << 21) /* the same, where a remote can use but one of 128 of them */

static int decode_pool(struct sn_builder *b, struct napt_config *c,
		       const Sinter__Program__V1__StateTable *from)
{
	for (size_t i = 0; i < from->n_pool; i++) {
		c->pool[i] = (struct sn_range){from->pool[i]->first, from->pool[i]->last};
		if (c->pool[i].first > c->pool[i].last)
			return sn_build_fail(b, "pool[%zu] is %#x-%#x, want an ascending range", i,
					     c->pool[i].first, c->pool[i].last);
		c->n_addresses += (uint64_t)c->pool[i].last - c->pool[i].first + 1;
	}
	sn_ranges_sort(c->pool, c->n_pool);
	for (size_t i = 1; i < c->n_pool; i++)
		if (c->pool[i].first <= c->pool[i - 1].last)
			return sn_build_fail(b, "pool holds %#x twice, want disjoint ranges",
					     c->pool[i].first);
	return 0;
}

static int decode_reserved(struct sn_builder *b, struct napt_config *c,
			   const Sinter__Program__V1__StateTable *from)
{
	for (uint32_t i = 0; i < c->n_reserved; i++) {
		const Sinter__Program__V1__ReservedPorts *r = from->reserved[i];

		if (r->proto != SN_TCP && r->proto != SN_UDP)
			return sn_build_fail(b, "reserved[%u]: proto is %u, want 6 or 17", i, r->proto);
		if (r->first > r->last || r->last > 65535)
			return sn_build_fail(
				b, "reserved[%u]: ports are %u-%u, want an ascending range up to 65535", i,
				r->first, r->last);
		reserved_of(c)[i] = (struct napt_reserved){r->address, (uint16_t)r->first, (uint16_t)r->last,
							   ported_class_of((uint8_t)r->proto)};
	}
	return 0;
}

int sn_napt_decode(struct sn_builder *b, struct sn_table_config *to,
		   const Sinter__Program__V1__StateTable *from)
{
	struct napt_config *c;

	if (!from->n_pool)
		return sn_build_fail(b, "pool is empty");
	if (from->port_min > from->port_max || from->port_max > 65535)
		return sn_build_fail(b, "ports are %u-%u, want an ascending range up to 65535",
				     from->port_min, from->port_max);
	if ((uint32_t)from->mapping > SN_ENDPOINT_INDEPENDENT)
		return sn_build_fail(b, "mapping is %d, want 0..%d", (int)from->mapping,
				     SN_ENDPOINT_INDEPENDENT);
	if ((uint32_t)from->filtering > (uint32_t)from->mapping)
		return sn_build_fail(b, "filtering is %d, want at most the mapping, which is %d",
				     (int)from->filtering, (int)from->mapping);
	if (from->port_rest_ms > REST_MAX)
		return sn_build_fail(b, "port_rest_ms is %u, want at most %u", from->port_rest_ms, REST_MAX);
	to->own_size = sizeof(*c) + from->n_pool * sizeof(*c->pool) +
		       from->n_reserved * sizeof(struct napt_reserved);
	c = to->own = sn_build_array(1, to->own_size);
	if (!c)
		return sn_build_no_memory(b);
	c->port_min = from->port_min;
	c->port_max = from->port_max;
	c->n_pool = (uint32_t)from->n_pool;
	c->n_reserved = (uint32_t)from->n_reserved;
	c->mapping = (uint8_t)from->mapping;
	c->filtering = (uint8_t)from->filtering;
	c->rest_ms = from->port_rest_ms;
	c->paired = from->paired;
	for (size_t i = 0; i < b->msg->n_tables; i++)
		c->shared |= b->msg->tables[i]->mapping !=
			     SINTER__PROGRAM__V1__DEPENDENCE__ADDRESS_AND_PORT_DEPENDENT;
	return decode_pool(b, c, from) || decode_reserved(b, c, from) ? -EINVAL : 0;
}

/* ---- in memory ---- */

void sn_napt_table_free(struct sn_state_table *table)
{
	struct napt_table *t = (struct napt_table *)table;

	free(t->cosets);
	free(t->pool_base);
}

/* The ports of the pool, sorted by the bucket that they take a packet to. */
static struct cosets *cosets_create(const struct napt_table *t)
{
	struct cosets *c = calloc(1, sizeof(*c));
	uint32_t n = 0;

	if (!c)
		return NULL;
	for (uint32_t coset = 0; coset <= t->table.mask; coset++) {
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

/* The pool's addresses by number, and its shards. */
static int pool_init(struct napt_table *t, const struct napt_config *c)
{
	uint32_t ports = c->port_max - c->port_min + 1, base = 0;

	t->port_min = c->port_min;
	t->port_max = c->port_max;
	t->mapping = c->mapping;
	t->filtering = c->filtering;
	t->rest_ns = c->rest_ms * NS_PER_MS;
	t->paired = c->paired;
	t->n_pool = c->n_pool;
	t->pool = c->pool;
	t->pool_base = calloc(c->n_pool, sizeof(*t->pool_base));
	if (!t->pool_base)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_pool; i++) {
		uint64_t next = (uint64_t)base + c->pool[i].last - c->pool[i].first + 1;

		t->pool_base[i] = base;
		base = next < UINT32_MAX ? next : UINT32_MAX; /* far beyond SLOTS_MAX: never used */
	}
	t->n_addresses = c->n_addresses < SLOTS_MAX ? c->n_addresses : SLOTS_MAX;
	while ((2u << t->shift) <= SN_SHARDS && ports >> (t->shift + 1) >= PORTS_PER_SHARD)
		t->shift++;
	t->table.mask = (1u << t->shift) - 1;
	return 0;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static size_t queues_size(const struct napt_table *t)
{
	uint32_t cosets = t->cosets ? t->table.mask + 1 : 1;

	return has_lists(t) ? round_up((size_t)SN_PORTED * cosets * t->n_addresses * sizeof(struct queue), 64)
			    : 0;
}

static uint32_t slot_log(const struct napt_table *t)
{
	return t->mapping == SN_ENDPOINT_INDEPENDENT ? SLOT_LOG_ENDPOINT
	       : t->mapping == SN_ADDRESS_DEPENDENT  ? SLOT_LOG_ADDRESS
						     : 0;
}

/* Heads of chains, and the times until when ports rest. */
static size_t words_size(const struct napt_table *t)
{
	return (BACK_HEADS + t->n_heads + (t->rest_ns ? SN_PORTED * (size_t)t->n_slots : 0)) *
	       sizeof(uint32_t);
}

/* The slots of a protocol, in rows of the shard's. */
static size_t slots_size(const struct napt_table *t)
{
	return round_up((t->n_slots * sizeof(uint32_t)) << slot_log(t), ROW_BYTES);
}

/*
 * Where sessions share ports, all there may be can be of one inside address and port, and so of one shard.
 * Memory costs only what is used of it.
 */
static void size_shared(struct napt_table *t, struct sn_shard_size *size, uint64_t slots)
{
	uint32_t max = t->table.config.max_entries;

	size->entries = max && max < SHARED_MAX ? max : SHARED_MAX;
	t->n_heads = HEADS_MIN;
	while (t->n_heads < HEADS_MAX && t->n_heads < slots)
		t->n_heads *= 2;
}

int sn_napt_table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		       struct sn_shard_size *size)
{
	struct napt_table *t = (struct napt_table *)table;
	uint64_t slots;

	if (pool_init(t, table->config.own))
		return -ENOMEM;
	if (partitioning->by == SN_PARTITION_BY_RSS) {
		t->by_end = ((const struct napt_config *)table->config.own)->shared;
		t->n_addresses = RTE_MIN(t->n_addresses, RSS_SLOTS_MAX / (t->port_max - t->port_min + 1));
		t->cosets = cosets_create(t);
		if (!t->cosets)
			return -ENOMEM;
	}
	slots = ((uint64_t)t->port_max - t->port_min) / (table->mask + 1) + 1;
	if (t->paired) /* all addresses have the same number of slots */
		t->n_addresses = RTE_MIN(t->n_addresses, RTE_MAX(SLOTS_MAX / (uint32_t)slots, 1u));
	/* The need of a shard's sessions is the same, whichever of the ports they may have. */
	slots *= t->n_addresses;
	t->n_slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
	size->shards = table->mask + 1;
	size->entries = t->n_slots * SN_PORTED;
	if (is_shared(t))
		size_shared(t, size, slots);
	if (t->cosets)
		t->n_slots = (t->port_max - t->port_min + 1) * t->n_addresses;
	if (table->config.max_entries && table->config.max_entries < size->entries)
		size->entries = table->config.max_entries;
	size->buckets = size->entries;
	size->entries += size->entries / (8 * SN_PORTED) + 1; /* those without ports */
	size->memory = words_size(t) + queues_size(t);
	size->rows = SN_PORTED * slots_size(t);
	size->parts = has_lists(t) ? 0 : SN_PORTED; /* where lists are many they are used here and there */
	return 0;
}

/* Slots of ports that others have are never free. With cosets a shard has slots for all ports, else for every
 * (mask + 1)th: a program may reserve millions, and there are as many shards to make. */
static void reserve(const struct napt_table *t, struct napt_shard *sh, uint32_t number)
{
	uint32_t mask = t->cosets ? 0 : t->table.mask;
	struct napt_config *c = t->table.config.own;

	for (uint32_t i = 0; i < c->n_reserved; i++) {
		const struct napt_reserved *r = &reserved_of(c)[i];

		for (uint32_t port = r->first + ((number - r->first) & mask); port <= r->last;
		     port += mask + 1) {
			uint32_t slot = slot_of(t, sh, r->address, port);

			if (slot != SN_NO_INDEX)
				*slot_at(sh, r->class, slot) = SLOT_FREE;
		}
	}
}

void sn_napt_shard_init(const struct sn_state_table *table, struct sn_state_shard *shard, uint32_t number,
			void *memory, void *rows)
{
	const struct napt_table *t = (const struct napt_table *)table;
	struct napt_shard *sh = (struct napt_shard *)shard;
	uint8_t *base = memory;
	uint64_t ports;

	sh->port_base = t->port_min + ((number - t->port_min) & table->mask);
	ports = sh->port_base > t->port_max ? 0 : ((t->port_max - sh->port_base) >> t->shift) + 1;
	ports *= t->n_addresses;
	sh->n_slots = ports < t->n_slots ? ports : t->n_slots;
	if (t->cosets) {
		sh->port_base = t->port_min;
		sh->n_slots = t->n_slots;
	}
	sh->back = (uint32_t *)base;
	base += words_size(t);
	sh->queues = (struct queue *)base;
	sh->slots = rows;
	sh->slot_log = slot_log(t);
	sh->apart = (slots_size(t) / sizeof(*sh->slots) >> sh->slot_log) & 0x0fffffff;
	reserve(t, sh, number);
}
