/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TABLE_IMPL_H
#define SN_TABLE_IMPL_H

/* Declarations that the files of the classifier share; nobody else includes this. */

#include "sn_error.h"
#include "sn_table.h"

#include <stdbool.h>

/* A key is read as 32-bit words: the dimensions, then the bits. */
typedef uint32_t __attribute__((may_alias)) sn_word;

#define SN_MASKS_MAX	   (2 * SN_TABLE_WORDS_MAX)
#define SN_FIRST_MASK_WORD (offsetof(struct sn_key, bits) / sizeof(sn_word))

_Static_assert(sizeof(struct sn_key) == 4 * 16, "four bits number a key's words");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bits are read as 32-bit words");

/*
 * The boxes in normal form: only columns that tell boxes apart, only boxes
 * before the first one that takes everything within the hull.
 */
struct sn_boxes {
	uint32_t n;
	uint32_t n_ranges;
	uint32_t n_masks;
	uint32_t rare;					/* as in the specification */
	uint32_t addresses;				/* bit mask over ranges */
	uint8_t word[SN_TABLE_DIMS_MAX + SN_MASKS_MAX]; /* of the key: ranges first, then masks */
	uint32_t *low[SN_TABLE_DIMS_MAX];
	uint32_t *high[SN_TABLE_DIMS_MAX];
	uint32_t *mask[SN_MASKS_MAX];
	uint32_t *classes; /* n + 1: the last one is for keys that no box holds */
};

/* The best instructions that a look-up may use. */
enum sn_isa {
	SN_ISA_BASE,
	SN_ISA_AVX2,
	SN_ISA_AVX512,
};

enum sn_isa sn_isa_best(void);

/* As sn_table_create, with instructions chosen by the caller (tests). */
struct sn_table *sn_table_create_isa(const struct sn_table_spec *spec, enum sn_isa isa, struct sn_error *err);

/* A list of boxes, or a few trees of them: see sn_table_tree.c and sn_table_trees.c. */
struct sn_tree;
/* like: a tree whose cuts are taken over where they still serve, or NULL. */
struct sn_tree *sn_tree_create(const struct sn_boxes *boxes, const struct sn_tree *like, enum sn_isa isa,
			       struct sn_error *err);
void sn_tree_free(struct sn_tree *tree);
bool sn_tree_is_list(const struct sn_tree *tree);
bool sn_tree_has_nodes(const struct sn_tree *tree);
size_t sn_tree_size(const struct sn_tree *tree);
float sn_tree_steps(const struct sn_tree *tree);
uint32_t sn_tree_longest(const struct sn_tree *tree);
void sn_tree_lookup(const struct sn_tree *tree, const struct sn_key *keys, uint32_t *classes, unsigned int n);

/* One dimension: see sn_table_lpm.c. */
struct sn_lpm;
struct sn_lpm *sn_lpm_create(const struct sn_boxes *boxes, struct sn_error *err);
void sn_lpm_free(struct sn_lpm *lpm);
size_t sn_lpm_size(const struct sn_lpm *lpm);
void sn_lpm_lookup(const struct sn_lpm *lpm, const struct sn_key *keys, uint32_t *classes, unsigned int n);

/* A trie that is shared with other tables, and classes of its numbers: see sn_table_fib.c. */
struct sn_view;
struct sn_view *sn_view_create(struct sn_trie *trie, const uint32_t *classes, size_t n);
void sn_view_free(struct sn_view *view);
size_t sn_view_size(const struct sn_view *view);
void sn_view_lookup(const struct sn_view *view, const struct sn_key *keys, uint32_t *classes, unsigned int n);

#endif /* SN_TABLE_IMPL_H */
