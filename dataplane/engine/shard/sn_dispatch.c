/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_dispatch.h"

#include "sn_operation.h"
#include "sn_segment.h"
#include "sn_session.h"
#include "sn_state_kind.h"

/* The verdict of the first operation that has one for the packet. */
static struct sn_verdict follow_leg(const struct sn_look *look, struct sn_pkt *p, const struct sn_leg *leg)
{
	struct sn_verdict v = sn_pass();

	for (uint32_t i = 0; i < leg->n_ops && v.kind == SN_VERDICT_PASS; i++) {
		const struct sn_op *op = sn_leg_op(look->program, leg, i);

		if (sn_operation_of(op)->predict)
			v = sn_operation_of(op)->predict(look, p, op);
		/* The packet's mark is not known yet, nor the state that it meets by that: if
		 * some does, all state is one worker's (sn_cuts.c). */
		if (v.kind == SN_VERDICT_PASS && op->writes && sn_operation_of(op)->each &&
		    sn_state_units(look->state) == 1)
			v = sn_hand_over_to(0);
	}
	return v;
}

static uint32_t follow(struct sn_look *look, struct sn_pkt *p, uint32_t segment, uint32_t class)
{
	const struct sn_program *program = look->program;
	struct sn_verdict v = sn_to_segment(segment);

	while (v.kind == SN_VERDICT_SEGMENT) {
		const struct sn_segment *s = &program->segments[v.value];
		const struct sn_leg *leg;
		const struct sn_class *c;

		if (look->steps-- == 0)
			return SN_PKT_NO_SHARD;
		if (class == SN_TABLE_NONE)
			class = sn_segment_class(s, p);
		if (class == SN_TABLE_NONE)
			return SN_PKT_NO_SHARD;
		c = &program->classes[s->first_class + class];
		class = SN_TABLE_NONE;
		leg = &program->legs[c->first_leg];
		for (uint32_t i = 0; i + 1 < c->n_legs; i++, leg++) {
			struct sn_pkt copy = *p;
			uint32_t shard = SN_PKT_NO_SHARD;

			v = follow_leg(look, &copy, leg);
			if (v.kind == SN_VERDICT_SEGMENT)
				shard = follow(look, &copy, v.value, SN_TABLE_NONE);
			else if (v.kind == SN_VERDICT_HAND_OVER)
				shard = v.value;
			if (shard != SN_PKT_NO_SHARD)
				return shard;
		}
		v = follow_leg(look, p, leg);
	}
	return v.kind == SN_VERDICT_HAND_OVER ? v.value : SN_PKT_NO_SHARD;
}

uint32_t sn_dispatch_shard(const struct sn_program *program, const struct sn_state *state,
			   const struct sn_pkt *p, uint32_t segment, uint32_t class)
{
	struct sn_look look = {
		.program = program, .state = state, .steps = program->longest_way + SN_COPIES_MAX};
	struct sn_pkt copy;

	if (likely(class != SN_TABLE_NONE)) {
		const struct sn_class *c = &program->classes[program->segments[segment].first_class + class];

		switch ((enum sn_way)c->way) {
		case SN_WAY_STATELESS:
			return SN_PKT_NO_SHARD;
		case SN_WAY_OUTPUT:
			if (p->ip_len <= program->interfaces[c->target].mtu)
				return SN_PKT_NO_SHARD;
			break;
		case SN_WAY_FORWARD:
			if (likely(p->frag == SN_FRAG_WHOLE && p->sport != SN_PORT_ABSENT))
				return sn_state_kinds[c->kind]->shard_of(
					state, c->state_run,
					&(struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto});
			break;
		case SN_WAY_RETURN:
			if (likely(p->frag == SN_FRAG_WHOLE && p->sport != SN_PORT_ABSENT))
				return sn_state_kinds[c->kind]->return_shard(
					state, c->target,
					&(struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto});
			break;
		case SN_WAY_FOLLOW:
			break;
		}
	}
	copy = *p;
	return follow(&look, &copy, segment, class);
}
