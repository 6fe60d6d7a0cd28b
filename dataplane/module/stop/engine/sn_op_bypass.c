/* SPDX-License-Identifier: Apache-2.0 */
/* bypass: packets of flows of which the function has let enough through go past it, all others through. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_passing.h"

enum way {
	THROUGH,
	PAST,
	WAYS,
};
_Static_assert(WAYS <= SN_LEADS_MAX, "each is a way on");

struct bypass {
	uint32_t table;
	uint32_t segments[WAYS];
	bool from_outside;
};

static const struct bypass *bypass_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	const Sinter__Program__V1__Bypass *m = from->bypass;
	struct bypass *bypass;
	int rc = sn_build_table_of(b, "bypass.table", m->table, &sn_passing, "one of passing");

	if (rc)
		return rc;
	bypass = sn_build_array(1, sizeof(*bypass));
	rc = sn_build_operands(b, to, bypass);
	if (rc)
		return rc;
	bypass->table = m->table;
	bypass->from_outside = m->from_outside;
	bypass->segments[THROUGH] = m->through;
	bypass->segments[PAST] = m->past;
	rc = sn_build_index(b, "bypass.through", m->through, b->msg->n_segments);
	return rc ? rc : sn_build_index(b, "bypass.past", m->past, b->msg->n_segments);
}

/* The flow that tells where a packet goes. False: it goes through, whatever is known. */
static bool told_by(const struct sn_pkt *p, struct sn_flow *flow)
{
	return sn_followed_flow(p, flow) && !sn_passing_opens(p);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct bypass *b = bypass_of(x->program, op);
	struct sn_session *s = NULL;
	bool is_return = false;
	struct sn_verdict v;
	struct sn_flow flow;
	uint32_t shard;

	if (told_by(p, &flow)) {
		shard = sn_flow_shard_in(x->state, b->table, &flow, b->from_outside);
		if (unlikely(!x->partition->owned[shard]))
			return sn_hand_over_to(shard);
		s = sn_outside_flows_find(x->partition, b->table, shard, &flow, b->from_outside, x->now,
					  &is_return);
	}
	if (!s || !sn_passing_is_past(s)) {
		/* The function may let enough through at any time. */
		x->keep = false;
		return sn_to_segment(b->segments[THROUGH]);
	}
	x->keep = x->keep && !sn_passing_meets_openings(x->program, p);
	v = sn_journal_note(x, s, p, is_return, false);
	return v.kind == SN_VERDICT_PASS ? sn_to_segment(b->segments[PAST]) : v;
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct bypass *b = bypass_of(look->program, op);
	struct sn_flow flow;

	if (!told_by(p, &flow))
		return sn_to_segment(b->segments[THROUGH]);
	return sn_hand_over_to(sn_flow_shard_in(look->state, b->table, &flow, b->from_outside));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct bypass *b = bypass_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = b->from_outside, .table = b->table};
}

static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	return (struct sn_lead){SN_LED_PACKET, bypass_of(p, op)->segments[i]};
}

static const struct sn_operation bypass_op = {
	.name = "bypass",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_BYPASS,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
	.leads = leads,
	.n_leads = WAYS,
};
SN_OPERATION(bypass_op)
