/* SPDX-License-Identifier: Apache-2.0 */
/* drop: the end of a packet, for a reason of the engine's or one that the chain defines. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	const Sinter__Program__V1__Drop *drop = from->drop;

	switch (drop->reason_case) {
	case SINTER__PROGRAM__V1__DROP__REASON_CHAIN:
		to->value = SN_REASON_CHAIN + drop->chain;
		return sn_build_index(b, "drop.chain", drop->chain, b->msg->n_reasons);
	case SINTER__PROGRAM__V1__DROP__REASON_BUILTIN:
		to->value = (uint32_t)drop->builtin;
		if (to->value == SN_REASON_NONE || !sn_reason_name(to->value))
			return sn_build_fail(b, "drop.builtin %d is no drop reason", (int)drop->builtin);
		return 0;
	default:
		return sn_build_fail(b, "drop has no reason");
	}
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	(void)x;
	(void)p;
	return sn_drop(op->value);
}

static bool simplify(struct sn_class *c, const struct sn_op *op)
{
	c->simple = SN_SIMPLE_DROP;
	c->target = op->value;
	return true;
}

static const struct sn_operation drop = {
	.name = "drop",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_DROP,
	.decode_outcome = decode,
	.execute = execute,
	.simplify = simplify,
};
SN_OPERATION(drop)
