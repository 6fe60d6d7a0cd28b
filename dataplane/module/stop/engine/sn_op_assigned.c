/* SPDX-License-Identifier: Apache-2.0 */
/* assigned: the packet's flow is a replica's, from this packet on if it is new. */

#include "sn_assignment.h"
#include "sn_dispatch.h"
#include "sn_execution.h"

struct assigned {
	uint32_t table;
	bool from_outside;
};

static const struct assigned *assigned_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const Sinter__Program__V1__Assigned *m = from->assigned;
	struct assigned *assigned;
	int rc = sn_build_table_of(b, "assigned.table", m->table, &sn_assignment, "one of assignment");

	if (rc)
		return rc;
	assigned = sn_build_array(1, sizeof(*assigned));
	rc = sn_build_operands(b, to, assigned);
	if (rc)
		return rc;
	assigned->table = m->table;
	assigned->from_outside = m->from_outside;
	return 0;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct assigned *o = assigned_of(x->program, op);
	bool is_return = false, made;
	struct sn_session *s;
	struct sn_flow flow;
	uint32_t shard;

	if (!sn_followed_flow(p, &flow))
		return sn_pass();
	shard = sn_flow_shard_in(x->state, o->table, &flow, o->from_outside);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	s = sn_outside_flows_find(x->partition, o->table, shard, &flow, o->from_outside, x->now, &is_return);
	made = !s;
	if (made && x->warm_up) {
		x->keep = false;
		return sn_done();
	}
	if (made)
		s = sn_outside_flows_begin(x->partition, o->table, shard, &flow, o->from_outside, x->now);
	if (likely(s))
		return sn_journal_note(x, s, p, is_return, made);
	x->keep = false; /* there is no room for it yet */
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct assigned *o = assigned_of(look->program, op);
	struct sn_flow flow;

	if (!sn_followed_flow(p, &flow))
		return sn_pass();
	return sn_hand_over_to(sn_flow_shard_in(look->state, o->table, &flow, o->from_outside));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct assigned *o = assigned_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = o->from_outside, .table = o->table};
}

static const struct sn_operation assigned_op = {
	.name = "assigned",
	.wire = SINTER__PROGRAM__V1__OP__OP_ASSIGNED,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(assigned_op)
