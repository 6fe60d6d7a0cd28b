/* SPDX-License-Identifier: Apache-2.0 */
/* add_ttl: the decrements of all routers on a way at once. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	if (from->add_ttl < -255 || from->add_ttl > 255)
		return sn_build_fail(b, "add_ttl is %d, want -255..255", from->add_ttl);
	to->value = (uint32_t)from->add_ttl;
	to->writes = 1u << SN_TTL;
	if (from->add_ttl < 0)
		to->traits |= SN_OP_LOWERS_TTL;
	if (from->add_ttl > 0)
		to->traits |= SN_OP_RAISES_TTL | SN_OP_UNCACHEABLE;
	return 0;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	/* Only a TTL that just sinks is the same difference for every packet. */
	if (-(int32_t)op->value > p->ttl)
		x->keep = false;
	p->ttl += (int32_t)op->value;
	return sn_pass();
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	(void)look;
	p->ttl += (int32_t)op->value;
	return sn_pass();
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	int32_t ttl_dec = c->ttl_dec - (int32_t)op->value;

	if ((int32_t)op->value > 0 || ttl_dec > 255)
		return false;
	c->ttl_dec = ttl_dec;
	return true;
}

static const struct sn_operation add_ttl = {
	.name = "add_ttl",
	.wire = SINTER__PROGRAM__V1__OP__OP_ADD_TTL,
	.traits = SN_OP_ON_PACKET,
	.decode = decode,
	.execute = execute,
	.predict = predict,
	.simplify = simplify,
};
SN_OPERATION(add_ttl)
