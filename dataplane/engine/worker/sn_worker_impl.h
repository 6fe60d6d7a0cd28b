/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_WORKER_IMPL_H
#define SN_WORKER_IMPL_H

/* What a worker is built from; for the files of the packet path only. */

#include "sn_cache.h"
#include "sn_counts.h"
#include "sn_echoes.h"
#include "sn_execution.h"
#include "sn_marks.h"
#include "sn_session.h"
#include "sn_neigh.h"
#include "sn_plain.h"
#include "sn_peers.h"
#include "sn_sample.h"
#include "sn_trace.h"
#include "sn_worker.h"

/* Frames on their way out, and buffers that are no longer needed. */
struct sn_sending {
	sn_tx_fn tx;
	void *ctx;
	uint64_t pending; /* bit per interface */
	uint32_t wake;	  /* frames in a transmit buffer from which on sn_worker_queued() is called */
	uint32_t n_dead;
	struct rte_mbuf *dead[SN_BURST_MAX];
	struct sn_tx_buffer {
		uint32_t n;
		struct rte_mbuf *pkts[SN_BURST_MAX];
	} out[SN_IFACES_MAX];
};

/* Called for each packet that dies, and for sessions that are made, or end for others. */
struct sn_hooks {
	sn_drop_fn drop; /* may be NULL */
	void *ctx;	 /* of both */
	sn_events_fn tell;
};

/* What devices do by flow rules, and what is noted of it. */
struct sn_devices {
	uint64_t watched;  /* bit per interface: its device has rules, and is watched */
	uint64_t believed; /* bit per interface: its packets' marks are */
	struct sn_marks marks;
	uint32_t until_mark_check;  /* marks */
	struct sn_samples *samples; /* NULL: nobody looks */
	uint32_t samples_left;	    /* until the next tick */
};

/* ICMP errors that may be sent. */
struct sn_icmp_budget {
	uint32_t rate;	 /* this worker's share of the program's */
	uint64_t tokens; /* 10^9 are worth one error */
	uint64_t filled; /* when */
};

/* By interface. */
struct sn_addresses {
	uint64_t macs[SN_IFACES_MAX]; /* in use, as sn_mac_number() */
	uint64_t device_macs[SN_IFACES_MAX];
	uint16_t mtus[SN_IFACES_MAX];
	uint16_t ports[SN_IFACES_MAX]; /* see sn_worker_set_port() */
};

/* A burst at work. */
struct sn_burst {
	struct rte_mbuf **frames;
	/* Bit per packet: its frame is plain, or a plain fragment of a program without state, and it is not
	 * read yet; see sn_worker_pkt(). */
	uint64_t plain, fragments;
	uint32_t iface;
	struct sn_pkt pkts[SN_BURST_MAX];
	struct sn_cache_key keys[SN_BURST_MAX];
	uint64_t hashes[SN_BURST_MAX];
	const struct sn_cache_entry *candidates[SN_BURST_MAX];
	struct sn_cache_short shorts[SN_BURST_MAX];   /* what is expanded … */
	struct sn_cache_entry expanded[SN_BURST_MAX]; /* … to candidates */
	uint32_t classes[SN_BURST_MAX];
	uint64_t hinted;			 /* bit per packet: it has a hint, … */
	struct sn_flow_hint hints[SN_BURST_MAX]; /* … of where its session will be looked for */
	bool by_path;				 /* the classes of plain packets are paths: see sn_follow.h */
	uint8_t shards[SN_BURST_MAX];		 /* if dispatching */
	uint32_t gone;				 /* to other workers and engines */
	uint64_t handed;			 /* bit per packet: it is gone so, or will be in its turn */
};

static inline bool sn_burst_plain(const struct sn_burst *b, uint32_t i)
{
	return b->plain >> i & 1;
}

/* Uses of state on one way: by a packet out, its reply back, and what that causes; with room for some that
 * turn round. */
#define SN_JOURNAL_MAX (4 * SN_TABLES_MAX)

/* The program to come, and what its decisions will be: see sn_warm_up.c. */
struct sn_warm_up {
	const struct sn_program *program; /* NULL: none is warmed up */
	struct sn_counts *counts;
	struct sn_cache cache;
	uint32_t bucket; /* of the worker's cache, from which on flows are still to be decided */
};

struct sn_worker {
	/* Lines 1 and 2: read by every burst, written by program swaps only. */
	const struct sn_program *program;
	struct sn_counts *counts;
	const struct sn_state *state;
	struct sn_partition *partition;
	struct sn_mailbox *mailbox; /* NULL: the only worker, of the only engine */
	bool dispatching;	    /* packets may be for others */
	bool caching;		    /* the program has state, and decisions may be kept */
	bool profile;
	uint32_t lcore;
	struct rte_mempool *pool;
	struct sn_trace *trace; /* NULL: off */
	struct sn_cache cache;
	struct sn_devices devices;
	/* The next hops: its head is read by slow packets, its entries by all. */
	struct sn_neigh_table neigh;
	const struct sn_peers *peers; /* read by packets for shards that are away */
	/* Written by slow packets. */
	bool taking;	 /* a burst from other workers */
	uint32_t copies; /* in it, of packets that count where they came */
	uint32_t number;
	uint32_t n_workers;
	struct sn_hooks hooks;
	struct sn_icmp_budget icmp;
	struct sn_echoes echoes;
	/* Written by every packet. */
	_Alignas(64) uint32_t lot; /* see sn_hand_over_weight() */
	struct sn_sending sending;
	struct sn_worker_stats stats;
	struct sn_addresses addresses;
	struct sn_burst burst;
	struct sn_warm_up warm_up;
	struct sn_use journal[SN_JOURNAL_MAX]; /* of a slow packet at work */
	struct sn_events events;	       /* of the same, for hooks.tell */
} __rte_cache_aligned;

/* Packet i of the burst, read. Its frame is no longer one to whom the fast ways are open. */
static inline struct sn_pkt *sn_worker_pkt(struct sn_worker *w, uint32_t i)
{
	struct sn_burst *b = &w->burst;

	if (sn_burst_plain(b, i)) {
		sn_parse_plain(&b->pkts[i], b->frames[i], (uint8_t)b->iface);
		b->plain &= ~(1ull << i);
	} else if (unlikely(b->fragments >> i & 1)) {
		sn_parse_fragment(&b->pkts[i], b->frames[i], (uint8_t)b->iface);
		b->fragments &= ~(1ull << i);
	}
	return &b->pkts[i];
}

extern int sn_source_offset; /* of the mbuf field */

/* What has no buffer (any more) is dropped: the reason is counted, the hook told. */
void sn_worker_count_drop(struct sn_worker *w, const struct rte_mbuf *m, uint32_t source, uint32_t bytes,
			  uint32_t reason);

/* Gives the buffers of what was dropped back. */
void sn_worker_bury(struct sn_worker *w);

/* The one place where packets die: the same, and the buffer is given back after the burst. */
static inline void sn_worker_drop(struct sn_worker *w, struct rte_mbuf *m, uint32_t reason)
{
	/* The source lies in a line of the buffer that is not in the cache. */
	sn_worker_count_drop(w, m, w->hooks.drop ? sn_source(m) : SN_SOURCE_NONE, m->pkt_len, reason);
	w->sending.dead[w->sending.n_dead++] = m;
	if (w->sending.n_dead == SN_BURST_MAX)
		sn_worker_bury(w);
}

/* Sessions that were made for a packet, and those that gave way to them, are told to who listens. */
static inline void sn_worker_tell_events(struct sn_worker *w, const struct rte_mbuf *m)
{
	if (likely(w->hooks.tell == NULL) || w->events.n == 0)
		return;
	w->hooks.tell(w->hooks.ctx, sn_source(m), &w->events);
	w->events.n = 0;
}

void sn_worker_flush(struct sn_worker *w, uint16_t iface);

/* Send what is queued, and give dead buffers back. */
void sn_worker_flush_all(struct sn_worker *w);

/* A frame was queued that is traced, or that fills its buffer. */
void sn_worker_queued(struct sn_worker *w, uint16_t iface);

/* Queue a complete frame. */
static inline void sn_worker_send(struct sn_worker *w, uint16_t iface, struct rte_mbuf *m)
{
	struct sn_tx_buffer *b = &w->sending.out[iface];

	b->pkts[b->n++] = m;
	w->sending.pending |= 1ull << iface;
	if (unlikely(b->n >= w->sending.wake))
		sn_worker_queued(w, iface);
}

static inline void sn_write_l2(uint8_t *frame, const struct sn_neigh *n)
{
	memcpy(frame, n->l2, sizeof(n->l2));
}

/* Classes of the first n of w->burst.pkts that go by the segment's table, or paths if by_path says so;
 * SN_TABLE_NONE for those that do not. */
void sn_worker_classify(struct sn_worker *w, const struct sn_segment *s, uint32_t n);

/* As sn_worker_classify(), for packets of an interface whose marks are believed. */
void sn_worker_classify_marked(struct sn_worker *w, uint32_t iface, const struct sn_segment *s, uint32_t n);

/* Some of the first n of w->burst.pkts, as they came, are shown to the control thread. */
void sn_worker_sample(struct sn_worker *w, uint32_t n, uint64_t now);

/* Counts some of what is in the cells of flows. */
void sn_worker_observe(struct sn_worker *w, uint64_t now);

/* Brings the state that these packets will look for, if they are not known yet; the hints tell where. */
void sn_worker_prefetch_state(struct sn_worker *w, const struct sn_segment *s, uint32_t n);

/* The cache is that of the program's warm-up from now on; false: there was none. */
bool sn_warm_up_end(struct sn_worker *w, const struct sn_program *program);

/* Whether an ICMP error may be sent now. */
bool sn_worker_icmp_allowed(struct sn_worker *w, uint64_t now);

/* The interface that is bound to a port; SN_NO_INDEX: none is. */
uint32_t sn_worker_iface_of(const struct sn_worker *w, uint16_t port);

#endif /* SN_WORKER_IMPL_H */
