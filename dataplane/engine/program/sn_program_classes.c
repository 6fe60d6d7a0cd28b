/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_program_build.h"
#include "sn_reason.h"

typedef Sinter__Program__V1__Segment segment_msg;
typedef Sinter__Program__V1__Class class_msg;
typedef Sinter__Program__V1__Leg leg_msg;
typedef Sinter__Program__V1__Op op_msg;

#define OPS_MAX 256

static int build_set(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__SetField *from)
{
	uint32_t field = (uint32_t)from->field, max;

	switch (field) {
	case SN_VLAN:
	case SN_SRC:
	case SN_DST:
	case SN_DSCP:
	case SN_TTL:
		max = sn_field_max(field);
		break;
	case SN_SPORT:
	case SN_DPORT: /* a port cannot be made absent */
		max = SN_PORT_ABSENT - 1;
		break;
	default:
		return sn_build_fail(
			b, "field %u cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT", field);
	}
	if (from->value > max)
		return sn_build_fail(b, "sets %s to %u, want at most %u", sn_field_name(field), from->value,
				     max);
	*to = (struct sn_op){.kind = SN_OP_SET, .field = field, .value = from->value};
	return 0;
}

static int build_op(struct sn_builder *b, struct sn_op *to, const op_msg *from)
{
	switch (from->op_case) {
	case SINTER__PROGRAM__V1__OP__OP_SET:
		return build_set(b, to, from->set);
	case SINTER__PROGRAM__V1__OP__OP_ADD_TTL:
		if (from->add_ttl < -255 || from->add_ttl > 255)
			return sn_build_fail(b, "add_ttl is %d, want -255..255", from->add_ttl);
		*to = (struct sn_op){.kind = SN_OP_ADD_TTL, .value = (uint32_t)from->add_ttl};
		return 0;
	case SINTER__PROGRAM__V1__OP__OP_NEXT_HOP:
		*to = (struct sn_op){.kind = SN_OP_NEXT_HOP, .value = from->next_hop};
		return 0;
	case SINTER__PROGRAM__V1__OP__OP_STATE_FORWARD:
		b->p->stateful = true;
		*to = (struct sn_op){.kind = SN_OP_STATE_FORWARD, .value = from->state_forward};
		return sn_build_index(b, "state_forward", from->state_forward, b->msg->n_runs);
	case SINTER__PROGRAM__V1__OP__OP_COUNT:
		*to = (struct sn_op){.kind = SN_OP_COUNT, .value = from->count};
		return sn_build_index(b, "count", from->count, b->msg->n_counters);
	default:
		return sn_build_fail(b, "an operation is empty");
	}
}

static int build_drop(struct sn_builder *b, struct sn_leg *to, const Sinter__Program__V1__Drop *from)
{
	to->outcome = SN_OUT_DROP;
	switch (from->reason_case) {
	case SINTER__PROGRAM__V1__DROP__REASON_CHAIN:
		to->target = SN_REASON_CHAIN + from->chain;
		return sn_build_index(b, "drop.chain", from->chain, b->msg->n_reasons);
	case SINTER__PROGRAM__V1__DROP__REASON_BUILTIN:
		to->target = (uint32_t)from->builtin;
		if (to->target == SN_REASON_NONE || !sn_reason_name(to->target))
			return sn_build_fail(b, "drop.builtin %d is no drop reason", (int)from->builtin);
		return 0;
	default:
		return sn_build_fail(b, "drop has no reason");
	}
}

static int build_outcome(struct sn_builder *b, struct sn_leg *to, const leg_msg *from)
{
	switch (from->outcome_case) {
	case SINTER__PROGRAM__V1__LEG__OUTCOME_OUTPUT:
		to->outcome = SN_OUT_OUTPUT;
		to->target = from->output;
		return sn_build_index(b, "output", from->output, b->msg->n_interfaces);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_DROP:
		return build_drop(b, to, from->drop);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR:
		to->outcome = SN_OUT_GENERATOR;
		to->target = from->generator;
		return sn_build_index(b, "generator", from->generator, b->msg->n_generators);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT:
		to->outcome = SN_OUT_SEGMENT;
		to->target = from->segment;
		return sn_build_index(b, "segment", from->segment, b->msg->n_segments);
	case SINTER__PROGRAM__V1__LEG__OUTCOME_STATE_RETURN:
		b->p->stateful = true;
		to->outcome = SN_OUT_STATE_RETURN;
		to->target = from->state_return;
		return sn_build_index(b, "state_return", from->state_return, b->msg->n_tables);
	default:
		return sn_build_fail(b, "has no outcome");
	}
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
	to->n_ops = from->n_ops;
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
	return build_outcome(b, to, from);
}

/* What the stateless fast path needs to know of a class, if it is one for it. */
static void simplify(const struct sn_program *p, struct sn_class *c)
{
	const struct sn_leg *leg = &p->legs[c->first_leg];
	int32_t ttl = 0;

	c->simple = SN_SIMPLE_NOT;
	c->state_run = SN_NO_INDEX;
	for (uint32_t i = 0; i < leg->n_ops; i++) {
		const struct sn_op *op = &p->ops[leg->first_op + i];

		if (op->kind == SN_OP_STATE_FORWARD) {
			c->state_run = op->value;
			return;
		}
	}
	if (c->n_legs != 1 || (leg->outcome != SN_OUT_OUTPUT && leg->outcome != SN_OUT_DROP))
		return;
	c->next_hop = 0;
	for (uint32_t i = 0; i < leg->n_ops; i++) {
		const struct sn_op *op = &p->ops[leg->first_op + i];

		if (op->kind == SN_OP_ADD_TTL && (int32_t)op->value <= 0)
			ttl -= (int32_t)op->value;
		else if (op->kind == SN_OP_NEXT_HOP)
			c->next_hop = op->value;
		else if (leg->outcome == SN_OUT_OUTPUT)
			return;
	}
	if (ttl > 255)
		return;
	c->simple = leg->outcome == SN_OUT_DROP ? SN_SIMPLE_DROP : SN_SIMPLE_OUTPUT;
	c->ttl_dec = ttl;
	c->target = leg->target;
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
