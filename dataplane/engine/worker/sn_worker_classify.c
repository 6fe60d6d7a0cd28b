/* SPDX-License-Identifier: Apache-2.0 */
/* What packets of a burst are, before their turns: their classes, and the state that they will look for.
 * Devices with flow rules may have said their classes; who checks the rules is shown some. */

#include "sn_flow.h"
#include "sn_marks.h"
#include "sn_state_kind.h"
#include "sn_sample.h"
#include "sn_segment.h"
#include "sn_worker_impl.h"

/* The paths of k plain frames from the segment on. */
static __rte_noinline void follow(struct sn_worker *w, uint32_t segment, struct sn_memo *memo,
				  const uint8_t *const *frames, uint32_t *paths, uint32_t k)
{
	const struct sn_follow *follow = &w->counts->follow;

	if (memo != NULL)
		sn_memo_lookup(memo, frames, paths, k);
	else
		sn_follow_frames(&follow->starts[segment], frames, paths, k);
	for (uint32_t i = 0; i < k; i++)
		if (likely(paths[i] < SN_PATHS_MAX) &&
		    unlikely(frames[i][SN_PLAIN_TTL] < follow->floors[paths[i]]))
			paths[i] = SN_TABLE_NONE;
}

/* The classes of k plain frames by the segment's table, or their paths. */
static void look_up(struct sn_worker *w, const struct sn_segment *s, const uint8_t *const *frames,
		    uint32_t *classes, uint32_t k)
{
	uint32_t segment = (uint32_t)(s - w->program->segments);
	struct sn_memo *memo = w->counts->memos[segment];

	if (w->burst.by_path)
		follow(w, segment, memo, frames, classes, k);
	else if (memo != NULL && !s->follows.possible) /* else it has paths */
		sn_memo_lookup(memo, frames, classes, k);
	else
		sn_classifier_lookup_plain(&s->table, frames, classes, k);
}

/* The classes of the k packets of `index`, which are plain. */
static void classify_frames(struct sn_worker *w, const struct sn_segment *s, const uint8_t *const *frames,
			    const uint8_t *index, uint32_t k)
{
	uint32_t found[SN_BURST_MAX];

	look_up(w, s, frames, found, k);
	for (uint32_t j = 0; j < k; j++)
		w->burst.classes[index[j]] =
			frames[j][SN_PLAIN_TTL] >= s->ttl_floor ? found[j] : SN_TABLE_NONE;
}

/* All packets are plain, and none is cached. */
static void classify_burst(struct sn_worker *w, const struct sn_segment *s, uint32_t n)
{
	const uint8_t *frames[SN_BURST_MAX];
	uint32_t low = 0;

	for (uint32_t i = 0; i < n; i++) {
		frames[i] = rte_pktmbuf_mtod(w->burst.frames[i], const uint8_t *);
		low |= frames[i][SN_PLAIN_TTL] < s->ttl_floor;
	}
	look_up(w, s, frames, w->burst.classes, n);
	for (uint32_t i = 0; unlikely(low) && i < n; i++)
		if (frames[i][SN_PLAIN_TTL] < s->ttl_floor)
			w->burst.classes[i] = SN_TABLE_NONE;
}

/* Those of plain frames that are not cached and go by the table, without reading them. The others are left.
 */
static void classify_plain(struct sn_worker *w, const struct sn_segment *s, uint32_t n)
{
	const uint8_t *frames[SN_BURST_MAX];
	uint8_t index[SN_BURST_MAX];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *f = rte_pktmbuf_mtod(w->burst.frames[i], const uint8_t *);

		frames[k] = f;
		index[k] = i;
		k += sn_burst_plain(&w->burst, i) & !w->burst.candidates[i];
		w->burst.classes[i] = SN_TABLE_NONE;
	}
	if (k)
		classify_frames(w, s, frames, index, k);
}

/* The classes of the k packets of `index`, which are plain fragments, by one of the segment's tables. */
static void look_up_fragments(struct sn_worker *w, const struct sn_classifier *table,
			      const uint8_t *const *frames, const uint8_t *index, uint32_t k)
{
	uint32_t found[SN_BURST_MAX];

	if (likely(table->fragments.possible)) {
		sn_classifier_lookup_fragments(table, frames, found, k);
	} else {
		for (uint32_t j = 0; j < k; j++)
			sn_worker_pkt(w, index[j]);
		sn_classifier_lookup(table, w->burst.pkts, index, found, k);
	}
	for (uint32_t j = 0; j < k; j++)
		w->burst.classes[index[j]] = found[j];
}

/* Those of plain fragments, by the table that decides. */
static __rte_noinline void classify_fragments(struct sn_worker *w, const struct sn_segment *s)
{
	const uint8_t *frames[2][SN_BURST_MAX];
	uint8_t index[2][SN_BURST_MAX];
	uint32_t k[2] = {0};

	for (uint64_t left = w->burst.fragments; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		const uint8_t *f = rte_pktmbuf_mtod(w->burst.frames[i], const uint8_t *);
		bool low = s->frag_max < SN_FRAG_LATER || f[SN_PLAIN_TTL] < s->ttl_floor;

		frames[low][k[low]] = f;
		index[low][k[low]++] = (uint8_t)i;
	}
	if (k[0])
		look_up_fragments(w, &s->table, frames[0], index[0], k[0]);
	if (k[1])
		look_up_fragments(w, &s->low, frames[1], index[1], k[1]);
}

/* Those of the packets that are neither, or have to be read. */
static void classify_read(struct sn_worker *w, const struct sn_segment *s, uint32_t n, uint64_t which)
{
	uint32_t found[SN_BURST_MAX], k = 0;
	uint8_t index[SN_BURST_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_pkt *p;

		if (!(which >> i & 1))
			continue;
		w->burst.classes[i] = SN_TABLE_NONE;
		if (w->burst.candidates[i])
			continue;
		p = sn_worker_pkt(w, i);
		index[k] = i;
		k += !p->reason & (p->ttl >= s->ttl_floor) & (p->frag <= s->frag_max);
	}
	if (!k)
		return;
	sn_classifier_lookup(&s->table, w->burst.pkts, index, found, k);
	for (uint32_t j = 0; j < k; j++)
		w->burst.classes[index[j]] = found[j];
}

void sn_worker_classify(struct sn_worker *w, const struct sn_segment *s, uint32_t n)
{
	uint64_t all = UINT64_MAX >> (64 - n), others = all;

	if (likely(s->table.plain.possible && w->burst.plain)) {
		if (likely(!w->caching && w->burst.plain == all)) {
			classify_burst(w, s, n);
			return;
		}
		classify_plain(w, s, n);
		others &= ~w->burst.plain;
	}
	if (unlikely(w->burst.fragments)) {
		others &= ~w->burst.fragments;
		classify_fragments(w, s);
	}
	if (others)
		classify_read(w, s, n, others);
}

static struct sn_flow flow_of(const struct sn_burst *b, uint32_t i)
{
	const struct sn_pkt *p = &b->pkts[i];

	if (likely(sn_burst_plain(b, i)))
		return sn_flow_of_plain(rte_pktmbuf_mtod(b->frames[i], const uint8_t *));
	return (struct sn_flow){p->src, p->dst, p->sport, p->dport, p->proto};
}

/* Those of some packets whose classes meet the same run first as that of the first of them. */
static uint64_t alike(const struct sn_burst *b, const struct sn_class *classes, uint64_t which)
{
	uint32_t run = classes[b->classes[__builtin_ctzll(which)]].state_run;
	uint64_t same = 0;

	for (uint64_t left = which; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		same |= (uint64_t)(classes[b->classes[i]].state_run == run) << i;
	}
	return same;
}

void sn_worker_prefetch_state(struct sn_worker *w, const struct sn_segment *s, uint32_t n)
{
	const struct sn_class *classes = &w->program->classes[s->first_class];
	struct sn_flow flows[SN_BURST_MAX];
	struct sn_burst *b = &w->burst;
	uint64_t which = 0, same;

	for (uint32_t i = 0; i < n; i++) {
		const struct sn_class *c;

		if (b->classes[i] == SN_TABLE_NONE)
			continue;
		c = &classes[b->classes[i]];
		if (c->state_run == SN_NO_INDEX || !sn_state_kinds[c->kind]->prefetch)
			continue;
		flows[i] = flow_of(b, i);
		which |= 1ull << i;
	}
	b->hinted |= which;
	for (uint64_t left = which; left; left &= ~same) {
		const struct sn_class *c = &classes[b->classes[__builtin_ctzll(left)]];

		same = alike(b, classes, left);
		sn_state_kinds[c->kind]->prefetch(w->state, c->state_run, flows, same, b->hints);
	}
}

/* ---- devices that have flow rules ---- */

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
		const struct sn_pkt *p = sn_worker_pkt(w, i);

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
		const struct sn_pkt *p = sn_worker_pkt(w, (at + i) % n);
		struct sn_sample *sample = worth_seeing(p) ? sn_samples_next(w->devices.samples) : NULL;

		if (sample == NULL)
			continue;
		write_sample(sample, w, p, now);
		sn_samples_put(w->devices.samples);
		w->devices.samples_left--;
	}
}
