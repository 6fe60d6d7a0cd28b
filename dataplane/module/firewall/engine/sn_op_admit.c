/* SPDX-License-Identifier: Apache-2.0 */
/* admit: a flow begins with the packet. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_track.h"
#include "sn_window.h"

struct admit {
	uint32_t table;
	uint32_t full; /* reason */
	bool from_outside;
};

static const struct admit *admit_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	const Sinter__Program__V1__Admit *m = from->admit;
	struct admit *a;
	int rc = sn_build_table_of(b, "admit.table", m->table, &sn_track, "one of tracking");

	if (rc)
		return rc;
	a = sn_build_array(1, sizeof(*a));
	rc = sn_build_operands(b, to, a);
	if (rc)
		return rc;
	a->table = m->table;
	a->from_outside = m->from_outside;
	a->full = SN_REASON_CHAIN + m->full;
	return sn_build_index(b, "admit.full", m->full, b->msg->n_reasons);
}

static bool is_syn(const struct sn_pkt *p)
{
	const uint32_t judged = SN_TCP_SYN | SN_TCP_ACK | SN_TCP_RST | SN_TCP_FIN;

	return p->proto == SN_TCP && (p->tcp_flags & judged) == SN_TCP_SYN;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct admit *a = admit_of(x->program, op);
	struct sn_session *s;
	bool is_return, made, checked;
	struct sn_flow flow;
	uint32_t shard;

	x->keep = false; /* a flow's first packet is often its last */
	if (x->warm_up)
		return sn_done();
	if (!sn_followed_flow(p, &flow))
		return sn_drop(a->full);
	shard = sn_flow_shard_in(x->state, a->table, &flow, a->from_outside);
	if (unlikely(!x->partition->owned[shard]))
		return sn_hand_over_to(shard);
	s = sn_track_begin(x->partition, a->table, shard, &flow, a->from_outside, x->now, &is_return, &made);
	if (unlikely(x->partition->events != NULL))
		sn_execution_tell_events(x, p);
	if (!s)
		return sn_drop(a->full);
	checked = is_syn(p) && sn_track_is_strict(&x->program->tables[a->table]);
	if (made && checked)
		sn_window_check(s, true);
	if (!made && is_syn(p) && s->seen & SN_SEEN_CLOSING)
		return sn_journal_note_again(x, s, p, is_return, checked);
	return sn_journal_note(x, s, p, is_return, made);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct admit *a = admit_of(look->program, op);
	struct sn_flow flow;

	if (!sn_followed_flow(p, &flow))
		return sn_done();
	return sn_hand_over_to(sn_flow_shard_in(look->state, a->table, &flow, a->from_outside));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct admit *a = admit_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = a->from_outside, .table = a->table};
}

static const struct sn_operation admit = {
	.name = "admit",
	.wire = SINTER__PROGRAM__V1__OP__OP_ADMIT,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
};
SN_OPERATION(admit)
