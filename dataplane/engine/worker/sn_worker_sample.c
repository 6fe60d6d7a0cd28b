/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_sample.h"

#include "sn_marks.h"
#include "sn_worker_impl.h"

/* Rules are for whole IPv4 packets: where they look for ports, fragments have none, and of a header that no
 * host would take who knows. */
static bool worth_seeing(const struct sn_pkt *p)
{
	return !p->reason && p->frag == SN_FRAG_WHOLE && !sn_is_odd(p) &&
	       !(p->m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED); /* the device saw another frame */
}

static void write_sample(struct sn_sample *s, const struct sn_worker *w, const struct sn_pkt *p, uint64_t now)
{
	s->time_ns = now;
	s->fields[SN_VLAN] = p->vlan;
	s->fields[SN_SRC] = p->src;
	s->fields[SN_DST] = p->dst;
	s->fields[SN_PROTO] = p->proto;
	s->fields[SN_DSCP] = p->dscp;
	s->fields[SN_TTL] = p->ttl;
	s->fields[SN_FRAG] = p->frag;
	s->fields[SN_SPORT] = p->sport;
	s->fields[SN_DPORT] = p->dport;
	s->fields[SN_TCP_FLAGS] = p->tcp_flags;
	s->fields[SN_ICMP_TYPE] = p->icmp_type;
	s->fields[SN_ICMP_CODE] = p->icmp_code;
	s->mark = sn_mark_of(p->m);
	memcpy(&s->mac, rte_pktmbuf_mtod(p->m, const void *), sizeof(s->mac));
	s->port = w->addresses.ports[p->iface];
	s->queue = (uint16_t)w->number;
}

void sn_worker_sample(struct sn_worker *w, uint32_t n, uint64_t now)
{
	/* Not always a burst's first packets. */
	uint32_t at = (uint32_t)w->stats.bursts;

	for (uint32_t i = 0; i < n && w->devices.samples_left > 0; i++) {
		const struct sn_pkt *p = &w->burst.pkts[(at + i) % n];
		struct sn_sample *sample = worth_seeing(p) ? sn_samples_next(w->devices.samples) : NULL;

		if (sample == NULL)
			continue;
		write_sample(sample, w, p, now);
		sn_samples_put(w->devices.samples);
		w->devices.samples_left--;
	}
}
