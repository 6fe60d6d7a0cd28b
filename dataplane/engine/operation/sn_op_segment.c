/* SPDX-License-Identifier: Apache-2.0 */
/* segment: the packet is classified again, as it now is. */

#include "sn_dispatch.h"
#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	to->value = from->segment;
	return sn_build_index(b, sn_operation_of(to)->name, from->segment, b->msg->n_segments);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	(void)x;
	(void)p;
	return sn_to_segment(op->value);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	(void)look;
	(void)p;
	return sn_to_segment(op->value);
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	c->simple = SN_SIMPLE_SEGMENT;
	c->target = op->value;
	return true;
}

static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	(void)i;
	(void)p;
	return (struct sn_lead){SN_LED_PACKET, op->value};
}

static const struct sn_operation segment = {
	.name = "segment",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_SEGMENT,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.simplify = simplify,
	.leads = leads,
};
SN_OPERATION(segment)
