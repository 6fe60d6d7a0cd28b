/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_devices.h"

#include "sn_classes.h"
#include "sn_segment.h"

_Static_assert(SN_TABLE_NONE == UINT32_MAX, "what has no class has no mark's class either");

/*
 * The class that the mark says. Rules are made for the table of whole packets with enough TTL: a device may
 * look for ports in a fragment, where there are none.
 */
static uint32_t class_by_mark(const struct sn_env *env, const struct sn_segment *s, const struct sn_pkt *p)
{
	uint32_t class = sn_mark_class(env->devices.marks, sn_mark_of(p->m));

	return class < s->n_classes && p->frag == SN_FRAG_WHOLE && !sn_is_odd(p) ? class : SN_TABLE_NONE;
}

void sn_devices_find_classes(struct sn_env *env, uint32_t iface, const struct sn_segment *s, uint32_t n)
{
	struct sn_port_count *count = &env->stats.ports[iface];
	uint32_t found[SN_BURST_MAX], k = 0, marked = 0;
	uint8_t index[SN_BURST_MAX];
	bool wrong = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_pkt *p = sn_burst_pkt(&env->burst, i);

		env->burst.classes[i] = SN_TABLE_NONE;
		if (p->reason || sn_burst_known(&env->burst, i) || sn_segment_is_low(s, p))
			continue;
		/* Devices may read ports of a header that no host would take; its fields are absent here. */
		if (likely(!sn_is_odd(p)))
			env->burst.classes[i] = class_by_mark(env, s, p);
		if (env->burst.classes[i] == SN_TABLE_NONE) {
			index[k++] = i;
			continue;
		}
		marked++;
		if (unlikely(env->devices.until_mark_check-- == 0)) {
			env->devices.until_mark_check = SN_MARK_SAMPLE - 1;
			wrong |= sn_segment_class(s, p) != env->burst.classes[i];
		}
	}
	if (unlikely(wrong)) {
		/* One wrong mark disqualifies all of this interface's marks. */
		count->misclassified++;
		env->devices.believed &= ~(1ull << iface);
		sn_classes_find(env, s, n);
		return;
	}
	if (!env->taking) /* else they counted where they came */
		count->marked += marked;
	if (k == 0)
		return;
	sn_classifier_lookup(&s->table, env->burst.pkts, index, found, k);
	for (uint32_t j = 0; j < k; j++)
		env->burst.classes[index[j]] = found[j];
}

/* Rules are for whole IPv4 packets: where they look for ports, fragments have none, and of a header that no
 * host would take who knows. */
static bool worth_seeing(const struct sn_pkt *p)
{
	return !p->reason && p->frag == SN_FRAG_WHOLE && !sn_is_odd(p) &&
	       !(p->m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED); /* the device saw another frame */
}

static void write_sample(struct sn_sample *s, const struct sn_env *env, const struct sn_pkt *p, uint64_t now)
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
	s->port = env->addresses.ports[p->iface];
	s->queue = (uint16_t)env->number;
}

void sn_devices_sample(struct sn_env *env, uint32_t n, uint64_t now)
{
	/* Not always a burst's first packets. */
	uint32_t at = (uint32_t)env->stats.bursts;

	for (uint32_t i = 0; i < n && env->devices.samples_left > 0; i++) {
		const struct sn_pkt *p = sn_burst_pkt(&env->burst, (at + i) % n);
		struct sn_sample *sample = worth_seeing(p) ? sn_samples_next(env->devices.samples) : NULL;

		if (sample == NULL)
			continue;
		write_sample(sample, env, p, now);
		sn_samples_put(env->devices.samples);
		env->devices.samples_left--;
	}
}
