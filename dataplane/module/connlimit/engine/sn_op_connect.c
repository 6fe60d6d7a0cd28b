/* SPDX-License-Identifier: Apache-2.0 */
/* connect: the packet uses its host's connection; one from inside may begin it. */

#include "sn_connlimit.h"
#include "sn_dispatch.h"
#include "sn_execution.h"

struct connect {
	uint32_t table;
	uint32_t full; /* reason */
	bool from_outside;
};

static const struct connect *connect_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const Sinter__Program__V1__Connect *m = from->connect;
	struct connect *c;
	int rc = sn_build_table_of(b, "connect.table", m->table, &sn_connlimit, "one of connections");

	if (rc)
		return rc;
	c = sn_build_array(1, sizeof(*c));
	rc = sn_build_operands(b, to, c);
	if (rc)
		return rc;
	c->table = m->table;
	c->from_outside = m->from_outside;
	c->full = SN_REASON_CHAIN + m->full;
	return sn_build_index(b, "connect.full", m->full, b->msg->n_reasons);
}

/* Whether a packet from inside whose connection is not known begins one. */
static bool begins(const struct sn_pkt *p)
{
	const uint32_t judged = SN_TCP_SYN | SN_TCP_ACK | SN_TCP_RST | SN_TCP_FIN;

	return p->proto != SN_TCP || (p->tcp_flags & judged) == SN_TCP_SYN;
}

static struct sn_verdict begin(struct sn_execution *x, const struct sn_pkt *p, const struct connect *c,
			       uint32_t shard, const struct sn_flow *flow)
{
	enum sn_connlimit_result result;
	struct sn_session *s = NULL;

	result = sn_connlimit_begin(x->partition, c->table, shard, flow, x->now, &s);
	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	if (result == SN_CONNLIMIT_LIMITED)
		return sn_drop(sn_connlimit_reason(x->state, c->table));
	if (result == SN_CONNLIMIT_FULL)
		return sn_drop(c->full);
	return sn_journal_note(x, s, p, false, true);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct connect *c = connect_of(x->program, op);
	struct sn_session *s;
	struct sn_flow flow;
	uint32_t shard;

	if (!sn_connlimit_flow(p, c->from_outside, &flow))
		return sn_pass();
	shard = sn_flow_shard_in(x->state, c->table, &flow, c->from_outside);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	s = sn_connlimit_find(x->partition, c->table, shard, &flow, c->from_outside, x->now);
	if (likely(s != NULL))
		return sn_journal_note(x, s, p, c->from_outside, false);
	/* The flow's next packet may have a connection. */
	x->keep = false;
	if (c->from_outside || !begins(p))
		return sn_pass();
	return x->warm_up ? sn_done() : begin(x, p, c, shard, &flow);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct connect *c = connect_of(look->program, op);
	struct sn_flow flow;

	if (!sn_connlimit_flow(p, c->from_outside, &flow))
		return sn_pass();
	return sn_hand_over_to(sn_flow_shard_in(look->state, c->table, &flow, c->from_outside));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct connect *c = connect_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = c->from_outside, .table = c->table};
}

static const struct sn_operation connect_op = {
	.name = "connect",
	.wire = SINTER__PROGRAM__V1__OP__OP_CONNECT,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(connect_op)
