/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ENV_H
#define SN_ENV_H

/* The environment of a worker's packets, whichever way they go: the program and its counters, the burst that
 * they came in, and what they leave by. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_continuation.h"
#include "sn_counts.h"
#include "sn_hooks.h"
#include "sn_marks.h"
#include "sn_past.h"
#include "sn_plain.h"
#include "sn_program.h"
#include "sn_sample.h"
#include "sn_session.h"
#include "sn_source.h"
#include "sn_state.h"
#include "sn_state_kind.h"
#include "sn_trace.h"
#include "sn_worker_stats.h"

/* Frames on their way out, and buffers that are no longer needed. */
struct sn_sending {
	sn_tx_fn tx;
	void *ctx;
	uint64_t pending; /* bit per interface */
	uint32_t wake;	  /* frames in a transmit buffer from which on sn_output_queued() is called */
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

/* The flow rules that devices have, and the notes about them. */
struct sn_devices {
	uint64_t watched;  /* bit per interface: its device has rules, and is watched */
	uint64_t believed; /* bit per interface: its packets' marks are */
	struct sn_marks marks;
	uint32_t until_mark_check;  /* marks */
	struct sn_samples *samples; /* NULL: nobody looks */
	uint32_t samples_left;	    /* until the next tick */
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
	 * read yet; see sn_burst_pkt(). */
	uint64_t plain, fragments;
	uint64_t known; /* bit per packet: there may be a decision for it, and it needs no class */
	uint32_t iface;
	uint64_t now;
	const struct sn_continuation *ons; /* by packet: how it goes on; NULL: none comes from a stop */
	struct sn_pkt pkts[SN_BURST_MAX];
	uint32_t classes[SN_BURST_MAX];
	uint64_t hinted;			 /* bit per packet: it has a hint, … */
	struct sn_flow_hint hints[SN_BURST_MAX]; /* … of where its session will be looked for */
	bool by_path;				 /* the classes of plain packets are paths: see sn_follow.h */
};

struct sn_env {
	/* Lines 1 and 2: read by every burst, written by program swaps only. */
	const struct sn_program *program;
	struct sn_counts *counts;
	const struct sn_state *state;
	struct sn_partition *partition;
	struct rte_mempool *pool;
	struct sn_trace *trace; /* NULL: off */
	uint32_t number;	/* the worker's */
	bool caching;		/* the program has state, and decisions may be kept */
	bool taking;		/* a burst from other workers */
	bool passing;		/* a burst that goes past functions: no port has received it */
	/* Bit per interface: frames should come back by it from a function that is down. It changes between
	 * two bursts. */
	uint64_t down;
	/* Bit per interface: a wire of a function that is down and has a replica which is up. */
	uint64_t given_up;
	/* Bit per interface: frames that are sent by it may go past an open one of them. */
	uint64_t past_wires;
	/* Bit per interface: of the next frames that are sent by it, one is checked (sn_spot.h). */
	uint64_t spotted;
	struct sn_wires *wires;	    /* NULL: no function is watched */
	struct sn_watches *watches; /* NULL: no host is watched */
	struct sn_hooks hooks;
	struct sn_devices devices;
	/* Written by every packet. */
	_Alignas(64) struct sn_sending sending;
	struct sn_worker_stats stats;
	struct sn_addresses addresses;
	struct sn_burst burst;
	struct sn_past past;
	struct sn_events events; /* of a slow packet at work, for hooks.tell */
};

static inline bool sn_burst_plain(const struct sn_burst *b, uint32_t i)
{
	return b->plain >> i & 1;
}

static inline bool sn_burst_known(const struct sn_burst *b, uint32_t i)
{
	return b->known >> i & 1;
}

/* A packet that comes back is as it was, as far as the frame does not tell. */
static inline void sn_burst_take_up(const struct sn_burst *b, struct sn_pkt *p, uint32_t i)
{
	p->iface = b->ons[i].entry;
	p->next_hop = b->ons[i].next_hop;
}

/* Packet i of the burst, read. Its frame is no longer one to whom the fast ways are open. */
static inline struct sn_pkt *sn_burst_pkt(struct sn_burst *b, uint32_t i)
{
	if (sn_burst_plain(b, i)) {
		sn_parse_plain(&b->pkts[i], b->frames[i], (uint8_t)b->iface);
		b->plain &= ~(1ull << i);
		if (unlikely(b->ons != NULL))
			sn_burst_take_up(b, &b->pkts[i], i);
	} else if (unlikely(b->fragments >> i & 1)) {
		sn_parse_fragment(&b->pkts[i], b->frames[i], (uint8_t)b->iface);
		b->fragments &= ~(1ull << i);
		if (b->ons)
			sn_burst_take_up(b, &b->pkts[i], i);
	}
	return &b->pkts[i];
}

/* The interface that is bound to a port; SN_NO_INDEX: none is. */
static inline uint32_t sn_env_iface_of(const struct sn_env *env, uint16_t port)
{
	for (uint32_t i = 0; env->program && i < env->program->n_interfaces; i++)
		if (env->addresses.ports[i] == port)
			return i;
	return SN_NO_INDEX;
}

/* Sessions that were made for a packet, and those that gave way to them, are told to who listens. */
static inline void sn_env_tell_events(struct sn_env *env, const struct rte_mbuf *m)
{
	if (likely(env->hooks.tell == NULL) || env->events.n == 0)
		return;
	env->hooks.tell(env->hooks.ctx, sn_source(m), &env->events);
	env->events.n = 0;
}

#endif /* SN_ENV_H */
