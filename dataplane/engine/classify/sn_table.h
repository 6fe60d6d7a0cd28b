/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TABLE_H
#define SN_TABLE_H

/*
 * An ordered list of boxes; the first box that holds the packet decides.
 * A box is a closed range per dimension and a set of required mask bits.
 * The classifier is chosen by the table's shape when it is built.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"

#define SN_TABLE_DIMS_MAX  6 /* src, dst, sport, dport, vlan, ttl */
#define SN_TABLE_WORDS_MAX 4 /* 256 required bits */
#define SN_TABLE_NONE	   UINT32_MAX

/* The input of a look-up: one value per dimension in the table's order, and the packet's bits. */
struct sn_key {
	uint32_t dim[SN_TABLE_DIMS_MAX];
	uint32_t unused[2]; /* a key has 16 words, so four bits never lead beyond it */
	uint64_t bits[SN_TABLE_WORDS_MAX];
};

/* A table to be built: arrays as in the program's Table message. */
struct sn_table_spec {
	uint32_t n_boxes;
	uint32_t n_dims;
	uint32_t n_words;
	const uint32_t *bounds;	  /* box-major: low, high per dimension */
	const uint64_t *required; /* box-major: n_words per box */
	const uint32_t *classes;  /* per box */
	/* Which dimensions are 32-bit addresses (prefix shapes are looked for there). */
	uint32_t address_dims; /* bit mask over dimensions */
	/* Not 0: the last box holds every key that there is, so none needs to be compared with the least box
	 * that holds all boxes. */
	uint32_t whole;
	/* Not 0: looked up seldom, so how soon it is built matters more than how fast it is. */
	uint32_t rare;
	/* The table before, of nearly the same boxes, or NULL: how it divides them is taken over where that
	 * still serves, which is found much sooner than the best division. */
	const struct sn_table *like;
};

struct sn_table;
struct sn_trie;

/* A table of one dimension: the class of a key is that of its number in a trie. The table takes the trie
 * over, which is empty then, and copies the classes. NULL: no memory; the trie is as it was. */
struct sn_table *sn_table_create_fib(struct sn_trie *trie, const uint32_t *classes, size_t n);

/* NULL on error, with a message in err. Nothing is kept of spec. */
struct sn_table *sn_table_create(const struct sn_table_spec *spec, struct sn_error *err);
void sn_table_free(struct sn_table *table);

/* The class of the first box that holds keys[i], SN_TABLE_NONE if none does, for i < n (n <= 64). */
void sn_table_lookup(const struct sn_table *table, const struct sn_key *keys, uint32_t *classes,
		     unsigned int n);

/* Name of the classifier that was chosen: "linear", "lpm", "fib", "tree", … (for status and tests). */
const char *sn_table_kind(const struct sn_table *table);

/* Whether a look-up is a walk from line to line, that a bulk of keys hardly hides. */
bool sn_table_is_slow(const struct sn_table *table);

/* How many nodes and groups of boxes a look-up reads on average if keys are where the boxes are, and 3 for
 * each tree beside the first. 0: the table has no trees. */
float sn_table_steps(const struct sn_table *table);

/* How many it reads at most, whatever the key. 0: the table has no trees. */
uint32_t sn_table_longest(const struct sn_table *table);

/* Bytes that the table takes. */
size_t sn_table_size(const struct sn_table *table);

#endif /* SN_TABLE_H */
