/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_ways.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sn_cuts.h"
#include "sn_operation.h"
#include "sn_state_kind.h"

/*
 * By segment: whether a packet that comes there may come to state, it or what answers it. What answers an
 * ICMP error is none: no error is made about it, and no host replies to it.
 */
struct meets {
	bool *packets;
	bool *errors; /* NULL: packets are ICMP errors */
};

/* The packet itself, where it goes on, or what answers it there. */
static bool next_meets_state(const struct sn_program *p, const struct sn_leg *leg, const struct meets *meets)
{
	for (uint32_t i = 0; i < SN_LEADS_MAX; i++) {
		struct sn_lead lead = sn_leg_leads(p, leg, i);

		if ((lead.what == SN_LED_PACKET && meets->packets[lead.segment]) ||
		    (lead.what == SN_LED_ANSWER && meets->errors && meets->packets[lead.segment]) ||
		    (lead.what == SN_LED_ERROR && meets->errors && meets->errors[lead.segment]))
			return true;
	}
	return false;
}

static bool leg_meets_state(const struct sn_program *p, const struct sn_leg *leg, const struct meets *meets)
{
	return sn_leg_has(p, leg, SN_OP_STATE) || next_meets_state(p, leg, meets);
}

static const struct sn_leg *leg_of(const struct sn_program *p, const struct sn_class *c, uint32_t i)
{
	return &p->legs[c->first_leg + i];
}

static bool segment_meets_state(const struct sn_program *p, const struct sn_segment *s,
				const struct meets *meets)
{
	for (uint32_t i = 0; i < s->n_classes; i++) {
		const struct sn_class *c = &p->classes[s->first_class + i];

		for (uint32_t j = 0; j < c->n_legs; j++)
			if (leg_meets_state(p, leg_of(p, c, j), meets))
				return true;
	}
	return false;
}

/* Segments from which some packet may come to state. */
static void find_meets(const struct sn_program *p, const struct meets *meets)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t s = 0; s < p->n_segments; s++) {
			if (meets->packets[s] || !segment_meets_state(p, &p->segments[s], meets))
				continue;
			meets->packets[s] = more = true;
		}
	}
}

static enum sn_way way_of(const struct sn_program *p, const struct sn_class *c, const struct meets *meets)
{
	const struct sn_leg *leg = leg_of(p, c, 0);
	bool met = false;

	for (uint32_t i = 0; i < c->n_legs; i++)
		met |= leg_meets_state(p, leg_of(p, c, i), meets);
	if (!met)
		return SN_WAY_STATELESS;
	for (uint32_t i = 0; i < leg->n_ops && c->n_legs == 1; i++) {
		const struct sn_op *op = sn_leg_op(p, leg, i);

		if (op->traits & (SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW))
			break;
		if (sn_operation_of(op)->way)
			return sn_operation_of(op)->way;
		if (op->writes & SN_FIELDS_OF_FLOWS)
			break;
	}
	return SN_WAY_FOLLOW;
}

/* The kind of the state that a class's packets make by their flow, or look up. */
static const struct sn_state_kind *kind_of(const struct sn_program *p, const struct sn_class *c)
{
	if (c->state_run != SN_NO_INDEX)
		return p->tables[p->runs[c->state_run].table].kind;
	return c->way == SN_WAY_RETURN ? p->tables[c->target].kind : NULL;
}

/* Note what the class alone tells of its packets' state, as far as their kind can do with that. */
static void note_way(const struct sn_program *p, struct sn_class *c, const struct meets *meets)
{
	const struct sn_state_kind *kind;

	c->way = way_of(p, c, meets);
	kind = kind_of(p, c);
	c->kind = kind ? sn_state_kind_row(kind) : 0;
	if ((c->way == SN_WAY_FORWARD && !(kind && kind->shard_of)) ||
	    (c->way == SN_WAY_RETURN && !(kind && kind->return_shard)))
		c->way = SN_WAY_FOLLOW;
}

/* Two copies of a packet may meet state of two shards. */
static bool splits(const struct sn_program *p, const struct sn_class *c, const struct meets *meets)
{
	uint32_t met = 0;

	for (uint32_t i = 0; i < c->n_legs; i++)
		met += leg_meets_state(p, leg_of(p, c, i), meets);
	return met > 1;
}

/* Marks where a leg's packets come to that have a session. Whether some was not marked. */
static bool spread(const struct sn_program *p, const struct sn_leg *leg, bool made_here, bool *made)
{
	bool more = false;

	if (!made_here && !sn_leg_has(p, leg, SN_OP_MAKES_STATE))
		return false;
	for (uint32_t i = 0; i < SN_LEADS_MAX; i++) {
		struct sn_lead lead = sn_leg_leads(p, leg, i);

		if (lead.what == SN_LED_PACKET && !made[lead.segment])
			made[lead.segment] = more = true;
	}
	return more;
}

/* Segments that packets come to for which a NAPT has made a session, or found it from inside. */
static void find_made(const struct sn_program *p, bool *made)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t s = 0; s < p->n_segments; s++)
			for (uint32_t i = 0; i < p->segments[s].n_classes; i++) {
				const struct sn_class *c = &p->classes[p->segments[s].first_class + i];

				for (uint32_t j = 0; j < c->n_legs; j++)
					more |= spread(p, leg_of(p, c, j), made[s], made);
			}
	}
}

/* Notes runs to which a leg's packets come with a session. Whether they come to the look-up of another one.
 */
static bool look_at(struct sn_program *p, const struct sn_leg *leg, bool made)
{
	for (uint32_t i = 0; i < leg->n_ops; i++) {
		const struct sn_op *op = sn_leg_op(p, leg, i);

		if (!(op->traits & SN_OP_MAKES_STATE))
			continue;
		p->runs[op->value].again |= made;
		made = true;
	}
	return made && sn_leg_has(p, leg, SN_OP_FINDS_STATE);
}

/* Follow packets that have a session behind a leg that makes it, or in one of those segments. */
static bool look_behind(struct sn_program *p, const bool *made)
{
	bool turns_back = false;

	for (uint32_t s = 0; s < p->n_segments; s++)
		for (uint32_t i = 0; i < p->segments[s].n_classes; i++) {
			const struct sn_class *c = &p->classes[p->segments[s].first_class + i];

			for (uint32_t j = 0; j < c->n_legs; j++)
				turns_back |= look_at(p, leg_of(p, c, j), made[s]);
		}
	return turns_back;
}

/* Copies of some packet may meet state of two shards. */
static bool some_split(const struct sn_program *p, const struct meets *meets)
{
	for (uint32_t i = 0; i < p->n_classes; i++)
		if (splits(p, &p->classes[i], meets))
			return true;
	return false;
}

int sn_ways_note(struct sn_program *p)
{
	struct meets meets;
	bool turns_back;
	bool *made;

	if (!p->stateful)
		return 0;
	if (sn_cuts_note(p))
		return -1;
	made = calloc(p->n_segments, 3 * sizeof(*made));
	if (!made)
		return -1;
	meets = (struct meets){made + p->n_segments, made + 2 * (size_t)p->n_segments};
	find_meets(p, &(struct meets){meets.errors, NULL});
	find_meets(p, &meets);
	for (uint32_t i = 0; i < p->n_classes; i++)
		note_way(p, &p->classes[i], &meets);
	find_made(p, made);
	turns_back = look_behind(p, made);
	/* All state of a packet is of one shard: it makes its sessions in that of its first, which its
	 * answers find. */
	if (turns_back || some_split(p, &meets))
		memset(p->unpartitioned, true, sizeof(p->unpartitioned));
	free(made);
	return 0;
}
