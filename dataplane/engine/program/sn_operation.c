/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_operation.h"

#include <stdio.h>
#include <stdlib.h>

#define WIRES_MAX 128 /* numbers of Op and of Leg */

const struct sn_operation *sn_operations[SN_OPERATIONS_MAX];
static uint8_t n_operations, ops[WIRES_MAX], outcomes[WIRES_MAX];
_Static_assert(SN_OPERATIONS_MAX >= 2 * WIRES_MAX, "there is room for all");

void sn_operation_register(const struct sn_operation *o)
{
	uint8_t *numbers = o->decode ? ops : outcomes;

	/* Number 0 is that of a message without an operation. */
	if (o->wire == 0 || o->wire >= WIRES_MAX || numbers[o->wire]) {
		fprintf(stderr, "error msg=\"operation cannot be registered\" operation=%s number=%u\n",
			o->name, o->wire);
		abort();
	}
	numbers[o->wire] = ++n_operations;
	sn_operations[n_operations] = o;
}

uint8_t sn_operation_by_op(uint32_t wire)
{
	return wire < WIRES_MAX ? ops[wire] : 0;
}

uint8_t sn_operation_by_outcome(uint32_t wire)
{
	return wire < WIRES_MAX ? outcomes[wire] : 0;
}
