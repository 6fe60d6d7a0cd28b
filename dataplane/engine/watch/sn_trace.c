/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_trace.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "sn_reason.h"
#include "sn_parse.h"

#define RING_BYTES   (4u << 20)
#define BURST_FRAMES (4u * SN_BURST_MAX) /* that all of a burst's packets may have, on average */

struct frame {
	struct sn_trace_frame head;
	const struct rte_mbuf *m; /* to know it by when it is dropped out of turn; NULL: gone */
	uint32_t offset;	  /* of its bytes in the scratch memory */
};

/* A packet that is watched. */
struct watched {
	struct sn_trace_packet head;
	bool class_wanted;
	bool reason_wanted;
	bool handed; /* another worker has its turn */
	uint32_t classes[SN_TRACE_CLASSES];
	uint32_t drops[SN_TRACE_DROPS];
	struct frame frames[SN_TRACE_FRAMES];
};

struct sn_trace {
	struct sn_trace_rules *rules;
	uint64_t random;
	uint32_t gap; /* packets until the next that is watched, itself included */
	bool in_burst;
	uint64_t number; /* of the last packet that came */
	uint64_t now;
	struct watched *turn; /* NULL: of a packet that is not watched */
	uint32_t n_watched;
	uint8_t index[SN_BURST_MAX]; /* in watched, plus one; 0: not watched */
	struct watched watched[SN_BURST_MAX];
	uint8_t *scratch;
	uint32_t scratch_size;
	uint32_t scratch_used;
	_Atomic uint64_t received;
	_Atomic uint64_t examined;
	_Atomic uint64_t missed;
	struct sn_trace_ring ring;
};

struct sn_trace *sn_trace_create(struct sn_trace_rules *rules)
{
	struct sn_trace *t = aligned_alloc(64, RTE_ALIGN(sizeof(*t), 64));

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->rules = rules;
	t->random = rules->seed | 1;
	t->gap = 1;
	t->scratch_size = BURST_FRAMES * rules->snap_len;
	t->scratch = malloc(t->scratch_size);
	if (sn_trace_ring_init(&t->ring, RING_BYTES) || !t->scratch) {
		sn_trace_free(t);
		return NULL;
	}
	return t;
}

void sn_trace_free(struct sn_trace *t)
{
	if (!t)
		return;
	sn_trace_ring_free(&t->ring);
	free(t->scratch);
	free(t);
}

struct sn_trace_ring *sn_trace_ring(struct sn_trace *t)
{
	return &t->ring;
}

struct sn_trace_counts sn_trace_counts(const struct sn_trace *t)
{
	return (struct sn_trace_counts){
		.received = atomic_load_explicit(&t->received, memory_order_relaxed),
		.examined = atomic_load_explicit(&t->examined, memory_order_relaxed),
		.missed = atomic_load_explicit(&t->missed, memory_order_relaxed),
	};
}

/* The worker alone writes: no locked instruction is needed. */
static void add(_Atomic uint64_t *count, int64_t n)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + (uint64_t)n,
			      memory_order_relaxed);
}

/* ---- which packets are watched ---- */

/* 1 .. 2 * one_in - 1, so that traffic with a rhythm does not hide from the sample (xorshift64). */
static uint32_t next_gap(struct sn_trace *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return 1 + (t->random >> 16) % (2ull * t->rules->one_in - 1);
}

static bool over(const struct sn_trace *t)
{
	return t->now >= t->rules->until_ns ||
	       atomic_load_explicit(&t->rules->taken, memory_order_relaxed) >= t->rules->max_packets ||
	       atomic_load_explicit(&t->rules->program_gone, memory_order_relaxed);
}

static struct watched *watch(struct sn_trace *t, uint64_t number)
{
	struct watched *p = &t->watched[t->n_watched++];

	p->head = (struct sn_trace_packet){.number = number, .time_ns = t->now};
	p->class_wanted = !t->rules->classes;
	p->reason_wanted = !t->rules->reasons;
	p->handed = false;
	add(&t->examined, 1);
	return p;
}

static void keep(struct sn_trace *t, struct watched *p, enum sn_trace_kind kind, uint32_t iface,
		 const struct rte_mbuf *m)
{
	uint32_t wanted = RTE_MIN(m->pkt_len, t->rules->snap_len);
	uint8_t *to = t->scratch + t->scratch_used;
	struct frame *f;
	const void *data;

	if (p->head.n_frames == SN_TRACE_FRAMES || wanted > t->scratch_size - t->scratch_used) {
		p->head.cut = true;
		return;
	}
	f = &p->frames[p->head.n_frames++];
	f->head = (struct sn_trace_frame){.kind = kind, .iface = iface, .length = m->pkt_len, .kept = wanted};
	f->m = m;
	f->offset = t->scratch_used;
	data = rte_pktmbuf_read(m, 0, wanted, to);
	if (data != to)
		memcpy(to, data, wanted);
	t->scratch_used += wanted;
}

void sn_trace_begin(struct sn_trace *t, uint16_t iface, struct rte_mbuf *const *frames, uint32_t n,
		    uint64_t now)
{
	t->now = now;
	t->in_burst = true;
	t->n_watched = 0;
	t->scratch_used = 0;
	memset(t->index, 0, n);
	if (over(t))
		return;
	add(&t->received, n);
	for (uint32_t i = 0; i < n; i++) {
		if (--t->gap)
			continue;
		t->gap = next_gap(t);
		keep(t, watch(t, t->number + i + 1), SN_TRACE_RECEIVED, iface, frames[i]);
		t->index[i] = t->n_watched;
	}
	t->number += n;
}

/* ---- what becomes of them ---- */

bool sn_trace_turn(struct sn_trace *t, uint32_t i)
{
	t->turn = t->index[i] ? &t->watched[t->index[i] - 1] : NULL;
	return t->turn;
}

void sn_trace_handed(struct sn_trace *t)
{
	add(&t->received, -1);
	if (!t->turn || t->turn->head.n_drops)
		return;
	t->turn->handed = true;
	add(&t->examined, -1);
}

void sn_trace_no_turn(struct sn_trace *t)
{
	t->turn = NULL;
}

void sn_trace_class(struct sn_trace *t, uint32_t class)
{
	struct watched *p = t->turn;

	if (!p)
		return;
	if (t->rules->classes)
		p->class_wanted |= t->rules->classes[class];
	if (p->head.n_classes == SN_TRACE_CLASSES)
		p->head.cut = true;
	else
		p->classes[p->head.n_classes++] = class;
}

bool sn_trace_has_class(const struct sn_trace *t)
{
	return t->turn && t->turn->head.n_classes;
}

void sn_trace_shard(struct sn_trace *t, uint8_t shard)
{
	if (t->turn)
		t->turn->head.shard = shard + 1u;
}

void sn_trace_sent(struct sn_trace *t, uint16_t iface, const struct rte_mbuf *m)
{
	if (t->turn)
		keep(t, t->turn, SN_TRACE_SENT, iface, m);
}

static void note_drop(struct sn_trace *t, struct watched *p, const struct rte_mbuf *m, uint32_t reason)
{
	if (t->rules->reasons)
		p->reason_wanted |= t->rules->reasons[reason];
	if (p->head.n_drops == SN_TRACE_DROPS)
		p->head.cut = true;
	else
		p->drops[p->head.n_drops++] = reason;
	for (uint32_t i = 0; i < p->head.n_frames; i++)
		if (p->frames[i].m == m)
			p->frames[i].m = NULL;
}

/* Before its turn, or queued and not taken by the port: a frame of whatever packet it is, the last that it
 * was. */
static void drop_out_of_turn(struct sn_trace *t, const struct rte_mbuf *m, uint32_t reason)
{
	for (uint32_t i = 0; m && i < t->n_watched; i++) {
		struct watched *p = &t->watched[i];

		for (uint32_t j = p->head.n_frames; j-- > 0;) {
			if (p->frames[j].m != m)
				continue;
			if (p->frames[j].head.kind == SN_TRACE_SENT)
				p->frames[j].head.kind = SN_TRACE_NOT_SENT;
			note_drop(t, p, m, reason);
			return;
		}
	}
}

static void commit(struct sn_trace *t, const struct watched *p)
{
	const struct sn_trace_packet *h = &p->head;
	uint32_t len = sizeof(*h) + (h->n_classes + h->n_drops) * sizeof(uint32_t) +
		       h->n_frames * sizeof(struct sn_trace_frame);

	if (!p->class_wanted || !p->reason_wanted || p->handed || over(t))
		return;
	for (uint32_t i = 0; i < h->n_frames; i++)
		len += p->frames[i].head.kept;
	if (!sn_trace_ring_begin(&t->ring, len)) {
		add(&t->missed, 1);
		return;
	}
	if (atomic_fetch_add_explicit(&t->rules->taken, 1, memory_order_relaxed) >= t->rules->max_packets)
		return;
	sn_trace_ring_put(&t->ring, h, sizeof(*h));
	sn_trace_ring_put(&t->ring, p->classes, h->n_classes * sizeof(*p->classes));
	sn_trace_ring_put(&t->ring, p->drops, h->n_drops * sizeof(*p->drops));
	for (uint32_t i = 0; i < h->n_frames; i++)
		sn_trace_ring_put(&t->ring, &p->frames[i].head, sizeof(p->frames[i].head));
	for (uint32_t i = 0; i < h->n_frames; i++)
		sn_trace_ring_put(&t->ring, t->scratch + p->frames[i].offset, p->frames[i].head.kept);
	sn_trace_ring_publish(&t->ring);
}

/* A packet whose burst is long gone: it waited for an address that nobody told. */
static void drop_late(struct sn_trace *t, const struct rte_mbuf *m, uint32_t reason)
{
	struct watched *p;

	if (!m || over(t))
		return;
	t->n_watched = 0;
	t->scratch_used = 0;
	p = watch(t, 0);
	keep(t, p, SN_TRACE_NOT_SENT, SN_TRACE_NO_IFACE, m);
	note_drop(t, p, m, reason);
	commit(t, p);
}

void sn_trace_drop(struct sn_trace *t, const struct rte_mbuf *m, uint32_t reason)
{
	if (!t->in_burst)
		drop_late(t, m, reason);
	else if (!t->turn || reason == SN_REASON_TX_FULL)
		drop_out_of_turn(t, m, reason);
	else
		note_drop(t, t->turn, m, reason);
}

void sn_trace_finish(struct sn_trace *t)
{
	for (uint32_t i = 0; i < t->n_watched; i++)
		commit(t, &t->watched[i]);
	t->in_burst = false;
}

void sn_trace_tick(struct sn_trace *t, uint64_t now)
{
	t->now = now;
}

void sn_trace_program_gone(struct sn_trace *t)
{
	atomic_store_explicit(&t->rules->program_gone, true, memory_order_relaxed);
}
