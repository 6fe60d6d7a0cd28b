/* SPDX-License-Identifier: Apache-2.0 */
#include "meters.h"

Sinter__Program__V1__MeterAction *drop_it(struct sn_arena *arena)
{
	Sinter__Program__V1__MeterAction *a = sn_arena_alloc(arena, sizeof(*a));

	sinter__program__v1__meter_action__init(a);
	a->action_case = SINTER__PROGRAM__V1__METER_ACTION__ACTION_DROP;
	a->drop = 0;
	return a;
}

Sinter__Program__V1__MeterAction *mark_it(struct sn_arena *arena, uint32_t dscp)
{
	Sinter__Program__V1__MeterAction *a = drop_it(arena);

	a->action_case = SINTER__PROGRAM__V1__METER_ACTION__ACTION_DSCP;
	a->dscp = dscp;
	return a;
}

void measure_in(struct sn_arena *arena, Sinter__Program__V1__Program *msg, uint32_t segment, uint32_t table)
{
	Sinter__Program__V1__Leg *leg = msg->segments[segment]->classes[0]->legs[0];
	Sinter__Program__V1__Op **ops = sn_arena_alloc(arena, (leg->n_ops + 1) * sizeof(*ops));
	Sinter__Program__V1__Op *op = sn_arena_alloc(arena, sizeof(*op));

	sinter__program__v1__op__init(op);
	op->op_case = SINTER__PROGRAM__V1__OP__OP_METER;
	op->meter = table;
	if (leg->n_ops)
		memcpy(ops, leg->ops, leg->n_ops * sizeof(*ops));
	ops[leg->n_ops++] = op;
	leg->ops = ops;
}

Sinter__Program__V1__Program *metered_wire(struct sn_arena *arena, bool subscribers,
					   Sinter__Program__V1__Meter **meter)
{
	static char *reasons[] = {(char *)"limit/exceeded"};
	Sinter__Program__V1__Program *msg = sn_sample_wire(arena);
	Sinter__Program__V1__StateTable *table = sn_arena_alloc(arena, sizeof(*table));
	Sinter__Program__V1__Meter *m = sn_arena_alloc(arena, sizeof(*m));

	sinter__program__v1__state_table__init(table);
	sinter__program__v1__meter__init(m);
	m->rate = 8000000;
	m->burst = 80000;
	m->red = drop_it(arena);
	if (subscribers) {
		m->subscribers = sn_arena_alloc(arena, sizeof(*m->subscribers));
		sinter__program__v1__subscribers__init(m->subscribers);
		m->subscribers->prefix_len = 32;
		table->max_sessions = 5000;
	}
	table->name = (char *)"limit";
	table->meter = m;
	msg->n_tables = 1;
	msg->tables = sn_arena_alloc(arena, sizeof(table));
	msg->tables[0] = table;
	msg->n_reasons = 1;
	msg->reasons = reasons;
	measure_in(arena, msg, 0, 0);
	*meter = m;
	return msg;
}

struct colors colors_of(const struct sn_state *state, uint32_t table)
{
	Sinter__Program__V1__TableStats stats;
	struct sn_arena arena;
	struct colors c;

	sn_arena_init(&arena);
	sinter__program__v1__table_stats__init(&stats);
	assert_int_equal(sn_state_report_table(state, table, &arena, &stats), 0);
	c.packets[SN_GREEN] = stats.meter->green->packets;
	c.packets[SN_YELLOW] = stats.meter->yellow->packets;
	c.packets[SN_RED] = stats.meter->red->packets;
	c.bytes[SN_GREEN] = stats.meter->green->bytes;
	c.bytes[SN_YELLOW] = stats.meter->yellow->bytes;
	c.bytes[SN_RED] = stats.meter->red->bytes;
	sn_arena_free(&arena);
	return c;
}
