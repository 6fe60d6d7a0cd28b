/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_fib_changes.h"

#include <stdlib.h>
#include <string.h>

#include "sn_fib.h"

typedef Sinter__Control__V1__FibChange change_msg;

/* The FIB that is to be changed, in *base; NULL: none, the new one is made from nothing. */
static int find_base(const change_msg *change, const struct sn_plan *running, const struct sn_fib **base,
		     struct sn_error *err)
{
	struct sn_fibs known = {0};

	*base = NULL;
	if (change->from.len == 0)
		return 0;
	if (change->from.len != SN_SHA256_LEN)
		return sn_fail(err, "from has %zu bytes, want %d or none", change->from.len, SN_SHA256_LEN);
	if (running != NULL)
		known = (struct sn_fibs){running->program->fibs, running->program->n_fibs};
	*base = sn_fibs_find(&known, change->from.data);
	if (*base == NULL)
		return sn_fail(
			err,
			"from is table %02x%02x%02x%02x..., which the running program has not: send the "
			"whole table",
			change->from.data[0], change->from.data[1], change->from.data[2],
			change->from.data[3]);
	return 0;
}

static struct sn_fib *make(const change_msg *change, const struct sn_plan *running, struct sn_error *err)
{
	const struct sn_fib_change ranges = {change->n_first, change->first, change->last, change->number};
	const struct sn_fib *base;
	const uint8_t *has;
	struct sn_fib *fib;

	if (change->hash.len != SN_SHA256_LEN) {
		sn_fail(err, "hash has %zu bytes, want %d", change->hash.len, SN_SHA256_LEN);
		return NULL;
	}
	if (change->n_last != change->n_first || change->n_number != change->n_first) {
		sn_fail(err, "%zu first and %zu last addresses with %zu numbers, want as many of each",
			change->n_first, change->n_last, change->n_number);
		return NULL;
	}
	if (find_base(change, running, &base, err) != 0)
		return NULL;
	fib = sn_fib_create(base, &ranges, err);
	if (fib == NULL)
		return NULL;
	has = sn_fib_hash(fib);
	if (memcmp(has, change->hash.data, SN_SHA256_LEN) == 0)
		return fib;
	sn_fail(err,
		"the table is %02x%02x%02x%02x... after the change, want %02x%02x%02x%02x...: the ranges are "
		"not "
		"those of this change",
		has[0], has[1], has[2], has[3], change->hash.data[0], change->hash.data[1],
		change->hash.data[2], change->hash.data[3]);
	sn_fib_put(fib);
	return NULL;
}

int sn_fib_changes_apply(change_msg *const *changes, size_t n, const struct sn_plan *running,
			 struct sn_fibs *to, struct sn_error *err)
{
	*to = (struct sn_fibs){0};
	if (n > SN_FIBS_MAX)
		return sn_fail(err, "load: %zu changed tables of routes, want at most %d", n, SN_FIBS_MAX);
	to->all = calloc(n + 1, sizeof(struct sn_fib *));
	if (to->all == NULL)
		return sn_fail(err, "no memory");
	for (; to->n < n; to->n++) {
		to->all[to->n] = make(changes[to->n], running, err);
		if (to->all[to->n] == NULL)
			return sn_fail_in(err, "load: fibs[%zu]", to->n);
	}
	return 0;
}

void sn_fib_changes_free(struct sn_fibs *fibs)
{
	for (size_t i = 0; i < fibs->n; i++)
		sn_fib_put(fibs->all[i]);
	free(fibs->all);
	*fibs = (struct sn_fibs){0};
}
