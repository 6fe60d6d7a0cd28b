/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_EXCHANGE_H
#define SN_EXCHANGE_H

/*
 * Packets from worker to worker, and units of shards that move between them while packets flow.
 *
 * Each worker has a mailbox: what it believes to be each shard's place, written by it alone, and
 * a ring to each of the others. A unit moves in four steps, none of which makes anyone wait:
 *
 *  1. The control thread publishes the order.
 *  2. Each worker takes notice between two bursts: it puts a mark into its ring to the giver, and from
 *     then on hands the unit's packets to the taker. The taker holds what comes.
 *  3. The giver, which goes on with the unit meanwhile, has read everybody's mark: no packet of the unit
 *     can come to it any more. It gives the unit, and puts the hand-off token into its ring to the taker.
 *  4. The taker takes the unit, processes what it holds, then what comes.
 *
 * Packets that came by one queue stay in their order: those before the mark are processed by the
 * giver before the hand-off token, those behind it by the taker after the hand-off token, in the order of
 * their ring.
 *
 * Where a device gives a unit's packets to a queue of its own choice, it is told of the move afterwards. What
 * it gives to the taker then must not overtake what waits in the giver's queue, so the unit *turns*:
 *
 *  1. The taker, by order, holds what comes by its own queues; what is handed over it processes.
 *  2. The control thread changes the device's table, and orders the other worker to drain its queues.
 *  3. That one, when it has received all that was in its queues, puts a mark into its ring to the taker.
 *  4. The taker has processed all that came before the mark; it processes what it holds, and holds no more.
 *
 * However much waits in the rings, a move does not wait for it: who waits for a mark looks for it in its
 * rings, and processes what stands before it of this one unit. The rest stays as it is.
 *
 * A unit may also be on its way to or from another engine, or there. Its owner then holds its packets or
 * passes them on; to the other workers it is the owner's as ever.
 *
 * Nothing here knows what a packet is: pointers to at least 2-aligned things.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sn_ring.h"

#define SN_EXCHANGE_SHARDS 128
#define SN_EXCHANGE_RING   4096 /* packets on their way from one worker to another */
#define SN_EXCHANGE_HELD   4096 /* packets that wait for a unit that is on its way */
#define SN_EXCHANGE_BURST  32

enum sn_place {				 /* else the number of another worker */
		SN_PLACE_AWAY = 0xfc,	 /* another engine's */
		SN_PLACE_TURNING = 0xfd, /* here, but what comes by an own queue waits */
		SN_PLACE_AWAITED = 0xfe,
		SN_PLACE_HERE = 0xff,
};

/* The functions of a mailbox's worker. Called on its thread. */
struct sn_exchange_ops {
	/* Packets that others handed over, in their order. They are the worker's. */
	void (*packets)(void *context, void **packets, uint32_t n);
	void (*give)(void *context, uint32_t unit);
	void (*take)(void *context, uint32_t unit);
	uint64_t (*now)(void *context); /* ns */
	/* The shard of a packet that waits in a ring. */
	uint32_t (*shard)(const void *packet);
};

enum sn_move_kind {
	SN_MOVE_OWNER,
	SN_MOVE_HOLD,  /* the unit begins to turn … */
	SN_MOVE_DRAIN, /* … and goes on */
};

struct sn_move {
	uint8_t unit, from, to;
	uint8_t kind; /* enum sn_move_kind */
};

struct sn_exchange;

/* Written by its worker alone, but for `done`, which others read. */
struct sn_mailbox {
	/* lines 1 and 2: read by every packet */
	_Alignas(64) uint8_t place[SN_EXCHANGE_SHARDS];
	/* line 3: read by every burst */
	struct sn_exchange *exchange;
	const struct sn_exchange_ops *ops;
	void *context;
	uint64_t touched; /* bit per worker: its ring was put into */
	uint16_t number;
	bool marked;	     /* the giver was told of the latest move */
	bool draining;	     /* see sn_mailbox_drained() */
	bool awaits;	     /* the latest move waits for a message to this worker */
	bool review;	     /* what is held may have a place now; set while the worker is quiescent */
	struct sn_move move; /* the latest */
	uint32_t seen;	     /* its number */
	uint32_t marks;
	uint32_t n_held;
	/* further lines: moves only */
	_Alignas(64) _Atomic uint32_t done; /* number of the last move that ended here */
	uint64_t taken_ns;		    /* when */
	void **held;
};
_Static_assert(offsetof(struct sn_mailbox, exchange) == 128, "a place per shard fills two lines");
_Static_assert(offsetof(struct sn_mailbox, done) == 192, "what every burst reads is on one line");
_Static_assert(sizeof(struct sn_mailbox) == 256, "mailboxes share no line");

struct sn_exchange {
	_Alignas(64) _Atomic uint64_t
		order; /* the control thread's word: a number and a move, see sn_exchange.c */
	_Alignas(64) uint32_t n_workers;
	uint32_t units;
	struct sn_mailbox *mailboxes;
	struct sn_ring **rings; /* from * n_workers + to */
};

/* For at most 64 workers. All shards are worker 0's. NULL without memory. */
struct sn_exchange *sn_exchange_create(uint32_t n_workers);

/* drop gets the packets that are still on their way. Workers have ended. */
void sn_exchange_free(struct sn_exchange *exchange, void (*drop)(void *packet));

void sn_exchange_join(struct sn_exchange *exchange, uint32_t worker, const struct sn_exchange_ops *ops,
		      void *context);

static inline struct sn_mailbox *sn_exchange_mailbox(const struct sn_exchange *exchange, uint32_t worker)
{
	return &exchange->mailboxes[worker];
}

/* ---- the control thread ---- */

/*
 * While all workers are quiescent and no move is under way: units is a power of two of at most 128, a
 * unit's shards are those equal to it modulo units, owner holds a worker for each shard, place what it is to
 * that worker (here, awaited or away; NULL: all are here). What is held is looked at again.
 */
void sn_exchange_set(struct sn_exchange *exchange, uint32_t units, const uint8_t *owner,
		     const uint8_t *place);

/* Publish a move or a step of a turn; none may be under way. from and to are two workers; from has the unit
 * if its owner is to change, else to has it. */
void sn_exchange_begin(struct sn_exchange *exchange, struct sn_move move);

/* Whether the last move is over; when the unit was taken, by the taker's clock. */
bool sn_exchange_done(const struct sn_exchange *exchange, uint64_t *taken_ns);

/* ---- a worker ---- */

/* Between two bursts: take notice of moves, then process what the others have put. Returns how many
 * packets that were. */
uint32_t sn_mailbox_poll(struct sn_mailbox *mailbox);

/* Whether the worker is needed soon: it should not nap. */
static inline bool sn_mailbox_busy(const struct sn_mailbox *mailbox)
{
	return !mailbox->marked || mailbox->draining || mailbox->marks > 0 || mailbox->n_held > 0;
}

/* A mailbox that is draining: its worker has received all that was in its queues when that began. */
void sn_mailbox_drained(struct sn_mailbox *mailbox);

/* Put a packet into the ring to another worker, where it is seen after sn_mailbox_publish(). False: full. */
static inline bool sn_mailbox_hand(struct sn_mailbox *mailbox, uint32_t to, void *packet)
{
	const struct sn_exchange *x = mailbox->exchange;

	mailbox->touched |= UINT64_C(1) << to;
	return sn_ring_put(x->rings[mailbox->number * x->n_workers + to], packet);
}

/* Keep a packet until its unit arrives. False: too many wait. */
static inline bool sn_mailbox_hold(struct sn_mailbox *mailbox, void *packet)
{
	if (mailbox->n_held == SN_EXCHANGE_HELD)
		return false;
	mailbox->held[mailbox->n_held++] = packet;
	return true;
}

/* At the end of a burst. */
void sn_mailbox_publish(struct sn_mailbox *mailbox);

#endif /* SN_EXCHANGE_H */
