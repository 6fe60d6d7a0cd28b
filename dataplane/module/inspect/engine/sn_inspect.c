/* SPDX-License-Identifier: Apache-2.0 */
/* Inspectors as a kind of state. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_arena.h"
#include "sn_inspect_impl.h"
#include "sn_lines.h"
#include "sn_messages.h"
#include "sn_parse.h"

/* ---- a program's table ---- */

static bool claims(const Sinter__Program__V1__StateTable *msg)
{
	return msg->inspector != NULL;
}

static struct inspect_config *config_of(const Sinter__Program__V1__Inspector *from, size_t *size)
{
	struct inspect_config *c;
	char *to;

	*size = sizeof(*c);
	for (size_t i = 0; i < from->n_rules; i++)
		*size += strlen(from->rules[i]->name) + 1;
	c = calloc(1, *size);
	if (!c)
		return NULL;
	c->n_rules = (uint32_t)from->n_rules;
	c->depth = from->streams ? from->streams->depth : 0;
	c->max = from->streams ? from->streams->max : 0;
	to = c->names;
	for (size_t i = 0; i < from->n_rules; i++)
		to = stpcpy(to, from->rules[i]->name) + 1;
	return c;
}

static int decode(struct sn_builder *b, struct sn_table_config *to,
		  const Sinter__Program__V1__StateTable *from)
{
	int rc;

	to->rules = sn_inspect_build(b, from, &rc);
	if (rc)
		return rc;
	to->own = config_of(from->inspector, &to->own_size);
	return to->own ? 0 : sn_build_no_memory(b);
}

/* Streams have a timeout; their table's entries are found by it. */
static void table_owner(struct sn_state_owner *to, const struct sn_table_config *from)
{
	const struct sn_inspect_rules *r = from->rules;

	to->timeout_ms[0] = r->timeout_ms;
}

bool sn_inspect_marks(const struct sn_inspect_rules *rules)
{
	return rules->marks;
}

bool sn_inspect_has_streams(const struct sn_inspect_rules *rules)
{
	return rules->depth > 0;
}

uint32_t sn_inspect_full(const struct sn_inspect_rules *rules)
{
	return rules->full;
}

/* ---- in memory ---- */

static void memory_drop(struct inspect_memory *m)
{
	if (!m || --m->tables)
		return;
	free(m->slots);
	free(m->counts);
	free(m);
}

static int memory_init(struct inspect_table *t)
{
	struct inspect_memory *m = sn_lines(1, sizeof(*m));

	t->memory = m;
	if (!m)
		return -ENOMEM;
	m->tables = 1;
	rte_spinlock_init(&m->lock);
	m->counts = calloc(INSPECT_WORKERS_MAX * t->row, sizeof(*m->counts));
	if (t->n_slots)
		m->slots = aligned_alloc(SN_LINE, (size_t)t->n_slots * t->slot_size);
	t->counts = m->counts;
	t->slots = m->slots;
	return m->counts && (m->slots || !t->n_slots) ? 0 : -ENOMEM;
}

/* Behind a NAPT all streams of a host are of one shard, and there may be one host. Memory costs only what is
 * used of it. */
static int table_init(struct sn_state_table *table, const struct sn_partitioning *partitioning,
		      struct sn_shard_size *size)
{
	struct inspect_table *t = (struct inspect_table *)table;
	const struct inspect_config *c = table->config.own;

	(void)partitioning;
	*size = (struct sn_shard_size){SN_SHARDS, 1, 1, 0, 0, 0};
	if (c->depth) {
		size->entries = table->config.max_entries;
		size->buckets = size->entries / 8 + 1;
		sn_stream_lay_out(t, c);
	}
	/* Workers share no line: a row has one more than it needs. */
	t->row = (INSPECT_COUNTS_OF_ALL + c->n_rules + 15) & ~(size_t)7;
	table->elsewhere =
		(size_t)t->n_slots * t->slot_size + INSPECT_WORKERS_MAX * t->row * sizeof(uint64_t);
	return memory_init(t);
}

static void table_free(struct sn_state_table *table)
{
	memory_drop(inspector_of(table)->memory);
}

/* Counts go on, and so do streams, if rules, depth and slots are as many as they were: by the cut or the
 * number of streams that are known it is another table. */
static void inherit(struct sn_state_table *table, struct sn_state_table *was)
{
	struct inspect_table *t = inspector_of(table), *from = inspector_of(was);

	if (table->config.own_size != was->config.own_size ||
	    memcmp(table->config.own, was->config.own, was->config.own_size))
		return;
	memory_drop(t->memory);
	t->memory = from->memory;
	t->memory->tables++;
	t->counts = from->counts;
	t->slots = from->slots;
	t->inherited = true;
}

static uint32_t timeout(const struct sn_state *state, const struct sn_entry *e)
{
	return state->owners[e->owner].timeout_ms[0];
}

static int report(const struct sn_entry_info *info, struct sn_arena *arena,
		  Sinter__Program__V1__Session *session)
{
	static char looks[] = "looks", drops[] = "drops", passes[] = "passes", over[] = "over";
	const struct inspect_stream *s = stream_of(&info->line.entry);

	(void)arena;
	session->proto = SN_TCP;
	session->inside_address = s->src;
	session->remote_address = s->dst;
	session->inside_port = s->sport;
	session->remote_port = s->dport;
	session->state = s->drops			   ? drops
			 : s->entry.own == INSPECT_DECIDED ? passes
			 : s->entry.own == INSPECT_OVER	   ? over
							   : looks;
	return 0;
}

static uint64_t sum(const struct sn_state *state, const struct inspect_table *t, uint32_t count)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < state->n_partitions; i++)
		n += t->counts[i * t->row + count];
	return n;
}

static int report_table(const struct sn_state *state, const struct sn_state_table *table,
			struct sn_arena *arena, Sinter__Program__V1__TableStats *stats)
{
	const struct inspect_table *t = inspector_of(table);
	const struct inspect_config *c = table->config.own;
	Sinter__Program__V1__InspectStats *to =
		SN_NEW(arena, Sinter__Program__V1__InspectStats, sinter__program__v1__inspect_stats__init);
	const char *name = c->names;

	if (!to)
		return -1;
	to->packets = sum(state, t, 0);
	to->bytes = sum(state, t, 1);
	to->rules = sn_arena_alloc(arena, c->n_rules * sizeof(*to->rules));
	if (!to->rules)
		return -1;
	for (uint32_t i = 0; i < c->n_rules; i++) {
		Sinter__Program__V1__InspectCount *rule = SN_NEW(arena, Sinter__Program__V1__InspectCount,
								 sinter__program__v1__inspect_count__init);

		if (!rule)
			return -1;
		rule->name = (char *)name;
		rule->packets = sum(state, t, INSPECT_COUNTS_OF_ALL + i);
		to->rules[to->n_rules++] = rule;
		name += strlen(name) + 1;
	}
	stats->inspector = to;
	return 0;
}

const struct sn_state_kind sn_inspect = {
	.name = "inspector",
	.claims = claims,
	.decode = decode,
	.table_owner = table_owner,
	.table_size = sizeof(struct inspect_table),
	.shard_size = 128,
	.table_init = table_init,
	.table_free = table_free,
	.inherit = inherit,
	.hash = sn_stream_hash,
	.timeout = timeout,
	.place = sn_stream_place,
	.gives_way = true,
	.misfit = sn_stream_misfit,
	.is_taken = sn_stream_is_taken,
	.hold = sn_stream_hold,
	.release = sn_stream_release,
	.victim = sn_stream_victim,
	.pack = sn_stream_pack,
	.unpack = sn_stream_unpack,
	.report = report,
	.report_table = report_table,
};
SN_STATE_KIND(sn_inspect)
