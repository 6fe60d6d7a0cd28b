/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Build of the trees: cuts (sn_table_cut.c) until the lists are short. A budget
 * of copies, handed down, bounds what boxes cost that lie in many children;
 * where it is used up, leaves become longer.
 *
 * Nearly all of the time goes into choosing cuts. A program that changes a rule has tables nearly like those
 * before it, so their cuts are tried first (`like`): each is judged again, and chosen again if it serves
 * the boxes worse than those for which it was chosen.
 *
 * Into which trees the boxes go is decided in sn_table_trees.c.
 *
 * Measured: see docs/classifier.md.
 */

#include "sn_huge.h"
#include "sn_table_cut.h"
#include "sn_table_tree.h"

#include <stdlib.h>
#include <string.h>

struct builder {
	const struct sn_boxes *boxes;
	struct sn_tree *tree;
	uint64_t *entries;
	size_t n_entries;
	size_t room_entries;
	float *costs; /* as tree->costs */
	const struct sn_tree *like;
	uint32_t *cells;
	size_t n_groups;
	size_t room_groups;
	struct sn_cutter cutter;
	uint32_t *memo; /* leaves by content: group number, 0 if free */
	size_t n_memo;
	bool full;	  /* out of memory, or a list is too long */
	uint32_t longest; /* boxes of that list; 0: memory */
};

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
		for (uint32_t b = 0; b < SN_GROUP; b++) {
			cell[b] = b < n ? boxes->low[c][list[b]] : 0;
			cell[SN_GROUP + b] = b < n ? boxes->high[c][list[b]] - cell[b] : UINT32_MAX;
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
	if (n_groups > SN_GROUPS_MAX || !grow_groups(builder, n_groups)) {
		if (!builder->full && n_groups > SN_GROUPS_MAX)
			builder->longest = n;
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

/* ---- what a tree before it tells ---- */

#define NO_ENTRY 0 /* no entry of a tree is 0: a node has its flag, a leaf a group at least */

static uint64_t root_of(const struct sn_tree *like, uint32_t root)
{
	return like != NULL && root < like->n_roots ? like->roots[root] : NO_ENTRY;
}

static uint64_t child_of(const struct builder *builder, uint64_t like, uint32_t child)
{
	return like & SN_ENTRY_NODE ? builder->like->memory[sn_entry_base(like) + child] : NO_ENTRY;
}

/* The cut of a node; width 0 if it is none, or cuts by what no longer tells boxes apart. */
static struct sn_node_cut cut_of(const struct builder *builder, uint64_t like)
{
	const struct sn_boxes *boxes = builder->boxes;
	struct sn_node_cut cut = {0};

	if (!(like & SN_ENTRY_NODE))
		return cut;
	for (uint32_t c = 0; c < boxes->n_ranges + boxes->n_masks; c++) {
		if (boxes->word[c] != sn_entry_word(like))
			continue;
		cut.column = c;
		cut.shift = sn_entry_shift(like);
		cut.width = sn_entry_width(like);
		cut.cost = builder->like->costs[sn_entry_base(like)];
	}
	return cut;
}

/* Whether n boxes fit into as many groups as a leaf had: it was no use to cut those. */
static bool is_like_leaf(uint64_t like, uint32_t n)
{
	return like != NO_ENTRY && !(like & SN_ENTRY_NODE) && n <= sn_entry_groups(like) * SN_GROUP;
}

/* ---- nodes ---- */

static uint64_t build(struct builder *builder, const uint32_t *list, uint32_t n, float budget,
		      struct sn_used used, uint64_t like);

static bool grow_entries(struct builder *builder, size_t n)
{
	size_t room = builder->room_entries;
	uint64_t *entries;
	float *costs;

	if (builder->n_entries + n <= room)
		return true;
	while (room < builder->n_entries + n)
		room = 2 * room + 1024;
	entries = realloc(builder->entries, room * sizeof(*entries));
	if (entries == NULL)
		return false;
	builder->entries = entries;
	costs = realloc(builder->costs, room * sizeof(*costs));
	if (costs == NULL)
		return false;
	builder->costs = costs;
	builder->room_entries = room;
	return true;
}

/* The lists of a cut's children, one behind the other; child v's is at begin[v]..begin[v + 1]. */
struct children {
	uint32_t *begin;
	uint32_t *lists;
};

static bool deal(const struct builder *builder, const uint32_t *list, uint32_t n, struct sn_node_cut cut,
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
		sn_cut_children(builder->boxes, cut, list[i], &from, &to);
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
		sn_cut_children(builder->boxes, cut, list[i], &from, &to);
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
	return (double)builder->n_groups * SN_GROUP + (double)builder->n_entries * SN_CUT_SLOT;
}

/* like: the node of another tree whose cut this is, or NO_ENTRY. */
static uint64_t make_node(struct builder *builder, const uint32_t *list, uint32_t n, float budget,
			  struct sn_node_cut cut, struct sn_used used, uint64_t like)
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
	builder->costs[base] = cut.cost;
	budget -= (float)size * SN_CUT_SLOT;
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
				      budget * (float)n_child / (float)(n_long + 1), used,
				      child_of(builder, like, v));
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

/* The budget is the number of boxes that the leaves may hold in all, slots of nodes included. */
static uint64_t build(struct builder *builder, const uint32_t *list, uint32_t n, float budget,
		      struct sn_used used, uint64_t like)
{
	struct sn_node_cut cut = {0};

	if (!builder->full && !is_like_leaf(like, n)) {
		cut = cut_of(builder, like);
		if (cut.width == 0 || !sn_cut_serves(&builder->cutter, list, n, budget, cut)) {
			cut = sn_cut_choose(&builder->cutter, list, n, budget, &used);
			like = NO_ENTRY;
		}
	}
	if (cut.width == 0)
		return make_leaf(builder, list, n);
	return make_node(builder, list, n, budget, cut, used, like);
}

/* ---- trees ---- */

static float budget_for(const struct sn_boxes *boxes, uint32_t n)
{
	return 16.0f * (float)(n < 1024 ? n : 1024) + (boxes->rare ? 4.0f : 16.0f) * (float)n;
}

static void build_trees(struct builder *builder, const struct sn_division *division, uint32_t *list)
{
	const struct sn_boxes *boxes = builder->boxes;
	struct sn_tree *tree = builder->tree;

	for (uint32_t t = 0; t < SN_ROOTS_MAX; t++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < boxes->n; i++) {
			if (sn_division_tree(division, boxes, i) == t)
				list[n++] = i;
		}
		if (n > 0) {
			uint64_t like = root_of(builder->like, tree->n_roots);

			tree->roots[tree->n_roots++] =
				build(builder, list, n, budget_for(boxes, n), (struct sn_used){0}, like);
		}
	}
}

static bool builder_init(struct builder *builder)
{
	uint32_t n = builder->boxes->n;

	for (builder->n_memo = 1024; builder->n_memo < 4 * (size_t)n;)
		builder->n_memo *= 2;
	builder->memo = calloc(builder->n_memo, sizeof(*builder->memo));
	if (builder->memo == NULL || !sn_cutter_init(&builder->cutter, builder->boxes) ||
	    !grow_groups(builder, 1))
		return false;
	builder->n_groups = 1; /* group 0 is empty */
	write_group(builder, 0, NULL, 0);
	return true;
}

/* A leaf's base, which is the number of its first group while the tree is made, as a place in memory. */
static uint64_t placed(uint64_t entry, size_t first_group, uint32_t group_cells)
{
	if (entry & SN_ENTRY_NODE)
		return entry;
	return entry - sn_entry_base(entry) + first_group + (uint64_t)sn_entry_base(entry) * group_cells / 2;
}

/* Into blocks of the right size, on huge pages. Groups begin on cache lines. */
static bool finish(struct builder *builder)
{
	struct sn_tree *tree = builder->tree;
	size_t first_group = (builder->n_entries + 7) & ~(size_t)7;
	size_t words = first_group + builder->n_groups * tree->group_cells / 2;
	size_t classes = (builder->boxes->n + 1) * sizeof(*tree->classes);

	if (builder->full || words > UINT32_MAX)
		return false;
	tree->memory = sn_huge_alloc(words * sizeof(*tree->memory));
	tree->classes = sn_huge_alloc(classes);
	if (tree->memory == NULL || tree->classes == NULL)
		return false;
	for (size_t i = 0; i < builder->n_entries; i++)
		tree->memory[i] = placed(builder->entries[i], first_group, tree->group_cells);
	for (uint32_t r = 0; r < tree->n_roots; r++)
		tree->roots[r] = placed(tree->roots[r], first_group, tree->group_cells);
	memcpy(&tree->memory[first_group], builder->cells,
	       builder->n_groups * tree->group_cells * sizeof(*builder->cells));
	memcpy(tree->classes, builder->boxes->classes, classes);
	tree->costs = builder->costs;
	builder->costs = NULL;
	tree->size = sizeof(*tree) + words * sizeof(*tree->memory) + classes +
		     builder->n_entries * sizeof(*tree->costs);
	return true;
}

static void tell(const struct builder *builder, struct sn_error *err)
{
	if (builder->longest > 0)
		sn_fail(err,
			"a table has a list of %u boxes that no cut tells apart, at most %u are possible",
			builder->longest, SN_GROUPS_MAX * SN_GROUP);
	else
		sn_fail(err, "no memory for a tree of %u boxes", builder->boxes->n);
}

struct sn_tree *sn_tree_build(const struct sn_boxes *boxes, const struct sn_division *division,
			      const struct sn_tree *like, enum sn_isa isa, struct sn_error *err)
{
	struct sn_tree *tree = calloc(1, sizeof(*tree));
	struct builder builder = {.boxes = boxes, .tree = tree, .like = like};
	uint32_t *list = malloc(boxes->n * sizeof(*list));
	bool done = false;

	if (tree != NULL && list != NULL) {
		uint32_t cells = SN_GROUP * (2 * boxes->n_ranges + boxes->n_masks + 1);

		tree->isa = isa;
		tree->kind = division->kind;
		tree->n_boxes = boxes->n;
		tree->n_ranges = boxes->n_ranges;
		tree->n_masks = boxes->n_masks;
		tree->group_cells = (cells + 15) & ~15u;
		memcpy(tree->word, boxes->word, sizeof(tree->word));
		if (builder_init(&builder)) {
			build_trees(&builder, division, list);
			done = finish(&builder);
		}
	}
	free(builder.entries);
	free(builder.costs);
	free(builder.cells);
	sn_cutter_free(&builder.cutter);
	free(builder.memo);
	free(list);
	if (!done) {
		tell(&builder, err);
		sn_tree_free(tree);
		return NULL;
	}
	return tree;
}

void sn_tree_free(struct sn_tree *tree)
{
	if (tree == NULL)
		return;
	free(tree->memory);
	free(tree->costs);
	free(tree->classes);
	free(tree);
}

bool sn_tree_is_list(const struct sn_tree *tree)
{
	return tree->n_roots == 1 && !(tree->roots[0] & SN_ENTRY_NODE);
}

bool sn_tree_has_nodes(const struct sn_tree *tree)
{
	uint64_t any = 0;

	for (uint32_t r = 0; r < tree->n_roots; r++)
		any |= tree->roots[r] & SN_ENTRY_NODE;
	return any != 0;
}

size_t sn_tree_size(const struct sn_tree *tree)
{
	return tree->size;
}
