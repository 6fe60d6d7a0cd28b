/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sn_answer.h"
#include "sn_dispatch.h"
#include "sn_exec.h"
#include "sn_flow.h"

/* ---- what the program alone tells ---- */

static const struct sn_op *find_op(const struct sn_program *p, const struct sn_leg *leg, enum sn_op_kind kind)
{
	for (uint32_t i = 0; i < leg->n_ops; i++)
		if (p->ops[leg->first_op + i].kind == kind)
			return &p->ops[leg->first_op + i];
	return NULL;
}

/*
 * By segment: whether a packet that comes there may come to state, it or what answers it. What answers an
 * ICMP error is none: no error is made about it, and no host replies to it.
 */
struct meets {
	bool *packets;
	bool *errors; /* NULL: packets are ICMP errors */
};

/* The packet itself, where it goes on, or what answers it there. */
static bool next_meets_state(const struct sn_program *p, const struct sn_leg *leg, const struct meets *meets)
{
	const struct sn_generator *g;

	if (leg->outcome == SN_OUT_SEGMENT)
		return meets->packets[leg->target];
	if (!meets->errors)
		return false;
	switch ((enum sn_outcome)leg->outcome) {
	case SN_OUT_GENERATOR:
		g = &p->generators[leg->target];
		return g->kind == SINTER__PROGRAM__V1__GENERATOR__KIND__ICMP_ERROR
			       ? meets->errors[g->segment]
			       : meets->packets[g->segment];
	case SN_OUT_OUTPUT: /* too big, or the next hop does not answer */
		return meets->errors[p->interfaces[leg->target].segment];
	case SN_OUT_SEGMENT:
	case SN_OUT_DROP:
	case SN_OUT_STATE_RETURN:
		break;
	}
	return false;
}

static bool leg_meets_state(const struct sn_program *p, const struct sn_leg *leg, const struct meets *meets)
{
	return leg->outcome == SN_OUT_STATE_RETURN || find_op(p, leg, SN_OP_STATE_FORWARD) ||
	       next_meets_state(p, leg, meets);
}

static const struct sn_leg *leg_of(const struct sn_program *p, const struct sn_class *c, uint32_t i)
{
	return &p->legs[c->first_leg + i];
}

static bool segment_meets_state(const struct sn_program *p, const struct sn_segment *s,
				const struct meets *meets)
{
	for (uint32_t i = 0; i < s->n_classes; i++) {
		const struct sn_class *c = &p->classes[s->first_class + i];

		for (uint32_t j = 0; j < c->n_legs; j++)
			if (leg_meets_state(p, leg_of(p, c, j), meets))
				return true;
	}
	return false;
}

/* Segments from which some packet may come to state. */
static void find_meets(const struct sn_program *p, const struct meets *meets)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t s = 0; s < p->n_segments; s++) {
			if (meets->packets[s] || !segment_meets_state(p, &p->segments[s], meets))
				continue;
			meets->packets[s] = more = true;
		}
	}
}

static bool writes_flow(const struct sn_program *p, const struct sn_leg *leg)
{
	for (uint32_t i = 0; i < leg->n_ops; i++) {
		const struct sn_op *op = &p->ops[leg->first_op + i];

		if (op->kind == SN_OP_SET && (op->field == SN_SRC || op->field == SN_DST ||
					      op->field == SN_SPORT || op->field == SN_DPORT))
			return true;
	}
	return false;
}

static enum sn_way way_of(const struct sn_program *p, const struct sn_class *c, const struct meets *meets)
{
	const struct sn_leg *leg = leg_of(p, c, 0);
	bool met = false;

	for (uint32_t i = 0; i < c->n_legs; i++)
		met |= leg_meets_state(p, leg_of(p, c, i), meets);
	if (!met)
		return SN_WAY_STATELESS;
	if (c->n_legs > 1 || writes_flow(p, leg))
		return SN_WAY_FOLLOW;
	if (find_op(p, leg, SN_OP_STATE_FORWARD))
		return SN_WAY_FORWARD;
	if (leg->outcome == SN_OUT_STATE_RETURN)
		return SN_WAY_RETURN;
	return leg->outcome == SN_OUT_OUTPUT ? SN_WAY_OUTPUT : SN_WAY_FOLLOW;
}

/* Two copies of a packet may meet state of two shards. */
static bool splits(const struct sn_program *p, const struct sn_class *c, const struct meets *meets)
{
	uint32_t met = 0;

	for (uint32_t i = 0; i < c->n_legs; i++)
		met += leg_meets_state(p, leg_of(p, c, i), meets);
	return met > 1;
}

/*
 * Whether a leg takes packets that have a session to the look-up of another. made: segments that such
 * packets come to; *more is set when there is a new one.
 */
static bool turns_back(const struct sn_program *p, const struct sn_leg *leg, bool made_here, bool *made,
		       bool *more)
{
	if (!made_here && !find_op(p, leg, SN_OP_STATE_FORWARD))
		return false;
	if (leg->outcome == SN_OUT_SEGMENT && !made[leg->target])
		made[leg->target] = *more = true;
	return leg->outcome == SN_OUT_STATE_RETURN;
}

/* All state of a packet is of one shard: it makes its sessions in that of its first, which its answers find.
 */
static bool can_be_cut(const struct sn_program *p, const struct meets *meets, bool *made)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t s = 0; s < p->n_segments; s++) {
			for (uint32_t i = 0; i < p->segments[s].n_classes; i++) {
				const struct sn_class *c = &p->classes[p->segments[s].first_class + i];

				if (splits(p, c, meets))
					return false;
				for (uint32_t j = 0; j < c->n_legs; j++)
					if (turns_back(p, leg_of(p, c, j), made[s], made, &more))
						return false;
			}
		}
	}
	return true;
}

int sn_dispatch_prepare(struct sn_program *p)
{
	struct meets meets;
	bool *made;

	if (!p->stateful)
		return 0;
	made = calloc(p->n_segments, 3 * sizeof(*made));
	if (!made)
		return -1;
	meets = (struct meets){made + p->n_segments, made + 2 * (size_t)p->n_segments};
	find_meets(p, &(struct meets){meets.errors, NULL});
	find_meets(p, &meets);
	for (uint32_t i = 0; i < p->n_classes; i++)
		p->classes[i].way = way_of(p, &p->classes[i], &meets);
	p->uncut = !can_be_cut(p, &meets, made);
	free(made);
	return 0;
}

/* ---- what a packet tells ---- */

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
