/* SPDX-License-Identifier: Apache-2.0 */
/* balance, balance_back: a client's packet goes to the backend of its session, a backend's leaves with the
 * virtual address. */

#include "sn_balancer.h"
#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_flow.h"
#include "sn_icmp.h"

static const struct sn_balancer_rules *rules_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->tables[op->value].rules;
}

static int decode_table(struct sn_builder *b, struct sn_op *to, uint32_t table, uint16_t writes)
{
	const char *field = sn_operation_of(to)->name;
	int rc = sn_build_table_of(b, field, table, &sn_balancer, "a balancer's");

	if (rc)
		return rc;
	to->value = table;
	to->writes = writes;
	return 0;
}

/* Backends are next hops: a flow's is one of them, as those that are gone get no packets. */
static int decode_direct(struct sn_builder *b, struct sn_op *to, const struct sn_balancer_rules *r)
{
	int rc = 0;

	to->writes = 0;
	for (uint32_t i = 0; i < r->n_backends && !rc; i++)
		rc = sn_build_hop(b, r->backends[i].address);
	return rc;
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	int rc = decode_table(b, to, from->balance, 1u << SN_DST | 1u << SN_DPORT);
	const struct sn_balancer_rules *r;

	if (rc)
		return rc;
	r = rules_of(b->p, to);
	if (!r->stateless)
		to->traits |= SN_OP_OWN_SHARD;
	return r->direct ? decode_direct(b, to, r) : 0;
}

static int decode_back(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	int rc = decode_table(b, to, from->balance_back, 1u << SN_SRC | 1u << SN_SPORT);

	if (!rc && rules_of(b->p, to)->direct)
		return sn_build_fail(b, "balance_back is %u (%s), to which no backend sends: it is direct",
				     to->value, b->p->tables[to->value].name);
	return rc;
}

/* Kinds of packets for a balancer. */
enum matter {
	NO_MATTER, /* it has no flow, or another protocol's */
	OF_FLOW,
	ERROR_ABOUT_FLOW, /* an ICMP error; its flow is that of the packet it quotes, turned round */
	ERROR,		  /* about something else */
};

static bool is_quoting(uint16_t icmp_type)
{
	return icmp_type == SN_ICMP_UNREACHABLE || icmp_type == SN_ICMP_TIME_EXCEEDED ||
	       icmp_type == SN_ICMP_PARAMETER;
}

static enum matter matter_of(struct sn_pkt *p, struct sn_flow *flow)
{
	if (p->frag != SN_FRAG_WHOLE)
		return NO_MATTER;
	if (p->proto == SN_TCP || p->proto == SN_UDP)
		return sn_flow_of(p, SN_FLOW_INSIDE, flow) ? OF_FLOW : NO_MATTER;
	if (p->proto != SN_ICMP || !is_quoting(p->icmp_type))
		return NO_MATTER;
	if (!sn_icmp_quote(p) || (p->quote.proto != SN_TCP && p->quote.proto != SN_UDP))
		return ERROR;
	*flow = sn_flow_quoted(&p->quote);
	return ERROR_ABOUT_FLOW;
}

/* ---- from clients ---- */

static struct sn_verdict execute_error(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op,
				       const struct sn_flow *flow)
{
	const struct sn_balancer_rules *r = rules_of(x->program, op);
	struct sn_session *s;

	if (p->dst != flow->dst ||
	    sn_balancer_forth(x->partition, op->value, r, flow, false, x->now, &s) != SN_BALANCER_FOUND)
		return sn_drop(r->no_session);
	if (r->direct) {
		p->next_hop = s->inside_addr;
		return sn_pass();
	}
	p->dst = s->inside_addr;
	p->quote.src = s->inside_addr;
	p->quote.sport = s->inside_port;
	return sn_pass();
}

static struct sn_verdict execute_flow(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op,
				      const struct sn_flow *flow)
{
	const struct sn_balancer_rules *r = rules_of(x->program, op);
	struct sn_session *s;
	enum sn_balancer_result result =
		sn_balancer_forth(x->partition, op->value, r, flow, !x->warm_up, x->now, &s);

	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	if (result == SN_BALANCER_NO_BACKEND)
		return sn_drop(r->no_backend);
	if (result == SN_BALANCER_FULL || result == SN_BALANCER_NONE)
		return sn_drop(r->full);
	if (r->direct) {
		p->next_hop = s->inside_addr;
	} else {
		p->dst = s->inside_addr;
		p->dport = s->inside_port;
	}
	if (unlikely(result == SN_BALANCER_MOVED))
		return sn_journal_note_instead(x, s, p, !r->direct);
	return sn_journal_note(x, s, p, !r->direct, result == SN_BALANCER_MADE);
}

/* Without a session, by whichever worker. */
static struct sn_verdict execute_stateless(const struct sn_balancer_rules *r, struct sn_pkt *p,
					   enum matter matter, const struct sn_flow *flow)
{
	const struct sn_backend *to = sn_balancer_spread(r, flow);

	if (matter == ERROR_ABOUT_FLOW && p->dst != flow->dst)
		return sn_drop(r->no_session);
	if (!to)
		return sn_drop(r->no_backend);
	p->next_hop = to->address;
	return sn_pass();
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct sn_balancer_rules *r = rules_of(x->program, op);
	struct sn_flow flow;
	enum matter matter = matter_of(p, &flow);
	uint32_t shard;

	if (matter == NO_MATTER)
		return sn_pass();
	if (matter == ERROR)
		return sn_drop(r->no_session);
	if (r->stateless)
		return execute_stateless(r, p, matter, &flow);
	shard = sn_balancer_shard(x->state, op->value, &flow);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	return matter == OF_FLOW ? execute_flow(x, p, op, &flow) : execute_error(x, p, op, &flow);
}

/* ---- from backends ---- */

static uint32_t shard_back(const struct sn_state *state, const struct sn_op *op, const struct sn_flow *flow)
{
	const struct sn_flow from_client = sn_flow_turned(flow);

	return sn_balancer_shard(state, op->value, &from_client);
}

static struct sn_verdict execute_back(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	struct sn_session *s;
	struct sn_flow flow;
	enum matter matter = matter_of(p, &flow);
	uint32_t shard;

	if (matter == NO_MATTER || matter == ERROR)
		return sn_pass();
	shard = shard_back(x->state, op, &flow);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	s = sn_balancer_back(x->state, op->value, rules_of(x->program, op), &flow, x->now);
	if (!s) {
		x->keep = false; /* there may be one for the flow's next packet */
		return sn_pass();
	}
	p->src = s->outside_addr;
	if (matter == ERROR_ABOUT_FLOW) {
		p->quote.dst = s->outside_addr;
		p->quote.dport = s->outside_port;
		return sn_pass();
	}
	p->sport = s->outside_port;
	return sn_journal_note(x, s, p, false, false);
}

/* ---- foreseen ---- */

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	struct sn_flow flow;
	enum matter matter = matter_of(p, &flow);

	if (matter == NO_MATTER || rules_of(look->program, op)->stateless)
		return sn_pass();
	return matter == ERROR ? sn_done()
			       : sn_hand_over_to(sn_balancer_shard(look->state, op->value, &flow));
}

static struct sn_verdict predict_back(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	struct sn_flow flow;
	enum matter matter = matter_of(p, &flow);

	return matter == NO_MATTER || matter == ERROR ? sn_pass()
						      : sn_hand_over_to(shard_back(look->state, op, &flow));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	(void)p;
	return (struct sn_cut){.of = SN_CUT_OF_CLIENT, .table = op->value};
}

static struct sn_cut cut_back(const struct sn_program *p, const struct sn_op *op)
{
	(void)p;
	return (struct sn_cut){.of = SN_CUT_OF_CLIENT, .destination = true, .table = op->value};
}

static const struct sn_operation balance = {
	.name = "balance",
	.wire = SINTER__PROGRAM__V1__OP__OP_BALANCE,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(balance)

static const struct sn_operation balance_back = {
	.name = "balance_back",
	.wire = SINTER__PROGRAM__V1__OP__OP_BALANCE_BACK,
	.traits = SN_OP_OWN_SHARD,
	.decode = decode_back,
	.execute = execute_back,
	.predict = predict_back,
	.cut = cut_back,
};
SN_OPERATION(balance_back)
