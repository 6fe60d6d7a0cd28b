/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets are followed as far as a program alone tells. Of each is known which functions of its addresses and
 * ports give the shard whose state it has met: the functions that tell the shard of a NAPT's, a firewall's or
 * a balancer's flows are chosen such that all state on a packet's way is of one shard, in both directions.
 *
 * A table begins with all functions that its kind could use. Where a packet comes to it with a shard, those
 * stay that give this shard; what is left after all ways were followed until nothing changes is tried in an
 * order of preference, and checked by following all ways once more.
 */
#include "sn_cuts.h"

#include <stdlib.h>

#include "sn_operation.h"
#include "sn_state_kind.h"

/* Functions that may give a packet's shard, of its source; those of its destination are one bit higher. */
#define HOST   0x01u  /* as a NAPT tells it of an inside end: its address and port */
#define PORT   0x04u  /* as a NAPT tells it of an outside end: low bits of the port; with RSS, the hash */
#define NAPTS  0x10u  /* HOST (or BOTH) of an end that no NAPT has translated, else PORT */
#define CLIENT 0x40u  /* low bits of the port, with RSS */
#define PREFIX 0x100u /* of its address: of the first length of those that limits ask for */
#define LENS   4      /* the next ones follow */
#define BOTH   (PREFIX << 2 * LENS) /* of source and destination, alike in both directions */

#define OF_SOURCE		  (HOST | PORT | NAPTS | CLIENT | PREFIX | PREFIX << 2 | PREFIX << 4 | PREFIX << 6)
#define OF_DESTINATION		  (OF_SOURCE << 1)
#define TO_DESTINATION(functions) ((functions) << 1)

/* Degrees of foresight about a packet. */
enum foresight {
	ALL,
	NOT_DSCP, /* an operation wrote it, into some packets */
	NOT_WAY,  /* and a classification has read it */
};

struct packet {
	uint32_t known; /* functions that give the shard of what was met */
	bool met;
	bool answer;	  /* of the engine, … */
	bool error;	  /* … and an ICMP error: nothing answers that */
	bool back;	  /* a NAPT has translated it back, or what it answers */
	bool turned;	  /* since then it goes where no flow does: it may need a second shard */
	bool destination; /* since then it met the table last as one that has this end inside, … */
	uint32_t table;	  /* which is this one + 1; 0: none */
	uint8_t foresight;
};

/* Packets that come to a segment. */
struct comers {
	struct packet *packets;
	uint32_t n, max, followed;
};

#define COMERS_MAX 4096 /* of a segment: more differ in more than can be followed */

struct walk {
	const struct sn_program *program;
	bool rss;
	uint32_t *tables; /* functions that are left for each, … */
	uint32_t *runs;	  /* … of the inside as source */
	uint32_t lens[LENS], n_lens;
	struct comers *comers; /* by segment */
	bool more;
	bool shrunk; /* some table has fewer functions than before */
	bool no_memory;
};

static uint32_t turned(uint32_t functions)
{
	return (functions & OF_SOURCE) << 1 | (functions & OF_DESTINATION) >> 1 | (functions & BOTH);
}

static bool same_packet(const struct packet *a, const struct packet *b)
{
	return a->known == b->known && a->met == b->met && a->answer == b->answer && a->error == b->error &&
	       a->back == b->back && a->turned == b->turned && a->destination == b->destination &&
	       a->table == b->table && a->foresight == b->foresight;
}

static void come_to(struct walk *w, uint32_t segment, const struct packet *p)
{
	struct comers *c = &w->comers[segment];

	for (uint32_t i = 0; i < c->n; i++)
		if (same_packet(&c->packets[i], p))
			return;
	if (c->n == c->max) {
		uint32_t max = c->max ? 2 * c->max : 4;
		struct packet *packets =
			max > COMERS_MAX ? NULL : realloc(c->packets, max * sizeof(*packets));

		w->no_memory |= !packets;
		if (!packets)
			return;
		c->packets = packets;
		c->max = max;
	}
	c->packets[c->n++] = *p;
	w->more = true;
}

/* ---- state on the way ---- */

/*
 * The packet meets state whose shard is told by one of these functions, of a turned packet the other way
 * round. False: by none that gives the shard of what it has met, or it cannot be foreseen.
 */
static bool meet(struct walk *w, struct packet *p, uint32_t *functions, bool is_turned)
{
	uint32_t of_packet = is_turned ? turned(*functions) : *functions, left;

	if (!p->met) {
		if (p->foresight == NOT_WAY)
			return false;
		p->met = true;
		p->known = of_packet;
		return true;
	}
	of_packet &= p->known;
	left = is_turned ? turned(of_packet) : of_packet;
	if (left && left != *functions) {
		*functions = left;
		w->shrunk = true;
	}
	return left != 0;
}

/* The same, where there is no choice. */
static bool meet_fixed(struct walk *w, struct packet *p, uint32_t functions)
{
	bool shrunk = w->shrunk, met = meet(w, p, &functions, false);

	w->shrunk = shrunk;
	return met;
}

/* The function of a prefix. 0: lengths are too many. */
static uint32_t function_of_prefix(struct walk *w, const struct sn_cut *cut)
{
	uint32_t i = 0;

	while (i < w->n_lens && w->lens[i] != cut->prefix_len)
		i++;
	if (i == LENS)
		return 0;
	w->lens[i] = cut->prefix_len;
	if (i == w->n_lens)
		w->n_lens++;
	return PREFIX << (2 * i + cut->destination);
}

/* A packet that was translated back, or what answers it, turns round if it comes back to the table that it
 * has met. It is of no flow that was translated then: it goes where that came from. */
static bool turns(const struct packet *p, const struct sn_cut *cut)
{
	return p->turned || (p->table == cut->table + 1 && p->destination != cut->destination);
}

/* The state of a flow. Of packets that turn round it may have a shard of its own: as in meet_inside(). */
static bool meet_flow(struct walk *w, struct packet *p, const struct sn_cut *cut)
{
	p->turned = turns(p, cut);
	if (!p->turned && !meet(w, p, &w->tables[cut->table], cut->destination))
		return false;
	if (p->back) {
		p->table = cut->table + 1;
		p->destination = cut->destination;
	}
	return true;
}

/* Answers need no state by a prefix: see sn_operation.h. */
static bool meet_own(struct walk *w, struct packet *p, const struct sn_op *op)
{
	struct sn_cut cut = sn_operation_of(op)->cut(w->program, op);
	uint32_t function;

	if (cut.of != SN_CUT_OF_PREFIX)
		return meet_flow(w, p, &cut);
	function = function_of_prefix(w, &cut);
	if (p->answer || !function)
		return function != 0;
	return meet_fixed(w, p, function);
}

/*
 * A packet that was translated back and leaves by a NAPT again has a second binding, in a shard of its own:
 * it passes where one worker has both (docs/sharding.md).
 */
static bool meet_inside(struct walk *w, struct packet *p, const struct sn_op *op)
{
	uint32_t *functions = &w->runs[op->value];

	if (!(p->back && !(*functions & p->known)) && !meet(w, p, functions, false))
		return false;
	p->known = PORT | NAPTS;
	return true;
}

static bool meet_outside(struct walk *w, struct packet *p)
{
	if (!meet_fixed(w, p, TO_DESTINATION(PORT | NAPTS)))
		return false;
	p->back = true;
	p->turned = false;
	p->table = 0;
	return true;
}

/* An address or port that is written is not what it was: functions of it do not give the shard any
 * more. */
static void write_fields(struct walk *w, struct packet *p, const struct sn_op *op)
{
	bool source = op->writes & (1u << SN_SRC | 1u << SN_SPORT);
	bool destination = op->writes & (1u << SN_DST | 1u << SN_DPORT);

	if (source)
		p->known &= OF_DESTINATION;
	if (destination)
		p->known &= OF_SOURCE;
	/* The remote end tells the shard of flows without ports, which balancers do not write; and all of a
	 * flow's ends with RSS. */
	if ((source || destination) && (w->rss || !(op->traits & SN_OP_OWN_SHARD)))
		p->known &= ~(HOST | PORT | NAPTS | TO_DESTINATION(HOST | PORT | NAPTS));
}

static bool pass(struct walk *w, struct packet *p, const struct sn_op *op)
{
	if (op->traits & SN_OP_MAKES_STATE)
		return meet_inside(w, p, op);
	if (op->traits & SN_OP_FINDS_STATE)
		return meet_outside(w, p);
	if (op->traits & (SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW) && !meet_own(w, p, op))
		return false;
	write_fields(w, p, op);
	if (sn_operation_of(op)->each && op->writes && p->foresight == ALL)
		p->foresight = NOT_DSCP;
	return true;
}

/* ---- ways ---- */

static void go_on(struct walk *w, const struct sn_leg *leg, const struct packet *p)
{
	const struct sn_op *last = sn_leg_op(w->program, leg, leg->n_ops - 1u);
	struct packet answer = *p, back = *p;

	answer.known = turned(p->known); /* of the packet that it quotes, or resets */
	answer.answer = true;
	for (uint32_t i = 0; i < SN_LEADS_MAX; i++) {
		struct sn_lead lead = sn_leg_leads(w->program, leg, i);

		if (lead.what == SN_LED_PACKET)
			come_to(w, lead.segment, p);
		answer.error = lead.what == SN_LED_ERROR;
		if ((lead.what == SN_LED_ANSWER || answer.error) && !p->error)
			come_to(w, lead.segment, &answer);
	}
	if (!(last->traits & SN_OP_FINDS_STATE))
		return;
	for (uint32_t i = 0; i < w->program->n_runs; i++) {
		if (w->program->runs[i].table != last->value)
			continue;
		back.known = turned(w->runs[i]);
		come_to(w, w->program->runs[i].segment, &back);
	}
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

/* All packets on all their ways. False: some meets state of two shards. */
static bool follow_all(struct walk *w)
{
	const struct packet comer = {0};

	for (uint32_t s = 0; s < w->program->n_segments; s++)
		w->comers[s].n = w->comers[s].followed = 0;
	for (uint32_t i = 0; i < w->program->n_interfaces; i++)
		come_to(w, w->program->interfaces[i].segment, &comer);
	/* The shard of what comes back from a stop is foreseen from there. */
	for (uint32_t i = 0; i < w->program->n_stops; i++)
		come_to(w, w->program->stops[i].segment, &comer);
	while (w->more) {
		w->more = false;
		for (uint32_t s = 0; s < w->program->n_segments; s++) {
			struct comers *c = &w->comers[s];

			while (c->followed < c->n)
				if (!follow(w, &w->program->segments[s], c->packets[c->followed++]) ||
				    w->no_memory)
					return false;
		}
	}
	return true;
}

/* ---- what tables are cut by ---- */

/* A plan: what is tried. */
struct plan {
	uint32_t flows, clients, inside; /* functions of firewalls', balancers' and NAPTs' tables */
};

/* The first function of these that a table has left. */
static uint32_t first_of(uint32_t functions)
{
	static const uint32_t order[] = {BOTH,	HOST, TO_DESTINATION(HOST), NAPTS, PORT, TO_DESTINATION(PORT),
					 CLIENT};

	for (uint32_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (functions & order[i])
			return order[i];
	return 0;
}

/* Ways to cut firewalls' and balancers' tables; others have no such functions. */
static void set_tables(struct walk *w, const struct plan *plan)
{
	const struct sn_program *p = w->program;

	for (uint32_t i = 0; i < p->n_tables; i++)
		w->tables[i] = 0;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sn_operation *o = sn_operation_of(&p->ops[i]);
		struct sn_cut cut;

		if (!(p->ops[i].traits & (SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW)))
			continue;
		cut = o->cut(p, &p->ops[i]);
		if (cut.of == SN_CUT_OF_FLOW)
			w->tables[cut.table] = plan->flows;
		else if (cut.of == SN_CUT_OF_CLIENT)
			w->tables[cut.table] = plan->clients;
	}
	for (uint32_t i = 0; i < p->n_runs; i++)
		w->runs[i] = plan->inside;
	w->n_lens = 0;
}

/* Follows all ways until no table has fewer functions than before, chooses one for each, and follows all
 * again. */
static bool try_plan(struct walk *w, const struct plan *plan)
{
	set_tables(w, plan);
	do {
		w->shrunk = false;
		if (!follow_all(w))
			return false;
	} while (w->shrunk);
	for (uint32_t i = 0; i < w->program->n_tables; i++)
		w->tables[i] = first_of(w->tables[i]);
	for (uint32_t i = 0; i < w->program->n_runs; i++)
		w->runs[i] = first_of(w->runs[i]);
	return follow_all(w);
}

static struct sn_table_cut cut_of(uint32_t function)
{
	struct sn_table_cut cut = {0};

	if (function & (HOST | TO_DESTINATION(HOST)))
		cut.by = SN_CUT_BY_HOST;
	else if (function & (PORT | TO_DESTINATION(PORT)))
		cut.by = SN_CUT_BY_PORT;
	cut.outside = (function & OF_DESTINATION) != 0;
	return cut;
}

/* The best plan of each kind alone comes first: it stays as long as packets do not meet several. */
static bool note_cuts(struct sn_program *p, struct walk *w)
{
	static const struct plan plans[] = {
		{BOTH, PORT, HOST | NAPTS},
		{BOTH | HOST | PORT | TO_DESTINATION(HOST | PORT), HOST | PORT, HOST | NAPTS},
	};

	if (!try_plan(w, &plans[0]) && (w->no_memory || !try_plan(w, &plans[1])))
		return false;
	for (uint32_t i = 0; i < p->n_tables; i++)
		p->tables[i].cut = cut_of(w->tables[i]);
	return true;
}

/*
 * A flow that passes a firewall twice, from inside and back to there, has two inside ends. Both together are
 * the same each time, and with RSS the hash of both is what a device knows. A NAPT can tell a shard so if
 * flows share nothing there, wherever they lead.
 */
static bool can_be_cut_by_ends(struct walk *w, bool rss)
{
	const struct plan ends = {BOTH | HOST | PORT | TO_DESTINATION(HOST | PORT),
				  rss ? CLIENT : HOST | PORT, BOTH | NAPTS};
	const struct sn_program *p = w->program;

	w->rss = rss;
	for (uint32_t i = 0; i < p->n_runs; i++) {
		const struct sn_table_config *t = &p->tables[p->runs[i].table];

		if (t->kind->shares(t))
			return false;
	}
	return p->n_runs > 0 && try_plan(w, &ends);
}

static bool note_cuts_by_ends(struct sn_program *p, struct walk *w)
{
	if (!can_be_cut_by_ends(w, false))
		return false;
	for (uint32_t i = 0; i < p->n_tables; i++)
		p->tables[i].cut_by_ends = cut_of(w->tables[i]);
	return true;
}

/*
 * Whether the state can be cut with RSS, too: there firewalls have the hash of both ends, and balancers the
 * client's port. A NAPT's is not always the hash of both.
 */
static bool can_be_cut_by_hash(struct walk *w)
{
	const struct sn_program *p = w->program;

	w->rss = true;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		struct sn_cut cut;

		if (!(p->ops[i].traits & (SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW)))
			continue;
		cut = sn_operation_of(&p->ops[i])->cut(p, &p->ops[i]);
		if (cut.of == SN_CUT_OF_CLIENT)
			w->tables[cut.table] = CLIENT;
		else if (cut.of == SN_CUT_OF_FLOW)
			w->tables[cut.table] = BOTH;
	}
	return follow_all(w);
}

/* An operation has a shard of its own, makes a difference between the packets of a flow, or writes what may
 * tell a NAPT the shard of one. */
static bool is_asked(const struct sn_program *p)
{
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sn_op *op = &p->ops[i];

		if (op->traits & (SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW))
			return true;
		if (op->writes && sn_operation_of(op)->each)
			return true;
		if (op->writes & SN_FIELDS_OF_FLOWS && !(op->traits & SN_OP_STATE))
			return true;
	}
	return false;
}

int sn_cuts_note(struct sn_program *p)
{
	struct walk w = {.program = p};
	bool asked = is_asked(p), memory;

	for (uint32_t by_hash = 0; by_hash < 2; by_hash++) {
		p->unpartitioned[by_hash][false] = asked;
		p->unpartitioned[by_hash][true] = true; /* unless NAPTs can tell shards so */
	}
	if (!asked && p->n_runs == 0)
		return 0;
	w.comers = calloc(p->n_segments, sizeof(*w.comers));
	w.tables = calloc((size_t)p->n_tables + p->n_runs + 1, sizeof(*w.tables));
	memory = w.comers && w.tables;
	w.runs = memory ? w.tables + p->n_tables : NULL;
	if (memory && asked && note_cuts(p, &w)) {
		p->unpartitioned[false][false] = false;
		p->unpartitioned[true][false] = !can_be_cut_by_hash(&w);
	}
	if (memory && !w.no_memory)
		p->unpartitioned[false][true] = !note_cuts_by_ends(p, &w);
	if (memory && !w.no_memory)
		p->unpartitioned[true][true] = !can_be_cut_by_ends(&w, true);
	for (uint32_t i = 0; w.comers && i < p->n_segments; i++)
		free(w.comers[i].packets);
	free(w.comers);
	free(w.tables);
	return memory ? 0 : -1;
}
