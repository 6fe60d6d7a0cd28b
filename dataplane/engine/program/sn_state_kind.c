/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_state_kind.h"

#include <stdio.h>
#include <stdlib.h>

const struct sn_state_kind *sn_state_kinds[SN_STATE_KINDS_MAX];
static uint32_t n_kinds = 1;

void sn_state_kind_register(const struct sn_state_kind *kind)
{
	if (n_kinds == SN_STATE_KINDS_MAX) {
		fprintf(stderr, "state kind %s: there are %d before it, which is the most\n", kind->name,
			SN_STATE_KINDS_MAX - 1);
		abort();
	}
	sn_state_kinds[n_kinds++] = kind;
}

uint8_t sn_state_kind_row(const struct sn_state_kind *kind)
{
	uint8_t row = 0;

	while (sn_state_kinds[row] != kind)
		row++;
	return row;
}

const struct sn_state_kind *sn_state_kind_of(const Sinter__Program__V1__StateTable *msg)
{
	const struct sn_state_kind *found = NULL, *other = NULL;

	for (uint32_t i = 1; i < n_kinds; i++) {
		const struct sn_state_kind *kind = sn_state_kinds[i];

		if (kind->claims == NULL) {
			other = kind;
			continue;
		}
		if (!kind->claims(msg))
			continue;
		if (found != NULL)
			return NULL;
		found = kind;
	}
	return found != NULL ? found : other;
}
