/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_operation.h"
#include "sn_program_cycles.h"

#define NAMED_MAX 4 /* segments of a cycle, in a message */

/* Edges lead from segment to segment: each leg has SN_LEADS_MAX, of which most lead nowhere. They are
 * numbered through, segment by segment. */
struct cycles {
	const struct sn_program *p;
	struct sn_error *err;
	uint32_t n;		     /* segments */
	uint32_t *space;	     /* the arrays that follow */
	uint32_t *component;	     /* strongly connected, from 1 on */
	uint32_t *a, *b, *c, *d, *e; /* by segment, for what is at work */
};

static uint32_t first_edge(const struct cycles *c, uint32_t s)
{
	uint32_t class = s < c->n ? c->p->segments[s].first_class : c->p->n_classes;

	return SN_LEADS_MAX * (class < c->p->n_classes ? c->p->classes[class].first_leg : c->p->n_legs);
}

static const struct sn_leg *leg_of(const struct cycles *c, uint32_t edge)
{
	return &c->p->legs[edge / SN_LEADS_MAX];
}

/* The segment to which an edge leads; SN_NO_INDEX: none. */
static uint32_t leads_to(const struct cycles *c, uint32_t edge)
{
	struct sn_lead lead = sn_leg_leads(c->p, leg_of(c, edge), edge % SN_LEADS_MAX);

	return lead.what == SN_LED_PACKET ? lead.segment : SN_NO_INDEX;
}

static bool lowers(const struct cycles *c, uint32_t edge)
{
	return sn_leg_has(c->p, leg_of(c, edge), SN_OP_LOWERS_TTL);
}

static bool raises(const struct cycles *c, uint32_t edge)
{
	return sn_leg_has(c->p, leg_of(c, edge), SN_OP_RAISES_TTL);
}

static void say(struct cycles *c, const char *text)
{
	size_t at = strlen(c->err->text);

	snprintf(c->err->text + at, sizeof(c->err->text) - at, "%s", text);
}

static void name(struct cycles *c, uint32_t s)
{
	size_t at = strlen(c->err->text);

	snprintf(c->err->text + at, sizeof(c->err->text) - at, "segments[%u] (%.64s)", s,
		 c->p->segments[s].name);
}

/* Refuses a cycle: n segments from the last of way to the first. */
static int refuse(struct cycles *c, const uint32_t *way, uint32_t n, const char *why)
{
	char more[32];

	c->err->text[0] = '\0';
	name(c, way[n - 1]);
	say(c, ": leads back to itself by ");
	if (n == 1)
		say(c, "itself");
	for (uint32_t i = 1; i < n; i++) {
		if (i > NAMED_MAX) {
			snprintf(more, sizeof(more), "%u more", n - i);
			say(c, more);
			break;
		}
		if (i > 1)
			say(c, ", ");
		name(c, way[n - 1 - i]);
	}
	say(c, why);
	return -EINVAL;
}

/* Closes the component of s, if s is the segment of it that was come to first. */
static void close_component(struct cycles *c, uint32_t s, uint32_t *open, uint32_t *n_open, uint32_t *closed)
{
	const uint32_t *index = c->a, *low = c->b;

	if (low[s] < index[s])
		return;
	++*closed;
	while (!c->component[s])
		c->component[open[--*n_open]] = *closed;
}

/* Tarjan's algorithm. */
static void find_components(struct cycles *c)
{
	uint32_t *index = c->a, *low = c->b, *next = c->c, *way = c->d, *open = c->e;
	uint32_t n_way = 0, n_open = 0, count = 0, closed = 0, s, to;

	for (s = 0; s < c->n; s++)
		next[s] = first_edge(c, s);
	for (uint32_t root = 0; root < c->n; root++) {
		if (!index[root]) {
			index[root] = low[root] = ++count;
			way[n_way++] = open[n_open++] = root;
		}
		while (n_way) {
			s = way[n_way - 1];
			if (next[s] == first_edge(c, s + 1)) {
				n_way--;
				if (n_way && low[s] < low[way[n_way - 1]])
					low[way[n_way - 1]] = low[s];
				close_component(c, s, open, &n_open, &closed);
				continue;
			}
			to = leads_to(c, next[s]++);
			if (to == SN_NO_INDEX)
				continue;
			if (!index[to]) {
				index[to] = low[to] = ++count;
				way[n_way++] = open[n_open++] = to;
			} else if (!c->component[to] && index[to] < low[s]) {
				low[s] = index[to];
			}
		}
	}
}

/* The shortest cycle that begins with the edge between two segments of one component. */
static int refuse_raise(struct cycles *c, uint32_t from, uint32_t to)
{
	uint32_t *before = c->a, *todo = c->b, *way = c->c; /* before: from 1 on */
	uint32_t n_todo = 1, n = 0, s;

	memset(before, 0, c->n * sizeof(*before));
	todo[0] = to;
	before[to] = to + 1;
	for (uint32_t i = 0; !before[from]; i++)
		for (uint32_t e = first_edge(c, todo[i]); e < first_edge(c, todo[i] + 1); e++) {
			s = leads_to(c, e);
			if (s == SN_NO_INDEX || before[s])
				continue;
			before[s] = todo[i] + 1;
			todo[n_todo++] = s;
		}
	for (s = from; s != to; s = before[s] - 1)
		way[n++] = s;
	way[n++] = to;
	return refuse(c, way, n, ", and the TTL is set or raised on the way: want it lowered alone");
}

static int check_raises(struct cycles *c)
{
	for (uint32_t s = 0; s < c->n; s++)
		for (uint32_t e = first_edge(c, s); e < first_edge(c, s + 1); e++) {
			uint32_t to = leads_to(c, e);

			if (to != SN_NO_INDEX && c->component[s] == c->component[to] && raises(c, e))
				return refuse_raise(c, s, to);
		}
	return 0;
}

/* The same, if the TTL is not lowered on the way. */
static uint32_t leads_level_to(const struct cycles *c, uint32_t edge)
{
	return lowers(c, edge) ? SN_NO_INDEX : leads_to(c, edge);
}

/* How many edges that do not lower the TTL lead into each segment; the segments without any follow from
 * each other until only cycles, and what they lead to, are left. */
static void peel(struct cycles *c, uint32_t *into, uint32_t *ready)
{
	uint32_t n = 0, to;

	memset(into, 0, c->n * sizeof(*into));
	for (uint32_t e = 0; e < SN_LEADS_MAX * c->p->n_legs; e++) {
		to = leads_level_to(c, e);
		if (to != SN_NO_INDEX)
			into[to]++;
	}
	for (uint32_t s = 0; s < c->n; s++)
		if (!into[s])
			ready[n++] = s;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t e = first_edge(c, ready[i]); e < first_edge(c, ready[i] + 1); e++) {
			to = leads_level_to(c, e);
			if (to != SN_NO_INDEX && !--into[to])
				ready[n++] = to;
		}
}

static int check_lowers(struct cycles *c)
{
	uint32_t *into = c->a, *from = c->b, *way = c->c, *seen = c->d;
	uint32_t start = SN_NO_INDEX, n = 0, s;

	peel(c, into, way);
	/* Into what is left leads something that is left: going back, it closes. */
	for (s = 0; s < c->n; s++) {
		if (!into[s])
			continue;
		start = s;
		for (uint32_t e = first_edge(c, s); e < first_edge(c, s + 1); e++) {
			uint32_t to = leads_level_to(c, e);

			if (to != SN_NO_INDEX)
				from[to] = s;
		}
	}
	if (start == SN_NO_INDEX)
		return 0;
	memset(seen, 0, c->n * sizeof(*seen));
	for (; !seen[start]; start = from[start])
		seen[start] = 1;
	way[n++] = start;
	for (s = from[start]; s != start; s = from[s])
		way[n++] = s;
	return refuse(c, way, n, ", and the TTL is not lowered on the way: want an add_ttl below 0");
}

int sn_program_check_cycles(const struct sn_program *p, struct sn_error *err)
{
	struct cycles c = {.p = p, .err = err, .n = p->n_segments};
	int rc;

	c.space = calloc((size_t)c.n * 6 + 1, sizeof(*c.space));
	if (!c.space) {
		sn_fail(err, "no memory for %u segments", c.n);
		return -ENOMEM;
	}
	c.component = c.space;
	c.a = c.space + c.n;
	c.b = c.a + c.n;
	c.c = c.b + c.n;
	c.d = c.c + c.n;
	c.e = c.d + c.n;
	find_components(&c);
	rc = check_raises(&c);
	if (!rc)
		rc = check_lowers(&c);
	free(c.space);
	return rc;
}
