/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_source.h"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

static int offset = -1; /* of the mbuf field */

int sn_source_register(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "sinter_source",
		.size = sizeof(uint32_t),
		.align = __alignof__(uint32_t),
	};

	offset = rte_mbuf_dynfield_register(&field);
	return offset < 0 ? -rte_errno : 0;
}

uint32_t sn_source(const struct rte_mbuf *m)
{
	return *RTE_MBUF_DYNFIELD(m, offset, const uint32_t *);
}

void sn_source_set(struct rte_mbuf *m, uint32_t source)
{
	*RTE_MBUF_DYNFIELD(m, offset, uint32_t *) = source;
}
