/* SPDX-License-Identifier: Apache-2.0 */
/* stop: the packet leaves for a function outside of the program; in a segment it goes on when it comes
 * back. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	to->writes = (uint16_t)from->stop->writes;
	return sn_build_stop(b, from->stop, &to->value);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	return sn_execution_stop(x, p, op->value);
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	c->simple = SN_SIMPLE_STOP;
	c->target = op->value;
	return true;
}

static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	(void)i;
	return (struct sn_lead){SN_LED_PACKET, p->stops[op->value].segment};
}

static const struct sn_operation stop = {
	.name = "stop",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_STOP,
	.decode_outcome = decode,
	.execute = execute,
	.simplify = simplify,
	.leads = leads,
};
SN_OPERATION(stop)
