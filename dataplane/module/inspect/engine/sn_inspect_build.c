/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of an inspector as one block: Hyperscan's databases, which are written where they stay, and
 * memory for each worker's scratch. So it goes with the program as other operands do, and workers allocate
 * nothing.
 */

#include <stdlib.h>
#include <string.h>

#include <hs.h>

#include "sn_inspect_impl.h"

typedef Sinter__Program__V1__Inspector inspector_msg;
typedef Sinter__Program__V1__InspectRule rule_msg;
typedef Sinter__Program__V1__InspectPart part_msg;

/* ---- scratches in memory that is there ---- */

static _Thread_local void *place;
static _Thread_local size_t place_size;

static void *take_place(size_t size)
{
	void *taken = place;

	if (!taken)
		return malloc(size);
	place = NULL;
	return size <= place_size ? taken : NULL;
}

static __attribute__((constructor)) void set_allocator(void)
{
	hs_set_scratch_allocator(take_place, free);
}

hs_scratch_t *sn_inspect_copy_scratch(const hs_scratch_t *from, void *memory, size_t size)
{
	hs_scratch_t *to = NULL;

	place = memory;
	place_size = size;
	if (hs_clone_scratch(from, &to) != HS_SUCCESS)
		to = NULL;
	place = NULL;
	return to;
}

/* ---- what is compiled ---- */

/* The parts of one buffer, as Hyperscan takes them. */
struct parts {
	const char **expressions;
	unsigned int *flags, *ids;
	hs_expr_ext_t *ends;
	const hs_expr_ext_t **to_ends;
	uint32_t n;
};

static int parts_create(struct parts *p, size_t n)
{
	*p = (struct parts){
		.expressions = sn_build_array(n, sizeof(*p->expressions)),
		.flags = sn_build_array(n, sizeof(*p->flags)),
		.ids = sn_build_array(n, sizeof(*p->ids)),
		.ends = sn_build_array(n, sizeof(*p->ends)),
		.to_ends = sn_build_array(n, sizeof(*p->to_ends)),
	};
	return p->expressions && p->flags && p->ids && p->ends && p->to_ends ? 0 : -1;
}

static void parts_free(struct parts *p)
{
	free(p->expressions);
	free(p->flags);
	free(p->ids);
	free(p->ends);
	free(p->to_ends);
}

/* The parts that are made before it is known how large the block is. */
struct making {
	struct parts parts[INSPECT_BUFFERS];
	hs_database_t *databases[INSPECT_BUFFERS];
	char *bytes[INSPECT_BUFFERS]; /* of the databases */
	size_t n_bytes[INSPECT_BUFFERS];
	size_t sizes[INSPECT_BUFFERS]; /* where they stay */
	hs_scratch_t *scratch;
	size_t scratch_size;
	uint32_t n_parts;
};

static void making_free(struct making *m)
{
	for (uint32_t i = 0; i < INSPECT_BUFFERS; i++) {
		parts_free(&m->parts[i]);
		hs_free_database(m->databases[i]);
		free(m->bytes[i]);
	}
	hs_free_scratch(m->scratch);
}

/* ---- checks ---- */

static int check_part(struct sn_builder *b, uint32_t rule, uint32_t part, const part_msg *p)
{
	size_t len = strlen(p->expression);

	if ((uint32_t)p->buffer >= INSPECT_BUFFERS)
		return sn_build_fail(
			b, "rules[%u].parts[%u]: buffer is %d, want PAYLOAD, DNS_QUERY, TLS_SNI or HTTP_HOST",
			rule, part, (int)p->buffer);
	if (len < 1 || len > INSPECT_EXPRESSION_MAX)
		return sn_build_fail(b, "rules[%u].parts[%u]: expression has %zu bytes, want 1..%u", rule,
				     part, len, INSPECT_EXPRESSION_MAX);
	for (size_t i = 0; i < len; i++)
		if (p->expression[i] <= ' ' || p->expression[i] > '~')
			return sn_build_fail(
				b, "rules[%u].parts[%u]: expression has byte 0x%02x, want printable ASCII",
				rule, part, (unsigned int)(uint8_t)p->expression[i]);
	if (p->min_end > INSPECT_END_MAX || p->max_end > INSPECT_END_MAX ||
	    (p->max_end && p->max_end < p->min_end))
		return sn_build_fail(
			b, "rules[%u].parts[%u]: ends are from %u to %u, want them in order, and at most %u",
			rule, part, p->min_end, p->max_end, INSPECT_END_MAX);
	return 0;
}

static int check_rule(struct sn_builder *b, uint32_t i, const rule_msg *r)
{
	int rc = 0;

	if (r->n_parts < 1 || r->n_parts > INSPECT_PARTS_MAX)
		return sn_build_fail(b, "rules[%u]: has %zu parts, want 1..%u", i, r->n_parts,
				     INSPECT_PARTS_MAX);
	for (uint32_t k = 0; k < r->n_parts && !rc; k++)
		rc = check_part(b, i, k, r->parts[k]);
	if (rc)
		return rc;
	switch (r->action_case) {
	case SINTER__PROGRAM__V1__INSPECT_RULE__ACTION_DROP:
		return sn_build_index(b, "drop", r->drop, b->msg->n_reasons);
	case SINTER__PROGRAM__V1__INSPECT_RULE__ACTION_DSCP:
		return r->dscp > 63 ? sn_build_fail(b, "dscp is %u, want at most 63", r->dscp) : 0;
	default:
		return 0;
	}
}

static int check_streams(struct sn_builder *b, const Sinter__Program__V1__StateTable *t)
{
	const Sinter__Program__V1__InspectStreams *s = t->inspector->streams;

	if (!s)
		return 0;
	if (s->depth < 1 || s->depth > INSPECT_DEPTH_MAX)
		return sn_build_fail(b, "streams.depth is %u, want 1..%u", s->depth, INSPECT_DEPTH_MAX);
	if (s->max < 1 || s->max > INSPECT_KEPT_MAX)
		return sn_build_fail(b, "streams.max is %u, want 1..%u", s->max, INSPECT_KEPT_MAX);
	if (s->timeout_ms < 1)
		return sn_build_fail(b, "streams.timeout_ms is 0, want at least 1");
	if (t->max_sessions < 1 || t->max_sessions > INSPECT_KNOWN_MAX)
		return sn_build_fail(b, "max_sessions is %u, want 1..%u streams", t->max_sessions,
				     INSPECT_KNOWN_MAX);
	return sn_build_index(b, "streams.full", s->full, b->msg->n_reasons);
}

/* ---- what is made ---- */

static void add_part(struct making *m, const part_msg *from)
{
	struct parts *to = &m->parts[from->buffer];
	uint32_t i = to->n++;

	to->expressions[i] = from->expression;
	to->flags[i] = HS_FLAG_SINGLEMATCH;
	to->ids[i] = m->n_parts++;
	to->ends[i].flags =
		(from->min_end ? HS_EXT_FLAG_MIN_OFFSET : 0) | (from->max_end ? HS_EXT_FLAG_MAX_OFFSET : 0);
	to->ends[i].min_offset = from->min_end;
	to->ends[i].max_offset = from->max_end;
	to->to_ends[i] = &to->ends[i];
}

static int collect(struct sn_builder *b, struct making *m, const inspector_msg *from)
{
	size_t n = 0;
	int rc;

	if (from->n_rules < 1 || from->n_rules > INSPECT_RULES_MAX)
		return sn_build_fail(b, "has %zu rules, want 1..%u", from->n_rules, INSPECT_RULES_MAX);
	for (uint32_t i = 0; i < from->n_rules; i++) {
		rc = check_rule(b, i, from->rules[i]);
		if (rc)
			return rc;
		n += from->rules[i]->n_parts;
	}
	for (uint32_t i = 0; i < INSPECT_BUFFERS; i++)
		if (parts_create(&m->parts[i], n) != 0)
			return sn_build_no_memory(b);
	for (uint32_t i = 0; i < from->n_rules; i++)
		for (uint32_t k = 0; k < from->rules[i]->n_parts; k++)
			add_part(m, from->rules[i]->parts[k]);
	return 0;
}

static int compile(struct sn_builder *b, struct making *m, uint32_t buffer)
{
	const struct parts *p = &m->parts[buffer];
	hs_compile_error_t *error = NULL;
	int rc = 0;

	if (p->n == 0)
		return 0;
	if (hs_compile_ext_multi(p->expressions, p->flags, p->ids, p->to_ends, p->n, HS_MODE_BLOCK, NULL,
				 &m->databases[buffer], &error) != HS_SUCCESS) {
		if (error && error->expression >= 0)
			rc = sn_build_fail(b, "expression %.80s: %s", p->expressions[error->expression],
					   error->message);
		else
			rc = sn_build_fail(b, "its expressions: %s", error ? error->message : "no memory");
		hs_free_compile_error(error);
		return rc;
	}
	if (hs_alloc_scratch(m->databases[buffer], &m->scratch) != HS_SUCCESS ||
	    hs_serialize_database(m->databases[buffer], &m->bytes[buffer], &m->n_bytes[buffer]) !=
		    HS_SUCCESS ||
	    hs_serialized_database_size(m->bytes[buffer], m->n_bytes[buffer], &m->sizes[buffer]) !=
		    HS_SUCCESS)
		return sn_build_no_memory(b);
	return 0;
}

static size_t lines(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

/* Places of all that the block has. */
static size_t lay_out(struct sn_inspect_rules *r, const struct making *m)
{
	size_t end = lines(sizeof(*r));

	r->n_parts = m->n_parts;
	r->rules = end;
	end += lines(r->n_rules * sizeof(struct inspect_rule));
	r->rule_of_part = end;
	end += lines(r->n_parts * sizeof(uint32_t));
	for (uint32_t i = 0; i < INSPECT_BUFFERS; i++) {
		r->databases[i] = m->databases[i] ? end : 0;
		end += lines(m->sizes[i]);
	}
	r->scratch_size = lines(m->scratch_size);
	r->scratch = end;
	end += r->scratch_size;
	r->scratch_at = lines(sizeof(struct inspect_work) + r->n_rules * (sizeof(uint32_t) + 1));
	r->work_size = r->scratch_at + r->scratch_size;
	r->works = end;
	return end + INSPECT_WORKERS_MAX * r->work_size;
}

static void fill_rules(struct sn_inspect_rules *r, const inspector_msg *from)
{
	struct inspect_rule *to = inspect_at(r, r->rules);
	uint32_t *rule_of_part = inspect_at(r, r->rule_of_part);

	for (uint32_t i = 0; i < r->n_rules; i++) {
		const rule_msg *m = from->rules[i];
		bool drops = m->action_case == SINTER__PROGRAM__V1__INSPECT_RULE__ACTION_DROP;
		bool marks = m->action_case == SINTER__PROGRAM__V1__INSPECT_RULE__ACTION_DSCP;

		to[i] = (struct inspect_rule){
			.reason = drops ? SN_REASON_CHAIN + m->drop : SN_REASON_NONE,
			.dscp = marks ? m->dscp : SN_INSPECT_KEEP_DSCP,
			.n_parts = (uint32_t)m->n_parts,
		};
		r->marks |= marks;
		for (uint32_t k = 0; k < m->n_parts; k++)
			*rule_of_part++ = i;
	}
}

/* Databases and the scratch go where they stay. */
static int settle(struct sn_inspect_rules *r, const struct making *m)
{
	uint8_t *scratch;

	for (uint32_t i = 0; i < INSPECT_BUFFERS; i++)
		if (r->databases[i] &&
		    hs_deserialize_database_at(m->bytes[i], m->n_bytes[i], inspect_at(r, r->databases[i])) !=
			    HS_SUCCESS)
			return -1;
	/* A scratch begins at a line, not always where its memory does. Workers' copies fit if this one does.
	 */
	scratch = (uint8_t *)sn_inspect_copy_scratch(m->scratch, inspect_at(r, r->scratch), r->scratch_size);
	if (!scratch)
		return -1;
	r->scratch = (size_t)(scratch - (uint8_t *)r);
	return 0;
}

static struct sn_inspect_rules head_of(const inspector_msg *from)
{
	struct sn_inspect_rules head = {.n_rules = (uint32_t)from->n_rules};

	if (from->streams) {
		head.depth = from->streams->depth;
		head.timeout_ms = from->streams->timeout_ms;
		head.full = SN_REASON_CHAIN + from->streams->full;
	}
	return head;
}

struct sn_inspect_rules *sn_inspect_build(struct sn_builder *b, const Sinter__Program__V1__StateTable *table,
					  int *rc)
{
	const inspector_msg *from = table->inspector;
	struct sn_inspect_rules head = head_of(from), *r = NULL;
	struct making m = {0};

	*rc = hs_valid_platform() == HS_SUCCESS
		      ? collect(b, &m, from)
		      : sn_build_fail(b, "Hyperscan cannot run on this processor, which has no SSE 4.2");
	if (!*rc)
		*rc = check_streams(b, table);
	for (uint32_t i = 0; i < INSPECT_BUFFERS && !*rc; i++)
		*rc = compile(b, &m, i);
	if (!*rc && hs_scratch_size(m.scratch, &m.scratch_size) != HS_SUCCESS)
		*rc = sn_build_no_memory(b);
	if (!*rc) {
		r = calloc(1, lay_out(&head, &m));
		if (r) {
			*r = head;
			fill_rules(r, from);
		}
		if (!r || settle(r, &m) != 0)
			*rc = sn_build_no_memory(b);
	}
	making_free(&m);
	if (*rc) {
		free(r);
		r = NULL;
	}
	return r;
}
