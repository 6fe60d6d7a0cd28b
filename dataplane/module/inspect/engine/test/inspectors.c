/* SPDX-License-Identifier: Apache-2.0 */
#include "inspectors.h"

part_msg *add_part(struct fixture *f, rule_msg *rule, const char *expression)
{
	part_msg **parts = sn_arena_alloc(&f->arena, (rule->n_parts + 1) * sizeof(*parts));
	part_msg *p = sn_arena_alloc(&f->arena, sizeof(*p));

	sinter__program__v1__inspect_part__init(p);
	p->expression = (char *)expression;
	if (rule->n_parts)
		memcpy(parts, rule->parts, rule->n_parts * sizeof(*parts));
	parts[rule->n_parts++] = p;
	rule->parts = parts;
	return p;
}

inspector_msg *inspector_msg_of(const struct fixture *f)
{
	return f->msg->tables[f->msg->n_tables - 1]->inspector;
}

/* A rule that counts; its action may be changed. */
rule_msg *add_rule(struct fixture *f, const char *name, const char *expression)
{
	inspector_msg *i = inspector_msg_of(f);
	rule_msg **rules = sn_arena_alloc(&f->arena, (i->n_rules + 1) * sizeof(*rules));
	rule_msg *r = sn_arena_alloc(&f->arena, sizeof(*r));

	sinter__program__v1__inspect_rule__init(r);
	r->name = (char *)name;
	add_part(f, r, expression);
	if (i->n_rules)
		memcpy(rules, i->rules, i->n_rules * sizeof(*rules));
	rules[i->n_rules++] = r;
	i->rules = rules;
	return r;
}

void drops(rule_msg *r)
{
	r->action_case = SINTER__PROGRAM__V1__INSPECT_RULE__ACTION_DROP;
	r->drop = 0;
}

void marks(rule_msg *r, uint32_t dscp)
{
	r->action_case = SINTER__PROGRAM__V1__INSPECT_RULE__ACTION_DSCP;
	r->dscp = dscp;
}

/* The sample NAPT, of which packets from inside are inspected first: they have cached decisions. */
void with_inspector(struct fixture *f)
{
	static char *reasons[] = {(char *)"ids/matched"};
	Sinter__Program__V1__Program *msg = f->msg;
	Sinter__Program__V1__StateTable **tables =
		sn_arena_alloc(&f->arena, (msg->n_tables + 1) * sizeof(*tables));
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(&f->arena, sizeof(*table));

	sinter__program__v1__state_table__init(table);
	table->name = (char *)"ids/inspect";
	table->inspector = sn_arena_alloc(&f->arena, sizeof(*table->inspector));
	sinter__program__v1__inspector__init(table->inspector);
	memcpy(tables, msg->tables, msg->n_tables * sizeof(*tables));
	tables[msg->n_tables++] = table;
	msg->tables = tables;
	msg->n_reasons = 1;
	msg->reasons = reasons;
}

static Sinter__Program__V1__Op *inspect_op(struct fixture *f)
{
	Sinter__Program__V1__Op *op = sn_arena_alloc(&f->arena, sizeof(*op));

	sinter__program__v1__op__init(op);
	op->op_case = SINTER__PROGRAM__V1__OP__OP_INSPECT;
	op->inspect = sn_arena_alloc(&f->arena, sizeof(*op->inspect));
	sinter__program__v1__inspect__init(op->inspect);
	op->inspect->table = (uint32_t)f->msg->n_tables - 1;
	return op;
}

/* All legs of the segment inspect first, so that answers are left alone. */
void inspect_in(struct fixture *f, uint32_t segment)
{
	Sinter__Program__V1__Segment *s = f->msg->segments[segment];

	for (size_t c = 0; c < s->n_classes; c++) {
		Sinter__Program__V1__Leg *leg = s->classes[c]->legs[0];
		Sinter__Program__V1__Op **ops = sn_arena_alloc(&f->arena, (leg->n_ops + 1) * sizeof(*ops));

		ops[0] = inspect_op(f);
		if (leg->n_ops)
			memcpy(ops + 1, leg->ops, leg->n_ops * sizeof(*ops));
		leg->ops = ops;
		leg->n_ops++;
	}
}

struct counted counts_of(const struct fixture *f)
{
	Sinter__Program__V1__TableStats stats;
	struct counted c = {0};
	struct sn_arena arena;

	sn_arena_init(&arena);
	sinter__program__v1__table_stats__init(&stats);
	assert_int_equal(sn_state_report_table(f->state, (uint32_t)f->msg->n_tables - 1, &arena, &stats), 0);
	assert_int_equal(stats.inspector->n_rules, inspector_msg_of(f)->n_rules);
	c.packets = stats.inspector->packets;
	c.bytes = stats.inspector->bytes;
	for (size_t i = 0; i < stats.inspector->n_rules; i++) {
		assert_string_equal(stats.inspector->rules[i]->name, inspector_msg_of(f)->rules[i]->name);
		c.rules[i] = stats.inspector->rules[i]->packets;
	}
	sn_arena_free(&arena);
	return c;
}
