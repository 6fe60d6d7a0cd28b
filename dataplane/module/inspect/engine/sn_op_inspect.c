/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: the packet's payload is matched with rules, or its stream's, by which it is dropped or marked. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_inspect.h"

struct inspect {
	uint32_t table;
	bool from_outside;
	bool streams;
};

static const struct inspect *inspect_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static struct sn_inspect_rules *rules_of(const struct sn_program *p, const struct inspect *i)
{
	return p->tables[i->table].rules;
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const Sinter__Program__V1__Inspect *m = from->inspect;
	struct inspect *i;
	int rc = sn_build_table_of(b, "inspect.table", m->table, &sn_inspect, "an inspector's");

	if (rc)
		return rc;
	i = sn_build_array(1, sizeof(*i));
	rc = sn_build_operands(b, to, i);
	if (rc)
		return rc;
	*i = (struct inspect){m->table, m->from_outside,
			      sn_inspect_has_streams(b->p->tables[m->table].rules)};
	if (sn_inspect_marks(rules_of(b->p, i)))
		to->writes = 1u << SN_DSCP;
	if (i->streams)
		to->traits |= SN_OP_FOLLOWS_FLOW;
	return 0;
}

/* Whether the packet has a payload that is looked at; of streams, whether it is of one. */
static bool is_looked_at(const struct inspect *i, const struct sn_pkt *p)
{
	return p->frag == SN_FRAG_WHOLE && p->sport != SN_PORT_ABSENT && (!i->streams || p->proto == SN_TCP);
}

static uint32_t shard_of(const struct sn_state *state, const struct inspect *i, const struct sn_pkt *p,
			 struct sn_flow *flow)
{
	*flow = (struct sn_flow){p->src, p->dst, (uint16_t)p->sport, (uint16_t)p->dport, p->proto};
	return sn_flow_shard_in(state, i->table, flow, i->from_outside);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct inspect *i = inspect_of(x->program, op);
	enum sn_stream_result result;
	struct sn_entry *e;
	struct sn_flow flow;
	uint32_t shard;

	if (!i->streams || !is_looked_at(i, p))
		return sn_execution_each(x, p, op, NULL);
	shard = shard_of(x->state, i, p, &flow);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	result = sn_inspect_stream(x->partition, i->table, shard, &flow, i->from_outside, !x->warm_up, x->now,
				   &e);
	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	/* A stream's first packet is often its last. */
	x->keep &= result == SN_STREAM_FOUND;
	if (likely(e != NULL))
		return sn_execution_each(x, p, op, e);
	return x->warm_up ? sn_pass() : sn_drop(sn_inspect_full(rules_of(x->program, i)));
}

#define UDP_HEADER 8

/* The bytes behind the TCP or UDP header, which the parser has checked. */
static struct sn_payload payload_of(const struct sn_pkt *p, const uint8_t *l4)
{
	uint32_t header;

	if (p->proto == SN_UDP)
		return (struct sn_payload){l4 + UDP_HEADER, sn_load16(l4 + 4) - UDP_HEADER,
					   SN_PAYLOAD_DATAGRAM};
	header = (l4[12] >> 4) * 4u;
	return (struct sn_payload){l4 + header, p->ip_len - (uint32_t)(p->l4 - p->l3) - header,
				   SN_PAYLOAD_SEGMENT};
}

static struct sn_verdict each(const struct sn_program *program, const struct sn_op *op,
			      struct sn_partition *partition, struct sn_entry *entry, struct sn_pkt *p,
			      uint64_t now)
{
	const struct inspect *i = inspect_of(program, op);
	const uint8_t *l4 = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
	struct sn_inspected done;

	if (unlikely(!is_looked_at(i, p)))
		return sn_pass();
	if (entry)
		done = sn_inspect_segment(partition, rules_of(program, i), i->table, entry, l4,
					  payload_of(p, l4), now);
	else
		done = sn_inspect_payload(partition, rules_of(program, i), i->table, payload_of(p, l4));
	if (done.reason != SN_REASON_NONE)
		return sn_drop(done.reason);
	if (done.dscp != SN_INSPECT_KEEP_DSCP)
		p->dscp = (uint8_t)done.dscp;
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct inspect *i = inspect_of(look->program, op);
	struct sn_flow flow;

	if (!i->streams || !is_looked_at(i, p))
		return sn_pass();
	return sn_hand_over_to(shard_of(look->state, i, p, &flow));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct inspect *i = inspect_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = i->from_outside, .table = i->table};
}

static const struct sn_operation inspect = {
	.name = "inspect",
	.wire = SINTER__PROGRAM__V1__OP__OP_INSPECT,
	.decode = decode,
	.execute = execute,
	.each = each,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(inspect)
