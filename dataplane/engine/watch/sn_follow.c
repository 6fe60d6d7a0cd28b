/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_follow.h"

#include <stdlib.h>

#include <rte_branch_prediction.h>

#include "sn_hash.h"
#include "sn_lines.h"

#define BURST_MAX 64
#define STEPS_MAX 256 /* classes and counters of one path */
#define ROOT	  1u
#define NODES_MAX SN_PATHS_MAX
#define LINKS_MAX (2 * SN_PATHS_MAX)
#define PLACES	  (2 * LINKS_MAX)
/* The rest of a link: on to this segment; else a path, or SN_FOLLOW_OPEN. */
#define GOES_ON 0x40000000u

/* Frames on their ways. */
struct crowd {
	const uint8_t *const *frames;
	uint64_t left;		     /* bit per frame: it is still on its way */
	uint32_t targets[BURST_MAX]; /* then: its segment, */
	uint32_t nodes[BURST_MAX];   /* and what it has met */
	uint32_t first[BURST_MAX];   /* its class in the first segment */
	uint32_t *paths;
};

/* The nodes of a way, in order. */
struct way {
	uint32_t n;
	struct sn_node met[SN_FOLLOW_MAX];
};

int sn_follow_init(struct sn_follow *f, const struct sn_program *p, struct sn_paths *paths,
		   struct sn_shapes *shapes)
{
	bool some = false;

	*f = (struct sn_follow){.program = p, .paths = paths, .shapes = shapes, .n_nodes = ROOT + 1};
	for (uint32_t i = 0; i < p->n_segments; i++)
		some |= p->segments[i].follows.possible;
	if (!some)
		return 0;
	f->ends = sn_untouched(SN_PATHS_MAX, sizeof(*f->ends));
	f->floors = sn_untouched(SN_PATHS_MAX, sizeof(*f->floors));
	f->nodes = sn_untouched(NODES_MAX, sizeof(*f->nodes));
	f->links = sn_untouched(PLACES, sizeof(*f->links));
	f->starts = sn_lines(p->n_segments, sizeof(*f->starts));
	for (uint32_t i = 0; f->starts && i < p->n_segments; i++)
		f->starts[i] = (struct sn_start){f, &p->segments[i]};
	return f->ends && f->floors && f->nodes && f->links && f->starts ? 0 : -1;
}

void sn_follow_free(struct sn_follow *f)
{
	free(f->ends);
	free(f->floors);
	free(f->nodes);
	free(f->links);
	free(f->starts);
}

/* ---- a way that is new ---- */

static const struct sn_class *class_of(const struct sn_program *p, const struct sn_node *node)
{
	return &p->classes[node->class];
}

static struct way way_of(const struct sn_follow *f, uint32_t node, struct sn_node last)
{
	struct way way = {.n = 1};

	for (uint32_t at = node; at != ROOT; at = f->nodes[at].before)
		way.n++;
	way.met[way.n - 1] = last;
	for (uint32_t at = node, i = way.n - 1; at != ROOT; at = f->nodes[at].before)
		way.met[--i] = f->nodes[at];
	return way;
}

/* The classes of a way joined to one class; SN_SIMPLE_NOT: no class does the same. *floor: with which
 * TTLs. */
static struct sn_class join(const struct sn_program *p, const struct way *way, uint32_t *floor)
{
	struct sn_class joined = *class_of(p, &way->met[way->n - 1]);
	uint32_t ttl_dec = 0;

	joined.next_hop = 0;
	*floor = 0;
	for (uint32_t i = 0; i < way->n; i++) {
		const struct sn_class *c = class_of(p, &way->met[i]);

		*floor = RTE_MAX(*floor, ttl_dec + p->segments[way->met[i].segment].ttl_floor);
		ttl_dec += c->ttl_dec;
		if (c->notes_hop)
			joined.next_hop = c->next_hop;
	}
	joined.first_counter = joined.n_counters = 0; /* the path has them */
	joined.ttl_dec = (uint8_t)ttl_dec;
	if (joined.simple < SN_SIMPLE_OUTPUT || RTE_MAX(ttl_dec, *floor) > UINT8_MAX)
		joined.simple = SN_SIMPLE_NOT;
	return joined;
}

/* The steps of a way, as the slow path counts them. 0: they are too many. */
static uint32_t steps_of(const struct sn_program *p, const struct way *way, uint32_t *steps)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < way->n; i++) {
		const struct sn_class *c = class_of(p, &way->met[i]);

		if (c->n_counters >= STEPS_MAX - n)
			return 0;
		steps[n++] = way->met[i].class;
		for (uint32_t j = 0; j < c->n_counters; j++)
			steps[n++] = p->leg_counters[c->first_counter + j] | SN_STEP_COUNTER;
	}
	return n;
}

static uint32_t path_of(const struct sn_follow *f, const struct way *way)
{
	uint32_t steps[STEPS_MAX], floor, path;
	struct sn_class joined = join(f->program, way, &floor);
	uint32_t n = joined.simple != SN_SIMPLE_NOT ? steps_of(f->program, way, steps) : 0;

	path = n > 0 ? sn_paths_find(f->paths, steps, n) : SN_NO_INDEX;
	if (path == SN_NO_INDEX)
		return SN_FOLLOW_OPEN;
	f->floors[path] = (uint8_t)floor;
	f->ends[path] = sn_adjacency_of(f->program, &joined, f->shapes);
	return path;
}

/* The link of a key for which this place is free. */
static __rte_noinline const struct sn_link *add_link(struct sn_follow *f, struct sn_link *place, uint64_t key,
						     uint32_t segment)
{
	static const struct sn_link no_room = {.then = SN_FOLLOW_OPEN};
	struct sn_node last = {(uint32_t)(key >> 32), (uint32_t)key, segment};
	const struct sn_class *c = class_of(f->program, &last);
	struct way way;

	if (f->n_links == LINKS_MAX || f->n_nodes == NODES_MAX)
		return &no_room;
	way = way_of(f, last.before, last);
	if (sn_class_leads(f->program, c) &&
	    way.n < RTE_MIN(f->program->longest_way, (uint32_t)SN_FOLLOW_MAX)) {
		f->nodes[f->n_nodes] = last;
		*place = (struct sn_link){key, f->n_nodes++, GOES_ON | c->target};
	} else {
		*place = (struct sn_link){key, 0, path_of(f, &way)};
	}
	f->n_links++;
	return place;
}

/* ---- frames ---- */

static inline const struct sn_link *link_of(struct sn_follow *f, uint32_t node, uint32_t class,
					    uint32_t segment)
{
	uint64_t key = (uint64_t)node << 32 | class;
	uint64_t at = sn_mum(key, 0x9e3779b97f4a7c15ull);

	for (;; at++) {
		struct sn_link *place = &f->links[at & (PLACES - 1)];

		if (likely(place->key == key))
			return place;
		if (place->key == 0)
			return add_link(f, place, key, segment);
	}
}

/* Frame i is of this class in its segment. */
static inline void step(struct sn_follow *f, struct crowd *crowd, uint32_t i, uint32_t class)
{
	uint32_t segment = crowd->targets[i];
	const struct sn_link *link;

	crowd->left &= ~(1ull << i);
	if (unlikely(class == SN_TABLE_NONE)) {
		crowd->paths[i] = SN_TABLE_NONE;
		return;
	}
	if (crowd->nodes[i] == ROOT)
		crowd->first[i] = class;
	link = link_of(f, crowd->nodes[i], f->program->segments[segment].first_class + class, segment);
	crowd->nodes[i] = link->node;
	crowd->targets[i] = link->then & ~GOES_ON;
	if (link->then & GOES_ON)
		crowd->left |= 1ull << i;
	else
		crowd->paths[i] = link->then == SN_FOLLOW_OPEN ? link->then | crowd->first[i] : link->then;
}

/* All that are in one segment go on by one look-up. */
static void take_step(struct sn_follow *f, struct crowd *crowd)
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
		step(f, crowd, index[j], found[j]);
}

void sn_follow_frames(const void *from, const uint8_t *const *frames, uint32_t *paths, unsigned int n)
{
	const struct sn_start *start = from;
	uint32_t segment = (uint32_t)(start->segment - start->follow->program->segments);
	struct crowd crowd;

	crowd.frames = frames;
	crowd.paths = paths;
	crowd.left = UINT64_MAX >> (BURST_MAX - n);
	for (uint32_t i = 0; i < n; i++) {
		crowd.targets[i] = segment;
		crowd.nodes[i] = ROOT;
	}
	while (crowd.left)
		take_step(start->follow, &crowd);
}
