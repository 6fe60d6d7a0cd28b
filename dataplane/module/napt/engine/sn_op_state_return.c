/* SPDX-License-Identifier: Apache-2.0 */
/* state_return: a packet from outside is translated back by its session, and goes on where that says. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_icmp.h"
#include "sn_napt.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	to->value = from->state_return;
	to->writes = 1u << SN_DST | 1u << SN_DPORT;
	return sn_build_run_table(b, sn_operation_of(to)->name, from->state_return);
}

/*
 * The session of what an error quotes, NULL if there is none. False: it would be another worker's. Where the
 * packet leaves by a NAPT again, its flow tells the shard, as if it had come from inside: the flow has one
 * binding, whoever begins it.
 */
static bool find_return(struct sn_execution *x, struct sn_pkt *p, uint32_t table, const struct sn_flow *flow,
			struct sn_session **session)
{
	const struct sn_state *state = x->state;

	if (unlikely(!x->partition->owned[sn_napt_return_shard(state, table, flow)]))
		return false;
	*session = sn_napt_return(state, table, flow, x->now);
	p->shard = SN_PKT_NO_SHARD;
	return true;
}

static struct sn_verdict go_on(const struct sn_execution *x, const struct sn_session *s)
{
	return sn_to_segment(x->program->runs[sn_session_run(s)].segment);
}

/* An error from outside about a packet that was sent there. */
static struct sn_verdict execute_error(struct sn_execution *x, struct sn_pkt *p, uint32_t table)
{
	struct sn_quote *q = &p->quote;
	struct sn_flow flow = sn_flow_quoted(q);
	struct sn_session *s = NULL;

	if (p->dst == q->src && (q->proto != SN_ICMP || sn_is_query(q->icmp_type)) &&
	    !find_return(x, p, table, &flow, &s))
		return sn_hand_over_to(sn_napt_return_shard(x->state, table, &flow));
	if (!s)
		return sn_drop(SN_REASON_NAT_NO_BINDING);
	p->dst = s->inside_addr;
	q->src = s->inside_addr;
	q->sport = s->inside_port;
	return go_on(x, s);
}

/* The session of a return packet, or that of a flow which begins with it. The decision cache's warm-up has no
 * packet, and begins none. */
static enum sn_napt_result find_or_begin(struct sn_execution *x, uint32_t table, const struct sn_flow *flow,
					 struct sn_session **session, uint32_t *run)
{
	if (!x->warm_up)
		return sn_napt_come(x->partition, table, flow, x->now, session, run);
	*session = sn_napt_return(x->state, table, flow, x->now);
	return *session ? SN_NAPT_FOUND : SN_NAPT_NONE;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	enum sn_napt_result result;
	struct sn_session *s;
	struct sn_flow flow;
	struct sn_verdict v;
	uint32_t run = SN_NO_INDEX;

	if (p->frag != SN_FRAG_WHOLE)
		return sn_drop(SN_REASON_NAT_FRAGMENT);
	if (!sn_flow_of(p, SN_FLOW_OUTSIDE, &flow))
		return sn_icmp_quote(p) ? execute_error(x, p, op->value) : sn_drop(SN_REASON_NAT_NO_BINDING);
	if (unlikely(!x->partition->owned[sn_napt_return_shard(x->state, op->value, &flow)]))
		return sn_hand_over_to(sn_napt_return_shard(x->state, op->value, &flow));
	result = find_or_begin(x, op->value, &flow, &s, &run);
	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	if (result == SN_NAPT_LIMITED)
		return sn_drop(sn_napt_limit(x->state, run));
	if (result == SN_NAPT_FULL)
		return sn_drop(SN_REASON_NAT_EXHAUSTED);
	if (result == SN_NAPT_NONE)
		return sn_drop(SN_REASON_NAT_NO_BINDING);
	p->shard = SN_PKT_NO_SHARD;
	p->dst = s->inside_addr;
	if (p->proto == SN_ICMP)
		p->id = s->inside_port;
	else if (likely(sn_has_ports(p->proto)))
		p->dport = s->inside_port;
	v = sn_journal_note(x, s, p, true, result == SN_NAPT_MADE);
	return v.kind == SN_VERDICT_PASS ? go_on(x, s) : v;
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	struct sn_flow flow;

	if (p->frag != SN_FRAG_WHOLE)
		return sn_done();
	if (!sn_flow_of(p, SN_FLOW_OUTSIDE, &flow)) {
		if (!sn_icmp_quote(p))
			return sn_done();
		flow = sn_flow_quoted(&p->quote);
	}
	return sn_hand_over_to(sn_napt_return_shard(look->state, op->value, &flow));
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	c->target = op->value;
	return false;
}

static const struct sn_operation state_return = {
	.name = "state_return",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_STATE_RETURN,
	.traits = SN_OP_FINDS_STATE,
	.way = SN_WAY_RETURN,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.simplify = simplify,
};
SN_OPERATION(state_return)
