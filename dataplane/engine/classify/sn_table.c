/* SPDX-License-Identifier: Apache-2.0 */

#include "sn_table_impl.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX  16		   /* boxes that are compared one after the other, whatever they are */
#define FAST_MAX  (1u << 20)	   /* bytes of a trie that caches hold */
#define CLASS_MAX (INT32_MAX - 1u) /* one bit is the trie's, one value is "none" */

/* The least box that holds all boxes, in one dimension: keys outside match nothing. */
struct hull {
	uint32_t dim;
	uint32_t low;
	uint32_t span; /* high - low */
};

struct sn_table {
	struct sn_tree *tree; /* one of tree, lpm, view; none: every key has the class `last` */
	struct sn_lpm *lpm;
	struct sn_view *view;
	uint32_t last;
	uint32_t n_hulls;
	struct hull hulls[SN_TABLE_DIMS_MAX]; /* of dimensions where it is not everything */
};

enum sn_isa sn_isa_best(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("bmi2"))
		return SN_ISA_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return SN_ISA_AVX2;
#endif
	return SN_ISA_BASE;
}

static bool spec_is_valid(const struct sn_table_spec *spec, struct sn_error *err)
{
	if (spec->n_dims > SN_TABLE_DIMS_MAX) {
		sn_fail(err, "table has %u dimensions, at most %u are possible", spec->n_dims,
			SN_TABLE_DIMS_MAX);
		return false;
	}
	if (spec->n_words > SN_TABLE_WORDS_MAX) {
		sn_fail(err, "table has %u words of bits, at most %u are possible", spec->n_words,
			SN_TABLE_WORDS_MAX);
		return false;
	}
	for (size_t i = 0; i < spec->n_boxes; i++) {
		for (uint32_t d = 0; d < spec->n_dims; d++) {
			const uint32_t *range = &spec->bounds[2 * (i * spec->n_dims + d)];

			if (range[0] > range[1]) {
				sn_fail(err, "box %zu, dimension %u: range %u..%u is reversed", i, d,
					range[0], range[1]);
				return false;
			}
		}
		if (spec->classes[i] > CLASS_MAX) {
			sn_fail(err, "box %zu: class %u is too large, at most %u is possible", i,
				spec->classes[i], CLASS_MAX);
			return false;
		}
	}
	return true;
}

static void find_hull(const struct sn_table_spec *spec, uint32_t dim, struct hull *hull)
{
	uint32_t low = UINT32_MAX;
	uint32_t high = 0;

	for (size_t i = 0; i < spec->n_boxes; i++) {
		const uint32_t *range = spec->bounds + 2 * (i * spec->n_dims + dim);

		if (range[0] < low)
			low = range[0];
		if (range[1] > high)
			high = range[1];
	}
	*hull = (struct hull){.dim = dim, .low = low, .span = high - low};
}

/* Does box i hold every key within the hull? */
static bool takes_all(const struct sn_table_spec *spec, const struct hull *hulls, size_t i)
{
	for (uint32_t d = 0; d < spec->n_dims; d++) {
		const uint32_t *range = spec->bounds + 2 * (i * spec->n_dims + d);

		if (range[0] != hulls[d].low || range[1] != hulls[d].low + hulls[d].span)
			return false;
	}
	for (uint32_t w = 0; w < spec->n_words; w++) {
		if (spec->required[i * spec->n_words + w] != 0)
			return false;
	}
	return true;
}

static void boxes_free(struct sn_boxes *boxes)
{
	for (uint32_t c = 0; c < boxes->n_ranges; c++) {
		free(boxes->low[c]);
		free(boxes->high[c]);
	}
	for (uint32_t c = 0; c < boxes->n_masks; c++)
		free(boxes->mask[c]);
	free(boxes->classes);
}

static bool add_range(struct sn_boxes *boxes, const struct sn_table_spec *spec, const struct hull *hull)
{
	uint32_t c = boxes->n_ranges;
	bool differs = false;

	boxes->low[c] = malloc((boxes->n + 1) * sizeof(uint32_t));
	boxes->high[c] = malloc((boxes->n + 1) * sizeof(uint32_t));
	boxes->n_ranges++;
	if (boxes->low[c] == NULL || boxes->high[c] == NULL)
		return false;
	for (size_t i = 0; i < boxes->n; i++) {
		const uint32_t *range = spec->bounds + 2 * (i * spec->n_dims + hull->dim);

		boxes->low[c][i] = range[0];
		boxes->high[c][i] = range[1];
		differs |= range[0] != hull->low || range[1] != hull->low + hull->span;
	}
	boxes->word[c] = hull->dim;
	if (differs) {
		boxes->addresses |= (spec->address_dims >> hull->dim & 1) << c;
	} else {
		free(boxes->low[c]);
		free(boxes->high[c]);
		boxes->n_ranges--;
	}
	return true;
}

static bool add_mask(struct sn_boxes *boxes, const struct sn_table_spec *spec, uint32_t half)
{
	uint32_t c = boxes->n_masks;
	uint32_t any = 0;

	boxes->mask[c] = malloc((boxes->n + 1) * sizeof(uint32_t));
	if (boxes->mask[c] == NULL)
		return false;
	for (size_t i = 0; i < boxes->n; i++) {
		boxes->mask[c][i] = spec->required[i * spec->n_words + half / 2] >> (half % 2 * 32);
		any |= boxes->mask[c][i];
	}
	if (any != 0) {
		boxes->word[boxes->n_ranges + c] = SN_FIRST_MASK_WORD + half;
		boxes->n_masks++;
	} else {
		free(boxes->mask[c]);
	}
	return true;
}

static bool boxes_read(struct sn_boxes *boxes, const struct sn_table_spec *spec, const struct hull *hulls)
{
	while (boxes->n < spec->n_boxes && !takes_all(spec, hulls, boxes->n))
		boxes->n++;
	boxes->classes = malloc((boxes->n + 1) * sizeof(uint32_t));
	if (boxes->classes == NULL)
		return false;
	if (boxes->n > 0)
		memcpy(boxes->classes, spec->classes, boxes->n * sizeof(uint32_t));
	boxes->classes[boxes->n] = boxes->n < spec->n_boxes ? spec->classes[boxes->n] : SN_TABLE_NONE;
	for (uint32_t d = 0; d < spec->n_dims; d++) {
		if (!add_range(boxes, spec, &hulls[d]))
			return false;
	}
	for (uint32_t half = 0; half < 2 * spec->n_words; half++) {
		if (!add_mask(boxes, spec, half))
			return false;
	}
	return true;
}

static bool choose(struct sn_table *table, const struct sn_boxes *boxes, const struct sn_table *like,
		   enum sn_isa isa, struct sn_error *err)
{
	table->last = boxes->classes[boxes->n];
	if (boxes->n == 0)
		return true;
	if (boxes->n > LIST_MAX && boxes->n_ranges == 1 && boxes->n_masks == 0) {
		table->lpm = sn_lpm_create(boxes, err);
		return table->lpm != NULL;
	}
	table->tree = sn_tree_create(boxes, like ? like->tree : NULL, isa, err);
	return table->tree != NULL;
}

struct sn_table *sn_table_create_isa(const struct sn_table_spec *spec, enum sn_isa isa, struct sn_error *err)
{
	struct hull hulls[SN_TABLE_DIMS_MAX];
	struct sn_boxes boxes = {.rare = spec->rare};
	struct sn_table *table;
	bool done;

	if (!spec_is_valid(spec, err))
		return NULL;
	table = calloc(1, sizeof(*table));
	if (table == NULL) {
		sn_fail(err, "no memory for a table of %u boxes", spec->n_boxes);
		return NULL;
	}
	table->last = SN_TABLE_NONE;
	if (spec->n_boxes == 0)
		return table;

	for (uint32_t d = 0; d < spec->n_dims; d++) {
		find_hull(spec, d, &hulls[d]);
		if (hulls[d].span != UINT32_MAX && !spec->whole)
			table->hulls[table->n_hulls++] = hulls[d];
	}
	sn_fail(err, "no memory for a table of %u boxes", spec->n_boxes);
	done = boxes_read(&boxes, spec, hulls) && choose(table, &boxes, spec->like, isa, err);
	boxes_free(&boxes);
	if (!done) {
		sn_table_free(table);
		return NULL;
	}
	if (err != NULL)
		err->text[0] = '\0';
	return table;
}

struct sn_table *sn_table_create(const struct sn_table_spec *spec, struct sn_error *err)
{
	return sn_table_create_isa(spec, sn_isa_best(), err);
}

struct sn_table *sn_table_create_fib(struct sn_trie *trie, const uint32_t *classes, size_t n)
{
	struct sn_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->last = SN_TABLE_NONE;
	table->view = sn_view_create(trie, classes, n);
	if (table->view != NULL)
		return table;
	free(table);
	return NULL;
}

void sn_table_free(struct sn_table *table)
{
	if (table == NULL)
		return;
	sn_tree_free(table->tree);
	sn_lpm_free(table->lpm);
	sn_view_free(table->view);
	free(table);
}

void sn_table_lookup(const struct sn_table *table, const struct sn_key *keys, uint32_t *classes,
		     unsigned int n)
{
	if (table->tree != NULL) {
		sn_tree_lookup(table->tree, keys, classes, n);
	} else if (table->lpm != NULL) {
		sn_lpm_lookup(table->lpm, keys, classes, n);
	} else if (table->view != NULL) {
		sn_view_lookup(table->view, keys, classes, n);
	} else {
		for (unsigned int i = 0; i < n; i++)
			classes[i] = table->last;
	}
	for (uint32_t h = 0; h < table->n_hulls; h++) {
		struct hull hull = table->hulls[h];

		for (unsigned int i = 0; i < n; i++) {
			if (keys[i].dim[hull.dim] - hull.low > hull.span)
				classes[i] = SN_TABLE_NONE;
		}
	}
}

const char *sn_table_kind(const struct sn_table *table)
{
	if (table->lpm != NULL)
		return "lpm";
	if (table->view != NULL)
		return "fib";
	if (table->tree == NULL)
		return "constant";
	return sn_tree_is_list(table->tree) ? "linear" : "tree";
}

bool sn_table_is_slow(const struct sn_table *table)
{
	if (table->tree != NULL)
		return sn_tree_has_nodes(table->tree);
	if (table->view != NULL)
		return sn_view_size(table->view) > FAST_MAX;
	return table->lpm != NULL && sn_lpm_size(table->lpm) > FAST_MAX;
}

float sn_table_steps(const struct sn_table *table)
{
	return table->tree != NULL ? sn_tree_steps(table->tree) : 0;
}

uint32_t sn_table_longest(const struct sn_table *table)
{
	return table->tree != NULL ? sn_tree_longest(table->tree) : 0;
}

size_t sn_table_size(const struct sn_table *table)
{
	return sizeof(*table) + (table->tree ? sn_tree_size(table->tree) : 0) +
	       (table->lpm ? sn_lpm_size(table->lpm) : 0) + (table->view ? sn_view_size(table->view) : 0);
}
