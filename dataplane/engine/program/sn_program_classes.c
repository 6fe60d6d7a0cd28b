/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_operation.h"

typedef Sinter__Program__V1__Segment segment_msg;
typedef Sinter__Program__V1__Class class_msg;
typedef Sinter__Program__V1__Leg leg_msg;
typedef Sinter__Program__V1__Op op_msg;

#define OPS_MAX 256

static int build_op(struct sn_builder *b, struct sn_op *to, const op_msg *from)
{
	to->operation = sn_operation_by_op((uint32_t)from->op_case);
	if (!to->operation)
		return sn_build_fail(b, "an operation is empty");
	to->traits = sn_operation_of(to)->traits;
	return sn_operation_of(to)->decode(b, to, from);
}

static int build_outcome(struct sn_builder *b, struct sn_op *to, const leg_msg *from)
{
	to->operation = sn_operation_by_outcome((uint32_t)from->outcome_case);
	if (!to->operation)
		return sn_build_fail(b, "has no outcome");
	to->traits = sn_operation_of(to)->traits;
	return sn_operation_of(to)->decode_outcome(b, to, from);
}

static bool is_stateful(const struct sn_op *op)
{
	return op->traits & SN_OP_STATE || sn_operation_of(op)->each || sn_operation_of(op)->notes_flows;
}

static int build_leg(struct sn_builder *b, struct sn_leg *to, const leg_msg *from)
{
	struct sn_program *p = b->p;
	int rc;

	if (from->n_ops > OPS_MAX)
		return sn_build_fail(b, "has %zu ops, want at most %d", from->n_ops, OPS_MAX);
	if (from->n_counters > UINT16_MAX)
		return sn_build_fail(b, "has %zu counters, want at most %d", from->n_counters, UINT16_MAX);
	to->first_op = p->n_ops;
	to->n_ops = from->n_ops + 1;
	for (size_t i = 0; i < from->n_ops; i++) {
		rc = build_op(b, &p->ops[p->n_ops++], from->ops[i]);
		if (rc)
			return rc;
	}
	to->first_counter = p->n_leg_counters;
	to->n_counters = from->n_counters;
	for (size_t i = 0; i < from->n_counters; i++) {
		if (from->counters[i] >= b->msg->n_counters)
			return sn_build_fail(b, "counters[%zu] is %u, but there are only %zu", i,
					     from->counters[i], b->msg->n_counters);
		p->leg_counters[p->n_leg_counters++] = from->counters[i];
	}
	rc = build_outcome(b, &p->ops[p->n_ops++], from);
	for (uint32_t i = 0; i < to->n_ops && !rc; i++)
		p->stateful |= is_stateful(sn_leg_op(p, to, i));
	return rc;
}

static bool simplify_op(struct sn_class *c, const struct sn_op *op)
{
	return sn_operation_of(op)->simplify && sn_operation_of(op)->simplify(c, op);
}

/* Note what the stateless fast path needs to know of a class, if it is one for it, and the slow one if it is
 * not.
 */
static void simplify(const struct sn_program *p, struct sn_class *c)
{
	const struct sn_leg *leg = &p->legs[c->first_leg];
	bool simple = c->n_legs == 1;

	c->simple = SN_SIMPLE_NOT;
	c->state_run = SN_NO_INDEX;
	simple &= simplify_op(c, sn_leg_op(p, leg, leg->n_ops - 1u));
	for (uint32_t i = 0; i + 1 < leg->n_ops; i++) {
		const struct sn_op *op = sn_leg_op(p, leg, i);

		if (c->simple != SN_SIMPLE_DROP || !(op->traits & SN_OP_ON_PACKET))
			simple &= simplify_op(c, op);
	}
	if (!simple)
		c->simple = SN_SIMPLE_NOT;
	else if (c->state_run != SN_NO_INDEX)
		c->simple = c->simple == SN_SIMPLE_OUTPUT ? SN_SIMPLE_FORWARD : SN_SIMPLE_NOT;
	c->first_counter = leg->first_counter;
	c->n_counters = leg->n_counters;
}

int sn_build_classes(struct sn_builder *b, uint32_t s)
{
	const segment_msg *from = b->msg->segments[s];
	struct sn_program *p = b->p;

	for (size_t i = 0; i < from->n_classes; i++) {
		const class_msg *cm = from->classes[i];
		struct sn_class *c = &p->classes[p->n_classes++];

		sn_build_at(b, "segments[%u] (%.64s): classes[%zu]", s, from->name, i);
		if (cm->n_legs < 1 || cm->n_legs > SN_LEGS_MAX)
			return sn_build_fail(b, "has %zu legs, want 1..%d", cm->n_legs, SN_LEGS_MAX);
		c->first_leg = p->n_legs;
		c->n_legs = cm->n_legs;
		for (size_t j = 0; j < cm->n_legs; j++) {
			int rc;

			sn_build_at(b, "segments[%u] (%.64s): classes[%zu].legs[%zu]", s, from->name, i, j);
			rc = build_leg(b, &p->legs[p->n_legs++], cm->legs[j]);
			if (rc)
				return rc;
		}
		simplify(p, c);
	}
	return 0;
}
