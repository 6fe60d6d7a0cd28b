/* SPDX-License-Identifier: Apache-2.0 */
/* state_forward: a packet from inside is translated by a run of NAPTs; its session is found, or made. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_icmp.h"
#include "sn_napt.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	to->value = from->state_forward;
	to->writes = 1u << SN_SRC | 1u << SN_SPORT;
	return sn_build_index(b, sn_operation_of(to)->name, from->state_forward, b->msg->n_runs);
}

/* Whether the packet was translated back by the session of a NAPT that it used: other kinds have no runs. */
static bool is_returned(const struct sn_execution *x, uint32_t use)
{
	return x->uses[use].is_return && x->uses[use].entry->owner < x->program->n_runs;
}

/*
 * The shard of a flow whose packet has none yet. What answers a packet between two NAPTs belongs to the
 * session by which that was translated back, and with it to the shard of the first NAPT, which its own
 * address does not tell.
 */
static uint32_t shard_of(const struct sn_execution *x, uint32_t run, const struct sn_flow *flow)
{
	for (uint32_t i = x->n_uses; i-- > 0;) {
		const struct sn_session *s = (const struct sn_session *)x->uses[i].entry;

		if (is_returned(x, i) && s->proto == flow->proto && s->inside_addr == flow->src &&
		    s->inside_port == flow->sport && s->remote_addr == flow->dst &&
		    s->remote_port == flow->dport)
			return s->entry.shard;
	}
	return sn_napt_shard(x->state, run, flow);
}

/*
 * Sets the shard of a packet from inside. Behind one NAPT the next one's state is of the same shard, but for
 * flows without ports, for which their remote tells it. Where one worker has all shards, the flow tells its
 * own: packets of it may come by another way, on which the first NAPT does not lie. False: it is another
 * worker's.
 */
static bool shard_for(struct sn_execution *x, struct sn_pkt *p, uint32_t run, const struct sn_flow *flow)
{
	if (p->shard == SN_PKT_NO_SHARD || !sn_has_ports(flow->proto) || sn_state_units(x->state) == 1)
		p->shard = shard_of(x, run, flow);
	return likely(x->partition->owned[p->shard]);
}

/*
 * The session by which the quoted packet was translated back a moment ago: it died
 * between two NAPTs of a run, but quotes the address behind the innermost.
 */
static struct sn_session *just_returned(const struct sn_execution *x, const struct sn_pkt *p, uint32_t run)
{
	const struct sn_run *runs = x->program->runs;
	const struct sn_quote *q = &p->quote;

	for (uint32_t i = x->n_uses; i-- > 0;) {
		struct sn_session *s = (struct sn_session *)x->uses[i].entry;

		if (is_returned(x, i) && runs[sn_session_run(s)].table == runs[run].table &&
		    s->proto == q->proto && s->inside_addr == q->dst && s->inside_port == q->dport &&
		    s->remote_addr == q->src && s->remote_port == q->sport)
			return s;
	}
	return NULL;
}

/* An error from inside about a packet that a session of the run delivered there. */
static struct sn_verdict translate_error(struct sn_execution *x, struct sn_pkt *p, uint32_t run)
{
	struct sn_quote *q = &p->quote;
	struct sn_flow flow = sn_flow_quoted(q);
	struct sn_session *s;

	s = just_returned(x, p, run);
	if (!s && !shard_for(x, p, run, &flow))
		return sn_hand_over_to(p->shard);
	if (!s && sn_napt_forward(x->partition, run, p->shard, &flow, false, x->now, &s) == SN_NAPT_NONE)
		return sn_drop(SN_REASON_NAT_UNSUPPORTED);
	p->src = s->outside_addr;
	q->dst = s->outside_addr;
	q->dport = s->outside_port;
	return sn_pass();
}

/* The same, where packets without ports have a session at each NAPT of a run. */
static struct sn_verdict execute_error(struct sn_execution *x, struct sn_pkt *p, uint32_t run)
{
	const struct sn_run *r = &x->program->runs[run];
	struct sn_verdict v = sn_pass();

	if (p->quote.proto == SN_ICMP && !sn_is_query_reply(p->quote.icmp_type))
		return sn_drop(SN_REASON_NAT_UNSUPPORTED);
	if (sn_has_ports(p->quote.proto) || r->n_single == 0)
		return translate_error(x, p, run);
	for (uint32_t i = 0; i < r->n_single && v.kind == SN_VERDICT_PASS; i++)
		v = translate_error(x, p, r->single[i]);
	return v;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	struct sn_session *s;
	struct sn_flow flow;
	enum sn_napt_result result;

	if (p->frag != SN_FRAG_WHOLE)
		return sn_drop(SN_REASON_NAT_FRAGMENT);
	if (!sn_flow_of(p, SN_FLOW_INSIDE, &flow))
		return sn_icmp_quote(p) ? execute_error(x, p, op->value) : sn_drop(SN_REASON_NAT_UNSUPPORTED);
	if (!shard_for(x, p, op->value, &flow))
		return sn_hand_over_to(p->shard);
	result = sn_napt_forward(x->partition, op->value, p->shard, &flow, !x->warm_up, x->now, &s);
	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	if (result == SN_NAPT_LIMITED)
		return sn_drop(sn_napt_limit(x->state, op->value));
	if (result == SN_NAPT_NONE)
		return sn_drop(SN_REASON_NAT_EXHAUSTED);
	p->src = s->outside_addr;
	if (p->proto == SN_ICMP)
		p->id = s->outside_port;
	else if (likely(sn_has_ports(p->proto)))
		p->sport = s->outside_port;
	return sn_journal_note(x, s, p, false, result == SN_NAPT_MADE);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	struct sn_flow flow;

	if (p->frag != SN_FRAG_WHOLE)
		return sn_done();
	if (!sn_flow_of(p, SN_FLOW_INSIDE, &flow)) {
		if (!sn_icmp_quote(p))
			return sn_done();
		flow = sn_flow_quoted(&p->quote);
	}
	return sn_hand_over_to(sn_napt_shard(look->state, op->value, &flow));
}

/* The session can be fetched while the packet waits for its turn, and made there if it is all the state that
 * the packet meets. */
static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	if (c->state_run != SN_NO_INDEX)
		return false;
	c->state_run = op->value;
	return true;
}

static const struct sn_operation state_forward = {
	.name = "state_forward",
	.wire = SINTER__PROGRAM__V1__OP__OP_STATE_FORWARD,
	.traits = SN_OP_MAKES_STATE,
	.way = SN_WAY_FORWARD,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.simplify = simplify,
};
SN_OPERATION(state_forward)
