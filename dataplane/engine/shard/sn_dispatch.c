/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_dispatch.h"

#include "sn_answer.h"
#include "sn_flow.h"
#include "sn_icmp.h"
#include "sn_segment.h"

struct look {
	const struct sn_program *program;
	const struct sn_state *state;
	uint32_t steps; /* classifications on all ways of the packet that are still looked at */
};

/* Where a packet goes on, or SN_NO_INDEX; then `shard` is what its way tells. */
struct ahead {
	uint32_t segment;
	uint32_t shard;
};

static struct ahead on_to(uint32_t segment)
{
	return (struct ahead){segment, SN_PKT_NO_SHARD};
}

static struct ahead of_shard(uint32_t shard)
{
	return (struct ahead){SN_NO_INDEX, shard};
}

static uint32_t forward_shard(const struct sn_state *state, struct sn_pkt *p)
{
	struct sn_flow flow;

	if (p->frag != SN_FRAG_WHOLE)
		return SN_PKT_NO_SHARD;
	if (!sn_flow_of(p, SN_FLOW_INSIDE, &flow)) {
		if (!sn_icmp_quote(p))
			return SN_PKT_NO_SHARD;
		flow = sn_flow_quoted(&p->quote);
	}
	return sn_state_shard(state, &flow);
}

static uint32_t return_shard(const struct sn_state *state, struct sn_pkt *p, uint32_t table)
{
	struct sn_flow flow;

	if (p->frag != SN_FRAG_WHOLE)
		return SN_PKT_NO_SHARD;
	if (!sn_flow_of(p, SN_FLOW_OUTSIDE, &flow)) {
		if (!sn_icmp_quote(p))
			return SN_PKT_NO_SHARD;
		flow = sn_flow_quoted(&p->quote);
	}
	return sn_state_return_shard(state, table, &flow);
}

static struct ahead follow_generator(const struct look *look, struct sn_pkt *p, const struct sn_generator *g)
{
	struct sn_answer a = sn_answer_of(g, p, look->program->interfaces[p->iface].address);

	if (a.kind == SN_ANSWER_NONE)
		return of_shard(SN_PKT_NO_SHARD);
	sn_answer_foresee(p, &a);
	return on_to(g->segment);
}

static struct ahead follow_output(const struct look *look, struct sn_pkt *p, uint32_t iface)
{
	const struct sn_interface *ifc = &look->program->interfaces[iface];

	if (p->ip_len <= ifc->mtu || !p->df || sn_icmp_suppressed(p))
		return of_shard(SN_PKT_NO_SHARD);
	sn_icmp_foresee_error(p, SN_ICMP_UNREACHABLE, 4, look->program->interfaces[p->iface].address);
	p->iface = iface;
	p->ttl = ifc->answer_ttl;
	return on_to(ifc->segment);
}

static struct ahead follow_leg(const struct look *look, struct sn_pkt *p, const struct sn_leg *leg)
{
	const struct sn_op *op = &look->program->ops[leg->first_op], *end = op + leg->n_ops;

	for (; op < end; op++) {
		if (op->kind == SN_OP_STATE_FORWARD)
			return of_shard(forward_shard(look->state, p));
		if (op->kind == SN_OP_SET)
			sn_pkt_set(p, op->field, op->value);
		else if (op->kind == SN_OP_ADD_TTL)
			p->ttl += (int32_t)op->value;
	}
	switch ((enum sn_outcome)leg->outcome) {
	case SN_OUT_OUTPUT:
		return follow_output(look, p, leg->target);
	case SN_OUT_DROP:
		break;
	case SN_OUT_GENERATOR:
		return follow_generator(look, p, &look->program->generators[leg->target]);
	case SN_OUT_SEGMENT:
		return on_to(leg->target);
	case SN_OUT_STATE_RETURN:
		return of_shard(return_shard(look->state, p, leg->target));
	}
	return of_shard(SN_PKT_NO_SHARD);
}

static uint32_t follow(struct look *look, struct sn_pkt *p, uint32_t segment, uint32_t class)
{
	const struct sn_program *program = look->program;
	struct ahead ahead = on_to(segment);

	while (ahead.segment != SN_NO_INDEX) {
		const struct sn_segment *s = &program->segments[ahead.segment];
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

			ahead = follow_leg(look, &copy, leg);
			if (ahead.segment != SN_NO_INDEX)
				ahead.shard = follow(look, &copy, ahead.segment, SN_TABLE_NONE);
			if (ahead.shard != SN_PKT_NO_SHARD)
				return ahead.shard;
		}
		ahead = follow_leg(look, p, leg);
	}
	return ahead.shard;
}

uint32_t sn_dispatch_shard(const struct sn_program *program, const struct sn_state *state,
			   const struct sn_pkt *p, uint32_t segment, uint32_t class)
{
	struct look look = {
		.program = program, .state = state, .steps = program->longest_way + SN_COPIES_MAX};
	struct sn_pkt copy;

	if (likely(class != SN_TABLE_NONE)) {
		const struct sn_class *c = &program->classes[program->segments[segment].first_class + class];
		const struct sn_leg *leg = &program->legs[c->first_leg];

		switch ((enum sn_way)c->way) {
		case SN_WAY_STATELESS:
			return SN_PKT_NO_SHARD;
		case SN_WAY_OUTPUT:
			if (p->ip_len <= program->interfaces[leg->target].mtu)
				return SN_PKT_NO_SHARD;
			break;
		case SN_WAY_FORWARD:
			if (likely(p->frag == SN_FRAG_WHOLE && p->sport != SN_PORT_ABSENT))
				return sn_state_shard(state, &(struct sn_flow){p->src, p->dst, p->sport,
									       p->dport, p->proto});
			break;
		case SN_WAY_RETURN:
			if (likely(p->frag == SN_FRAG_WHOLE && p->sport != SN_PORT_ABSENT))
				return sn_state_return_shard(
					state, leg->target,
					&(struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto});
			break;
		case SN_WAY_FOLLOW:
			break;
		}
	}
	copy = *p;
	return follow(&look, &copy, segment, class);
}
