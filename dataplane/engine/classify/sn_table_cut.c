/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A cut looks at a few adjacent bits, anywhere in one key word (compare
 * ByteCuts, INFOCOM 2018): of a port or a host number the low bits tell more
 * than the high ones. Leaves hold whole boxes, so bits that no node looks at
 * need no care.
 *
 * Which cut is best is estimated with a cost in units of one step: a node, or
 * about a group of a leaf. Keys are expected where the boxes are, evenly. Large
 * nodes are judged by a sample of their boxes: the build must be fast, for a
 * changed rule waits for it.
 *
 * The synthesis foresees the trees (dataplane/synth/trees), and decides by them: what changes here changes
 * there.
 */

#include "sn_table_cut.h"
#include "sn_table_tree.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX   16u	      /* bits of a cut */
#define WIDTH_STEP  2u	      /* every other one will do */
#define GROUP_COST  0.6f      /* of each group after the first */
#define TREE_COST   1.5f      /* of what is below, as trees usually come out: a constant, */
#define DOUBLE_COST 0.3f      /* and this for each doubling of the number of boxes */
#define COPY_COST   0.15f     /* for each doubling of the number of copies: memory is cache misses */
#define WORSE	    1.1f      /* how much more a cut may cost than when it was chosen */
#define SHARE	    (1 << 14) /* of a box in the traffic, divided among its children */
#define LIST_LONG   1024u     /* boxes that are not left to a list because a sample says so */
#define LIST_HUGE   16384u    /* and those for which cuts of any width are tried */

/* From a child to the next: change of its number of boxes, and of the share of traffic that they bring. */
struct sn_step {
	int32_t boxes;
	int64_t share;
};

static uint32_t log2_floor(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n | 1);
}

/* The widest cut that is tried for a list. */
static uint32_t widest_for(uint32_t n)
{
	return log2_floor(n) + 1 < WIDTH_MAX ? log2_floor(n) + 1 : WIDTH_MAX;
}

/* Linear between powers of two: near enough, and the same tree with every libm. */
static float log2_about(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (float)bits * 0x1p-23f - 127;
}

static float least(float a, float b)
{
	return a < b ? a : b;
}

/* The cost of a leaf. */
static float list_cost(uint32_t n)
{
	return n <= SN_GROUP ? 0 : GROUP_COST * ((float)n / SN_GROUP - 1);
}

/* The cost of what a list will become: a leaf, or a tree as trees usually come out. */
static float expected_cost(uint32_t n)
{
	return n <= SN_GROUP ? 0
			     : least(list_cost(n), TREE_COST + DOUBLE_COST * log2_about((float)n / SN_GROUP));
}

/* Keeps the cut if it is the best so far. `rest`: sum over children of their traffic times their cost. */
static void judge(struct sn_node_cut *cut, float rest, float copies, uint32_t n, float budget,
		  struct sn_node_cut *best)
{
	float taken = copies + (float)(1u << cut->width) * SN_CUT_SLOT;

	cut->cost = rest / ((float)n * SHARE) + COPY_COST * log2_about(taken / (float)n);
	if (cut->cost < best->cost && taken <= budget)
		*best = *cut;
}

/* The first `sample` boxes of cutter->low and high stand for the n of the node. */
static void try_range(struct sn_cutter *cutter, uint32_t n, uint32_t sample, float budget,
		      struct sn_node_cut cut, struct sn_node_cut *best)
{
	uint32_t mask = (1u << cut.width) - 1;
	float scale = (float)n / (float)sample;
	struct sn_step *steps = cutter->steps;
	uint32_t copies = 0;
	uint32_t boxes = 0;
	int64_t share = 0;
	float rest = 0;

	memset(steps, 0, (mask + 2) * sizeof(*steps));
	for (uint32_t i = 0; i < sample; i++) {
		uint32_t from, to;
		int32_t part;

		sn_cut_by_range(cutter->low[i], cutter->high[i], cut.shift, mask, &from, &to);
		part = cutter->part[(to - from) & mask];
		steps[from].boxes++;
		steps[from].share += part;
		steps[to + 1].boxes--;
		steps[to + 1].share -= part;
		if (from > to) {
			steps[0].boxes++;
			steps[0].share += part;
		}
	}
	for (uint32_t v = 0; v <= mask; v++) {
		boxes += (uint32_t)steps[v].boxes;
		share += steps[v].share;
		copies += boxes;
		if (boxes > 0)
			rest += (float)share * cutter->rest[(uint32_t)((float)boxes * scale)];
	}
	judge(&cut, rest * scale, (float)copies * scale, n, budget, best);
}

/* The bounds of a list's sample in one column; which of their bits differ. */
static uint32_t take_sample(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, uint32_t sample,
			    uint32_t column)
{
	const struct sn_boxes *boxes = cutter->boxes;
	uint32_t differs = 0;

	for (uint32_t i = 0; i < sample; i++) {
		uint32_t box = list[(uint64_t)i * n / sample];

		cutter->low[i] = boxes->low[column][box];
		cutter->high[i] = boxes->high[column][box];
		differs |= (cutter->low[i] ^ cutter->low[0]) | (cutter->high[i] ^ cutter->high[0]);
	}
	return differs;
}

static void try_range_cuts(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, uint32_t sample,
			   uint32_t column, float budget, uint32_t used, struct sn_node_cut *best)
{
	uint32_t widest = widest_for(n);
	uint32_t narrowest = widest < cutter->widths || cutter->narrow ? 1 : widest - cutter->widths + 1;
	uint32_t differs = take_sample(cutter, list, n, sample, column);

	for (uint32_t width = widest; width >= narrowest; width -= WIDTH_STEP) {
		for (uint32_t shift = 0; shift + width <= 32; shift += cutter->stride) {
			uint32_t bits = ((1u << width) - 1) << shift;

			if ((differs & bits) != 0 && (used & bits) == 0)
				try_range(cutter, n, sample, budget,
					  (struct sn_node_cut){
						  .column = column, .shift = shift, .width = width},
					  best);
		}
		if (width <= WIDTH_STEP)
			break;
	}
}

static void try_mask(const struct sn_cutter *cutter, const uint32_t *list, uint32_t n, float budget,
		     struct sn_node_cut cut, struct sn_node_cut *best)
{
	const uint32_t *mask = cutter->boxes->mask[cut.column - cutter->boxes->n_ranges];
	uint32_t lacking = 0;
	float rest;

	for (uint32_t i = 0; i < n; i++)
		lacking += !(mask[list[i]] >> cut.shift & 1);
	rest = SHARE * ((float)lacking * 0.5f * cutter->rest[lacking] +
			((float)n - (float)lacking * 0.5f) * cutter->rest[n]);
	judge(&cut, rest, (float)(lacking + n), n, budget, best);
}

static void try_mask_cuts(const struct sn_cutter *cutter, const uint32_t *list, uint32_t n, uint32_t column,
			  float budget, uint32_t used, struct sn_node_cut *best)
{
	const uint32_t *mask = cutter->boxes->mask[column];
	uint32_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= mask[list[i]];
	for (any &= ~used; any != 0; any &= any - 1)
		try_mask(cutter, list, n, budget,
			 (struct sn_node_cut){.column = cutter->boxes->n_ranges + column,
					      .shift = (uint32_t)__builtin_ctz(any),
					      .width = 1},
			 best);
}

static bool is_within_budget(const struct sn_cutter *cutter, const uint32_t *list, uint32_t n,
			     struct sn_node_cut cut, float budget)
{
	uint32_t mask = (1u << cut.width) - 1;
	uint64_t copies = 0;
	uint32_t from, to;

	for (uint32_t i = 0; i < n; i++) {
		sn_cut_children(cutter->boxes, cut, list[i], &from, &to);
		copies += ((to - from) & mask) + 1;
	}
	return (float)copies <= budget;
}

static struct sn_node_cut choose(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, uint32_t sample,
				 float budget, const struct sn_used *used)
{
	const struct sn_boxes *boxes = cutter->boxes;
	struct sn_node_cut best = {.cost = list_cost(n) - 1};

	for (uint32_t c = 0; c < boxes->n_ranges; c++)
		try_range_cuts(cutter, list, n, sample, c, budget, used->bits[c], &best);
	for (uint32_t c = 0; c < boxes->n_masks; c++)
		try_mask_cuts(cutter, list, n, c, budget, used->bits[boxes->n_ranges + c], &best);
	return best;
}

/* A small sample may lack wide boxes, so that the cut takes too much; or have one that stands for too many,
 * so that none seems to serve. The latter is looked at again if the list is long: walks would be. */
static bool is_misled(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, struct sn_node_cut cut,
		      float budget)
{
	return cut.width == 0 ? n >= LIST_LONG : !is_within_budget(cutter, list, n, cut, budget);
}

struct sn_node_cut sn_cut_choose(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, float budget,
				 const struct sn_used *used)
{
	uint32_t sample = n < cutter->sample ? n : cutter->sample;
	struct sn_node_cut cut = {0};

	if (list_cost(n) <= 1)
		return cut;
	cut = choose(cutter, list, n, sample, budget, used);
	while (sample < n && is_misled(cutter, list, n, cut, budget)) {
		sample = n / 4 < sample ? n : 4 * sample;
		cut = choose(cutter, list, n, sample, budget, used);
	}
	if (cut.width == 0 && n >= LIST_HUGE) { /* wide ones copy too many boxes into each child */
		cutter->narrow = true;
		cut = choose(cutter, list, n, n, budget, used);
		cutter->narrow = false;
	}
	return cut;
}

bool sn_cut_serves(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, float budget,
		   struct sn_node_cut cut)
{
	uint32_t sample = n < cutter->sample ? n : cutter->sample;
	struct sn_node_cut best = {.cost = WORSE * cut.cost + WORSE - 1};

	if (list_cost(n) <= 1 || cut.width > cutter->widest)
		return false;
	if (cut.column < cutter->boxes->n_ranges) {
		take_sample(cutter, list, n, sample, cut.column);
		try_range(cutter, n, sample, WORSE * budget, cut, &best);
	} else {
		try_mask(cutter, list, n, WORSE * budget, cut, &best);
	}
	return best.width > 0 && is_within_budget(cutter, list, n, cut, WORSE * budget);
}

bool sn_cutter_init(struct sn_cutter *cutter, const struct sn_boxes *boxes)
{
	uint32_t n = boxes->n;

	cutter->boxes = boxes;
	cutter->sample = boxes->rare ? 32 : 64;
	cutter->widths = boxes->rare ? 6 : 8;
	cutter->narrow = false;
	cutter->stride = boxes->rare ? 8 : 4;
	cutter->widest = widest_for(n);
	cutter->rest = malloc((n + 1) * sizeof(*cutter->rest));
	cutter->steps = malloc(((1u << cutter->widest) + 2) * sizeof(*cutter->steps));
	cutter->part = malloc((1u << cutter->widest) * sizeof(*cutter->part));
	cutter->low = malloc(n * sizeof(*cutter->low));
	cutter->high = malloc(n * sizeof(*cutter->high));
	if (cutter->rest == NULL || cutter->steps == NULL || cutter->part == NULL || cutter->low == NULL ||
	    cutter->high == NULL)
		return false;
	for (uint32_t i = 0; i <= n; i++)
		cutter->rest[i] = expected_cost(i);
	for (uint32_t i = 0; i < 1u << cutter->widest; i++)
		cutter->part[i] = SHARE / (int32_t)(i + 1);
	return true;
}

void sn_cutter_free(struct sn_cutter *cutter)
{
	free(cutter->rest);
	free(cutter->steps);
	free(cutter->part);
	free(cutter->low);
	free(cutter->high);
}
