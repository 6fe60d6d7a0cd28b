/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_share.h"

void sn_share(struct sn_worker *w, const struct sn_pkt *p)
{
	if (w->n_workers == 1 || w->station == NULL)
		return;
	for (uint32_t to = 0; to < w->n_workers; to++) {
		struct rte_mbuf *copy =
			to == w->number ? NULL : rte_pktmbuf_copy(p->m, w->pool, 0, UINT32_MAX);

		if (copy == NULL)
			continue;
		copy->port = w->ports[p->iface];
		sn_source_set(copy, SN_SOURCE_NONE);
		/* Full: the worker asks, or is told again. */
		if (!sn_station_hand(w->station, to, copy))
			rte_pktmbuf_free(copy);
	}
	sn_station_publish(w->station);
}
