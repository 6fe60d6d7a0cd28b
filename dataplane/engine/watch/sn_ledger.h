/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_LEDGER_H
#define SN_LEDGER_H

/* Totals by name of counters whose program is gone: a swap does not set them back. */

#include <stddef.h>

#include "sn_count.h"

struct sn_ledger {
	void *root; /* of tsearch() */
	size_t n;
};

/* Less than 0 if memory is short. */
int sn_ledger_add(struct sn_ledger *ledger, const char *name, const struct sn_count *count);

/* NULL if the name was never added. */
const struct sn_count *sn_ledger_find(const struct sn_ledger *ledger, const char *name);

/* In the order of the names. */
void sn_ledger_each(const struct sn_ledger *ledger,
		    void (*visit)(const char *name, const struct sn_count *count, void *ctx), void *ctx);

void sn_ledger_free(struct sn_ledger *ledger);

#endif /* SN_LEDGER_H */
