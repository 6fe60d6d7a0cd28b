/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One tree or several. Boxes that are wide in one address multiply in a tree
 * that cuts by it. A few of them use up the budget of copies, and leave all
 * other boxes in long lists. Then three trees serve better: of the boxes that are
 * narrow in one address, of those only narrow in the other, and of the rest. Many boxes of
 * the rest may be narrow in a port: they multiply with those of any port, and four
 * trees serve better still.
 *
 * Where many boxes are narrow in one address alone, and many in the other, one tree is
 * no use. Else counting does not tell which is better, but the trees do: both
 * are made, and the one is kept in which walks are shorter. Others are not made
 * if they could not be better.
 */

#include "sn_table_tree.h"

#include <stdlib.h>
#include <string.h>

#define MANY	8u    /* 1 in so many boxes */
#define SOME	64u   /* boxes that are worth a tree of their own */
#define FURTHER 3.0f  /* what a further tree costs beside its walk, in steps */
#define FEW	8.0f  /* steps that several trees do not better */
#define LONG	64u   /* steps up to which the longest walk does not matter */
#define WORSE	1.1f  /* how much longer walks may be than when the division was chosen */
#define SAMPLE	1024u /* boxes whose keys are tried */

/* The ways in which boxes may be divided. Not to divide them is not possible if that is worse for sure. */
struct divisions {
	struct sn_division by[SN_DIVISIONS];
	bool possible[SN_DIVISIONS];
};

static void divide_by_address(const struct sn_boxes *boxes, const uint32_t columns[2],
			      struct divisions *divisions)
{
	uint32_t only[2] = {0};

	for (uint32_t i = 0; i < boxes->n; i++) {
		bool wide[2] = {sn_is_wide(boxes, columns[0], i), sn_is_wide(boxes, columns[1], i)};

		only[0] += wide[1] && !wide[0];
		only[1] += wide[0] && !wide[1];
	}
	divisions->by[SN_BY_ADDRESS] = (struct sn_division){
		.kind = SN_BY_ADDRESS,
		.addresses = {columns[only[0] < only[1]], columns[only[0] >= only[1]]},
	};
	divisions->possible[SN_BY_ADDRESS] = only[0] + only[1] > 0;
	divisions->possible[SN_NOT_DIVIDED] = only[0] <= boxes->n / MANY || only[1] <= boxes->n / MANY;
}

/* By the field in which most boxes are narrow, or most are not, of those that are wide in both addresses. */
static void divide_by_port(const struct sn_boxes *boxes, struct divisions *divisions)
{
	const struct sn_division *by_address = &divisions->by[SN_BY_ADDRESS];
	struct sn_division *division = &divisions->by[SN_BY_PORT];
	uint32_t most = 0;

	*division = *by_address;
	division->kind = SN_BY_PORT;
	for (uint32_t c = 0; c < boxes->n_ranges; c++) {
		uint32_t n[2] = {0};

		for (uint32_t i = 0; i < boxes->n; i++) {
			if (sn_division_tree(by_address, boxes, i) == 2)
				n[sn_is_narrow(boxes, c, i)]++;
		}
		if (n[0] > most && n[1] > most) {
			most = n[0] < n[1] ? n[0] : n[1];
			division->port = c;
		}
	}
	divisions->possible[SN_BY_PORT] = divisions->possible[SN_BY_ADDRESS] && most >= SOME;
}

static void divide(const struct sn_boxes *boxes, struct divisions *divisions)
{
	uint32_t n_columns = 0, columns[2];

	*divisions = (struct divisions){.possible = {true}};
	for (uint32_t c = 0; c < boxes->n_ranges && n_columns < 2; c++) {
		if (boxes->addresses >> c & 1)
			columns[n_columns++] = c;
	}
	if (n_columns < 2)
		return;
	divide_by_address(boxes, columns, divisions);
	divide_by_port(boxes, divisions);
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

/* The longest walk from an entry on. Children beside each other that are the same are one. */
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
	tree->steps = tree->chosen_steps = average_steps(tree, boxes);
	for (uint32_t r = 0; r < tree->n_roots; r++)
		tree->longest += longest_from(tree, tree->roots[r]);
	tree->chosen_longest = tree->longest;
	return tree;
}

/* The tree itself, or with another division if walks are shorter then: on average, or of four trees the
 * longest one. */
static struct sn_tree *better(struct sn_tree *tree, const struct sn_boxes *boxes,
			      const struct sn_division *other, enum sn_isa isa)
{
	struct sn_tree *second = make(boxes, other, NULL, isa, NULL);
	bool is_better = second != NULL && (other->kind == SN_BY_PORT ? second->longest < tree->longest
								      : second->steps < tree->steps);

	sn_tree_free(is_better ? tree : second);
	return is_better ? second : tree;
}

/* Whether the trees are as good as those that they are like were when these were chosen. */
static bool is_as_good(const struct sn_tree *tree, const struct sn_tree *like)
{
	float longest = WORSE * (float)like->chosen_longest;

	return tree->kind == like->kind && tree->steps <= WORSE * like->chosen_steps &&
	       (tree->longest <= LONG || (float)tree->longest <= longest);
}

static struct sn_tree *choose(const struct sn_boxes *boxes, const struct sn_tree *like, enum sn_isa isa,
			      struct sn_error *err)
{
	struct divisions divisions;
	enum sn_division_kind first;
	struct sn_tree *tree;

	divide(boxes, &divisions);
	first = divisions.possible[SN_NOT_DIVIDED] ? SN_NOT_DIVIDED : SN_BY_ADDRESS;
	if (like != NULL && divisions.possible[like->kind])
		first = like->kind;
	tree = make(boxes, &divisions.by[first], like, isa, err);
	if (tree == NULL)
		return NULL;
	if (like != NULL && is_as_good(tree, like)) {
		tree->chosen_steps = like->chosen_steps;
		tree->chosen_longest = like->chosen_longest;
		return tree;
	}
	for (uint32_t kind = 0; kind < SN_DIVISIONS; kind++) {
		bool could = kind == SN_BY_PORT ? tree->longest > LONG : tree->steps > FEW;

		if (kind != first && divisions.possible[kind] && could)
			tree = better(tree, boxes, &divisions.by[kind], isa);
	}
	return tree;
}

/* Boxes that are looked up seldom are divided coarsely, unless that makes long walks. */
struct sn_tree *sn_tree_create(const struct sn_boxes *boxes, const struct sn_tree *like, enum sn_isa isa,
			       struct sn_error *err)
{
	struct sn_boxes divided = *boxes;
	struct sn_tree *tree, *finer;

	divided.rare = boxes->rare && (like == NULL || !like->finer);
	tree = choose(&divided, like, isa, err);
	if (tree == NULL)
		return NULL;
	tree->finer = boxes->rare && !divided.rare;
	if (!divided.rare || tree->longest <= LONG)
		return tree;
	divided.rare = false;
	finer = choose(&divided, NULL, isa, NULL);
	if (finer == NULL)
		return tree;
	finer->finer = true;
	sn_tree_free(tree);
	return finer;
}

float sn_tree_steps(const struct sn_tree *tree)
{
	return tree->steps;
}

uint32_t sn_tree_longest(const struct sn_tree *tree)
{
	return tree->longest;
}
