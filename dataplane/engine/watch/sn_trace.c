/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_trace.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "sn_reason.h"
#include "sn_parse.h"
#include "sn_trace_mark.h"

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
	bool handed;	/* another worker has its turn */
	bool sampled;	/* else it is watched because it was at a function */
	bool leaves;	/* for a function */
	uint64_t first; /* mark of the packet's first part; 0: this is it */
	uint32_t classes[SN_TRACE_CLASSES];
	uint32_t drops[SN_TRACE_DROPS];
	struct frame frames[SN_TRACE_FRAMES];
};

struct sn_trace {
	struct sn_trace_rules *rules;
	uint8_t worker;
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

struct sn_trace *sn_trace_create(struct sn_trace_rules *rules, uint8_t worker)
{
	struct sn_trace *t = aligned_alloc(64, RTE_ALIGN(sizeof(*t), 64));

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->rules = rules;
	t->worker = worker;
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

/* ---- packets that were at functions ---- */

enum { NUMBER_BITS = 48, EPOCH_AT = 56 };

/* The mark of a packet of this worker: which trace, which worker, which packet. */
static uint64_t mark_of(const struct sn_trace *t, uint64_t number)
{
	return (uint64_t)t->rules->epoch << EPOCH_AT | (uint64_t)t->worker << NUMBER_BITS |
	       (number & (UINT64_MAX >> (64 - NUMBER_BITS)));
}

/* The mark of a frame; 0: it has none of this trace. */
static uint64_t mark_in(const struct sn_trace *t, const struct rte_mbuf *m)
{
	uint64_t mark = sn_trace_mark(m);

	return mark >> EPOCH_AT == t->rules->epoch ? mark : 0;
}

static _Atomic uint64_t *went_at(const struct sn_trace *t, uint64_t mark)
{
	return &t->rules->went[(mark ^ mark >> NUMBER_BITS) % SN_TRACE_WENT];
}

static uint64_t first_of(const struct sn_trace *t, const struct watched *p)
{
	return p->first ? p->first : mark_of(t, p->head.number);
}

/* Whether the part of its way before the last function was wanted. */
static bool is_followed(const struct sn_trace *t, const struct watched *p)
{
	return p->first && atomic_load_explicit(went_at(t, p->first), memory_order_relaxed) == p->first;
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
	p->sampled = true;
	p->leaves = false;
	p->first = 0;
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
		uint64_t first = mark_in(t, frames[i]);
		bool sampled = --t->gap == 0;
		struct watched *p;

		if (sampled)
			t->gap = next_gap(t);
		if (!sampled && !first)
			continue;
		p = watch(t, t->number + i + 1);
		p->sampled = sampled;
		p->first = first;
		keep(t, p, SN_TRACE_RECEIVED, iface, frames[i]);
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

uint64_t sn_trace_leaves(struct sn_trace *t)
{
	if (!t->turn)
		return 0;
	t->turn->leaves = true;
	return first_of(t, t->turn);
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

static bool is_wanted(const struct sn_trace *t, const struct watched *p)
{
	return !p->handed && !over(t) &&
	       (is_followed(t, p) || (p->sampled && p->class_wanted && p->reason_wanted));
}

static void commit(struct sn_trace *t, struct watched *p)
{
	struct sn_trace_packet *h = &p->head;
	uint32_t len = sizeof(*h) + (h->n_classes + h->n_drops) * sizeof(uint32_t) +
		       h->n_frames * sizeof(struct sn_trace_frame);

	if (!is_wanted(t, p))
		return;
	h->first_worker = (uint8_t)(p->first >> NUMBER_BITS);
	h->first_number = p->first & (UINT64_MAX >> (64 - NUMBER_BITS));
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
	if (p->leaves)
		atomic_store_explicit(went_at(t, first_of(t, p)), first_of(t, p), memory_order_relaxed);
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
