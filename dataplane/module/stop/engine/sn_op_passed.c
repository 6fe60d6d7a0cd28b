/* SPDX-License-Identifier: Apache-2.0 */
/* passed: a packet that a function has let through counts for its flow, which may begin with it. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_passing.h"

struct passed {
	uint32_t table;
	bool from_outside;
};

static const struct passed *passed_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const Sinter__Program__V1__Passed *m = from->passed;
	struct passed *passed;
	int rc = sn_build_table_of(b, "passed.table", m->table, &sn_passing, "one of passing");

	if (rc)
		return rc;
	passed = sn_build_array(1, sizeof(*passed));
	rc = sn_build_operands(b, to, passed);
	if (rc)
		return rc;
	passed->table = m->table;
	passed->from_outside = m->from_outside;
	return 0;
}

static struct sn_verdict begin(struct sn_execution *x, const struct sn_pkt *p, const struct passed *o,
			       uint32_t shard, const struct sn_flow *flow)
{
	uint16_t packets = sn_passing_packets(&x->program->tables[o->table]);
	struct sn_session *s =
		sn_passing_begin(x->partition, o->table, shard, flow, o->from_outside, packets, x->now);

	return s ? sn_journal_note_counted(x, s, p, false, true) : sn_pass();
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct passed *o = passed_of(x->program, op);
	bool is_return, opens;
	struct sn_session *s;
	struct sn_flow flow;
	uint32_t shard;

	if (!sn_followed_flow(p, &flow))
		return sn_pass();
	shard = sn_flow_shard_in(x->state, o->table, &flow, o->from_outside);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	s = sn_outside_flows_find(x->partition, o->table, shard, &flow, o->from_outside, x->now, &is_return);
	/* Not one that this very packet has begun or used. */
	opens = sn_passing_opens(p) && !(s && sn_journal_has(x, s));
	if (likely(s && sn_passing_is_past(s) && !opens)) {
		x->keep = x->keep && !sn_passing_meets_openings(x->program, p);
		return sn_journal_note(x, s, p, is_return, false);
	}
	/* The flow's next packet finds it otherwise. */
	x->keep = false;
	if (x->warm_up)
		return sn_done();
	if (s && !opens)
		return sn_journal_note_counted(x, s, p, is_return, false);
	if (s)
		sn_outside_flows_end(x->partition, o->table, s);
	return begin(x, p, o, shard, &flow);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct passed *o = passed_of(look->program, op);
	struct sn_flow flow;

	if (!sn_followed_flow(p, &flow))
		return sn_pass();
	return sn_hand_over_to(sn_flow_shard_in(look->state, o->table, &flow, o->from_outside));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct passed *o = passed_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = o->from_outside, .table = o->table};
}

static const struct sn_operation passed_op = {
	.name = "passed",
	.wire = SINTER__PROGRAM__V1__OP__OP_PASSED,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(passed_op)
