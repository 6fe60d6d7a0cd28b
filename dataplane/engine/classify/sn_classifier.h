/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CLASSIFIER_H
#define SN_CLASSIFIER_H

/*
 * A segment's table with what turns packets into its keys: the fields that are
 * its dimensions, and per field in use the bits of every value, ready to be ORed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program.pb-c.h"
#include "sn_error.h"
#include "sn_field.h"
#include "sn_table.h"

struct sn_fib;
struct sn_pkt;

/*
 * The bits of a field's values: those of value v are words[v * n_words …]; of
 * addresses those of the last interval that starts at or before v.
 */
struct sn_bit_table {
	uint32_t field;
	uint32_t first_word;
	uint32_t n_words;
	uint32_t n_starts; /* addresses only */
	uint32_t *starts;
	uint64_t *words;
};

/*
 * How keys of plain frames, or of plain fragments, are made, all of whose dimensions lie in 16 bytes of the
 * frame: byte i of a key's dimensions is byte from[i] of those, 0 if that is SN_KEY_FIXED or more, and byte i
 * of `fixed` is added.
 */
struct sn_plain_keys {
	bool possible;
	uint8_t from[32];
	uint32_t fixed[8];
	uint64_t bits[SN_TABLE_WORDS_MAX]; /* of all fields that are the same in all such frames */
};

#define SN_KEY_FIXED 0x80

struct sn_classifier {
	struct sn_table *table; /* NULL: every packet is of the class `only` */
	uint32_t only;
	uint32_t n_dims;
	uint32_t n_words;
	uint32_t n_bits; /* tables in use */
	uint8_t dims[SN_TABLE_DIMS_MAX];
	uint16_t reads;				 /* bit per field: enum sn_field */
	struct sn_bit_table bits[SN_FIELDS + 1]; /* SN_ROUTE, too */
	const struct sn_fib *fib;		 /* of these; NULL: there are none */
	struct sn_plain_keys plain, fragments;
};

/*
 * Values of a field that no table tells apart share an atom, so that the decision
 * cache needs no more entries than there are decisions. VLANs are told apart: they have neighbours of their
 * own.
 */
/* A value of each atom that packets are likely to have. */
struct sn_typical {
	uint8_t dscp[64];
	uint8_t tcp_flags[256];
	uint8_t icmp_code[256];
};

struct sn_atoms {
	uint8_t dscp[64];
	uint8_t tcp_flags[256];
	uint8_t icmp_code[256];
	bool opening[256]; /* by an atom of TCP flags: it has some with which connections open */
	struct sn_typical typical;
};

/* fib: what SN_ROUTE is of, which lives as long as the classifier; NULL: the table does not read it. rare:
 * packets seldom come by it. like: see sn_table_spec; or NULL. Less than 0 on error, with a message in err
 * that begins with `at`; sn_classifier_free() in any case. */
int sn_classifier_init(struct sn_classifier *c, const Sinter__Program__V1__Table *msg, uint32_t n_classes,
		       const struct sn_fib *fib, bool rare, const struct sn_classifier *like, const char *at,
		       struct sn_error *err);
void sn_classifier_free(struct sn_classifier *c);

/*
 * Makes the classifier of a table that has been checked a trie, if it asks for destinations and their numbers
 * alone, and each number has one class but for a few ranges of destinations. Less than 0 on error, with a
 * message in err that begins with `at`; else c->table tells whether it is one.
 */
int sn_classifier_flatten(struct sn_classifier *c, const Sinter__Program__V1__Table *msg,
			  const struct sn_fib *fib, const char *at, struct sn_error *err);

/* Refine a field's atoms (n values, count so far in *count) by a table; 0 or -ENOMEM. */
int sn_atoms_refine(uint16_t *atoms, uint32_t n, uint32_t *count, const Sinter__Program__V1__Table *msg,
		    enum sn_field field);

/* Classes of the packets pkts[index[i]], i < n <= 64; SN_TABLE_NONE where no box holds it. */
void sn_classifier_lookup(const struct sn_classifier *c, const struct sn_pkt *pkts, const uint8_t *index,
			  uint32_t *classes, unsigned int n);

/* The same of plain frames; if the classifier's plain.possible. */
void sn_classifier_lookup_plain(const struct sn_classifier *c, const uint8_t *const *frames,
				uint32_t *classes, unsigned int n);

/* The same of plain fragments; if the classifier's fragments.possible. */
void sn_classifier_lookup_fragments(const struct sn_classifier *c, const uint8_t *const *frames,
				    uint32_t *classes, unsigned int n);

/* How both are done; once, when the rest of the classifier is made. */
void sn_plain_keys_init(struct sn_classifier *c);

/* The largest value of a field, "absent" included. */
uint32_t sn_field_max(enum sn_field field);
const char *sn_field_name(enum sn_field field);

#endif /* SN_CLASSIFIER_H */
