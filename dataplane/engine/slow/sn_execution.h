/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_EXECUTION_H
#define SN_EXECUTION_H

/*
 * One packet on the slow path, with its copies and answers: what operations know of it, and what they may do.
 * What a packet does to state is noted in a journal, and done when the packet leaves or is answered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_counts.h"
#include "sn_echoes.h"
#include "sn_observer.h"
#include "sn_operation.h"
#include "sn_parse.h"
#include "sn_state.h"

struct sn_execution;
struct sn_neigh;
struct sn_session;
struct sn_slow;

/* A use of state that is not done yet: of a session, unless `each`. */
struct sn_use {
	struct sn_entry *entry;
	const uint8_t *tcp; /* header of the packet; NULL: none */
	bool each;	    /* an operation's that is done to each packet: done, and not to be refreshed */
	uint8_t is_return;
	uint8_t made; /* for this packet: to be ended if the packet is dropped */
	uint8_t done;
	uint8_t instead;   /* made in the place of another one, which ends when the packet leaves */
	uint8_t again;	   /* enum sn_again */
	uint8_t checked;   /* of a flow that begins again: its segments are */
	uint8_t held;	   /* the entry is as if used, until this is done */
	uint8_t counts;	   /* the packet is one of those that the session counts */
	uint16_t length;   /* that a TCP packet takes of the sequence numbers */
	uint64_t last_use; /* of an entry that is held, before */
};

/* A flow that is closing begins again with the packet. */
enum sn_again {
	SN_AGAIN_NOT,
	SN_AGAIN,
	SN_AGAIN_TURNED, /* from its other side */
};

#define SN_STEPS_MAX  256 /* segments and counters on a way that the decision cache remembers */
#define SN_COPIED_MAX 8	  /* copies on such a way */

/* A copy on the way: what it has there that may be another flow's. */
struct sn_copied {
	uint32_t step; /* that says it */
	uint32_t src, dst, sport, dport;
	uint16_t id;
};

/*
 * Remembers decisions. Called when a packet leaves whose decision holds for the flow's packets that follow,
 * before the packet is written.
 */
struct sn_keeper {
	void (*keep)(const struct sn_keeper *keeper, struct sn_execution *x, const struct sn_pkt *p,
		     const struct sn_neigh *n);
};

struct sn_execution {
	struct sn_slow *slow;
	const struct sn_program *program;
	struct sn_counts *counts;
	const struct sn_state *state;
	struct sn_partition *partition; /* of the state: the worker's */
	struct sn_use *uses;		/* the journal */
	uint32_t n_uses;
	uint32_t copies;
	uint64_t now;
	bool warm_up; /* there is no packet, only a decision */
	/* The decision that will be remembered; `keep` as long as it can. */
	bool keep;
	const struct sn_keeper *keeper; /* NULL: nothing is */
	uint32_t min_ttl;
	uint16_t varying; /* bit per field that packets of the flow may have different from here on */
	bool each;	  /* some operation is to be done to each packet */
	bool observed;
	struct sn_flow_cell seen; /* where it was: the flow, as it was there */
	uint32_t n_copied;
	struct sn_copied copied[SN_COPIED_MAX];
	uint32_t n_steps;
	uint32_t steps[SN_STEPS_MAX];
};

/* ---- the journal: sn_journal.c ---- */

/* Notes that the packet uses a session. made: for it. Not PASS: the packet has used too many. */
struct sn_verdict sn_journal_note(struct sn_execution *x, struct sn_session *s, const struct sn_pkt *p,
				  bool is_return, bool made);

/* Notes the same of a flow that begins again with the packet: it is as if just made when the packet leaves.
 */
struct sn_verdict sn_journal_note_again(struct sn_execution *x, struct sn_session *s, const struct sn_pkt *p,
					bool is_return, bool checked);

/* Notes the same of a session that was made in the place of another one, which stays if the packet is
 * dropped. */
struct sn_verdict sn_journal_note_instead(struct sn_execution *x, struct sn_session *s,
					  const struct sn_pkt *p, bool is_return);

/* Notes the same of a session that counts the packet, if it leaves. */
struct sn_verdict sn_journal_note_counted(struct sn_execution *x, struct sn_session *s,
					  const struct sn_pkt *p, bool is_return, bool made);

/* Whether some use of an entry was noted. */
bool sn_journal_has(const struct sn_execution *x, const struct sn_session *s);

/* Whether it was noted that an entry's flow begins again. */
bool sn_journal_has_again(const struct sn_execution *x, const struct sn_session *s);

/* The packet leaves or is answered: all state on its way, up to here, is used. */
void sn_journal_commit(struct sn_execution *x);

/* Back to where the journal had n uses; what was not committed was not. */
void sn_journal_roll_back(struct sn_execution *x, uint32_t n);

/* The sessions that a decision has to remember, of those that the packet used: one that stands for all, if
 * they are changed alike. False: the decision cannot be kept. */
struct sn_bundle_uses;
bool sn_journal_sessions(const struct sn_execution *x, struct sn_bundle_uses *uses);

/* Whether the packet used state of shards that may come to have different owners: a decision notes but one.
 */
bool sn_journal_spans_shards(const struct sn_execution *x);

/* ---- what operations do beside that: sn_execution.c ---- */

/* A class or counter that the packet met, for the packets whose decision will be cached. */
static inline void sn_execution_step(struct sn_execution *x, uint32_t id)
{
	if (!x->keep)
		return;
	if (x->n_steps == SN_STEPS_MAX)
		x->keep = false;
	else
		x->steps[x->n_steps++] = id;
}

static inline void sn_execution_count(struct sn_execution *x, uint32_t counter, const struct sn_pkt *p)
{
	if (!x->warm_up)
		sn_count_add(&x->counts->counters[counter], p->frame_len);
	sn_execution_step(x, counter | SN_STEP_COUNTER);
}

/*
 * Has an operation do what it does to each packet, and notes for the cache that it is to be done to those
 * that follow. entry: the state for it, if it has some; NULL: none. What it says of this packet.
 */
struct sn_verdict sn_execution_each(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op,
				    struct sn_entry *entry);

/* Notes the packet's flow, as it is here, and for the cache that those that follow are counted there. */
void sn_execution_observe(struct sn_execution *x, const struct sn_pkt *p);

/* The packet leaves by an interface, to its next hop; or is answered by it. */
struct sn_verdict sn_execution_output(struct sn_execution *x, struct sn_pkt *p, uint32_t iface);

/* Whether a function outside of the program is down whose packets should come back by one of some interfaces:
 * bit per interface. */
bool sn_execution_down(const struct sn_execution *x, uint64_t wires);

/* The packet leaves for one of the program's stops. */
struct sn_verdict sn_execution_stop(struct sn_execution *x, struct sn_pkt *p, uint32_t stop);

/* A copy leaves by a wire for a function that gives nothing back. State is as if there were no such copy. */
struct sn_verdict sn_execution_tap(struct sn_execution *x, struct sn_pkt *p, uint32_t iface);

/* The interface tells the sender that the next hop did not answer (RFC 1812, section 5.2.7.1). */
struct sn_verdict sn_execution_unreachable(struct sn_execution *x, struct sn_pkt *p, uint32_t iface);

/* Whether an ICMP error may be sent now: then it counts. */
bool sn_execution_may_send_error(struct sn_execution *x);

/* Echo requests in fragments that this worker has seen. */
struct sn_echoes *sn_execution_echoes(struct sn_execution *x);

/* Sessions that were made for the packet, and those that gave way to them, are told to who listens. */
void sn_execution_tell_events(struct sn_execution *x, const struct sn_pkt *p);

/* The address of the interface by which the packet came: mostly that by which an error about it leaves (RFC
 * 1812, section 4.3.2.4). */
static inline uint32_t sn_entry_address(const struct sn_program *program, const struct sn_pkt *p)
{
	return program->interfaces[p->iface].address;
}

#endif /* SN_EXECUTION_H */
