/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TABLE_CUT_H
#define SN_TABLE_CUT_H

/* How a node of a tree divides its boxes, and which way is best. */

#include "sn_table_impl.h"

#define SN_CUT_SLOT 0.125f /* memory of a child's entry, in boxes */

/* The children of a cut differ in some adjacent bits of one column. */
struct sn_node_cut {
	uint32_t column; /* ranges, then masks */
	uint32_t shift;
	uint32_t width; /* 0: no cut */
	float cost;
};

/* Bits by which the nodes above have been cut, per column: another cut by them gains nothing. */
struct sn_used {
	uint32_t bits[SN_TABLE_DIMS_MAX + SN_MASKS_MAX];
};

/* Scratch and tables for choosing cuts. */
struct sn_cutter {
	const struct sn_boxes *boxes;
	uint32_t sample;       /* boxes that stand for all of a large node */
	uint32_t widths;       /* that are tried: the widest sensible and the next smaller ones */
	bool narrow;	       /* all smaller ones are tried */
	uint32_t widest;       /* bits of a cut */
	uint32_t stride;       /* from a shift that is tried to the next */
	float *rest;	       /* expected cost of a list of so many boxes, in steps */
	struct sn_step *steps; /* children of a cut */
	int32_t *part;	       /* of the traffic of a box that goes to i + 1 children */
	uint32_t *low;	       /* bounds of a node's boxes in one column */
	uint32_t *high;
};

bool sn_cutter_init(struct sn_cutter *cutter, const struct sn_boxes *boxes);
void sn_cutter_free(struct sn_cutter *cutter);

/* The best cut that takes no more memory than the budget, in boxes. Width 0: a leaf is better than any. */
struct sn_node_cut sn_cut_choose(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, float budget,
				 const struct sn_used *used);

/* Whether a cut that was chosen for another list serves this one about as well. Far sooner known than the
 * best is found. */
bool sn_cut_serves(struct sn_cutter *cutter, const uint32_t *list, uint32_t n, float budget,
		   struct sn_node_cut cut);

/* The children with a part of low..high: from..to, modulo their number. Children may get more than they need.
 */
static inline void sn_cut_by_range(uint32_t low, uint32_t high, uint32_t shift, uint32_t mask, uint32_t *from,
				   uint32_t *to)
{
	uint32_t first = low >> shift;
	uint32_t last = high >> shift;
	bool all = last - first >= mask;

	*from = all ? 0 : first & mask;
	*to = all ? mask : last & mask;
}

/* The children that a box goes to: from..to, modulo their number. */
static inline void sn_cut_children(const struct sn_boxes *boxes, struct sn_node_cut cut, uint32_t box,
				   uint32_t *from, uint32_t *to)
{
	if (cut.column < boxes->n_ranges) {
		sn_cut_by_range(boxes->low[cut.column][box], boxes->high[cut.column][box], cut.shift,
				(1u << cut.width) - 1, from, to);
	} else { /* one bit: boxes that require it go to child 1 only */
		*from = boxes->mask[cut.column - boxes->n_ranges][box] >> cut.shift & 1;
		*to = 1;
	}
}

#endif /* SN_TABLE_CUT_H */
