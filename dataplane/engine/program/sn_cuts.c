/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets are followed as far as a program alone tells: which of the addresses that they came with is where,
 * which state they have met, and whether their class may hang on what an operation did to one packet of many.
 */
#include "sn_cuts.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sn_operation.h"

/* What a packet has as its source, or destination. */
enum address {
	CAME_SOURCE, /* the source with which it came */
	CAME_DESTINATION,
	OTHER,
	ADDRESSES,
};

/* What can be foreseen of a packet. */
enum foresight {
	ALL,
	NOT_DSCP, /* an operation wrote it, into some packets */
	NOT_WAY,  /* and a classification has read it */
	FORESIGHTS,
};

/* What a packet has met: nothing, an own shard (number + 1 in the list of those of the program), that of a
 * flow which is followed, or a NAPT's of a flow. */
#define NOTHING	  0
#define FLOW	  15
#define FOLLOWED  14
#define OWN_MAX	  (FOLLOWED - 1)
#define SITUATION (ADDRESSES * ADDRESSES * FORESIGHTS * 2)

struct packet {
	enum address source, destination;
	enum foresight foresight;
	bool answer; /* of the engine */
	uint32_t met;
};

/* An own shard: of a prefix of an address with which packets came, or of the port beside it. */
struct own {
	enum address address;
	bool port;
	uint32_t prefix_len;
};

struct walk {
	const struct sn_program *program;
	struct own own[OWN_MAX];
	uint32_t n_own;
	/* By segment and situation: bit per what has been met by packets that come there; and what of it was
	 * followed. */
	uint16_t *come, *followed;
	bool more;
};

static uint32_t situation_of(const struct packet *p)
{
	return (((uint32_t)p->source * ADDRESSES + (uint32_t)p->destination) * FORESIGHTS +
		(uint32_t)p->foresight) *
		       2 +
	       p->answer;
}

static struct packet packet_of(uint32_t situation, uint32_t met)
{
	return (struct packet){
		.source = situation / 2 / FORESIGHTS / ADDRESSES,
		.destination = situation / 2 / FORESIGHTS % ADDRESSES,
		.foresight = situation / 2 % FORESIGHTS,
		.answer = situation % 2,
		.met = met,
	};
}

static void come_to(struct walk *w, uint32_t segment, const struct packet *p)
{
	uint16_t *come = &w->come[segment * SITUATION + situation_of(p)];

	if (*come & 1u << p->met)
		return;
	*come |= (uint16_t)(1u << p->met);
	w->more = true;
}

/* The number of the own shard that the operation needs; NOTHING: there are too many. */
static uint32_t own_of(struct walk *w, const struct packet *p, const struct sn_op *op)
{
	struct sn_cut cut = sn_operation_of(op)->cut(w->program, op);
	struct own own = {cut.destination ? p->destination : p->source, cut.port, cut.prefix_len};
	uint32_t i = 0;

	while (i < w->n_own && (w->own[i].address != own.address || w->own[i].port != own.port ||
				w->own[i].prefix_len != own.prefix_len))
		i++;
	if (i == OWN_MAX)
		return NOTHING;
	w->own[i] = own;
	if (i == w->n_own)
		w->n_own++;
	return i + 1;
}

/* Of a NAPT, or of an own shard. Answers need no own shard of an address: see sn_operation.h. */
static bool meet_other(struct walk *w, struct packet *p, const struct sn_op *op)
{
	uint32_t met = op->traits & SN_OP_OWN_SHARD ? own_of(w, p, op) : FLOW;

	if (p->answer && op->traits & SN_OP_OWN_SHARD && (met == NOTHING || !w->own[met - 1].port))
		return met != NOTHING;
	if (met == NOTHING || (p->met == NOTHING && p->foresight == NOT_WAY))
		return false;
	if (p->met == NOTHING) {
		p->met = met;
		return true;
	}
	return p->met == met && (met == FLOW || w->own[met - 1].address != OTHER);
}

/* Whether a packet is of the flow with which it came, or an answer of that of what it answers: an error
 * quotes it. */
static bool is_of_its_flow(const struct packet *p)
{
	return p->source != OTHER && p->destination != OTHER && p->source != p->destination;
}

/* Of a flow that is followed: both of its directions have one shard. */
static bool meet_followed(struct packet *p)
{
	if (!is_of_its_flow(p))
		return false;
	if (p->met == NOTHING && p->foresight != NOT_WAY)
		p->met = FOLLOWED;
	return p->met == FOLLOWED;
}

/* The packet meets state. False: of another shard than before, perhaps. */
static bool meet(struct walk *w, struct packet *p, const struct sn_op *op)
{
	if (op->traits & SN_OP_FOLLOWS_FLOW)
		return meet_followed(p);
	return meet_other(w, p, op);
}

static bool pass(struct walk *w, struct packet *p, const struct sn_op *op)
{
	if (op->traits & SN_OP_STATE && !meet(w, p, op))
		return false;
	if (op->writes & (1u << SN_SRC | 1u << SN_SPORT))
		p->source = OTHER;
	if (op->writes & (1u << SN_DST | 1u << SN_DPORT))
		p->destination = OTHER;
	if (sn_operation_of(op)->each && op->writes && p->foresight == ALL)
		p->foresight = NOT_DSCP;
	return true;
}

static void go_on(struct walk *w, const struct sn_leg *leg, const struct packet *p)
{
	struct packet answer = *p;

	answer.destination = p->source;
	answer.source = p->destination; /* of the packet that it quotes, or resets */
	answer.answer = true;
	for (uint32_t i = 0; i < SN_LEADS_MAX; i++) {
		struct sn_lead lead = sn_leg_leads(w->program, leg, i);

		if (lead.what == SN_LED_PACKET)
			come_to(w, lead.segment, p);
		else if (lead.what != SN_LED_NOTHING)
			come_to(w, lead.segment, &answer);
	}
	if (!sn_leg_has(w->program, leg, SN_OP_FINDS_STATE))
		return;
	for (uint32_t i = 0; i < w->program->n_runs; i++)
		come_to(w, w->program->runs[i].segment, p);
}

static bool follow_leg(struct walk *w, const struct sn_leg *leg, struct packet p)
{
	for (uint32_t i = 0; i < leg->n_ops; i++)
		if (!pass(w, &p, sn_leg_op(w->program, leg, i)))
			return false;
	go_on(w, leg, &p);
	return true;
}

static bool follow(struct walk *w, const struct sn_segment *s, struct packet p)
{
	if (p.foresight == NOT_DSCP && (s->table.reads | s->low.reads) & 1u << SN_DSCP)
		p.foresight = NOT_WAY;
	for (uint32_t i = 0; i < s->n_classes; i++) {
		const struct sn_class *c = &w->program->classes[s->first_class + i];

		for (uint32_t j = 0; j < c->n_legs; j++)
			if (!follow_leg(w, &w->program->legs[c->first_leg + j], p))
				return false;
	}
	return true;
}

/* All that has come to a segment and was not followed yet. */
static bool follow_all(struct walk *w, uint32_t segment)
{
	for (uint32_t s = 0; s < SITUATION; s++) {
		uint16_t *come = &w->come[segment * SITUATION + s];
		uint16_t *followed = &w->followed[segment * SITUATION + s];

		while (*come != *followed) {
			uint32_t met = (uint32_t)__builtin_ctz((uint32_t)(*come ^ *followed));

			*followed |= (uint16_t)(1u << met);
			if (!follow(w, &w->program->segments[segment], packet_of(s, met)))
				return false;
		}
	}
	return true;
}

static bool agree(struct walk *w)
{
	const struct packet comer = {.source = CAME_SOURCE, .destination = CAME_DESTINATION};

	for (uint32_t i = 0; i < w->program->n_interfaces; i++)
		come_to(w, w->program->interfaces[i].segment, &comer);
	while (w->more) {
		w->more = false;
		for (uint32_t s = 0; s < w->program->n_segments; s++)
			if (!follow_all(w, s))
				return false;
	}
	return true;
}

/* An operation has a shard of its own, or makes a difference between the packets of a flow. */
static bool is_asked(const struct sn_program *p)
{
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->ops[i].traits & (SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW) ||
		    (p->ops[i].writes && sn_operation_of(&p->ops[i])->each))
			return true;
	return false;
}

int sn_cuts_agree(const struct sn_program *p)
{
	size_t n = (size_t)p->n_segments * SITUATION;
	struct walk w = {.program = p};
	int rc;

	if (!is_asked(p))
		return 1;
	w.come = calloc(n, 2 * sizeof(*w.come));
	if (!w.come)
		return -1;
	w.followed = w.come + n;
	rc = agree(&w);
	free(w.come);
	return rc;
}
