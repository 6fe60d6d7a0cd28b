/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_OPERATION_H
#define SN_OPERATION_H

/*
 * The table of operations. A row says all that the engine knows of one: how it is decoded, what it does to a
 * packet, and what can be told of it before there is a packet. Nothing else in the engine tells operations
 * apart.
 *
 * Rows register themselves before main(), each from its file in ../operation. A leg's outcome is an
 * operation, too: the last of its leg.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_program.h"
#include "sn_program_build.h"

struct sn_pkt;
struct sn_execution; /* a packet on its way: slow/sn_execution.h */
struct sn_look;	     /* a look ahead: shard/sn_dispatch.h */
struct sn_partition;
struct sn_entry;

/* Results of an operation for a packet. */
enum sn_verdict_kind {
	SN_VERDICT_PASS,      /* the next operation is its */
	SN_VERDICT_SEGMENT,   /* it goes on in this segment */
	SN_VERDICT_DROP,      /* it is to be dropped for this reason */
	SN_VERDICT_HAND_OVER, /* it needs state of this shard; when it is executed: another worker has the
				 shard */
	SN_VERDICT_DONE,      /* nothing is left to do: it was sent, waits, or was dropped and counted */
};

struct sn_verdict {
	enum sn_verdict_kind kind;
	uint32_t value; /* segment, reason, shard */
};

static inline struct sn_verdict sn_pass(void)
{
	return (struct sn_verdict){SN_VERDICT_PASS, 0};
}

static inline struct sn_verdict sn_to_segment(uint32_t segment)
{
	return (struct sn_verdict){SN_VERDICT_SEGMENT, segment};
}

static inline struct sn_verdict sn_drop(uint32_t reason)
{
	return (struct sn_verdict){SN_VERDICT_DROP, reason};
}

static inline struct sn_verdict sn_hand_over_to(uint32_t shard)
{
	return (struct sn_verdict){SN_VERDICT_HAND_OVER, shard};
}

static inline struct sn_verdict sn_done(void)
{
	return (struct sn_verdict){SN_VERDICT_DONE, 0};
}

/* Packets that an operation leads to a segment. The answer to an ICMP error is nothing: no error is made
 * about it, and no host replies to it. */
enum sn_led {
	SN_LED_NOTHING,
	SN_LED_PACKET, /* the packet itself */
	SN_LED_ANSWER, /* a reply to it, which may be replied to */
	SN_LED_ERROR,  /* an ICMP error about it */
};

struct sn_lead {
	enum sn_led what;
	uint32_t segment;
};

/* Which shard has an operation's state, if it is no NAPT's. */
enum sn_cut_of {
	SN_CUT_OF_PREFIX, /* that of a prefix of one of the packet's addresses: sn_prefix_shard() */
	SN_CUT_OF_CLIENT, /* that of one end of the flow: a balancer's clients' */
	SN_CUT_OF_FLOW,	  /* that of one of its ends, or of both: a firewall's, whose inside is this end */
};

/* Ends are those of the packet itself or, of an error, those of the packet that it quotes, turned round. */
struct sn_cut {
	uint8_t of;	  /* enum sn_cut_of */
	bool destination; /* else its source */
	uint8_t prefix_len;
	uint32_t table; /* of the program, unless of a prefix: the table's cut says by what */
};

struct sn_operation {
	const char *name; /* of the field in Op, or in Leg, of program.proto; of messages */
	uint32_t wire;	  /* its number there */
	uint8_t traits;	  /* enum sn_op_trait, of all operations of the kind; decode may add to them */
	uint8_t way;	  /* enum sn_way of classes whose packets come to it as they came in */
	bool notes_flows; /* without state: what it does to packets of known flows, their decisions do */
	bool taps;	  /* the outcome of copies that nothing comes of; decisions may make them */
	/*
	 * Decode and check; `to` has the row and its traits already. Exactly one of them: an operation of a
	 * leg, or its outcome. 0, or what sn_build_fail() says.
	 */
	int (*decode)(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Op *from);
	int (*decode_outcome)(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from);
	/* Do it. State changes by the journal of x only: the packet may be dropped later. */
	struct sn_verdict (*execute)(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op);
	/*
	 * What it does to each packet, also to one whose decision is cached; NULL: nothing. execute() has
	 * sn_execution_each() call it. entry: the state that it named there, or NULL. p has the DSCP that it
	 * has here, and may get another if the operation writes that. PASS or DROP; p cannot be refused any
	 * more.
	 */
	struct sn_verdict (*each)(const struct sn_program *program, const struct sn_op *op,
				  struct sn_partition *partition, struct sn_entry *entry, struct sn_pkt *p,
				  uint64_t now);
	/* As execute(), without effect on anything but p, as far as classification and state see it. NULL:
	 * PASS.
	 */
	struct sn_verdict (*predict)(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op);
	/* With SN_OP_OWN_SHARD or SN_OP_FOLLOWS_FLOW: execute() and predict() hand over to that shard. But
	 * where it is a prefix's execute() lets an answer of the engine's pass without: it came about where
	 * what it answers had its state. */
	struct sn_cut (*cut)(const struct sn_program *p, const struct sn_op *op);
	/* Note on a class what its packets' fast path has to do or to fetch. False, or NULL: a class with
	 * this operation takes the slow path. */
	bool (*simplify)(struct sn_class *c, const struct sn_op *op);
	/* The places where an outcome's packets may go; i is below n_leads. NULL: nowhere. */
	struct sn_lead (*leads)(const struct sn_program *p, const struct sn_op *op, uint32_t i);
	uint32_t n_leads; /* SN_LEADS_MAX at most; 0 with leads: 1 */
};

#define SN_LEADS_MAX 8

#define SN_OPERATIONS_MAX 256

/* The table; row 0 is none. */
extern const struct sn_operation *sn_operations[SN_OPERATIONS_MAX];

static inline const struct sn_operation *sn_operation_of(const struct sn_op *op)
{
	return sn_operations[op->operation];
}

/* Called by SN_OPERATION(). Ends the process if the number in program.proto is taken. */
void sn_operation_register(const struct sn_operation *operation);

/* The row of a number in Op, or in Leg; 0: there is none. */
uint8_t sn_operation_by_op(uint32_t wire);
uint8_t sn_operation_by_outcome(uint32_t wire);

/* Puts a row into the table. */
#define SN_OPERATION(row)                                                \
	static __attribute__((constructor)) void sn_register_##row(void) \
	{                                                                \
		sn_operation_register(&(row));                           \
	}

static inline const struct sn_op *sn_leg_op(const struct sn_program *p, const struct sn_leg *leg, uint32_t i)
{
	return &p->ops[leg->first_op + i];
}

/* One of the ways on which a leg's outcome takes its packets; i: from 0 to before SN_LEADS_MAX. */
static inline struct sn_lead sn_leg_leads(const struct sn_program *p, const struct sn_leg *leg, uint32_t i)
{
	const struct sn_op *op = sn_leg_op(p, leg, leg->n_ops - 1u);
	const struct sn_operation *o = sn_operation_of(op);

	if (!o->leads || (i > 0 && i >= o->n_leads))
		return (struct sn_lead){SN_LED_NOTHING, 0};
	return o->leads(p, op, i);
}

/* Whether an operation of the leg has one of the traits. */
static inline bool sn_leg_has(const struct sn_program *p, const struct sn_leg *leg, uint32_t traits)
{
	for (uint32_t i = 0; i < leg->n_ops; i++)
		if (sn_leg_op(p, leg, i)->traits & traits)
			return true;
	return false;
}

#endif /* SN_OPERATION_H */
