/* SPDX-License-Identifier: Apache-2.0 */
/* observe: the packet is counted with those of its flow, as it is here. */

#include "sn_execution.h"

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from)
{
	to->value = from->observe;
	return sn_build_index(b, sn_operation_of(to)->name, from->observe, b->msg->n_observations);
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	(void)op;
	sn_execution_observe(x, p);
	return sn_pass();
}

static const struct sn_operation observe = {
	.name = "observe",
	.wire = SINTER__PROGRAM__V1__OP__OP_OBSERVE,
	.notes_flows = true,
	.decode = decode,
	.execute = execute,
};
SN_OPERATION(observe)
