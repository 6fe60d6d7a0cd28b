/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_MEMO_H
#define SN_MEMO_H

/*
 * A worker's exact memory of the classes that were found for plain frames, by the fields that were
 * read. Where the same headers come again, a look-up reads one line instead of walking tables. The memo
 * measures that: it grows where more headers recur than it has room for, and while headers hardly recur it is
 * not asked, but for a trial now and then.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_classifier.h"

struct sn_memo;

/* A source of classes, or of other numbers, of plain frames. */
struct sn_memo_source {
	/* As sn_classifier_lookup_plain(). */
	void (*look_up)(const void *of, const uint8_t *const *frames, uint32_t *classes, unsigned int n);
	const void *of;
	uint16_t reads; /* bit per field: enum sn_field */
	bool slow;	/* it takes so long that a memo may be faster */
};

struct sn_memo_source sn_memo_source_of(const struct sn_classifier *c);

/* Whether a memo may be faster, and the keys fit into one. */
bool sn_memo_is_use(const struct sn_memo_source *source);

/* For what the source leads to, which must stay as long, as must the atoms. NULL without memory. Numbers of
 * more than 16 bits are not remembered. */
struct sn_memo *sn_memo_create(const struct sn_memo_source *source, const struct sn_atoms *atoms);
void sn_memo_free(struct sn_memo *memo);

/* As the source says. */
void sn_memo_lookup(struct sn_memo *memo, const uint8_t *const *frames, uint32_t *classes, unsigned int n);

/* Whether it is asked at present. */
bool sn_memo_is_on(const struct sn_memo *memo);

/* Bytes that it takes at present. */
size_t sn_memo_size(const struct sn_memo *memo);

#endif /* SN_MEMO_H */
