/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TABLE_TREE_H
#define SN_TABLE_TREE_H

/* The trees in memory: made by sn_table_tree.c and sn_table_trees.c, read by sn_table_walk.c. */

#include "sn_table_impl.h"

#define SN_GROUP     8u /* boxes that are compared at once */
#define SN_ROOTS_MAX 4u

/*
 * An entry is a node or a leaf. A base is a place in the tree's memory, in words of 64 bits.
 * Node: the child is at base + (key word >> shift & (1 << width) - 1).
 * Leaf: n groups of boxes from base on, in the table's order. It reads as a node without bits, so what
 * comes next of an entry is at base + bits, whatever it is.
 */
#define SN_ENTRY_NODE	(1ull << 63)
#define SN_GROUPS_SHIFT 48
#define SN_GROUPS_MAX	INT16_MAX

static inline uint64_t sn_entry_node(uint32_t base, uint32_t word, uint32_t shift, uint32_t width)
{
	return SN_ENTRY_NODE | (uint64_t)word << 48 | (uint64_t)width << 40 | (uint64_t)shift << 32 | base;
}

static inline uint64_t sn_entry_leaf(uint32_t base, uint32_t n_groups)
{
	return (uint64_t)n_groups << SN_GROUPS_SHIFT | base;
}

static inline uint32_t sn_entry_base(uint64_t entry)
{
	return (uint32_t)entry;
}

static inline uint32_t sn_entry_word(uint64_t node)
{
	return node >> 48 & 0xf;
}

static inline uint32_t sn_entry_width(uint64_t node)
{
	return node >> 40 & 0x1f;
}

static inline uint32_t sn_entry_shift(uint64_t node)
{
	return node >> 32 & 0x1f;
}

static inline uint32_t sn_entry_groups(uint64_t entry)
{
	return entry >> SN_GROUPS_SHIFT & SN_GROUPS_MAX;
}

/* The leaf without its first group. */
static inline uint64_t sn_entry_next(uint64_t leaf, uint32_t group_cells)
{
	return leaf + group_cells / 2 - (1ull << SN_GROUPS_SHIFT);
}

/* Which boxes have a tree together. */
enum sn_division_kind {
	SN_NOT_DIVIDED, /* all */
	SN_BY_ADDRESS,	/* those that are narrow in an address, those that are narrow in the other alone, the
			   rest */
	SN_BY_PORT, /* as before, but of the rest those that are narrow in a port have a tree of their own */
	SN_DIVISIONS,
};

struct sn_division {
	enum sn_division_kind kind;
	uint32_t addresses[2]; /* columns: the one in which more boxes are narrow that are wide in the other,
				  and the other */
	uint32_t port;	       /* column */
};

/*
 * A group, as columns of 32-bit cells, on cache lines of its own:
 *   per range 8 lower bounds and 8 spans (upper bound - lower bound, so one
 *   unsigned "key - lower bound <= span" tests both),
 *   per mask 8 masks of required bits,
 *   8 positions in the table's order.
 * Unused lanes hold every key and have the position n_boxes: no box.
 */
struct sn_tree {
	uint64_t *memory;  /* entries, then groups */
	uint32_t *classes; /* by position; [n_boxes] if no box holds the key */
	uint32_t n_boxes;
	uint32_t group_cells;
	uint32_t n_ranges;
	uint32_t n_masks;
	uint8_t word[SN_TABLE_DIMS_MAX + SN_MASKS_MAX];
	enum sn_isa isa;
	uint32_t n_roots;
	uint64_t roots[SN_ROOTS_MAX];
	float *costs; /* of a node's cut when it was chosen, by base; looked up by the next build only */
	enum sn_division_kind kind;
	bool finer;	    /* than boxes are divided that are looked up seldom, though these are */
	float steps;	    /* of a walk, on average: see sn_table_steps() */
	uint32_t longest;   /* see sn_table_longest() */
	float chosen_steps; /* when `kind` was chosen */
	uint32_t chosen_longest;
	size_t size;
};

/* Whether a range of addresses is wide. */
static inline bool sn_is_wide(const struct sn_boxes *boxes, uint32_t column, uint32_t box)
{
	return boxes->high[column][box] - boxes->low[column][box] > UINT16_MAX;
}

/* Whether a range of ports, or of another field, is narrow. */
static inline bool sn_is_narrow(const struct sn_boxes *boxes, uint32_t column, uint32_t box)
{
	return boxes->high[column][box] - boxes->low[column][box] <= UINT8_MAX;
}

/* A box's tree, less than SN_ROOTS_MAX. */
static inline uint32_t sn_division_tree(const struct sn_division *division, const struct sn_boxes *boxes,
					uint32_t box)
{
	if (division->kind == SN_NOT_DIVIDED || !sn_is_wide(boxes, division->addresses[0], box))
		return 0;
	if (!sn_is_wide(boxes, division->addresses[1], box))
		return 1;
	return division->kind == SN_BY_PORT && !sn_is_narrow(boxes, division->port, box) ? 3 : 2;
}

/* NULL: no memory, or a list is too long; err tells. */
struct sn_tree *sn_tree_build(const struct sn_boxes *boxes, const struct sn_division *division,
			      const struct sn_tree *like, enum sn_isa isa, struct sn_error *err);

#endif /* SN_TABLE_TREE_H */
