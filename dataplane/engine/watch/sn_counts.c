/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_counts.h"
#include "sn_lines.h"
#include "sn_observer.h"

#define MEMOS_MAX 8 /* of one program on one worker: each has two megabytes */

/* The source of the classes of a segment's plain frames, or of their paths. */
static struct sn_memo_source source_of(const struct sn_counts *c, const struct sn_segment *s)
{
	if (!s->follows.possible)
		return sn_memo_source_of(&s->table);
	return (struct sn_memo_source){
		.look_up = sn_follow_frames,
		.of = &c->follow.starts[s - c->program->segments],
		.reads = s->follows.reads,
		.slow = s->follows.slow,
	};
}

/* For segments at which packets come in that are not classified once per flow already. */
static bool create_memos(struct sn_counts *c, const struct sn_program *p)
{
	uint32_t left = MEMOS_MAX;

	c->memos = sn_lines(p->n_segments, sizeof(struct sn_memo *));
	if (!c->memos)
		return false;
	for (uint32_t i = 0; i < p->n_interfaces && left > 0 && !p->stateful; i++) {
		uint32_t segment = p->interfaces[i].segment;
		struct sn_memo_source source = source_of(c, &p->segments[segment]);

		if (c->memos[segment] || !sn_memo_is_use(&source))
			continue;
		c->memos[segment] = sn_memo_create(&source, p->atoms);
		if (!c->memos[segment])
			return false;
		left--;
	}
	return true;
}

static bool create_adjacencies(struct sn_counts *c, const struct sn_program *p)
{
	c->adjacencies = sn_lines(p->n_classes, sizeof(*c->adjacencies));
	for (uint32_t i = 0; c->adjacencies && i < p->n_classes; i++)
		c->adjacencies[i] = sn_adjacency_of(p, &p->classes[i], &c->shapes);
	return c->adjacencies != NULL;
}

/* Flows of which the program may have a session. Several tables have sessions of the same flows. */
static uint32_t flows_of(const struct sn_program *p)
{
	uint32_t flows = 0;

	for (uint32_t i = 0; i < p->n_tables; i++)
		flows = RTE_MAX(flows, p->tables[i].max_entries ? p->tables[i].max_entries : UINT32_MAX);
	return flows;
}

struct sn_counts *sn_counts_create(const struct sn_program *p)
{
	struct sn_counts *c = sn_lines(1, sizeof(*c));

	if (!c)
		return NULL;
	c->program = p;
	c->n_classes = p->n_classes;
	c->n_counters = p->n_counters;
	c->n_reasons = p->n_reasons;
	c->n_segments = p->n_segments;
	c->classes = sn_untouched(p->n_classes, sizeof(*c->classes));
	c->counters = sn_untouched(p->n_counters, sizeof(*c->counters));
	c->reasons = sn_untouched(p->n_reasons, sizeof(*c->reasons));
	if (p->observation.name)
		c->observer = sn_observer_create(&p->observation, flows_of(p));
	if (!c->classes || !c->counters || !c->reasons || sn_paths_init(&c->paths) ||
	    !create_adjacencies(c, p) || sn_follow_init(&c->follow, p, &c->paths, &c->shapes) ||
	    !create_memos(c, p) || (p->observation.name && !c->observer)) {
		sn_counts_free(c);
		return NULL;
	}
	return c;
}

void sn_counts_free(struct sn_counts *c)
{
	if (!c)
		return;
	free(c->classes);
	free(c->counters);
	free(c->reasons);
	free(c->adjacencies);
	sn_paths_free(&c->paths);
	sn_follow_free(&c->follow);
	for (uint32_t i = 0; c->memos && i < c->n_segments; i++)
		sn_memo_free(c->memos[i]);
	free(c->memos);
	sn_observer_free(c->observer);
	free(c);
}

void sn_counts_go_on(struct sn_counts *c, const struct sn_counts *before)
{
	if (!c->observer || !before->observer ||
	    !sn_observation_same(&c->observer->of, &before->observer->of))
		return;
	sn_observer_free(c->observer);
	c->observer = sn_observer_share(before->observer);
}

static void add_all(struct sn_count *to, const struct sn_count *from, uint32_t n)
{
	for (uint32_t i = 0; to && i < n; i++) {
		to[i].packets += from[i].packets;
		to[i].bytes += from[i].bytes;
	}
}

void sn_counts_part(struct sn_counts *c, uint32_t path, uint32_t n, uint32_t bytes)
{
	const struct sn_paths *paths = &c->paths;

	for (uint32_t i = paths->first[path]; i < paths->first[path] + n; i++) {
		struct sn_count *to = sn_paths_count_of(paths->steps[i], c->classes, c->counters);

		if (to)
			sn_count_add(to, bytes);
	}
}

void sn_counts_add(const struct sn_counts *c, struct sn_count *classes, struct sn_count *counters,
		   struct sn_count *reasons)
{
	add_all(classes, c->classes, c->n_classes);
	add_all(counters, c->counters, c->n_counters);
	add_all(reasons, c->reasons, c->n_reasons);
	sn_paths_add(&c->paths, classes, counters);
}
