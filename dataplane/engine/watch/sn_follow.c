/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_follow.h"

#include <stdlib.h>
#include <string.h>

#include "sn_lines.h"
#include "sn_plain.h"

#define BURST_MAX 64
#define STEPS_MAX 256 /* classes and counters of one path */

/* The classes that a frame met. */
struct met {
	uint32_t n;
	uint32_t classes[SN_FOLLOW_MAX];
};

/* Frames on their ways. */
struct crowd {
	const uint8_t *const *frames;
	uint64_t left;		     /* bit per frame: it is still on its way */
	uint32_t targets[BURST_MAX]; /* then: its segment */
	struct met met[BURST_MAX];
};

int sn_follow_init(struct sn_follow *f, const struct sn_program *p, struct sn_paths *paths,
		   struct sn_shapes *shapes)
{
	bool some = false;

	*f = (struct sn_follow){.program = p, .paths = paths, .shapes = shapes};
	for (uint32_t i = 0; i < p->n_segments; i++)
		some |= p->segments[i].follows.possible;
	if (!some)
		return 0;
	f->ends = sn_untouched(SN_PATHS_MAX, sizeof(*f->ends));
	f->floors = sn_untouched(SN_PATHS_MAX, sizeof(*f->floors));
	f->starts = sn_lines(p->n_segments, sizeof(*f->starts));
	for (uint32_t i = 0; f->starts && i < p->n_segments; i++)
		f->starts[i] = (struct sn_start){f, &p->segments[i]};
	return f->ends && f->floors && f->starts ? 0 : -1;
}

void sn_follow_free(struct sn_follow *f)
{
	free(f->ends);
	free(f->floors);
	free(f->starts);
}

/* Frame i is of this class in the segment. */
static void step(const struct sn_follow *f, struct crowd *crowd, const struct sn_segment *s, uint32_t i,
		 uint32_t class)
{
	struct met *met = &crowd->met[i];
	const struct sn_class *c;

	crowd->left &= ~(1ull << i);
	if (class == SN_TABLE_NONE) {
		met->n = 0;
		return;
	}
	c = &f->program->classes[s->first_class + class];
	met->classes[met->n++] = s->first_class + class;
	if (!sn_class_leads(f->program, c) || met->n == SN_FOLLOW_MAX || met->n >= f->program->longest_way)
		return;
	crowd->targets[i] = c->target;
	crowd->left |= 1ull << i;
}

/* All that are in one segment go on by one look-up. */
static void take_step(const struct sn_follow *f, struct crowd *crowd)
{
	uint32_t segment = crowd->targets[__builtin_ctzll(crowd->left)], k = 0, found[BURST_MAX];
	const struct sn_segment *s = &f->program->segments[segment];
	const uint8_t *together[BURST_MAX];
	uint8_t index[BURST_MAX];

	for (uint64_t rest = crowd->left; rest; rest &= rest - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(rest);

		together[k] = crowd->frames[i];
		index[k] = (uint8_t)i;
		k += crowd->targets[i] == segment;
	}
	sn_classifier_lookup_plain(&s->table, together, found, k);
	for (uint32_t j = 0; j < k; j++)
		step(f, crowd, s, index[j], found[j]);
}

/* What a path's classes do together, as a class; SN_SIMPLE_NOT: no class says that. *floor: with which TTLs.
 */
static struct sn_class join(const struct sn_program *p, const struct sn_segment *s, const struct met *met,
			    uint32_t *floor)
{
	struct sn_class joined = p->classes[met->classes[met->n - 1]];
	uint32_t ttl_dec = 0;

	joined.next_hop = 0;
	*floor = 0;
	for (uint32_t i = 0; i < met->n; i++) {
		const struct sn_class *c = &p->classes[met->classes[i]];

		if (i > 0)
			s = &p->segments[p->classes[met->classes[i - 1]].target];
		*floor = RTE_MAX(*floor, ttl_dec + s->ttl_floor);
		ttl_dec += c->ttl_dec;
		if (c->notes_hop)
			joined.next_hop = c->next_hop;
	}
	joined.first_counter = joined.n_counters = 0; /* the path has them */
	joined.ttl_dec = (uint8_t)ttl_dec;
	if (RTE_MAX(ttl_dec, *floor) > UINT8_MAX)
		joined.simple = SN_SIMPLE_NOT;
	return joined;
}

/* The steps of what was met, as the slow path counts them. 0: they are too many. */
static uint32_t steps_of(const struct sn_program *p, const struct met *met, uint32_t *steps)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < met->n; i++) {
		const struct sn_class *c = &p->classes[met->classes[i]];

		if (c->n_counters >= STEPS_MAX - n)
			return 0;
		steps[n++] = met->classes[i];
		for (uint32_t j = 0; j < c->n_counters; j++)
			steps[n++] = p->leg_counters[c->first_counter + j] | SN_STEP_COUNTER;
	}
	return n;
}

static uint32_t open_way(const struct sn_segment *s, const struct met *met)
{
	return met->n ? SN_FOLLOW_OPEN | (met->classes[0] - s->first_class) : SN_TABLE_NONE;
}

static uint32_t path_of(const struct sn_follow *f, const struct sn_segment *s, const struct met *met)
{
	uint32_t steps[STEPS_MAX], n = 0, path = SN_NO_INDEX, floor;
	struct sn_class joined;

	if (met->n && f->program->classes[met->classes[met->n - 1]].simple >= SN_SIMPLE_OUTPUT)
		n = steps_of(f->program, met, steps);
	if (n)
		path = sn_paths_find(f->paths, steps, n);
	if (path == SN_NO_INDEX)
		return open_way(s, met);
	if (f->ends[path].simple == SN_SIMPLE_NOT) {
		joined = join(f->program, s, met, &floor);
		f->floors[path] = (uint8_t)floor;
		f->ends[path] = sn_adjacency_of(f->program, &joined, f->shapes);
	}
	return f->ends[path].simple == SN_SIMPLE_NOT ? open_way(s, met) : path;
}

static bool met_alike(const struct met *a, const struct met *b)
{
	return a->n == b->n && !memcmp(a->classes, b->classes, a->n * sizeof(*a->classes));
}

void sn_follow_frames(const void *from, const uint8_t *const *frames, uint32_t *paths, unsigned int n)
{
	const struct sn_start *start = from;
	uint32_t segment = (uint32_t)(start->segment - start->follow->program->segments);
	struct crowd crowd;

	crowd.frames = frames;
	crowd.left = UINT64_MAX >> (BURST_MAX - n);
	for (uint32_t i = 0; i < n; i++) {
		crowd.targets[i] = segment;
		crowd.met[i].n = 0;
	}
	while (crowd.left)
		take_step(start->follow, &crowd);
	for (uint32_t i = 0; i < n; i++)
		paths[i] = i > 0 && met_alike(&crowd.met[i], &crowd.met[i - 1])
				   ? paths[i - 1]
				   : path_of(start->follow, start->segment, &crowd.met[i]);
}
