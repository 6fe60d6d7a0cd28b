/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_state_kind.h"

#include <stdio.h>
#include <stdlib.h>

#define KINDS_MAX 32

static const struct sn_state_kind *kinds[KINDS_MAX];
static uint32_t n_kinds;

void sn_state_kind_register(const struct sn_state_kind *kind)
{
	if (n_kinds == KINDS_MAX) {
		fprintf(stderr, "state kind %s: there are %d before it, which is the most\n", kind->name,
			KINDS_MAX);
		abort();
	}
	kinds[n_kinds++] = kind;
}

const struct sn_state_kind *sn_state_kind_of(const Sinter__Program__V1__StateTable *msg)
{
	const struct sn_state_kind *found = NULL, *other = NULL;

	for (uint32_t i = 0; i < n_kinds; i++) {
		if (kinds[i]->claims == NULL) {
			other = kinds[i];
			continue;
		}
		if (!kinds[i]->claims(msg))
			continue;
		if (found != NULL)
			return NULL;
		found = kinds[i];
	}
	return found != NULL ? found : other;
}
