/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TABLE_SETS_H
#define TABLE_SETS_H

/* Tables and keys for the classifier's tests and benchmark. */

#include "sn_table.h"

#include <stdbool.h>

/* Dimensions of ClassBench tables; ports have the value 65536 where a packet has none. */
enum { SET_SRC, SET_DST, SET_SPORT, SET_DPORT, SET_DIMS };

struct set {
	struct sn_table_spec spec;
	uint32_t room;
	uint32_t *bounds;
	uint64_t *required;
	uint32_t *classes;
};

/* splitmix64 */
uint64_t set_random(uint64_t *state);

void set_init(struct set *set, uint32_t n_dims, uint32_t n_words, uint32_t address_dims);
void set_free(struct set *set);

/* Appends a box with class = its position; bounds and required are copied (NULL: none required). */
void set_add(struct set *set, const uint32_t *bounds, const uint64_t *required);

/* A ClassBench file, and a last box that takes everything. False if the file cannot be read. */
bool set_read_classbench(struct set *set, const char *path);

/* n rules in the style of ClassBench, with shared addresses and hosts, subnets and wildcards; as above a last
 * box. */
void set_make_classbench(struct set *set, uint32_t n, unsigned int wildcards_percent, uint64_t *state);

/* A key in a box: anywhere, or at its bounds or just beyond them. */
void set_key_within(const struct set *set, uint32_t box, struct sn_key *key, uint64_t *state);
void set_key_at_bounds(const struct set *set, uint32_t box, struct sn_key *key, uint64_t *state);

/* The obviously right look-up. */
uint32_t set_first_match(const struct set *set, const struct sn_key *key);

#endif /* TABLE_SETS_H */
