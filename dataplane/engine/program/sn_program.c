/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_parse.h"
#include "sn_program_build.h"
#include "sn_program_cycles.h"
#include "sn_reason.h"
#include "sn_state_kind.h"
#include "sn_utf8.h"
#include "sn_ways.h"

typedef Sinter__Program__V1__Program program_msg;
typedef Sinter__Program__V1__StateTable table_msg;
typedef Sinter__Program__V1__Run run_msg;
typedef Sinter__Program__V1__Generator generator_msg;
typedef Sinter__Program__V1__Segment segment_msg;

#define NS_PER_MS 1000000ull

static int copy_names(struct sn_builder *b, char ***to, uint32_t *count, char **from, size_t n)
{
	*to = sn_build_array(n, sizeof(**to));
	if (!*to)
		return sn_build_no_memory(b);
	for (*count = 0; *count < n; ++*count) {
		int rc = sn_build_name(b, &(*to)[*count], from[*count]);

		if (rc)
			return rc;
	}
	return 0;
}

static int build_table(struct sn_builder *b, struct sn_table_config *to, const table_msg *from)
{
	int rc;

	to->kind = sn_state_kind_of(from);
	if (!to->kind)
		return sn_build_fail(b, "it is of several kinds, want one");
	to->max_entries = from->max_sessions;
	to->subscribers = SN_NO_INDEX;
	rc = to->kind->decode(b, to, from);
	return rc ? rc : sn_build_name(b, &to->name, from->name);
}

static int build_tables(struct sn_builder *b)
{
	size_t n = b->msg->n_tables;

	sn_build_at(b, "tables");
	if (n > SN_TABLES_MAX)
		return sn_build_fail(b, "there are %zu, want at most %d", n, SN_TABLES_MAX);
	b->p->tables = sn_build_array(n, sizeof(*b->p->tables));
	if (!b->p->tables)
		return sn_build_no_memory(b);
	b->p->n_tables = n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		sn_build_at(b, "tables[%zu] (%.64s)", i, b->msg->tables[i]->name);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(b->msg->tables[i]->name, b->msg->tables[j]->name))
				return sn_build_fail(b, "name is that of tables[%zu], want names that differ",
						     j);
		rc = build_table(b, &b->p->tables[i], b->msg->tables[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int build_single(struct sn_builder *b, struct sn_run *to, const run_msg *from)
{
	if (from->n_single > SN_RUNS_MAX)
		return sn_build_fail(b, "single: there are %zu, want at most %d", from->n_single,
				     SN_RUNS_MAX);
	to->single = sn_build_array(from->n_single, sizeof(*to->single));
	if (!to->single)
		return sn_build_no_memory(b);
	to->n_single = (uint32_t)from->n_single;
	for (uint32_t i = 0; i < to->n_single; i++) {
		if (from->single[i] >= b->msg->n_runs)
			return sn_build_fail(b, "single[%u] is %u, but there are only %zu", i,
					     from->single[i], b->msg->n_runs);
		to->single[i] = from->single[i];
	}
	return 0;
}

static int build_run(struct sn_builder *b, struct sn_run *to, const run_msg *from)
{
	int rc;

	if (sn_build_run_table(b, "table", from->table) ||
	    sn_build_index(b, "segment", from->segment, b->msg->n_segments))
		return -EINVAL;
	to->table = from->table;
	to->segment = from->segment;
	to->max_sessions = from->max_sessions;
	to->tcp_ns = from->tcp_ms * NS_PER_MS;
	to->tcp_transitory_ns = from->tcp_transitory_ms * NS_PER_MS;
	to->udp_ns = from->udp_ms * NS_PER_MS;
	to->icmp_ns = from->icmp_ms * NS_PER_MS;
	rc = build_single(b, to, from);
	if (!rc)
		rc = sn_build_run_subscribers(b, to, from->subscribers);
	return rc ? rc : sn_build_name(b, &to->name, from->name);
}

static int build_runs(struct sn_builder *b)
{
	size_t n = b->msg->n_runs;

	sn_build_at(b, "runs");
	if (n > SN_RUNS_MAX)
		return sn_build_fail(b, "there are %zu, want at most %d", n, SN_RUNS_MAX);
	b->p->runs = sn_build_array(n, sizeof(*b->p->runs));
	if (!b->p->runs)
		return sn_build_no_memory(b);
	b->p->n_runs = n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		sn_build_at(b, "runs[%zu] (%.64s)", i, b->msg->runs[i]->name);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(b->msg->runs[i]->name, b->msg->runs[j]->name))
				return sn_build_fail(b, "name is that of runs[%zu], want names that differ",
						     j);
		rc = build_run(b, &b->p->runs[i], b->msg->runs[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int build_generators(struct sn_builder *b)
{
	size_t n = b->msg->n_generators;

	sn_build_at(b, "generators");
	b->p->generators = sn_build_array(n, sizeof(*b->p->generators));
	if (!b->p->generators)
		return sn_build_no_memory(b);
	b->p->n_generators = n;
	for (size_t i = 0; i < n; i++) {
		const generator_msg *from = b->msg->generators[i];

		sn_build_at(b, "generators[%zu] (%.64s)", i, from->name);
		if (from->kind < SINTER__PROGRAM__V1__GENERATOR__KIND__ICMP_ERROR ||
		    from->kind > SINTER__PROGRAM__V1__GENERATOR__KIND__REJECT)
			return sn_build_fail(b,
					     "kind is %d, want ICMP_ERROR, ECHO_REPLY, LOCAL_HOST or REJECT",
					     (int)from->kind);
		if (from->type > 255)
			return sn_build_fail(b, "type is %u, want at most 255", from->type);
		if (from->code > 255)
			return sn_build_fail(b, "code is %u, want at most 255", from->code);
		if (!sn_utf8_valid(from->name))
			return sn_build_fail(b, "a name is not UTF-8");
		if (sn_build_index(b, "segment", from->segment, b->msg->n_segments))
			return -EINVAL;
		b->p->generators[i] = (struct sn_generator){
			.kind = from->kind,
			.type = from->type,
			.code = from->code,
			.source = from->source,
			.segment = from->segment,
		};
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct sn_segment *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Sort the segments of the program before by name. */
static int learn_before(struct sn_builder *b, const struct sn_program *like)
{
	if (!like)
		return 0;
	b->before = sn_build_array(like->n_segments, sizeof(*b->before));
	if (!b->before)
		return sn_build_no_memory(b);
	b->n_before = like->n_segments;
	for (uint32_t s = 0; s < b->n_before; s++)
		b->before[s] = &like->segments[s];
	qsort(b->before, b->n_before, sizeof(*b->before), compare_names);
	return 0;
}

/* The segment of the same name in the program before. */
static const struct sn_segment *segment_before(const struct sn_builder *b, const char *name)
{
	const struct sn_segment wanted = {.name = (char *)name}, *key = &wanted;
	const struct sn_segment **found = NULL;

	if (b->n_before)
		found = bsearch(&key, b->before, b->n_before, sizeof(*b->before), compare_names);
	return found ? *found : NULL;
}

static int build_segment(struct sn_builder *b, uint32_t s)
{
	const segment_msg *from = b->msg->segments[s];
	const struct sn_segment *like = segment_before(b, from->name);
	struct sn_segment *to = &b->p->segments[s];
	const struct sn_fib *fib;
	int rc;

	sn_build_at(b, "segments[%u] (%.64s)", s, from->name);
	if (from->ttl_floor > 256)
		return sn_build_fail(b, "ttl_floor is %u, want at most 256", from->ttl_floor);
	rc = sn_build_name(b, &to->name, from->name);
	if (rc)
		return rc;
	to->ttl_floor = from->ttl_floor;
	to->frag_max = from->whole_only ? SN_FRAG_WHOLE : SN_FRAG_LATER;
	to->first_class = b->p->n_classes;
	to->n_classes = from->n_classes;
	rc = sn_build_segment_fib(b, s, &fib);
	if (!rc)
		rc = sn_build_classes(b, s);
	if (rc)
		return rc;
	sn_build_at(b, "segments[%u] (%.64s): table", s, from->name);
	rc = sn_classifier_init(&to->table, from->table, to->n_classes, fib, false,
				like ? &like->table : NULL, b->at, b->err);
	if (rc || (!to->ttl_floor && !from->whole_only && !from->low))
		return rc;
	b->p->cacheable &= !(to->table.reads >> SN_TTL & 1);
	sn_build_at(b, "segments[%u] (%.64s): low", s, from->name);
	return sn_classifier_init(&to->low, from->low, to->n_classes, fib, true, like ? &like->low : NULL,
				  b->at, b->err);
}

/* The arrays' sizes are known from the message: none is moved later. */
static int allocate(struct sn_builder *b)
{
	struct sn_program *p = b->p;
	size_t classes = 0, legs = 0, ops = 0, counters = 0;

	sn_build_at(b, "segments");
	for (size_t s = 0; s < b->msg->n_segments; s++) {
		const segment_msg *sm = b->msg->segments[s];

		classes += sm->n_classes;
		for (size_t c = 0; c < sm->n_classes; c++) {
			legs += sm->classes[c]->n_legs;
			ops += sm->classes[c]->n_legs; /* the outcomes */
			for (size_t l = 0; l < sm->classes[c]->n_legs; l++) {
				ops += sm->classes[c]->legs[l]->n_ops;
				counters += sm->classes[c]->legs[l]->n_counters;
			}
		}
	}
	if (classes >= SN_INDEX_END || legs >= SN_INDEX_END || ops >= SN_INDEX_END ||
	    counters >= SN_INDEX_END || b->msg->n_counters >= SN_INDEX_END)
		return sn_build_fail(
			b, "%zu classes, %zu legs, %zu operations, %zu counters: want less than 2^29 of each",
			classes, legs, ops, counters);
	p->segments = sn_build_array(b->msg->n_segments, sizeof(*p->segments));
	p->classes = sn_build_array(classes, sizeof(*p->classes));
	p->legs = sn_build_array(legs, sizeof(*p->legs));
	p->ops = sn_build_array(ops, sizeof(*p->ops));
	p->leg_counters = sn_build_array(counters, sizeof(*p->leg_counters));
	p->atoms = sn_build_array(1, sizeof(*p->atoms));
	if (!p->segments || !p->classes || !p->legs || !p->ops || !p->leg_counters || !p->atoms)
		return sn_build_no_memory(b);
	return 0;
}

static int build_segments(struct sn_builder *b)
{
	b->p->n_segments = b->msg->n_segments;
	for (uint32_t s = 0; s < b->msg->n_segments; s++) {
		int rc = build_segment(b, s);

		if (rc)
			return rc;
	}
	return sn_program_check_cycles(b->p, b->err);
}

static bool sets_field(const struct sn_program *p, enum sn_field field)
{
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->ops[i].writes >> field & 1)
			return true;
	return false;
}

/* The atoms of one field, refined by every table. A field that is written keeps its values apart: the rewrite
 * depends on them. */
static int refine(struct sn_builder *b, uint16_t *atoms, uint32_t n, enum sn_field field)
{
	uint32_t count = 1;
	int rc = 0;

	memset(atoms, 0, n * sizeof(*atoms));
	if (sets_field(b->p, field)) {
		for (uint32_t v = 0; v < n; v++)
			atoms[v] = v;
		return 0;
	}
	for (size_t s = 0; !rc && s < b->msg->n_segments; s++)
		rc = sn_atoms_refine(atoms, n, &count, b->msg->segments[s]->table, field);
	return rc;
}

static int build_atoms(struct sn_builder *b)
{
	static const enum sn_field small_fields[] = {SN_DSCP, SN_TCP_FLAGS, SN_ICMP_CODE};
	struct sn_atoms *a = b->p->atoms;
	uint8_t *const small[] = {a->dscp, a->tcp_flags, a->icmp_code};
	uint8_t *const typical[] = {a->typical.dscp, a->typical.tcp_flags, a->typical.icmp_code};
	const uint32_t sizes[] = {64, 256, 256};
	uint16_t atoms[256];

	sn_build_at(b, "segments");
	/* Acknowledgements, otherwise the least value. */
	for (int i = 0; i < 3; i++) {
		if (refine(b, atoms, sizes[i], small_fields[i]))
			return sn_build_no_memory(b);
		for (uint32_t v = sizes[i]; v-- > 0;) {
			small[i][v] = atoms[v];
			typical[i][atoms[v]] = v;
		}
	}
	for (uint32_t v = 0; v < 256; v++)
		a->opening[a->tcp_flags[v]] |= sn_tcp_opens(v);
	a->typical.tcp_flags[a->tcp_flags[SN_TCP_ACK]] = SN_TCP_ACK;
	return 0;
}

static int build(struct sn_builder *b)
{
	int rc;

	sn_build_at(b, "program");
	if (b->msg->schema != SN_SCHEMA)
		return sn_build_fail(
			b,
			"schema is %u, this engine reads %d: synthesize the chain again with the "
			"engine's release",
			b->msg->schema, SN_SCHEMA);
	rc = sn_build_name(b, &b->p->chain, b->msg->chain);
	if (rc)
		return rc;
	sn_build_at(b, "segments");
	if (!b->msg->n_segments)
		return sn_build_fail(b, "there are none, want at least one");
	b->p->icmp_rate = b->msg->icmp_rate;
	if (b->msg->longest_way < 1 || b->msg->longest_way > SN_WAY_MAX)
		return sn_build_fail(b, "longest_way is %u, want 1..%d", b->msg->longest_way, SN_WAY_MAX);
	b->p->longest_way = b->msg->longest_way;
	b->p->cacheable = true;
	rc = copy_names(b, &b->p->counters, &b->p->n_counters, b->msg->counters, b->msg->n_counters);
	if (!rc)
		rc = copy_names(b, &b->p->reasons, &b->p->n_reasons, b->msg->reasons, b->msg->n_reasons);
	if (!rc)
		rc = sn_build_interfaces(b);
	if (!rc)
		rc = sn_build_subscribers(b);
	if (!rc)
		rc = build_tables(b);
	if (!rc)
		rc = build_runs(b);
	if (!rc)
		rc = build_generators(b);
	if (!rc)
		rc = sn_build_observation(b);
	if (!rc)
		rc = sn_build_fibs(b);
	if (!rc)
		rc = allocate(b);
	if (!rc)
		rc = build_segments(b);
	if (!rc)
		rc = sn_build_continuations(b);
	if (!rc)
		rc = build_atoms(b);
	if (!rc)
		sn_build_follows(b->p);
	if (!rc && sn_ways_note(b->p))
		rc = sn_build_no_memory(b);
	return rc;
}

struct sn_program *sn_program_create(const program_msg *msg, const struct sn_program *like,
				     struct sn_error *err)
{
	return sn_program_create_with(msg, like, NULL, err);
}

struct sn_program *sn_program_create_with(const program_msg *msg, const struct sn_program *like,
					  const struct sn_fibs *fibs, struct sn_error *err)
{
	struct sn_builder b = {
		.p = calloc(1, sizeof(*b.p)), .msg = msg, .err = err, .like = like, .fibs = fibs};

	sn_build_at(&b, "program");
	if (!b.p) {
		sn_build_no_memory(&b);
		return NULL;
	}
	if (learn_before(&b, like) || build(&b)) {
		sn_program_free(b.p);
		b.p = NULL;
	}
	free(b.before);
	return b.p;
}

static void free_names(char **names, uint32_t n)
{
	for (uint32_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}

void sn_program_free(struct sn_program *p)
{
	if (!p)
		return;
	sn_program_free_interfaces(p);
	for (uint32_t i = 0; i < p->n_tables; i++) {
		free(p->tables[i].name);
		free(p->tables[i].own);
		free(p->tables[i].rules);
	}
	for (uint32_t i = 0; i < p->n_runs; i++) {
		free(p->runs[i].name);
		free(p->runs[i].single);
	}
	for (uint32_t i = 0; i < p->n_segments; i++) {
		free(p->segments[i].name);
		sn_classifier_free(&p->segments[i].table);
		sn_classifier_free(&p->segments[i].low);
	}
	sn_program_free_fibs(p);
	sn_program_free_subscribers(p);
	free_names(p->counters, p->n_counters);
	free_names(p->reasons, p->n_reasons);
	free(p->tables);
	free(p->runs);
	free(p->segments);
	free(p->generators);
	free(p->classes);
	free(p->legs);
	for (uint32_t i = 0; i < p->n_operands; i++)
		free(p->operands[i]);
	free(p->operands);
	free(p->ops);
	free(p->leg_counters);
	free(p->atoms);
	free(p->stops);
	free(p->replicas);
	free(p->hops);
	for (uint32_t i = 0; i < p->n_before; i++)
		free(p->before[i].stops);
	free(p->observation.name);
	free(p->chain);
	free(p);
}

static bool same_cut(struct sn_table_cut a, struct sn_table_cut b)
{
	return a.by == b.by && a.outside == b.outside;
}

bool sn_table_config_same(const struct sn_table_config *a, const struct sn_table_config *b)
{
	return !strcmp(a->name, b->name) && a->kind == b->kind && a->max_entries == b->max_entries &&
	       same_cut(a->cut, b->cut) && same_cut(a->cut_by_ends, b->cut_by_ends) &&
	       a->own_size == b->own_size && (!a->own_size || !memcmp(a->own, b->own, a->own_size));
}

const char *sn_program_reason(const struct sn_program *p, uint32_t reason)
{
	if (reason >= SN_REASON_CHAIN)
		return reason - SN_REASON_CHAIN < p->n_reasons ? p->reasons[reason - SN_REASON_CHAIN] : NULL;
	return sn_reason_name(reason);
}

uint32_t sn_program_reason_kind(const struct sn_program *p, uint32_t reason)
{
	if (reason < SN_REASON_CHAIN)
		return sn_reason_kind(reason);
	for (uint32_t i = 0; i < p->n_interfaces; i++)
		if (p->interfaces[i].full == reason)
			return SN_REASON_LOSS;
	return reason - SN_REASON_CHAIN < p->n_reasons ? SN_REASON_DECISION : 0;
}
