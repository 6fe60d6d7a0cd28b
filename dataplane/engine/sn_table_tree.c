/* SPDX-License-Identifier: Apache-2.0 */

#include "sn_table_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Build of the trees. A node cuts its boxes by a few adjacent bits, anywhere in
 * one key word (compare ByteCuts, INFOCOM 2018): of a port or a host number the
 * low bits tell more than the high ones. Leaves hold whole boxes, so bits that
 * no node looks at need no care.
 *
 * Which cut is best is estimated with a cost in units of one step, a node or
 * about a group; keys are expected where the boxes are, evenly. Large nodes are
 * judged by a sample of their boxes: the build must be fast, a table is changed
 * while packets wait. A budget, handed down, bounds the copies of boxes that lie
 * in many children; where it is used up, leaves become longer.
 *
 * Boxes that are wide in one address multiply in a tree that cuts by it. If
 * there are many that only the source cuts and many that only the destination
 * cuts, three trees are made: of the boxes that are narrow in one address, of
 * those only narrow in the other, and of the rest.
 *
 * Measured: see docs/classifier.md.
 */

#define WIDTH_MAX   16u /* bits of a cut */
#define WIDTHS	    10u /* candidates for it: the widest sensible and the next smaller ones */
#define SAMPLE	    256u
#define FINE_UP_TO  16u	   /* boxes: from here on only every other width and shift is tried */
#define GROUP_COST  0.8f   /* of each group after the first */
#define TREE_COST   1.0f   /* of what is below, as trees usually come out: a constant, */
#define DOUBLE_COST 0.3f   /* and this for each doubling of the number of boxes */
#define COPY_COST   0.15f  /* for each doubling of the number of copies: memory is cache misses */
#define SLOT	    0.125f /* memory of a child entry, in boxes */
#define SPLIT_FROM \
	8u /* several trees if 1/8 of the boxes is wide in the one address only, and in the other */
#define WIDE  UINT16_MAX /* an address range is wide if it spans more */
#define SHARE (1 << 14)	 /* of a box in the traffic, divided among its children */

struct step;

struct builder {
	const struct sn_boxes *boxes;
	struct sn_tree *tree;
	uint64_t *entries;
	size_t n_entries;
	size_t room_entries;
	uint32_t *cells;
	size_t n_groups;
	size_t room_groups;
	float *rest;	    /* expected cost of a list of so many boxes, in levels */
	struct step *steps; /* scratch of try_range */
	int32_t *part;	    /* SHARE / (i + 1) */
	uint32_t *low;	    /* scratch: bounds of a node's boxes in one column */
	uint32_t *high;
	uint32_t *memo; /* leaves by content: group number, 0 if free */
	size_t n_memo;
	bool full; /* out of memory */
};

/* From a child to the next: change of its number of boxes, and of the share of traffic that they bring. */
struct step {
	int32_t boxes;
	int64_t share;
};

/* Bits by which the nodes above have been cut, per column: another cut by them gains nothing. */
struct used {
	uint32_t bits[SN_TABLE_DIMS_MAX + SN_MASKS_MAX];
};

/* A cut of a node: its children differ in some adjacent bits of one key word. */
struct cut {
	uint32_t column; /* ranges, then masks */
	uint32_t shift;
	uint32_t width;
	float cost;
};

static uint32_t log2_floor(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n | 1);
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

/* ---- leaves ---- */

static uint32_t *group_at(struct builder *builder, size_t group)
{
	return builder->cells + group * builder->tree->group_cells;
}

static uint32_t *positions_at(struct builder *builder, size_t group)
{
	const struct sn_tree *tree = builder->tree;

	return group_at(builder, group) + SN_GROUP * (2 * tree->n_ranges + tree->n_masks);
}

static bool grow_groups(struct builder *builder, size_t n)
{
	size_t line = builder->tree->group_cells * sizeof(uint32_t);
	size_t room = builder->room_groups;
	uint32_t *cells;

	if (builder->n_groups + n <= room)
		return true;
	while (room < builder->n_groups + n)
		room = 2 * room + 64;
	cells = realloc(builder->cells, room * line);
	if (cells == NULL || room > UINT32_MAX) {
		builder->cells = cells ? cells : builder->cells;
		return false;
	}
	builder->cells = cells;
	builder->room_groups = room;
	return true;
}

static void write_group(struct builder *builder, size_t group, const uint32_t *list, uint32_t n)
{
	const struct sn_boxes *boxes = builder->boxes;
	uint32_t *cell = group_at(builder, group);
	uint32_t *position = positions_at(builder, group);

	memset(cell, 0, builder->tree->group_cells * sizeof(*cell));
	for (uint32_t b = 0; b < SN_GROUP; b++)
		position[b] = b < n ? list[b] : boxes->n;
	for (uint32_t c = 0; c < boxes->n_ranges; c++, cell += 2 * SN_GROUP) {
		for (uint32_t b = 0; b < n; b++) {
			cell[b] = boxes->low[c][list[b]];
			cell[SN_GROUP + b] = ~boxes->high[c][list[b]];
		}
	}
	for (uint32_t c = 0; c < boxes->n_masks; c++, cell += SN_GROUP) {
		for (uint32_t b = 0; b < n; b++)
			cell[b] = boxes->mask[c][list[b]];
	}
}

static bool same_list(struct builder *builder, size_t group, const uint32_t *list, uint32_t n)
{
	const uint32_t *position = positions_at(builder, group);

	return memcmp(position, list, n * sizeof(*list)) == 0 &&
	       (n == SN_GROUP || position[n] == builder->boxes->n);
}

/* Where a leaf of one group with this content is or may be noted; NULL if there is no room to note it. */
static uint32_t *find_memo(struct builder *builder, const uint32_t *list, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ list[i]) * 0x9e3779b97f4a7c15ull;
	hash ^= hash >> 32;
	for (size_t probe = 0; probe < 8; probe++) {
		uint32_t *memo = &builder->memo[(hash + probe) & (builder->n_memo - 1)];

		if (*memo == 0 || same_list(builder, *memo, list, n))
			return memo;
	}
	return NULL;
}

static uint64_t make_leaf(struct builder *builder, const uint32_t *list, uint32_t n)
{
	uint32_t n_groups = (n + SN_GROUP - 1) / SN_GROUP;
	size_t first = builder->n_groups;
	uint32_t *memo = NULL;

	if (n == 0)
		return sn_entry_leaf(0, 1); /* group 0 is empty */
	if (n_groups == 1) {
		memo = find_memo(builder, list, n);
		if (memo != NULL && *memo != 0)
			return sn_entry_leaf(*memo, 1);
	}
	if (!grow_groups(builder, n_groups)) {
		builder->full = true;
		return sn_entry_leaf(0, 1);
	}
	for (uint32_t g = 0; g < n_groups; g++) {
		uint32_t left = n - g * SN_GROUP;

		write_group(builder, first + g, list + g * SN_GROUP, left < SN_GROUP ? left : SN_GROUP);
	}
	builder->n_groups += n_groups;
	if (memo != NULL)
		*memo = (uint32_t)first;
	return sn_entry_leaf((uint32_t)first, n_groups);
}

/* ---- cuts ---- */

/* The children of a cut by bits of a range column that hold a part of low..high: from..to, modulo the size.
 */
static inline void children_of(uint32_t low, uint32_t high, uint32_t shift, uint32_t mask, uint32_t *from,
			       uint32_t *to)
{
	uint32_t first = low >> shift;
	uint32_t last = high >> shift;
	bool all = last - first >= mask;

	*from = all ? 0 : first & mask;
	*to = all ? mask : last & mask;
}

/* Of a leaf. */
static float list_cost(uint32_t n)
{
	return n <= SN_GROUP ? 0 : GROUP_COST * ((float)n / SN_GROUP - 1);
}

/* Of what will come of a list: a leaf, or a tree as trees usually come out. */
static float expected_cost(uint32_t n)
{
	return n <= SN_GROUP ? 0
			     : least(list_cost(n), TREE_COST + DOUBLE_COST * log2_about((float)n / SN_GROUP));
}

/* Keeps the cut if it is the best so far. `rest`: sum over children of their traffic times their cost. */
static void judge(struct cut *cut, float rest, float copies, uint32_t n, float budget, struct cut *best)
{
	float taken = copies + (float)(1u << cut->width) * SLOT;

	cut->cost = rest / ((float)n * SHARE) + COPY_COST * log2_about(taken / (float)n);
	if (cut->cost < best->cost && taken <= budget)
		*best = *cut;
}

/* The first `sample` boxes of builder->low and high stand for the n of the node. */
static void try_range(struct builder *builder, uint32_t n, uint32_t sample, float budget, struct cut cut,
		      struct cut *best)
{
	uint32_t mask = (1u << cut.width) - 1;
	float scale = (float)n / (float)sample;
	struct step *steps = builder->steps;
	uint32_t copies = 0;
	uint32_t boxes = 0;
	int64_t share = 0;
	float rest = 0;

	memset(steps, 0, (mask + 2) * sizeof(*steps));
	for (uint32_t i = 0; i < sample; i++) {
		uint32_t from, to;
		int32_t part;

		children_of(builder->low[i], builder->high[i], cut.shift, mask, &from, &to);
		part = builder->part[(to - from) & mask];
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
			rest += (float)share * builder->rest[(uint32_t)((float)boxes * scale)];
	}
	judge(&cut, rest * scale, (float)copies * scale, n, budget, best);
}

static void try_range_cuts(struct builder *builder, const uint32_t *list, uint32_t n, uint32_t sample,
			   uint32_t column, float budget, uint32_t used, struct cut *best)
{
	const struct sn_boxes *boxes = builder->boxes;
	uint32_t widest = log2_floor(n) + 1 < WIDTH_MAX ? log2_floor(n) + 1 : WIDTH_MAX;
	uint32_t narrowest = widest < WIDTHS ? 1 : widest - WIDTHS + 1;
	uint32_t step = n > FINE_UP_TO ? 2 : 1;
	uint32_t differs = 0;

	for (uint32_t i = 0; i < sample; i++) {
		uint32_t box = list[(uint64_t)i * n / sample];

		builder->low[i] = boxes->low[column][box];
		builder->high[i] = boxes->high[column][box];
		differs |= (builder->low[i] ^ builder->low[0]) | (builder->high[i] ^ builder->high[0]);
	}
	for (uint32_t width = widest; width >= narrowest; width -= step) {
		for (uint32_t shift = 0; shift + width <= 32; shift += step) {
			uint32_t bits = ((1u << width) - 1) << shift;

			if ((differs & bits) != 0 && (used & bits) == 0)
				try_range(builder, n, sample, budget,
					  (struct cut){.column = column, .shift = shift, .width = width},
					  best);
		}
		if (width <= step)
			break;
	}
}

static void try_mask_cuts(struct builder *builder, const uint32_t *list, uint32_t n, uint32_t column,
			  float budget, uint32_t used, struct cut *best)
{
	const uint32_t *mask = builder->boxes->mask[column];
	uint32_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= mask[list[i]];
	for (any &= ~used; any != 0; any &= any - 1) {
		struct cut cut = {.column = builder->boxes->n_ranges + column,
				  .shift = (uint32_t)__builtin_ctz(any),
				  .width = 1};
		uint32_t lacking = 0;
		float rest;

		for (uint32_t i = 0; i < n; i++)
			lacking += !(mask[list[i]] >> cut.shift & 1);
		rest = SHARE * ((float)lacking * 0.5f * builder->rest[lacking] +
				((float)n - (float)lacking * 0.5f) * builder->rest[n]);
		judge(&cut, rest, (float)(lacking + n), n, budget, best);
	}
}

/* ---- nodes ---- */

static uint64_t build(struct builder *builder, const uint32_t *list, uint32_t n, float budget,
		      struct used used);

/* The children that a box goes to: from..to, modulo their number. */
static void cut_range(const struct builder *builder, struct cut cut, uint32_t box, uint32_t *from,
		      uint32_t *to)
{
	const struct sn_boxes *boxes = builder->boxes;

	if (cut.column < boxes->n_ranges) {
		children_of(boxes->low[cut.column][box], boxes->high[cut.column][box], cut.shift,
			    (1u << cut.width) - 1, from, to);
	} else { /* one bit: boxes that require it go to child 1 only */
		*from = boxes->mask[cut.column - boxes->n_ranges][box] >> cut.shift & 1;
		*to = 1;
	}
}

static bool grow_entries(struct builder *builder, size_t n)
{
	size_t room = builder->room_entries;
	uint64_t *entries;

	if (builder->n_entries + n <= room)
		return true;
	while (room < builder->n_entries + n)
		room = 2 * room + 1024;
	entries = realloc(builder->entries, room * sizeof(*entries));
	if (entries == NULL)
		return false;
	builder->entries = entries;
	builder->room_entries = room;
	return true;
}

/* The lists of a cut's children, one behind the other; child v's is at begin[v]..begin[v + 1]. */
struct children {
	uint32_t *begin;
	uint32_t *lists;
};

static bool deal(const struct builder *builder, const uint32_t *list, uint32_t n, struct cut cut,
		 struct children *children)
{
	uint32_t size = 1u << cut.width;
	uint32_t mask = size - 1;
	uint32_t *begin = calloc(size + 2, sizeof(*begin));
	uint32_t from, to;

	children->begin = begin;
	children->lists = NULL;
	if (begin == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		cut_range(builder, cut, list[i], &from, &to);
		for (uint32_t v = from;; v = (v + 1) & mask) {
			begin[v + 2]++;
			if (v == to)
				break;
		}
	}
	for (uint32_t v = 0; v < size; v++)
		begin[v + 2] += begin[v + 1];
	children->lists = malloc((begin[size + 1] + 1) * sizeof(*children->lists));
	if (children->lists == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) { /* begin[v + 1] moves from the begin of child v to its end */
		cut_range(builder, cut, list[i], &from, &to);
		for (uint32_t v = from;; v = (v + 1) & mask) {
			children->lists[begin[v + 1]++] = list[i];
			if (v == to)
				break;
		}
	}
	return true;
}

/* In boxes: what the leaves and nodes made so far take. */
static double spent(const struct builder *builder)
{
	return (double)builder->n_groups * SN_GROUP + (double)builder->n_entries * SLOT;
}

static uint64_t make_node(struct builder *builder, const uint32_t *list, uint32_t n, float budget,
			  struct cut cut, struct used used)
{
	uint32_t size = 1u << cut.width;
	size_t base = builder->n_entries;
	uint64_t node = sn_entry_node((uint32_t)base, builder->boxes->word[cut.column], cut.shift, cut.width);
	uint64_t child = 0;
	struct children children;
	uint32_t n_long = 0;

	if (!deal(builder, list, n, cut, &children) || base + size > UINT32_MAX ||
	    !grow_entries(builder, size)) {
		builder->full = true;
		goto done;
	}
	builder->n_entries += size;
	budget -= (float)size * SLOT;
	for (uint32_t v = 0; v < size; v++) {
		uint32_t n_child = children.begin[v + 1] - children.begin[v];

		if (n_child <= SN_GROUP)
			budget -= (float)n_child;
		else
			n_long += n_child;
	}
	used.bits[cut.column] |= (size - 1) << cut.shift;
	for (uint32_t v = 0; v < size; v++) {
		const uint32_t *begin = &children.begin[v];
		const uint32_t *lists = children.lists;
		uint32_t n_child = begin[1] - begin[0];
		double before = spent(builder);

		if (v == 0 || n_child != begin[0] - begin[-1] ||
		    memcmp(lists + begin[0], lists + begin[-1], n_child * sizeof(*lists)) != 0)
			child = build(builder, lists + begin[0], n_child,
				      budget * (float)n_child / (float)(n_long + 1), used);
		if (n_child > SN_GROUP) { /* what a child leaves over is for the next ones */
			budget -= (float)(spent(builder) - before);
			n_long -= n_child;
		}
		builder->entries[base + v] = child;
	}
done:
	free(children.begin);
	free(children.lists);
	return node;
}

static bool is_within_budget(const struct builder *builder, const uint32_t *list, uint32_t n, struct cut cut,
			     float budget)
{
	uint32_t mask = (1u << cut.width) - 1;
	uint64_t copies = 0;
	uint32_t from, to;

	for (uint32_t i = 0; i < n; i++) {
		cut_range(builder, cut, list[i], &from, &to);
		copies += ((to - from) & mask) + 1;
	}
	return (float)copies <= budget;
}

static struct cut choose_cut(struct builder *builder, const uint32_t *list, uint32_t n, uint32_t sample,
			     float budget, const struct used *used)
{
	const struct sn_boxes *boxes = builder->boxes;
	struct cut best = {.cost = list_cost(n) - 1};

	for (uint32_t c = 0; c < boxes->n_ranges; c++)
		try_range_cuts(builder, list, n, sample, c, budget, used->bits[c], &best);
	for (uint32_t c = 0; c < boxes->n_masks; c++)
		try_mask_cuts(builder, list, n, c, budget, used->bits[boxes->n_ranges + c], &best);
	return best;
}

/* The budget is the number of boxes that the leaves may hold in all, slots of nodes included. */
static uint64_t build(struct builder *builder, const uint32_t *list, uint32_t n, float budget,
		      struct used used)
{
	uint32_t sample = n < SAMPLE ? n : SAMPLE;
	struct cut cut;

	if (list_cost(n) <= 1 || builder->full)
		return make_leaf(builder, list, n);
	cut = choose_cut(builder, list, n, sample, budget, &used);
	if (sample < n && cut.width > 0 && !is_within_budget(builder, list, n, cut, budget))
		cut = choose_cut(builder, list, n, n, budget, &used); /* the sample lacked wide boxes */
	if (cut.width == 0)
		return make_leaf(builder, list, n);
	return make_node(builder, list, n, budget, cut, used);
}

/* ---- trees ---- */

static bool is_wide(const struct sn_boxes *boxes, uint32_t column, uint32_t box)
{
	return boxes->high[column][box] - boxes->low[column][box] > WIDE;
}

/* Which tree a box is in, if there are several. */
static uint32_t tree_of(const struct sn_boxes *boxes, const uint32_t columns[2], uint32_t box)
{
	if (!is_wide(boxes, columns[0], box))
		return 0;
	return is_wide(boxes, columns[1], box) ? 2 : 1;
}

/* Two address columns; worth several trees are many boxes that only the one, and many that only the other
 * cuts. */
static bool pick_columns(const struct sn_boxes *boxes, uint32_t columns[2])
{
	uint32_t only[2] = {0};
	uint32_t n_columns = 0;

	for (uint32_t c = 0; c < boxes->n_ranges && n_columns < 2; c++) {
		if (boxes->addresses >> c & 1)
			columns[n_columns++] = c;
	}
	if (n_columns < 2)
		return false;
	for (uint32_t i = 0; i < boxes->n; i++) {
		bool wide[2] = {is_wide(boxes, columns[0], i), is_wide(boxes, columns[1], i)};

		only[0] += wide[1] && !wide[0];
		only[1] += wide[0] && !wide[1];
	}
	if (only[0] < only[1]) {
		uint32_t swap = columns[0];

		columns[0] = columns[1];
		columns[1] = swap;
	}
	return only[0] > boxes->n / SPLIT_FROM && only[1] > boxes->n / SPLIT_FROM;
}

static float budget_for(uint32_t n)
{
	return least(16.0f * (float)n, 16384.0f) + 16.0f * (float)n;
}

static void build_trees(struct builder *builder, uint32_t *list)
{
	const struct sn_boxes *boxes = builder->boxes;
	struct sn_tree *tree = builder->tree;
	uint32_t columns[2];
	bool split = pick_columns(boxes, columns);

	for (uint32_t t = 0; t < SN_ROOTS_MAX; t++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < boxes->n; i++) {
			if ((split ? tree_of(boxes, columns, i) : 0) == t)
				list[n++] = i;
		}
		if (n > 0)
			tree->roots[tree->n_roots++] =
				build(builder, list, n, budget_for(n), (struct used){0});
	}
}

static bool builder_init(struct builder *builder)
{
	uint32_t n = builder->boxes->n;

	for (builder->n_memo = 1024; builder->n_memo < 4 * (size_t)n;)
		builder->n_memo *= 2;
	builder->rest = malloc((n + 1) * sizeof(*builder->rest));
	builder->steps = malloc(((1u << WIDTH_MAX) + 2) * sizeof(*builder->steps));
	builder->part = malloc((1u << WIDTH_MAX) * sizeof(*builder->part));
	builder->low = malloc(n * sizeof(*builder->low));
	builder->high = malloc(n * sizeof(*builder->high));
	builder->memo = calloc(builder->n_memo, sizeof(*builder->memo));
	if (builder->rest == NULL || builder->steps == NULL || builder->part == NULL ||
	    builder->low == NULL || builder->high == NULL || builder->memo == NULL ||
	    !grow_groups(builder, 1))
		return false;
	for (uint32_t i = 0; i < 1u << WIDTH_MAX; i++)
		builder->part[i] = SHARE / (int32_t)(i + 1);
	for (uint32_t i = 0; i <= n; i++)
		builder->rest[i] = expected_cost(i);
	builder->n_groups = 1; /* group 0 is empty */
	write_group(builder, 0, NULL, 0);
	return true;
}

/* Into blocks of the right size, on huge pages. */
static bool finish(struct builder *builder)
{
	struct sn_tree *tree = builder->tree;
	size_t entries = builder->n_entries * sizeof(*tree->entries);
	size_t cells = builder->n_groups * tree->group_cells * sizeof(*tree->cells);
	size_t classes = (builder->boxes->n + 1) * sizeof(*tree->classes);

	tree->entries = sn_table_alloc(entries);
	tree->cells = sn_table_alloc(cells);
	tree->classes = sn_table_alloc(classes);
	if (builder->full || tree->entries == NULL || tree->cells == NULL || tree->classes == NULL)
		return false;
	if (entries > 0)
		memcpy(tree->entries, builder->entries, entries);
	memcpy(tree->cells, builder->cells, cells);
	memcpy(tree->classes, builder->boxes->classes, classes);
	tree->size = sizeof(*tree) + entries + cells + classes;
	return true;
}

struct sn_tree *sn_tree_create(const struct sn_boxes *boxes, enum sn_isa isa, char *err, size_t err_len)
{
	struct sn_tree *tree = calloc(1, sizeof(*tree));
	struct builder builder = {.boxes = boxes, .tree = tree};
	uint32_t *list = malloc(boxes->n * sizeof(*list));
	bool done = false;

	if (tree != NULL && list != NULL) {
		uint32_t cells = SN_GROUP * (2 * boxes->n_ranges + boxes->n_masks + 1);

		tree->isa = isa;
		tree->n_boxes = boxes->n;
		tree->n_ranges = boxes->n_ranges;
		tree->n_masks = boxes->n_masks;
		tree->group_cells = (cells + 15) & ~15u;
		memcpy(tree->word, boxes->word, sizeof(tree->word));
		if (builder_init(&builder)) {
			build_trees(&builder, list);

			done = finish(&builder);
		}
	}
	free(builder.entries);
	free(builder.cells);
	free(builder.rest);
	free(builder.steps);
	free(builder.part);
	free(builder.low);
	free(builder.high);
	free(builder.memo);
	free(list);
	if (!done) {
		sn_tree_free(tree);
		snprintf(err, err_len, "no memory for a tree of %u boxes", boxes->n);
		return NULL;
	}
	return tree;
}

void sn_tree_free(struct sn_tree *tree)
{
	if (tree == NULL)
		return;
	free(tree->entries);
	free(tree->cells);
	free(tree->classes);
	free(tree);
}

bool sn_tree_is_list(const struct sn_tree *tree)
{
	return tree->n_roots == 1 && !(tree->roots[0] & SN_ENTRY_NODE);
}

size_t sn_tree_size(const struct sn_tree *tree)
{
	return tree->size;
}
