/* SPDX-License-Identifier: Apache-2.0 */
/* next_hop: the next hop is noted, by which the packet will leave; 0 forgets the one noted before. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	to->value = from->next_hop;
	return sn_build_hop(b, from->next_hop);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	(void)x;
	p->next_hop = op->value;
	return sn_pass();
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	c->next_hop = op->value;
	c->notes_hop = true;
	return true;
}

static const struct sn_operation next_hop = {
	.name = "next_hop",
	.wire = SINTER__PROGRAM__V1__OP__OP_NEXT_HOP,
	.traits = SN_OP_ON_PACKET,
	.decode = decode,
	.execute = execute,
	.simplify = simplify,
};
SN_OPERATION(next_hop)
