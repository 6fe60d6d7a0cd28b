/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "sn_operation.h"

#define WIRES_MAX 64 /* numbers of Op and of Leg */

static const struct sn_operation *ops[WIRES_MAX], *outcomes[WIRES_MAX];

void sn_operation_register(const struct sn_operation *o)
{
	const struct sn_operation **rows = o->decode ? ops : outcomes;

	if (o->wire >= WIRES_MAX || rows[o->wire]) {
		fprintf(stderr, "error msg=\"operation cannot be registered\" operation=%s number=%u\n",
			o->name, o->wire);
		abort();
	}
	rows[o->wire] = o;
}

const struct sn_operation *sn_operation_of_op(uint32_t wire)
{
	return wire < WIRES_MAX ? ops[wire] : NULL;
}

const struct sn_operation *sn_operation_of_outcome(uint32_t wire)
{
	return wire < WIRES_MAX ? outcomes[wire] : NULL;
}
