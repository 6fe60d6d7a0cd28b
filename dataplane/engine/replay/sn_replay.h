/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_REPLAY_H
#define SN_REPLAY_H

/*
 * The queues of the replay device. A receive queue copies the frames of a capture into packet buffers,
 * without end; a transmit queue counts and frees. Both note times:
 *
 * - Cycles per packet: from one poll that filled its burst to the next poll, divided by the burst's packets.
 * So all that the program does with a burst counts, and what the device itself does, which is the same for
 * all programs. Moments in which others use the core, too, can be told apart (sn_quiet.h).
 * - Latency, if the frames come at a rate: from when a frame came (not: when it was received) to when it was
 * sent.
 *
 * The first `warmup` packets of each queue are not measured, the next `count` are.
 * One thread polls a queue.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_capture.h"
#include "sn_histogram.h"
#include "sn_pace.h"
#include "sn_quiet.h"

#define SN_REPLAY_FULL	16 /* a burst of fewer packets is not measured */
#define SN_REPLAY_PARTS 16 /* cycles per packet are counted in parts of a cycle */

/* A receive queue. What every poll uses comes first. */
struct sn_replay_rx {
	const struct sn_capture *capture;
	struct rte_mempool *pool;
	uint32_t at; /* the next frame */
	uint32_t depth;
	uint32_t head; /* of posted */
	uint16_t port;
	uint16_t last; /* packets of the last poll, if it filled its burst */
	bool paced;
	bool checksums;		  /* tell whether checksums are right */
	bool numbered;		  /* frames get numbers */
	uint32_t number;	  /* of the next one that is copied */
	int arrival;		  /* the offset of a packet buffer's field */
	uint64_t polled;	  /* when, TSC */
	uint64_t packets;	  /* since the start; written by the poller, read by any */
	uint64_t begin;		  /* packets before those that are measured */
	uint64_t end;		  /* and before those after them */
	uint64_t began;		  /* TSC when the first measured packet was received; 0: not yet */
	uint64_t ended;		  /* and the first one after them */
	uint64_t nobuffer;	  /* polls without a packet, as there were no buffers */
	double gap;		  /* cycles from frame to frame */
	struct rte_mbuf **posted; /* depth frames, copied ahead */
	struct sn_pace pace;
	struct sn_histogram cycles;
	struct sn_quiet quiet; /* cycles of quiet moments */
	uint32_t *bursts;      /* of each of the first bursts that are measured; NULL: not asked for */
	uint32_t n_bursts, max_bursts;
} __attribute__((aligned(64)));

/*
 * Numbered frames as they leave: a flow is every frame whose number has the same rest. Frames of a program's
 * own must not leave by such a queue, as their last bytes are read as a number.
 */
struct sn_replay_order {
	uint32_t *last;	     /* by flow: one more than the highest number so far; NULL: not asked for */
	uint32_t mask;	     /* flows - 1 */
	uint32_t begin, end; /* numbers that count */
	uint32_t highest;    /* one more than the highest number so far */
	uint64_t seen;
	uint64_t late; /* not above an earlier one of their flow */
};

struct sn_replay_tx {
	uint64_t packets, bytes;
	int arrival;
	bool paced;
	struct sn_replay_order order;
	struct sn_histogram latency; /* TSC cycles */
} __attribute__((aligned(64)));

struct sn_replay_config {
	uint64_t rate;		/* frames per second of each queue; 0: as many as are asked for */
	uint64_t warmup, count; /* packets of each queue; count 0: all after the warm-up */
	uint32_t ring;		/* frames that wait at most, of those that come at a rate */
	uint32_t depth;		/* frames copied ahead of their receipt: a large number makes them cold */
	uint64_t hz;		/* of the TSC */
	uint64_t quiet;		/* TSC cycles of a probe on a quiet core, at most; 0: no probes are made */
	uint64_t patience;	/* milliseconds that each queue waits for a quiet core, at most */
	uint32_t bursts;	/* that are told one by one, of each queue, at most */
	uint32_t flows; /* a power of two: look at the order of numbered frames that are sent; 0: do not */
	bool numbered;	/* the last four bytes of each frame become its number, from 0 on */
	bool checksums;
};

/* The offset of the packet buffers' field that holds when a frame came (0: not measured); -1 if there is no
 * room for it. */
int sn_replay_arrival(void);

/*
 * A queue begins with the frame at `first`. With a depth, takes so many buffers. Fails without memory or
 * buffers, or with buffers that are too small for the frames.
 */
int sn_replay_rx_start(struct sn_replay_rx *rx, const struct sn_replay_config *config, uint32_t first,
		       struct sn_error *err);
void sn_replay_rx_stop(struct sn_replay_rx *rx);

/* A queue begins with no frame. Of numbered frames those from warmup on count, as many as there are. */
int sn_replay_tx_start(struct sn_replay_tx *tx, const struct sn_replay_config *config, struct sn_error *err);
void sn_replay_tx_stop(struct sn_replay_tx *tx);

/* Numbers that count and did not leave, up to the highest that did. */
static inline uint64_t sn_replay_lost(const struct sn_replay_order *o)
{
	return o->highest > o->begin ? o->highest - o->begin - o->seen : 0;
}

/* As DPDK's rx_pkt_burst and tx_pkt_burst; queue is a struct sn_replay_rx or sn_replay_tx. */
uint16_t sn_replay_receive(void *queue, struct rte_mbuf **pkts, uint16_t n);
uint16_t sn_replay_send(void *queue, struct rte_mbuf **pkts, uint16_t n);

/* Whether all packets that are to be measured were received. */
static inline bool sn_replay_done(const struct sn_replay_rx *rx)
{
	return __atomic_load_n(&rx->ended, __ATOMIC_RELAXED) != 0;
}

#endif /* SN_REPLAY_H */
