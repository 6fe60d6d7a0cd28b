/* SPDX-License-Identifier: Apache-2.0 */

/* Look-up in trees of boxes: all keys go down level by level, then the leaves are compared. */

#include "sn_table_tree.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BULK_MAX 64u
#define LINE	 16u /* cells of a cache line */
#define AHEAD	 6u  /* leaves between prefetch and use */

#define always_inline static inline __attribute__((always_inline))

/* The columns of a tree. Common numbers of them, and of the words that they read, are constants in the code.
 */
struct shape {
	uint32_t n_ranges;
	uint32_t n_masks;
	const uint8_t *word;
};

always_inline uint32_t cells_of(struct shape shape)
{
	return (SN_GROUP * (2 * shape.n_ranges + shape.n_masks + 1) + LINE - 1) / LINE * LINE;
}

always_inline const uint32_t *group_of(const struct sn_tree *tree, uint64_t leaf)
{
	return (const uint32_t *)&tree->memory[sn_entry_base(leaf)];
}

/* Which bits of a key's word choose the child: value >> shift, as many as the cut's width; of a leaf none. */
typedef uint32_t bits_fn(uint64_t entry, uint32_t value);

/* Where the child is, or a leaf's first group. */
always_inline uint32_t next_of(uint64_t entry, const struct sn_key *key, bits_fn *bits)
{
	const sn_word *words = (const sn_word *)key;

	return sn_entry_base(entry) + bits(entry, words[sn_entry_word(entry)]);
}

/* The keys that are still at a node stay in `active`; a step is: read the entry, prefetch what comes next. */
always_inline void find_leaves(const struct sn_tree *tree, uint64_t root, const struct sn_key *keys,
			       uint64_t *leaves, unsigned int n, bits_fn *bits)
{
	const uint64_t *memory = tree->memory;
	uint32_t next[BULK_MAX];
	uint8_t active[BULK_MAX];
	unsigned int n_active = 0;

	if (!(root & SN_ENTRY_NODE)) {
		for (unsigned int i = 0; i < n; i++)
			leaves[i] = root;
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		next[i] = next_of(root, &keys[i], bits);
		__builtin_prefetch(&memory[next[i]]);
		active[n_active++] = (uint8_t)i;
	}
	while (n_active > 0) {
		unsigned int n_left = 0;

		for (unsigned int a = 0; a < n_active; a++) {
			unsigned int i = active[a];
			uint64_t entry = memory[next[i]];
			uint32_t after = next_of(entry, &keys[i], bits);

			__builtin_prefetch(&memory[after]);
			leaves[i] = entry;
			next[i] = after;
			active[n_left] = (uint8_t)i;
			n_left += entry >> 63;
		}
		n_active = n_left;
	}
}

/* All lines of a group but the first, which find_leaves has asked for. */
always_inline void prefetch_group(const struct sn_tree *tree, uint64_t leaf, uint32_t group_cells)
{
	const uint32_t *group = group_of(tree, leaf);

	for (uint32_t cell = LINE; cell < group_cells; cell += LINE)
		__builtin_prefetch(group + cell);
}

/* Which boxes of a group hold the key: one bit each. */
typedef uint32_t match_fn(struct shape shape, const sn_word *key, const uint32_t *group);

/*
 * Compares the leaves a group at a time: keys that found nothing yet stay in
 * `active` if a group is left that could better the position known from other
 * trees. As in find_leaves there is no branch on what a single key finds.
 */
always_inline void match_leaves(const struct sn_tree *tree, const struct sn_key *keys, uint64_t *leaves,
				uint32_t *positions, unsigned int n, struct shape shape, match_fn *match)
{
	uint32_t positions_at = SN_GROUP * (2 * shape.n_ranges + shape.n_masks);
	uint32_t cells = cells_of(shape);
	unsigned int n_active = n;
	uint8_t active[BULK_MAX];

	for (unsigned int i = 0; i < n; i++)
		active[i] = (uint8_t)i;
	for (unsigned int i = 0; i < n && i < AHEAD; i++)
		prefetch_group(tree, leaves[i], cells);
	for (bool first = true; n_active > 0; first = false) {
		unsigned int n_left = 0;

		for (unsigned int a = 0; a < n_active; a++) {
			unsigned int i = active[a];
			const uint32_t *group = group_of(tree, leaves[i]);
			const uint32_t *at = group + positions_at;
			uint32_t known = positions[i];
			uint32_t hits, found;

			if (first && a + AHEAD < n)
				prefetch_group(tree, leaves[a + AHEAD], cells);
			hits = match(shape, (const sn_word *)&keys[i], group);
			found = at[__builtin_ctz(hits | 1u << (SN_GROUP - 1))] | -(uint32_t)(hits == 0);
			positions[i] = found < known ? found : known;
			leaves[i] = sn_entry_next(leaves[i], cells);
			active[n_left] = (uint8_t)i;
			n_left += (hits == 0) & (sn_entry_groups(leaves[i]) > 0) & (at[SN_GROUP - 1] < known);
		}
		n_active = n_left;
	}
}

/* A table of one group: nothing to walk, nothing to fetch. */
always_inline bool look_up_group(const struct sn_tree *tree, const struct sn_key *keys, uint32_t *classes,
				 unsigned int n, struct shape shape, match_fn *match)
{
	const uint32_t *group = group_of(tree, tree->roots[0]);
	uint32_t found[SN_GROUP + 1];

	if (tree->n_roots != 1 || tree->roots[0] & SN_ENTRY_NODE || sn_entry_groups(tree->roots[0]) != 1)
		return false;
	for (uint32_t b = 0; b < SN_GROUP; b++)
		found[b] = tree->classes[group[SN_GROUP * (2 * shape.n_ranges + shape.n_masks) + b]];
	found[SN_GROUP] = tree->classes[tree->n_boxes];
	for (unsigned int i = 0; i < n; i++)
		classes[i] =
			found[__builtin_ctz(match(shape, (const sn_word *)&keys[i], group) | 1u << SN_GROUP)];
	return true;
}

/* The least position over the trees, then its class. `match` is a constant: it is inlined. */
always_inline void look_up(const struct sn_tree *tree, const struct sn_key *keys, uint32_t *classes,
			   unsigned int n, struct shape shape, match_fn *match, bits_fn *bits)
{
	uint64_t leaves[BULK_MAX];

	if (look_up_group(tree, keys, classes, n, shape, match))
		return;
	for (unsigned int i = 0; i < n; i++)
		classes[i] = tree->n_boxes;
	for (uint32_t r = 0; r < tree->n_roots; r++) {
		find_leaves(tree, tree->roots[r], keys, leaves, n, bits);
		match_leaves(tree, keys, leaves, classes, n, shape, match);
	}
	for (unsigned int i = 0; i < n; i++)
		classes[i] = tree->classes[classes[i]];
}

/* Loops over columns are unrolled for firewalls, with and without source ports, and for routers. A firewall's
 * columns are nearly always the first words of keys. */
always_inline void look_up_shaped(const struct sn_tree *tree, const struct sn_key *keys, uint32_t *classes,
				  unsigned int n, match_fn *match, bits_fn *bits)
{
	static const uint8_t four[] = {0, 1, 2, 3, SN_FIRST_MASK_WORD},
			     three[] = {0, 1, 2, SN_FIRST_MASK_WORD};
	struct shape shape = {.n_ranges = tree->n_ranges, .n_masks = tree->n_masks, .word = tree->word};

	if (shape.n_masks == 1 && shape.n_ranges == 4 && memcmp(tree->word, four, sizeof(four)) == 0)
		look_up(tree, keys, classes, n, (struct shape){4, 1, four}, match, bits);
	else if (shape.n_masks == 1 && shape.n_ranges == 3 && memcmp(tree->word, three, sizeof(three)) == 0)
		look_up(tree, keys, classes, n, (struct shape){3, 1, three}, match, bits);
	else if (shape.n_masks == 0 && shape.n_ranges == 1)
		look_up(tree, keys, classes, n, (struct shape){1, 0, tree->word}, match, bits);
	else
		look_up(tree, keys, classes, n, shape, match, bits);
}

always_inline uint32_t bits_base(uint64_t entry, uint32_t value)
{
	return value >> sn_entry_shift(entry) & ((1u << sn_entry_width(entry)) - 1);
}

always_inline uint32_t match_base(struct shape shape, const sn_word *key, const uint32_t *group)
{
	uint32_t misses[SN_GROUP] = {0};
	uint32_t hits = 0;

	for (uint32_t c = 0; c < shape.n_ranges; c++, group += 2 * SN_GROUP) {
		uint32_t value = key[*shape.word++];

		for (uint32_t b = 0; b < SN_GROUP; b++)
			misses[b] |= value - group[b] > group[SN_GROUP + b];
	}
	for (uint32_t c = 0; c < shape.n_masks; c++, group += SN_GROUP) {
		uint32_t lacks = ~key[*shape.word++];

		for (uint32_t b = 0; b < SN_GROUP; b++)
			misses[b] |= group[b] & lacks;
	}
	for (uint32_t b = 0; b < SN_GROUP; b++)
		hits |= (uint32_t)(misses[b] == 0) << b;
	return hits;
}

#if defined(__x86_64__)

#define target_avx2   __attribute__((target("avx2,bmi,bmi2")))
#define target_avx512 __attribute__((target("avx512f,avx512vl,avx2,bmi,bmi2")))

/* An entry has shift and width where this instruction wants them. */
always_inline __attribute__((target("bmi"))) uint32_t bits_bmi(uint64_t entry, uint32_t value)
{
	return __bextr_u32(value, (uint32_t)(entry >> 32));
}

always_inline target_avx2 uint32_t match_avx2(struct shape shape, const sn_word *key, const uint32_t *group)
{
	__m256i hits = _mm256_set1_epi32(-1);

	for (uint32_t c = 0; c < shape.n_ranges; c++, group += 2 * SN_GROUP) {
		__m256i above = _mm256_sub_epi32(_mm256_set1_epi32((int)key[*shape.word++]),
						 _mm256_load_si256((const __m256i *)group));
		__m256i span = _mm256_load_si256((const __m256i *)(group + SN_GROUP));

		hits = _mm256_and_si256(hits, _mm256_cmpeq_epi32(_mm256_min_epu32(above, span), above));
	}
	for (uint32_t c = 0; c < shape.n_masks; c++, group += SN_GROUP) {
		__m256i value = _mm256_set1_epi32((int)key[*shape.word++]);
		__m256i mask = _mm256_load_si256((const __m256i *)group);

		mask = _mm256_cmpeq_epi32(_mm256_andnot_si256(value, mask), _mm256_setzero_si256());
		hits = _mm256_and_si256(hits, mask);
	}
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(hits));
}

always_inline target_avx512 uint32_t match_avx512(struct shape shape, const sn_word *key,
						  const uint32_t *group)
{
	__mmask8 hits = 0xff;

	for (uint32_t c = 0; c < shape.n_ranges; c++, group += 2 * SN_GROUP) {
		__m256i above = _mm256_sub_epi32(_mm256_set1_epi32((int)key[*shape.word++]),
						 _mm256_load_si256((const __m256i *)group));

		hits = _mm256_mask_cmple_epu32_mask(hits, above,
						    _mm256_load_si256((const __m256i *)(group + SN_GROUP)));
	}
	for (uint32_t c = 0; c < shape.n_masks; c++, group += SN_GROUP) {
		__m256i lacks = _mm256_set1_epi32((int)~key[*shape.word++]);

		hits = _mm256_mask_testn_epi32_mask(hits, lacks, _mm256_load_si256((const __m256i *)group));
	}
	return hits;
}

target_avx2 static void look_up_avx2(const struct sn_tree *tree, const struct sn_key *keys, uint32_t *classes,
				     unsigned int n)
{
	look_up_shaped(tree, keys, classes, n, match_avx2, bits_bmi);
}

target_avx512 static void look_up_avx512(const struct sn_tree *tree, const struct sn_key *keys,
					 uint32_t *classes, unsigned int n)
{
	look_up_shaped(tree, keys, classes, n, match_avx512, bits_bmi);
}

#endif

void sn_tree_lookup(const struct sn_tree *tree, const struct sn_key *keys, uint32_t *classes, unsigned int n)
{
	switch (tree->isa) {
#if defined(__x86_64__)
	case SN_ISA_AVX512:
		look_up_avx512(tree, keys, classes, n);
		break;
	case SN_ISA_AVX2:
		look_up_avx2(tree, keys, classes, n);
		break;
#endif
	default:
		look_up_shaped(tree, keys, classes, n, match_base, bits_base);
	}
}
