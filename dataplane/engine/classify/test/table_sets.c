/* SPDX-License-Identifier: Apache-2.0 */

#include "table_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_ABSENT 65536u
#define KINDS_MAX   64u /* bits of a ClassBench table */

uint64_t set_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t random_between(uint64_t *state, uint32_t low, uint32_t high)
{
	return low + (uint32_t)(set_random(state) % ((uint64_t)high - low + 1));
}

void set_init(struct set *set, uint32_t n_dims, uint32_t n_words, uint32_t address_dims)
{
	memset(set, 0, sizeof(*set));
	set->spec.n_dims = n_dims;
	set->spec.n_words = n_words;
	set->spec.address_dims = address_dims;
}

void set_free(struct set *set)
{
	free(set->bounds);
	free(set->required);
	free(set->classes);
}

static void *resize(void *block, size_t size)
{
	block = realloc(block, size ? size : 1);
	if (block == NULL)
		abort();
	return block;
}

void set_add(struct set *set, const uint32_t *bounds, const uint64_t *required)
{
	struct sn_table_spec *spec = &set->spec;
	size_t n_bounds = 2 * spec->n_dims;
	size_t n = spec->n_boxes;

	if (n == set->room) {
		set->room = 2 * set->room + 64;
		set->bounds = resize(set->bounds, set->room * n_bounds * sizeof(*set->bounds));
		set->required = resize(set->required, set->room * spec->n_words * sizeof(*set->required));
		set->classes = resize(set->classes, set->room * sizeof(*set->classes));
		spec->bounds = set->bounds;
		spec->required = set->required;
		spec->classes = set->classes;
	}
	for (size_t k = 0; k < n_bounds; k++)
		set->bounds[n * n_bounds + k] = bounds[k];
	for (size_t w = 0; w < spec->n_words; w++)
		set->required[n * spec->n_words + w] = required != NULL ? required[w] : 0;
	set->classes[n] = (uint32_t)n;
	spec->n_boxes++;
}

static void prefix_bounds(uint32_t address, unsigned int length, uint32_t *bounds)
{
	uint32_t host = length == 0 ? UINT32_MAX : (uint32_t)((1ull << (32 - length)) - 1);

	bounds[0] = address & ~host;
	bounds[1] = address | host;
}

static void port_bounds(uint32_t low, uint32_t high, uint32_t *bounds)
{
	bounds[0] = low;
	bounds[1] = low == 0 && high == 65535 ? PORT_ABSENT : high;
}

static void add_last(struct set *set)
{
	const uint32_t everything[] = {0, UINT32_MAX, 0, UINT32_MAX, 0, PORT_ABSENT, 0, PORT_ABSENT};

	set_add(set, everything, NULL);
}

/* The bit of a protocol or of a flags test: the first of its kind makes it. */
static uint64_t bit_of(uint64_t *kinds, unsigned int *n_kinds, uint64_t kind)
{
	for (unsigned int k = 0; k < *n_kinds; k++) {
		if (kinds[k] == kind)
			return 1ull << k;
	}
	if (*n_kinds == KINDS_MAX)
		abort();
	kinds[*n_kinds] = kind;
	return 1ull << (*n_kinds)++;
}

bool set_read_classbench(struct set *set, const char *path)
{
	uint64_t kinds[KINDS_MAX];
	unsigned int n_kinds = 0;
	char line[256];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return false;
	set_init(set, SET_DIMS, 1, 1u << SET_SRC | 1u << SET_DST);
	while (fgets(line, sizeof(line), file) != NULL) {
		unsigned int s[5], d[5], sport[2], dport[2], proto[2], flags[2] = {0};
		uint32_t bounds[2 * SET_DIMS];
		uint64_t required = 0;

		if (sscanf(line, "@%u.%u.%u.%u/%u %u.%u.%u.%u/%u %u : %u %u : %u %x/%x %x/%x", &s[0], &s[1],
			   &s[2], &s[3], &s[4], &d[0], &d[1], &d[2], &d[3], &d[4], &sport[0], &sport[1],
			   &dport[0], &dport[1], &proto[0], &proto[1], &flags[0], &flags[1]) < 16)
			continue;
		prefix_bounds(s[0] << 24 | s[1] << 16 | s[2] << 8 | s[3], s[4], &bounds[2 * SET_SRC]);
		prefix_bounds(d[0] << 24 | d[1] << 16 | d[2] << 8 | d[3], d[4], &bounds[2 * SET_DST]);
		port_bounds(sport[0], sport[1], &bounds[2 * SET_SPORT]);
		port_bounds(dport[0], dport[1], &bounds[2 * SET_DPORT]);
		if (proto[1] != 0)
			required |= bit_of(kinds, &n_kinds, proto[0]);
		if (flags[1] != 0)
			required |= bit_of(kinds, &n_kinds, 1ull << 32 | flags[0] << 16 | flags[1]);
		set_add(set, bounds, &required);
	}
	fclose(file);
	add_last(set);
	return true;
}

void set_make_classbench(struct set *set, uint32_t n, unsigned int wildcards_percent, uint64_t *state)
{
	static const unsigned int lengths[] = {32, 32, 32, 30, 28, 24, 24, 22, 16, 12, 8};
	static const uint32_t ports[][2] = {{0, 65535}, {0, 65535},    {1024, 65535}, {80, 80},
					    {443, 443}, {53, 53},      {1521, 1521},  {6000, 6063},
					    {135, 139}, {31000, 31000}};
	uint32_t pool[512];

	set_init(set, SET_DIMS, 1, 1u << SET_SRC | 1u << SET_DST);
	for (size_t i = 0; i < 512; i++) { /* a few networks, some hosts in each */
		pool[i] = (uint32_t)set_random(state);
		if (i % 16 != 0)
			pool[i] = (pool[i - i % 16] & 0xffff0000) | (pool[i] & 0xffff);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bounds[2 * SET_DIMS];
		uint64_t required = 0;

		for (uint32_t d = 0; d <= SET_DST; d++) {
			unsigned int length = lengths[set_random(state) % 11];

			if (set_random(state) % 100 < wildcards_percent)
				length = set_random(state) % 5;
			prefix_bounds(pool[set_random(state) % 512] ^ (set_random(state) & 0xf), length,
				      &bounds[2 * d]);
		}
		for (uint32_t d = SET_SPORT; d <= SET_DPORT; d++) {
			const uint32_t *port =
				ports[d == SET_SPORT ? set_random(state) % 3 : set_random(state) % 10];

			port_bounds(port[0], port[1], &bounds[2 * d]);
		}
		if (set_random(state) % 8 != 0)
			required |= 1ull << set_random(state) % 3;
		if (set_random(state) % 8 == 0)
			required |= 1ull << (40 + set_random(state) % 3);
		set_add(set, bounds, &required);
	}
	add_last(set);
}

void set_key_within(const struct set *set, uint32_t box, struct sn_key *key, uint64_t *state)
{
	const struct sn_table_spec *spec = &set->spec;

	memset(key, 0, sizeof(*key));
	for (size_t d = 0; d < spec->n_dims; d++) {
		const uint32_t *range = spec->bounds + 2 * (box * (size_t)spec->n_dims + d);

		key->dim[d] = random_between(state, range[0], range[1]);
	}
	for (size_t w = 0; w < spec->n_words; w++)
		key->bits[w] = spec->required[box * (size_t)spec->n_words + w];
}

void set_key_at_bounds(const struct set *set, uint32_t box, struct sn_key *key, uint64_t *state)
{
	const struct sn_table_spec *spec = &set->spec;

	set_key_within(set, box, key, state);
	for (size_t d = 0; d < spec->n_dims; d++) {
		const uint32_t *range = spec->bounds + 2 * (box * (size_t)spec->n_dims + d);

		switch (set_random(state) % 10) {
		case 0:
			key->dim[d] = range[0] - 1;
			break;
		case 1:
			key->dim[d] = range[1] + 1;
			break;
		case 2:
		case 3:
		case 4:
			key->dim[d] = range[0];
			break;
		case 5:
		case 6:
		case 7:
			key->dim[d] = range[1];
			break;
		}
	}
	for (size_t w = 0; w < spec->n_words; w++) {
		if (set_random(state) % 4 == 0)
			key->bits[w] |= set_random(state);
		if (set_random(state) % 8 == 0)
			key->bits[w] &= set_random(state);
	}
}

static bool holds(const struct sn_table_spec *spec, size_t box, const struct sn_key *key)
{
	for (size_t d = 0; d < spec->n_dims; d++) {
		const uint32_t *range = spec->bounds + 2 * (box * spec->n_dims + d);

		if (key->dim[d] < range[0] || key->dim[d] > range[1])
			return false;
	}
	for (size_t w = 0; w < spec->n_words; w++) {
		uint64_t required = spec->required[box * spec->n_words + w];

		if ((key->bits[w] & required) != required)
			return false;
	}
	return true;
}

uint32_t set_first_match(const struct set *set, const struct sn_key *key)
{
	for (size_t i = 0; i < set->spec.n_boxes; i++) {
		if (holds(&set->spec, i, key))
			return set->spec.classes[i];
	}
	return SN_TABLE_NONE;
}
