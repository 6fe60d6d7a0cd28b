/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sn_counts.h"
#include "sn_hash.h"
#include "sn_lines.h"
#include "sn_observer.h"
#include "sn_rewrite.h"

#define MEMOS_MAX  8  /* of one program on one worker: each has two megabytes */
#define SHAPES_MAX 32 /* of adjacencies: one for each interface and number of hops, or two */

/* With a line behind it that is not used, so that what two workers count shares none; pages that are not
 * counted in are not touched. */
static void *array(size_t n, size_t size)
{
	return calloc(1, n * size + SN_LINE);
}

/* For segments whose packets are not classified once per flow already. */
static bool create_memos(struct sn_counts *c, const struct sn_program *p)
{
	uint32_t left = MEMOS_MAX;

	c->memos = sn_lines(p->n_segments, sizeof(struct sn_memo *));
	if (!c->memos)
		return false;
	for (uint32_t i = 0; i < p->n_segments && left > 0 && !p->stateful; i++) {
		const struct sn_classifier *table = &p->segments[i].table;

		if (!sn_memo_is_use(table))
			continue;
		c->memos[i] = sn_memo_create(table, p->atoms);
		if (!c->memos[i])
			return false;
		left--;
	}
	return true;
}

static struct sn_adjacency adjacency_of(const struct sn_program *p, const struct sn_class *c)
{
	bool noted = c->next_hop != 0;
	const struct sn_interface *out;

	if (c->simple != SN_SIMPLE_OUTPUT && c->simple != SN_SIMPLE_FORWARD)
		return (struct sn_adjacency){.simple = c->simple};
	out = &p->interfaces[c->target];
	return (struct sn_adjacency){
		.key = (uint64_t)c->target << 48 | (uint64_t)SN_VLAN_ABSENT << 32 |
		       (noted ? c->next_hop : out->gateway),
		.net = noted ? 1 : out->address & out->mask,
		.mask = noted ? 0 : out->mask,
		.head_move = c->ttl_dec ? sn_head_move_of(c->ttl_dec, 0xffff - (c->ttl_dec << 8)) : 0,
		.first_counter = c->first_counter,
		.n_counters = c->n_counters,
		.mtu = out->mtu < UINT16_MAX ? out->mtu : UINT16_MAX,
		.simple = c->simple,
	};
}

static bool have_one_shape(const struct sn_adjacency *a, const struct sn_adjacency *b)
{
	return a->key >> 32 == b->key >> 32 && a->net == b->net && a->mask == b->mask &&
	       a->head_move == b->head_move && a->mtu == b->mtu;
}

/* Shapes are numbered as they come; `shapes` has one adjacency of each. */
static uint8_t shape_of(const struct sn_adjacency *a, const struct sn_adjacency *shapes[SHAPES_MAX],
			uint32_t *n)
{
	uint32_t i = 0;

	if (a->simple != SN_SIMPLE_OUTPUT || a->n_counters > 0)
		return 0;
	while (i < *n && !have_one_shape(a, shapes[i]))
		i++;
	if (i == SHAPES_MAX)
		return 0;
	shapes[i] = a;
	*n += i == *n;
	return (uint8_t)(i + 1);
}

static bool create_adjacencies(struct sn_counts *c, const struct sn_program *p)
{
	const struct sn_adjacency *shapes[SHAPES_MAX];
	uint32_t n_shapes = 0;

	c->adjacencies = sn_lines(p->n_classes, sizeof(*c->adjacencies));
	for (uint32_t i = 0; c->adjacencies && i < p->n_classes; i++) {
		c->adjacencies[i] = adjacency_of(p, &p->classes[i]);
		c->adjacencies[i].shape = shape_of(&c->adjacencies[i], shapes, &n_shapes);
	}
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
	c->classes = array(p->n_classes, sizeof(*c->classes));
	c->counters = array(p->n_counters, sizeof(*c->counters));
	c->reasons = array(p->n_reasons, sizeof(*c->reasons));
	c->paths = array(SN_PATHS_MAX, sizeof(*c->paths));
	c->first = array(SN_PATHS_MAX + 1, sizeof(*c->first));
	c->steps = array(SN_PATH_STEPS_MAX, sizeof(*c->steps));
	c->buckets = array(SN_PATH_BUCKETS, sizeof(*c->buckets));
	if (p->observation.name)
		c->observer = sn_observer_create(&p->observation, flows_of(p));
	if (!c->classes || !c->counters || !c->reasons || !c->paths || !c->first || !c->steps ||
	    !c->buckets || !create_adjacencies(c, p) || !create_memos(c, p) ||
	    (p->observation.name && !c->observer)) {
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
	free(c->paths);
	free(c->first);
	free(c->steps);
	free(c->buckets);
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

uint32_t sn_counts_observed(const struct sn_counts *c, uint32_t path, uint32_t n)
{
	for (uint32_t i = c->first[path]; i < c->first[path] + n; i++)
		if ((c->steps[i] & SN_STEP_OBSERVED) == SN_STEP_OBSERVED)
			return c->steps[i];
	return 0;
}

uint32_t sn_counts_path(struct sn_counts *c, const uint32_t *steps, uint32_t n)
{
	uint64_t hash = n;
	uint32_t i, path;

	for (i = 0; i < n; i++)
		hash = sn_mum(hash ^ steps[i], 0x9e3779b97f4a7c15ull);
	for (i = hash & (SN_PATH_BUCKETS - 1); c->buckets[i]; i = (i + 1) & (SN_PATH_BUCKETS - 1)) {
		path = c->buckets[i] - 1;
		if (c->first[path + 1] - c->first[path] == n &&
		    !memcmp(&c->steps[c->first[path]], steps, n * sizeof(*steps)))
			return path;
	}
	path = c->n_paths;
	if (path == SN_PATHS_MAX || n > SN_PATH_STEPS_MAX - c->first[path])
		return SN_NO_INDEX;
	memcpy(&c->steps[c->first[path]], steps, n * sizeof(*steps));
	c->first[path + 1] = c->first[path] + n;
	c->buckets[i] = path + 1;
	__atomic_store_n(&c->n_paths, path + 1, __ATOMIC_RELEASE); /* a reader sees whole paths only */
	return path;
}

static void add(struct sn_count *to, const struct sn_count *from)
{
	to->packets += from->packets;
	to->bytes += from->bytes;
}

static void add_all(struct sn_count *to, const struct sn_count *from, uint32_t n)
{
	for (uint32_t i = 0; to && i < n; i++)
		add(&to[i], &from[i]);
}

/* The counter of a step in these arrays, of which each may be NULL; NULL: it has none. */
static struct sn_count *step_count(uint32_t step, struct sn_count *classes, struct sn_count *counters)
{
	if ((step & SN_STEP_OBSERVED) == SN_STEP_OBSERVED)
		return NULL;
	if (step & SN_STEP_COUNTER)
		return counters ? &counters[step & ~SN_STEP_COUNTER] : NULL;
	return classes && !(step & SN_STEP_EACH) ? &classes[step] : NULL;
}

void sn_counts_part(struct sn_counts *c, uint32_t path, uint32_t n, uint32_t bytes)
{
	for (uint32_t i = c->first[path]; i < c->first[path] + n; i++) {
		struct sn_count *to = step_count(c->steps[i], c->classes, c->counters);

		if (to)
			sn_count_add(to, bytes);
	}
}

void sn_counts_add(const struct sn_counts *c, struct sn_count *classes, struct sn_count *counters,
		   struct sn_count *reasons)
{
	uint32_t n_paths = __atomic_load_n(&c->n_paths, __ATOMIC_ACQUIRE);

	add_all(classes, c->classes, c->n_classes);
	add_all(counters, c->counters, c->n_counters);
	add_all(reasons, c->reasons, c->n_reasons);
	for (uint32_t p = 0; p < n_paths; p++) {
		for (uint32_t i = c->first[p]; i < c->first[p + 1]; i++) {
			struct sn_count *to = step_count(c->steps[i], classes, counters);

			if (to)
				add(to, &c->paths[p]);
		}
	}
}
