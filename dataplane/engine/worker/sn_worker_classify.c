/* SPDX-License-Identifier: Apache-2.0 */
/* What packets of a burst are, before their turns: their classes, and the state that they will look for. */

#include "sn_segment.h"
#include "sn_napt.h"
#include "sn_worker_impl.h"

void sn_worker_classify(struct sn_worker *w, const struct sn_segment *s, uint32_t n)
{
	uint32_t found[SN_BURST_MAX], k = 0;
	uint8_t index[SN_BURST_MAX];

	for (uint32_t i = 0; i < n; i++) {
		w->burst.classes[i] = SN_TABLE_NONE;
		index[k] = i;
		k += !w->burst.pkts[i].reason & !w->burst.candidates[i] &
		     (w->burst.pkts[i].ttl >= s->ttl_floor) & (w->burst.pkts[i].frag <= s->frag_max);
	}
	if (!k)
		return;
	sn_classifier_lookup(&s->table, w->burst.pkts, index, found, k);
	for (uint32_t j = 0; j < k; j++)
		w->burst.classes[index[j]] = found[j];
}

_Static_assert(SN_TABLE_NONE == UINT32_MAX, "what has no class has no mark's class either");

/*
 * The class that the mark says. Rules are made for the table of whole packets with enough TTL: a device may
 * look for ports in a fragment, where there are none.
 */
static uint32_t class_by_mark(const struct sn_worker *w, const struct sn_segment *s, const struct sn_pkt *p)
{
	uint32_t class = sn_mark_class(w->devices.marks, sn_mark_of(p->m));

	return class < s->n_classes && p->frag == SN_FRAG_WHOLE && !sn_is_odd(p) ? class : SN_TABLE_NONE;
}

void sn_worker_classify_marked(struct sn_worker *w, uint32_t iface, const struct sn_segment *s, uint32_t n)
{
	struct sn_port_count *count = &w->stats.ports[iface];
	uint32_t found[SN_BURST_MAX], k = 0, marked = 0;
	uint8_t index[SN_BURST_MAX];
	bool wrong = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_pkt *p = &w->burst.pkts[i];

		w->burst.classes[i] = SN_TABLE_NONE;
		if (p->reason || w->burst.candidates[i] || sn_segment_is_low(s, p))
			continue;
		/* Devices may read ports of a header that no host would take; its fields are absent here. */
		if (likely(!sn_is_odd(p)))
			w->burst.classes[i] = class_by_mark(w, s, p);
		if (w->burst.classes[i] == SN_TABLE_NONE) {
			index[k++] = i;
			continue;
		}
		marked++;
		if (unlikely(w->devices.until_mark_check-- == 0)) {
			w->devices.until_mark_check = SN_MARK_SAMPLE - 1;
			wrong |= sn_segment_class(s, p) != w->burst.classes[i];
		}
	}
	if (unlikely(wrong)) {
		/* One wrong mark disqualifies all of this interface's marks. */
		count->misclassified++;
		w->devices.believed &= ~(1ull << iface);
		sn_worker_classify(w, s, n);
		return;
	}
	if (!w->taking) /* else they counted where they came */
		count->marked += marked;
	if (k == 0)
		return;
	sn_classifier_lookup(&s->table, w->burst.pkts, index, found, k);
	for (uint32_t j = 0; j < k; j++)
		w->burst.classes[index[j]] = found[j];
}

void sn_worker_prefetch_state(struct sn_worker *w, const struct sn_segment *s, uint32_t n)
{
	struct sn_napt_hint hints[SN_BURST_MAX];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_pkt *p = &w->burst.pkts[i];
		struct sn_flow flow = {p->src, p->dst, p->sport, p->dport, p->proto};
		uint32_t run;

		if (w->burst.classes[i] == SN_TABLE_NONE)
			continue;
		run = w->program->classes[s->first_class + w->burst.classes[i]].state_run;
		if (run != SN_NO_INDEX)
			hints[k++] = sn_napt_prefetch(w->state, run, sn_napt_shard(w->state, &flow), &flow);
	}
	for (uint32_t j = 0; j < k; j++)
		sn_napt_prefetch_session(hints[j]);
}
