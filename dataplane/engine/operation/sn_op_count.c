/* SPDX-License-Identifier: Apache-2.0 */
/* count: a counter behind an operation that may drop the packet; those before all such are the leg's. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	to->value = from->count;
	return sn_build_index(b, sn_operation_of(to)->name, from->count, b->msg->n_counters);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	sn_execution_count(x, op->value, p);
	return sn_pass();
}

static const struct sn_operation count = {
	.name = "count",
	.wire = SINTER__PROGRAM__V1__OP__OP_COUNT,
	.decode = decode,
	.execute = execute,
};
SN_OPERATION(count)
