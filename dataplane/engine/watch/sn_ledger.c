/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_ledger.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct total {
	struct sn_count count;
	char name[];
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct total *)a)->name, ((const struct total *)b)->name);
}

static struct total *total_of(const char *name)
{
	size_t len = strlen(name) + 1;
	struct total *total = calloc(1, sizeof(*total) + len);

	if (total != NULL)
		memcpy(total->name, name, len);
	return total;
}

int sn_ledger_add(struct sn_ledger *ledger, const char *name, const struct sn_count *count)
{
	struct total *fresh = total_of(name), **found;

	if (fresh == NULL)
		return -1;
	found = tsearch(fresh, &ledger->root, compare);
	if (found == NULL || *found != fresh)
		free(fresh);
	else
		ledger->n++;
	if (found == NULL)
		return -1;
	(*found)->count.packets += count->packets;
	(*found)->count.bytes += count->bytes;
	return 0;
}

const struct sn_count *sn_ledger_find(const struct sn_ledger *ledger, const char *name)
{
	struct total *key = total_of(name), **found;

	if (key == NULL)
		return NULL;
	found = tfind(key, &ledger->root, compare);
	free(key);
	return found != NULL ? &(*found)->count : NULL;
}

struct visit {
	void (*visit)(const char *name, const struct sn_count *count, void *ctx);
	void *ctx;
};

static void visit_node(const void *node, VISIT order, void *closure)
{
	const struct total *total = *(const struct total *const *)node;
	const struct visit *visit = closure;

	if (order == postorder || order == leaf)
		visit->visit(total->name, &total->count, visit->ctx);
}

void sn_ledger_each(const struct sn_ledger *ledger,
		    void (*visit)(const char *name, const struct sn_count *count, void *ctx), void *ctx)
{
	struct visit closure = {visit, ctx};

	twalk_r(ledger->root, visit_node, &closure);
}

void sn_ledger_free(struct sn_ledger *ledger)
{
	tdestroy(ledger->root, free);
	ledger->root = NULL;
}
