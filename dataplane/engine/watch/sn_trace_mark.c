/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_trace_mark.h"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

static int offset = -1; /* of the mbuf field */
static uint64_t flag;	/* of mbufs that have one */

int sn_trace_mark_register(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "sinter_trace_mark",
		.size = sizeof(uint64_t),
		.align = __alignof__(uint64_t),
	};
	static const struct rte_mbuf_dynflag marked = {.name = "sinter_trace_marked"};
	int bit = rte_mbuf_dynflag_register(&marked);

	offset = rte_mbuf_dynfield_register(&field);
	if (bit < 0 || offset < 0)
		return -rte_errno;
	flag = 1ull << bit;
	return 0;
}

uint64_t sn_trace_mark(const struct rte_mbuf *m)
{
	return m->ol_flags & flag ? *RTE_MBUF_DYNFIELD(m, offset, const uint64_t *) : 0;
}

void sn_trace_mark_set(struct rte_mbuf *m, uint64_t mark)
{
	*RTE_MBUF_DYNFIELD(m, offset, uint64_t *) = mark;
	m->ol_flags |= flag;
}
