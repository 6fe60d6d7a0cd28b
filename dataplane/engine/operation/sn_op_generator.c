/* SPDX-License-Identifier: Apache-2.0 */
/* generator: the packet ends here, and what answers it goes on where the generator says. */

#include "sn_answer.h"
#include "sn_dispatch.h"
#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	to->value = from->generator;
	return sn_build_index(b, sn_operation_of(to)->name, from->generator, b->msg->n_generators);
}

/* Whether a fragment to an own address is of an echo request, as its first one tells. */
static bool is_echo_fragment(struct sn_execution *x, const struct sn_pkt *p)
{
	uint16_t id = sn_load16(rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l3 + 4));
	struct sn_echoes *echoes = sn_execution_echoes(x);

	if (p->frag == SN_FRAG_LATER)
		return sn_echoes_know(echoes, p->src, p->dst, id, x->now);
	sn_echoes_note(echoes, p->src, p->dst, id, x->now);
	return true;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct sn_generator *g = &x->program->generators[op->value];
	struct sn_answer a = sn_answer_of(g, p, sn_entry_address(x->program, p));
	enum sn_reason reason;

	sn_journal_commit(x);
	if (a.kind == SN_ANSWER_FRAGMENT && !is_echo_fragment(x, p))
		reason = SN_REASON_LOCAL;
	else if (a.kind == SN_ANSWER_NONE)
		reason = a.reason;
	else if (!sn_answer_sum_ok(g, p))
		reason = SN_REASON_BAD_CHECKSUM;
	else if (a.kind != SN_ANSWER_ECHO && a.kind != SN_ANSWER_FRAGMENT && !sn_execution_may_send_error(x))
		reason = SN_REASON_ICMP_RATE;
	else
		reason = sn_answer_make(p, &a);
	return reason ? sn_drop(reason) : sn_to_segment(g->segment);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct sn_generator *g = &look->program->generators[op->value];
	struct sn_answer a = sn_answer_of(g, p, sn_entry_address(look->program, p));

	if (a.kind == SN_ANSWER_NONE)
		return sn_done();
	sn_answer_foresee(p, &a);
	return sn_to_segment(g->segment);
}

static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	const struct sn_generator *g = &p->generators[op->value];
	bool error = g->kind == SINTER__PROGRAM__V1__GENERATOR__KIND__ICMP_ERROR;

	(void)i;
	return (struct sn_lead){error ? SN_LED_ERROR : SN_LED_ANSWER, g->segment};
}

static const struct sn_operation generator = {
	.name = "generator",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_GENERATOR,
	.traits = SN_OP_UNCACHEABLE,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.leads = leads,
};
SN_OPERATION(generator)
