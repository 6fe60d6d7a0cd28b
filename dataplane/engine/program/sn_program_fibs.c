/* SPDX-License-Identifier: Apache-2.0 */

/* The FIBs that a program names by their hashes. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_fib.h"
#include "sn_program_build.h"

struct sn_fib *sn_fibs_find(const struct sn_fibs *fibs, const uint8_t *hash)
{
	for (size_t i = 0; i < fibs->n; i++)
		if (!memcmp(sn_fib_hash(fibs->all[i]), hash, SN_SHA256_LEN))
			return fibs->all[i];
	return NULL;
}

static struct sn_fib *find(const struct sn_builder *b, const uint8_t *hash)
{
	struct sn_fib *fib = b->fibs ? sn_fibs_find(b->fibs, hash) : NULL;

	if (!fib && b->like)
		fib = sn_fibs_find(&(struct sn_fibs){b->like->fibs, b->like->n_fibs}, hash);
	return fib;
}

static int build_fib(struct sn_builder *b, uint32_t i)
{
	const Sinter__Program__V1__Fib *from = b->msg->fibs[i];
	struct sn_fib *fib;

	if (from->hash.len != SN_SHA256_LEN)
		return sn_build_fail(b, "hash has %zu bytes, want %d", from->hash.len, SN_SHA256_LEN);
	if (from->next_hops > SN_FIB_NUMBER_MAX)
		return sn_build_fail(b, "next_hops is %u, want at most %u", from->next_hops,
				     SN_FIB_NUMBER_MAX);
	fib = find(b, from->hash.data);
	if (!fib)
		return sn_build_fail(
			b,
			"neither the running program nor what came with this one has the table %02x%02x%02x"
			"%02x...: send it along",
			from->hash.data[0], from->hash.data[1], from->hash.data[2], from->hash.data[3]);
	if (sn_fib_top(fib) > from->next_hops)
		return sn_build_fail(b, "the table has number %u, want at most next_hops, %u",
				     sn_fib_top(fib), from->next_hops);
	b->p->fibs[i] = sn_fib_take(fib);
	return 0;
}

int sn_build_fibs(struct sn_builder *b)
{
	size_t n = b->msg->n_fibs;

	sn_build_at(b, "fibs");
	if (n > SN_FIBS_MAX)
		return sn_build_fail(b, "there are %zu, want at most %d", n, SN_FIBS_MAX);
	b->p->fibs = sn_build_array(n, sizeof(struct sn_fib *));
	if (!b->p->fibs)
		return sn_build_no_memory(b);
	for (; b->p->n_fibs < n; b->p->n_fibs++) {
		int rc;

		sn_build_at(b, "fibs[%u]", b->p->n_fibs);
		rc = build_fib(b, b->p->n_fibs);
		if (rc)
			return rc;
	}
	return 0;
}

int sn_build_segment_fib(struct sn_builder *b, uint32_t s, const struct sn_fib **fib)
{
	uint32_t i = b->msg->segments[s]->fib;

	*fib = NULL;
	if (i == 0)
		return 0;
	if (i > b->p->n_fibs)
		return sn_build_fail(b, "fib is %u, but there are only %u", i, b->p->n_fibs);
	*fib = b->p->fibs[i - 1];
	return 0;
}

void sn_program_free_fibs(struct sn_program *p)
{
	for (uint32_t i = 0; i < p->n_fibs; i++)
		sn_fib_put(p->fibs[i]);
	free(p->fibs);
}
