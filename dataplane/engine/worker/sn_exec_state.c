/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_exec_impl.h"
#include "sn_flow.h"
#include "sn_icmp.h"
#include "sn_tcp.h"

/* ---- the journal ---- */

static enum sn_reason note_use(struct exec *x, struct sn_session *s, const struct sn_pkt *p, bool is_return,
			       bool made)
{
	const uint8_t *tcp = NULL;

	if (x->n_uses == SN_JOURNAL_MAX) {
		if (made)
			sn_session_end(x->w->partition, s);
		return SN_REASON_DEPTH;
	}
	if (p->proto == SN_TCP && !x->warm_up)
		tcp = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
	/* A flow's first packet is often its last: only the second is worth a place in the cache. */
	if (made)
		x->keep = false;
	x->uses[x->n_uses++] =
		(struct sn_use){.session = s, .tcp = tcp, .is_return = is_return, .made = made};
	return SN_REASON_NONE;
}

void sn_exec_commit(struct exec *x)
{
	if (x->warm_up)
		return;
	for (uint32_t i = 0; i < x->n_uses; i++) {
		struct sn_use *u = &x->uses[i];

		if (!u->done)
			sn_session_use(x->w->state, u->session, u->tcp, u->is_return, x->now);
		u->done = 1;
	}
}

void sn_exec_roll_back(struct exec *x, uint32_t n)
{
	while (x->n_uses > n) {
		struct sn_use *u = &x->uses[--x->n_uses];

		if (u->made && !u->done)
			sn_session_end(x->w->partition, u->session);
	}
}

bool sn_exec_spans_shards(const struct exec *x)
{
	for (uint32_t i = 1; i < x->n_uses; i++)
		if (x->uses[i].session->shard != x->uses[0].session->shard)
			return !x->w->program->unpartitioned;
	return false;
}

/* ---- from inside ---- */

/*
 * The shard of a flow whose packet has none yet. What answers a packet between two NAPTs belongs to the
 * session by which that was translated back, and with it to the shard of the first NAPT, which its own
 * address does not tell.
 */
static uint32_t shard_of(const struct exec *x, const struct sn_flow *flow)
{
	for (uint32_t i = x->n_uses; i-- > 0;) {
		const struct sn_session *s = x->uses[i].session;

		if (x->uses[i].is_return && s->proto == flow->proto && s->inside_addr == flow->src &&
		    s->inside_port == flow->sport && s->remote_addr == flow->dst &&
		    s->remote_port == flow->dport)
			return s->shard;
	}
	return sn_state_shard(x->w->state, flow);
}

/*
 * Sets the shard of a packet from inside. Behind one NAPT the next one's state is of the same shard, but for
 * flows without ports, for which their remote tells it. False:
 * it is another worker's.
 */
static bool shard_for(struct exec *x, struct sn_pkt *p, const struct sn_flow *flow)
{
	if (p->shard == SN_PKT_NO_SHARD || !sn_has_ports(flow->proto))
		p->shard = shard_of(x, flow);
	return likely(x->w->partition->owned[p->shard]);
}

/*
 * The session of a return packet, NULL if there is none. False: it would be another worker's. Where the
 * packet leaves by a NAPT again, its flow tells the shard, as if it had come from inside: the flow has one
 * binding, whoever begins it.
 */
static bool find_return(struct exec *x, struct sn_pkt *p, uint32_t table, const struct sn_flow *flow,
			struct sn_session **session)
{
	const struct sn_state *state = x->w->state;

	if (unlikely(!x->w->partition->owned[sn_state_return_shard(state, table, flow)]))
		return false;
	*session = sn_state_return(state, table, flow, x->now);
	p->shard = SN_PKT_NO_SHARD;
	return true;
}

/*
 * The session by which the quoted packet was translated back a moment ago: it died
 * between two NAPTs of a run, but quotes the address behind the innermost.
 */
static struct sn_session *just_returned(const struct exec *x, const struct sn_pkt *p, uint32_t run)
{
	const struct sn_run *runs = x->w->program->runs;
	const struct sn_quote *q = &p->quote;

	for (uint32_t i = x->n_uses; i-- > 0;) {
		struct sn_session *s = x->uses[i].session;

		if (x->uses[i].is_return && runs[sn_session_run(x->w->state, s)].table == runs[run].table &&
		    s->proto == q->proto && s->inside_addr == q->dst && s->inside_port == q->dport &&
		    s->remote_addr == q->src && s->remote_port == q->sport)
			return s;
	}
	return NULL;
}

/* An error from inside about a packet that a session of the run delivered there. */
static enum sn_reason forward_error_by(struct exec *x, struct sn_pkt *p, uint32_t run)
{
	struct sn_quote *q = &p->quote;
	struct sn_flow flow = sn_flow_quoted(q);
	struct sn_session *s;

	s = just_returned(x, p, run);
	if (!s && !shard_for(x, p, &flow))
		return SN_REASON_NOT_OURS;
	if (!s && sn_state_forward(x->w->partition, run, p->shard, &flow, false, x->now, &s) == SN_STATE_NONE)
		return SN_REASON_NAT_UNSUPPORTED;
	p->src = s->outside_addr;
	q->dst = s->outside_addr;
	q->dport = s->outside_port;
	return SN_REASON_NONE;
}

/* The same, where packets without ports have a session at each NAPT of a run. */
static enum sn_reason forward_error(struct exec *x, struct sn_pkt *p, uint32_t run)
{
	const struct sn_run *r = &x->w->program->runs[run];
	enum sn_reason reason = SN_REASON_NONE;

	if (p->quote.proto == SN_ICMP && !sn_is_query_reply(p->quote.icmp_type))
		return SN_REASON_NAT_UNSUPPORTED;
	if (sn_has_ports(p->quote.proto) || r->n_single == 0)
		return forward_error_by(x, p, run);
	for (uint32_t i = 0; i < r->n_single && !reason; i++)
		reason = forward_error_by(x, p, r->single[i]);
	return reason;
}

enum sn_reason sn_exec_forward(struct exec *x, struct sn_pkt *p, uint32_t run)
{
	struct sn_session *s;
	struct sn_flow flow;
	enum sn_state_result result;

	if (p->frag != SN_FRAG_WHOLE)
		return SN_REASON_NAT_FRAGMENT;
	if (!sn_flow_of(p, SN_FLOW_INSIDE, &flow))
		return sn_icmp_quote(p) ? forward_error(x, p, run) : SN_REASON_NAT_UNSUPPORTED;
	if (!shard_for(x, p, &flow))
		return SN_REASON_NOT_OURS;
	result = sn_state_forward(x->w->partition, run, p->shard, &flow, !x->warm_up, x->now, &s);
	if (unlikely(x->w->evicted != NULL) && x->w->ended.n > 0) {
		x->w->evicted(x->w->drop_ctx, sn_source(p->m), &x->w->ended);
		x->w->ended.n = 0;
	}
	if (result == SN_STATE_NONE)
		return SN_REASON_NAT_EXHAUSTED;
	p->src = s->outside_addr;
	if (p->proto == SN_ICMP)
		p->id = s->outside_port;
	else if (likely(sn_has_ports(p->proto)))
		p->sport = s->outside_port;
	return note_use(x, s, p, false, result == SN_STATE_MADE);
}

/* ---- from outside ---- */

/* An error from outside about a packet that was sent there. */
static struct next return_error(struct exec *x, struct sn_pkt *p, uint32_t table)
{
	struct sn_quote *q = &p->quote;
	struct sn_flow flow = sn_flow_quoted(q);
	struct sn_session *s = NULL;

	if (p->dst == q->src && (q->proto != SN_ICMP || sn_is_query(q->icmp_type)) &&
	    !find_return(x, p, table, &flow, &s))
		return drop(x, p, SN_REASON_NOT_OURS);
	if (!s)
		return drop(x, p, SN_REASON_NAT_NO_BINDING);
	p->dst = s->inside_addr;
	q->src = s->inside_addr;
	q->sport = s->inside_port;
	return (struct next){x->w->program->runs[sn_session_run(x->w->state, s)].segment};
}

struct next sn_exec_return(struct exec *x, struct sn_pkt *p, uint32_t table)
{
	struct sn_session *s;
	struct sn_flow flow;
	enum sn_reason reason;

	if (p->frag != SN_FRAG_WHOLE)
		return drop(x, p, SN_REASON_NAT_FRAGMENT);
	if (!sn_flow_of(p, SN_FLOW_OUTSIDE, &flow)) {
		if (sn_icmp_quote(p))
			return return_error(x, p, table);
		return drop(x, p, SN_REASON_NAT_NO_BINDING);
	}
	if (!find_return(x, p, table, &flow, &s))
		return drop(x, p, SN_REASON_NOT_OURS);
	if (!s)
		return drop(x, p, SN_REASON_NAT_NO_BINDING);
	p->dst = s->inside_addr;
	if (p->proto == SN_ICMP)
		p->id = s->inside_port;
	else if (likely(sn_has_ports(p->proto)))
		p->dport = s->inside_port;
	reason = note_use(x, s, p, true, false);
	if (reason)
		return drop(x, p, reason);
	return (struct next){x->w->program->runs[sn_session_run(x->w->state, s)].segment};
}
