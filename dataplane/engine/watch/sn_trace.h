/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRACE_H
#define SN_TRACE_H

/*
 * A worker's side of a trace: some of the packets that it receives are watched on
 * their way, and those that the rules want are copied, as they came and as they
 * left, into a ring that the control thread reads. The worker never waits.
 *
 * A packet's way is one burst: what happens in its turn (answers, copies, ARP) is
 * its doing. Behind a function that it leaves for it is a burst of its own, with a
 * record of its own, which says what packet it was.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_trace_ring.h"

#define SN_TRACE_NO_IFACE UINT32_MAX

/* Classes of one packet; further ones are noted as cut. */
#define SN_TRACE_CLASSES 32
#define SN_TRACE_DROPS	 8
#define SN_TRACE_FRAMES	 16

/* Packets that left for functions, and whose way behind these is wanted. */
#define SN_TRACE_WENT 1024

/* Wishes of a trace; the same for all workers, which only add to `taken` and write `went`. */
struct sn_trace_rules {
	uint32_t one_in;
	uint32_t snap_len;
	uint32_t max_packets;
	uint64_t until_ns;
	bool *classes; /* by class of the program; NULL: any */
	bool *reasons; /* by drop reason; NULL: any, dropped or not */
	uint64_t seed;
	uint8_t epoch;			      /* of the trace, not 0: marks of another one are not believed */
	_Atomic uint64_t went[SN_TRACE_WENT]; /* marks, by their hash */
	_Atomic uint32_t taken;
	_Atomic bool program_gone; /* classes have other meanings now */
};

/* As in TracedFrame of control.proto. */
enum sn_trace_kind {
	SN_TRACE_RECEIVED,
	SN_TRACE_SENT,
	SN_TRACE_NOT_SENT,
};

struct sn_trace_frame {
	uint32_t kind;
	uint32_t iface;
	uint32_t length; /* of the frame */
	uint32_t kept;	 /* bytes of it that are in the record */
};

/* A record of the ring begins with this; classes, drops, frames and the frames' bytes follow. */
struct sn_trace_packet {
	uint64_t number; /* among those received by this worker; 0: not known any more */
	uint64_t time_ns;
	uint32_t n_classes;
	uint32_t n_drops;
	uint32_t n_frames;
	uint32_t cut;	/* there was more */
	uint32_t shard; /* of its state, plus one; 0: it is not told */
	/* A packet that was at functions has a record for each part of its way. The first one's worker and
	 * number; 0: this is it, or the packet was not watched there. */
	uint32_t first_worker;
	uint64_t first_number;
};

struct sn_trace;

/* The trace of a worker by its number. NULL without memory. rules outlive the trace. */
struct sn_trace *sn_trace_create(struct sn_trace_rules *rules, uint8_t worker);
void sn_trace_free(struct sn_trace *trace);

struct sn_trace_counts {
	uint64_t received;
	uint64_t examined;
	uint64_t missed; /* wanted, but there was no room */
};

/* For the control thread, beside the worker. */
struct sn_trace_ring *sn_trace_ring(struct sn_trace *trace);
struct sn_trace_counts sn_trace_counts(const struct sn_trace *trace);

/* The rest is for the worker. A burst begins: chooses the packets to watch, and copies them as they are. */
void sn_trace_begin(struct sn_trace *trace, uint16_t iface, struct rte_mbuf *const *frames, uint32_t n,
		    uint64_t now_ns);

/* It is the turn of the burst's packet i; false: it is not watched. */
bool sn_trace_turn(struct sn_trace *trace, uint32_t i);
void sn_trace_no_turn(struct sn_trace *trace);

/* Instead of a turn here it has one at another worker, where it is watched as any other. */
void sn_trace_handed(struct sn_trace *trace);

/* The packet whose turn it is met a class (numbered through the program); whether it met any yet. */
void sn_trace_class(struct sn_trace *trace, uint32_t class);
bool sn_trace_has_class(const struct sn_trace *trace);

/* The shard of its state. */
void sn_trace_shard(struct sn_trace *trace, uint8_t shard);

/* A frame leaves in its turn. */
void sn_trace_sent(struct sn_trace *trace, uint16_t iface, const struct rte_mbuf *m);

/* The packet whose turn it is leaves for a function, or goes past one. What it is to be marked with
 * (sn_trace_mark.h) when it is back; 0: it is not watched. */
uint64_t sn_trace_leaves(struct sn_trace *trace);

/* A packet is dropped: in its turn, before it, by the port (as SN_REASON_TX_FULL), or by a timer between two
 * bursts. m may be NULL. */
void sn_trace_drop(struct sn_trace *trace, const struct rte_mbuf *m, uint32_t reason);

/* The burst is sent: what is wanted goes into the ring. */
void sn_trace_finish(struct sn_trace *trace);

/* Time goes on between two bursts. */
void sn_trace_tick(struct sn_trace *trace, uint64_t now_ns);

/* Another program runs from now on. */
void sn_trace_program_gone(struct sn_trace *trace);

#endif /* SN_TRACE_H */
