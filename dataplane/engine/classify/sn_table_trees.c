/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One tree or several. Boxes that are wide in one address multiply in a tree
 * that cuts by it. A few of them use up the budget of copies, and leave all
 * other boxes in long lists. Then three trees serve better: of the boxes that are
 * narrow in one address, of those only narrow in the other, and of the rest.
 *
 * Where many boxes are narrow in one address alone, and many in the other, that is
 * known at once. Else counting does not tell which is better, but the trees do: both
 * are made, and the one is kept in which walks are shorter. The second is not made
 * if it could not be better.
 */

#include "sn_table_tree.h"

#include <stdlib.h>
#include <string.h>

#define MANY	8u    /* 1 in so many boxes */
#define FURTHER 3.0f  /* what a further tree costs beside its walk, in steps */
#define FEW	8.0f  /* steps that several trees do not better */
#define WORSE	1.1f  /* how much longer walks may be than when the division was chosen */
#define SAMPLE	1024u /* boxes whose keys are tried */

/* Not divided if no boxes are narrow in one address alone. *surely: it is better than one tree. */
static struct sn_division divide(const struct sn_boxes *boxes, bool *surely)
{
	struct sn_division division = {0};
	uint32_t only[2] = {0};
	uint32_t n_columns = 0;
	uint32_t *columns = division.columns;

	for (uint32_t c = 0; c < boxes->n_ranges && n_columns < 2; c++) {
		if (boxes->addresses >> c & 1)
			columns[n_columns++] = c;
	}
	*surely = false;
	if (n_columns < 2)
		return division;
	for (uint32_t i = 0; i < boxes->n; i++) {
		bool wide[2] = {sn_is_wide(boxes, columns[0], i), sn_is_wide(boxes, columns[1], i)};

		only[0] += wide[1] && !wide[0];
		only[1] += wide[0] && !wide[1];
	}
	if (only[0] < only[1]) {
		uint32_t swap = columns[0];

		columns[0] = columns[1];
		columns[1] = swap;
	}
	division.divided = only[0] + only[1] > 0;
	*surely = only[0] > boxes->n / MANY && only[1] > boxes->n / MANY;
	return division;
}

/* splitmix64: the same trees on every machine. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void key_within(const struct sn_boxes *boxes, uint32_t box, sn_word *words, uint64_t *state)
{
	for (uint32_t c = 0; c < boxes->n_ranges; c++) {
		uint64_t n = (uint64_t)boxes->high[c][box] - boxes->low[c][box] + 1;

		words[boxes->word[c]] = boxes->low[c][box] + (uint32_t)(next_random(state) % n);
	}
	for (uint32_t c = 0; c < boxes->n_masks; c++)
		words[boxes->word[boxes->n_ranges + c]] = boxes->mask[c][box];
}

/* From a root to a leaf, and through all of its groups. */
static uint32_t steps_from(const struct sn_tree *tree, uint64_t entry, const sn_word *words)
{
	uint32_t steps = 0;

	for (; entry & SN_ENTRY_NODE; steps++) {
		uint32_t bits = words[sn_entry_word(entry)] >> sn_entry_shift(entry);

		entry = tree->memory[sn_entry_base(entry) + (bits & ((1u << sn_entry_width(entry)) - 1))];
	}
	return steps + sn_entry_groups(entry);
}

/* Keys are expected where the boxes are, evenly. */
static float average_steps(const struct sn_tree *tree, const struct sn_boxes *boxes)
{
	uint32_t n = boxes->n < SAMPLE ? boxes->n : SAMPLE;
	uint64_t state = 1, steps = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct sn_key key = {0};

		key_within(boxes, (uint32_t)((uint64_t)i * boxes->n / n), (sn_word *)&key, &state);
		for (uint32_t r = 0; r < tree->n_roots; r++)
			steps += steps_from(tree, tree->roots[r], (const sn_word *)&key);
	}
	return (float)steps / (float)n + FURTHER * (float)(tree->n_roots - 1);
}

/* Of walks from an entry on. Children beside each other that are the same are one. */
static uint32_t longest_from(const struct sn_tree *tree, uint64_t entry)
{
	const uint64_t *children = &tree->memory[sn_entry_base(entry)];
	uint32_t longest = 0;

	if (!(entry & SN_ENTRY_NODE))
		return sn_entry_groups(entry);
	for (uint32_t v = 0; v < 1u << sn_entry_width(entry); v++) {
		uint32_t steps =
			v > 0 && children[v] == children[v - 1] ? 0 : longest_from(tree, children[v]);

		longest = steps > longest ? steps : longest;
	}
	return longest + 1;
}

static struct sn_tree *make(const struct sn_boxes *boxes, const struct sn_division *division,
			    const struct sn_tree *like, enum sn_isa isa, struct sn_error *err)
{
	struct sn_tree *tree = sn_tree_build(boxes, division, like, isa, err);

	if (tree == NULL)
		return NULL;
	tree->steps = tree->chosen = average_steps(tree, boxes);
	for (uint32_t r = 0; r < tree->n_roots; r++)
		tree->longest += longest_from(tree, tree->roots[r]);
	return tree;
}

/* The tree itself, or with the other division if that is better. */
static struct sn_tree *better(struct sn_tree *tree, const struct sn_boxes *boxes,
			      const struct sn_division *other, enum sn_isa isa)
{
	struct sn_tree *second = make(boxes, other, NULL, isa, NULL);

	if (second == NULL || second->steps >= tree->steps) {
		sn_tree_free(second);
		return tree;
	}
	sn_tree_free(tree);
	return second;
}

struct sn_tree *sn_tree_create(const struct sn_boxes *boxes, const struct sn_tree *like, enum sn_isa isa,
			       struct sn_error *err)
{
	bool surely;
	struct sn_division one = {0}, several = divide(boxes, &surely);
	bool divided = surely || (like != NULL && like->divided && several.divided);
	struct sn_tree *tree = make(boxes, divided ? &several : &one, like, isa, err);

	if (tree == NULL || surely || !several.divided || tree->steps <= FEW)
		return tree;
	if (like != NULL && like->divided == divided && tree->steps <= WORSE * like->chosen) {
		tree->chosen = like->chosen;
		return tree;
	}
	return better(tree, boxes, divided ? &one : &several, isa);
}

float sn_tree_steps(const struct sn_tree *tree)
{
	return tree->steps;
}

uint32_t sn_tree_longest(const struct sn_tree *tree)
{
	return tree->longest;
}
