/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_classifier.h"
#include "sn_fib.h"
#include "sn_parse.h"

typedef Sinter__Program__V1__Table table_msg;
typedef Sinter__Program__V1__BitSet bitset_msg;

static const struct {
	const char *name;
	uint32_t max;
} fields[SN_FIELDS + 1] = {
	[SN_VLAN] = {"vlan", SN_VLAN_ABSENT},
	[SN_SRC] = {"src", UINT32_MAX},
	[SN_DST] = {"dst", UINT32_MAX},
	[SN_PROTO] = {"proto", 255},
	[SN_DSCP] = {"dscp", 63},
	[SN_TTL] = {"ttl", 255},
	[SN_FRAG] = {"frag", 2},
	[SN_SPORT] = {"sport", SN_PORT_ABSENT},
	[SN_DPORT] = {"dport", SN_PORT_ABSENT},
	[SN_TCP_FLAGS] = {"tcp-flags", SN_BYTE_ABSENT},
	[SN_ICMP_TYPE] = {"icmp-type", SN_BYTE_ABSENT},
	[SN_ICMP_CODE] = {"icmp-code", SN_BYTE_ABSENT},
	[SN_ROUTE] = {"route", SN_FIB_NUMBER_MAX},
};

uint32_t sn_field_max(enum sn_field field)
{
	return fields[field].max;
}

const char *sn_field_name(enum sn_field field)
{
	return fields[field].name;
}

static bool is_dim(uint32_t field)
{
	switch (field) {
	case SN_SRC:
	case SN_DST:
	case SN_SPORT:
	case SN_DPORT:
	case SN_VLAN:
	case SN_TTL:
		return true;
	}
	return false;
}

static int check_dims(const table_msg *msg, const char *at, struct sn_error *err)
{
	uint32_t seen = 0;
	size_t n = msg->n_dims;

	for (size_t i = 0; i < n; i++) {
		uint32_t f = (uint32_t)msg->dims[i];

		if (!is_dim(f))
			return sn_fail(err, "%s: dims[%zu]: %s is no dimension; use a bit set", at, i,
				       f < SN_FIELDS ? fields[f].name : "an unknown field");
		if (seen & 1u << f)
			return sn_fail(err, "%s: dims[%zu]: %s is there twice", at, i, fields[f].name);
		seen |= 1u << f;
	}
	for (size_t i = 0; i < msg->n_bounds; i += 2) {
		uint32_t f = (uint32_t)msg->dims[i / 2 % n];

		if (msg->bounds[i] > msg->bounds[i + 1] || msg->bounds[i + 1] > fields[f].max)
			return sn_fail(err, "%s: box %zu: %s %u-%u, want an ascending range up to %u", at,
				       i / 2 / n, fields[f].name, msg->bounds[i], msg->bounds[i + 1],
				       fields[f].max);
	}
	return 0;
}

static int check_bits(const table_msg *msg, size_t n_words, const struct sn_fib *fib, const char *at,
		      struct sn_error *err)
{
	for (size_t i = 0; i < msg->n_bits; i++) {
		const bitset_msg *b = msg->bits[i];

		if ((uint32_t)b->field > SN_ROUTE)
			return sn_fail(err, "%s: bits[%zu]: field is %d, want at most %d", at, i,
				       (int)b->field, SN_ROUTE);
		if ((uint32_t)b->field == SN_ROUTE && fib == NULL)
			return sn_fail(err, "%s: bits[%zu]: field is ROUTE, but the segment has no FIB", at,
				       i);
		if (b->n_ranges % 2)
			return sn_fail(err, "%s: bits[%zu]: has %zu range ends, want pairs", at, i,
				       b->n_ranges);
		for (size_t j = 0; j < b->n_ranges; j += 2)
			if (b->ranges[j] > b->ranges[j + 1] || b->ranges[j + 1] > fields[b->field].max ||
			    (j && b->ranges[j] <= b->ranges[j - 1]))
				return sn_fail(err, "%s: bits[%zu]: %s %u-%u, want ascending ranges up to %u",
					       at, i, fields[b->field].name, b->ranges[j], b->ranges[j + 1],
					       fields[b->field].max);
	}
	if (msg->n_bits % 64)
		for (size_t i = n_words - 1; i < msg->n_required; i += n_words)
			if (msg->required[i] >> msg->n_bits % 64)
				return sn_fail(err, "%s: box %zu: requires a bit beyond the %zu bit sets", at,
					       i / n_words, msg->n_bits);
	return 0;
}

/* The last box holds every packet, so the table does. */
static int check_last(const table_msg *msg, size_t n_words, const char *at, struct sn_error *err)
{
	size_t last = msg->n_classes - 1;

	for (size_t d = 0; d < msg->n_dims; d++) {
		const uint32_t *range = &msg->bounds[2 * (last * msg->n_dims + d)];

		if (range[0] || range[1] != fields[msg->dims[d]].max)
			return sn_fail(
				err,
				"%s: box %zu is the last and holds %s %u-%u alone: want one that holds "
				"every packet",
				at, last, fields[msg->dims[d]].name, range[0], range[1]);
	}
	for (size_t w = 0; w < n_words; w++)
		if (msg->required[last * n_words + w])
			return sn_fail(err,
				       "%s: box %zu is the last and requires bits: want one that holds every "
				       "packet",
				       at, last);
	return 0;
}

static int check(const table_msg *msg, uint32_t n_classes, const struct sn_fib *fib, const char *at,
		 struct sn_error *err)
{
	size_t boxes = msg->n_classes, words = (msg->n_bits + 63) / 64;
	int rc;

	if (!boxes || boxes > UINT32_MAX / 16)
		return sn_fail(err, "%s: has %zu boxes, want 1..%u", at, boxes, UINT32_MAX / 16);
	if (msg->n_dims > SN_TABLE_DIMS_MAX)
		return sn_fail(err, "%s: has %zu dims, want at most %d", at, msg->n_dims, SN_TABLE_DIMS_MAX);
	if (msg->n_bits > 64 * SN_TABLE_WORDS_MAX)
		return sn_fail(err, "%s: has %zu bit sets, want at most %d", at, msg->n_bits,
			       64 * SN_TABLE_WORDS_MAX);
	if (msg->n_bounds != boxes * msg->n_dims * 2)
		return sn_fail(err, "%s: has %zu bounds, want %zu (%zu boxes of %zu ranges)", at,
			       msg->n_bounds, boxes * msg->n_dims * 2, boxes, msg->n_dims);
	if (msg->n_required != boxes * words)
		return sn_fail(err, "%s: has %zu required words, want %zu (%zu boxes of %zu)", at,
			       msg->n_required, boxes * words, boxes, words);
	for (size_t i = 0; i < boxes; i++)
		if (msg->classes[i] >= n_classes)
			return sn_fail(err, "%s: classes[%zu] is %u, but there are only %u", at, i,
				       msg->classes[i], n_classes);
	rc = check_dims(msg, at, err);
	if (!rc)
		rc = check_bits(msg, words, fib, at, err);
	return rc ? rc : check_last(msg, words, at, err);
}

static bool in_set(const bitset_msg *b, uint32_t v)
{
	for (size_t j = 0; j < b->n_ranges; j += 2)
		if (v >= b->ranges[j] && v <= b->ranges[j + 1])
			return true;
	return false;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Where the sets of an address field change. */
static int address_starts(struct sn_bit_table *t, const table_msg *msg)
{
	size_t n = 1, kept = 0;

	for (size_t i = 0; i < msg->n_bits; i++)
		if ((uint32_t)msg->bits[i]->field == t->field)
			n += msg->bits[i]->n_ranges;
	t->starts = calloc(n, sizeof(*t->starts));
	if (!t->starts)
		return -ENOMEM;
	n = 1;
	for (size_t i = 0; i < msg->n_bits; i++) {
		const bitset_msg *b = msg->bits[i];

		for (size_t j = 0; (uint32_t)b->field == t->field && j < b->n_ranges; j += 2) {
			t->starts[n++] = b->ranges[j];
			if (b->ranges[j + 1] < UINT32_MAX)
				t->starts[n++] = b->ranges[j + 1] + 1;
		}
	}
	qsort(t->starts, n, sizeof(*t->starts), compare_u32);
	for (size_t i = 1; i < n; i++)
		if (t->starts[i] != t->starts[kept])
			t->starts[++kept] = t->starts[i];
	t->n_starts = kept + 1;
	return 0;
}

/* The rows of a set's range: values themselves, or the intervals of an address field. */
static void fill_rows(struct sn_bit_table *t, const bitset_msg *b, size_t bit, size_t rows)
{
	uint64_t *column = t->words + (bit / 64 - t->first_word);

	for (size_t j = 0; j < b->n_ranges; j += 2) {
		uint32_t row = b->ranges[j], last = b->ranges[j + 1];

		if (!t->starts) {
			for (; row <= last && row < rows; row++)
				column[(size_t)row * t->n_words] |= 1ull << bit % 64;
			continue;
		}
		for (row = 0; row < t->n_starts; row++)
			if (t->starts[row] >= b->ranges[j] && t->starts[row] <= last)
				column[(size_t)row * t->n_words] |= 1ull << bit % 64;
	}
}

/* How many values of a field have a row of bits. */
static size_t rows_of(const struct sn_bit_table *t, enum sn_field field, const struct sn_fib *fib)
{
	if (t->starts)
		return t->n_starts;
	return field == SN_ROUTE ? (size_t)sn_fib_top(fib) + 1 : (size_t)fields[field].max + 1;
}

static int init_bits(struct sn_bit_table *t, const table_msg *msg, enum sn_field field,
		     const struct sn_fib *fib)
{
	uint32_t first = UINT32_MAX, last = 0;
	size_t rows;

	for (size_t i = 0; i < msg->n_bits; i++) {
		if ((enum sn_field)msg->bits[i]->field != field)
			continue;
		if (first == UINT32_MAX)
			first = i / 64;
		last = i / 64;
	}
	t->field = field;
	if (first == UINT32_MAX)
		return 0;
	t->first_word = first;
	t->n_words = last - first + 1;
	if (fields[field].max == UINT32_MAX && address_starts(t, msg))
		return -ENOMEM;
	rows = rows_of(t, field, fib);
	t->words = calloc(rows * t->n_words, sizeof(*t->words));
	if (!t->words)
		return -ENOMEM;
	for (size_t i = 0; i < msg->n_bits; i++)
		if ((enum sn_field)msg->bits[i]->field == field)
			fill_rows(t, msg->bits[i], i, rows);
	return 0;
}

/* The bits of the fields that have some. */
static int init_all_bits(struct sn_classifier *c, const table_msg *msg, const struct sn_fib *fib,
			 const char *at, struct sn_error *err)
{
	for (uint32_t f = 0; f <= SN_ROUTE; f++) {
		struct sn_bit_table *t = &c->bits[c->n_bits];
		int rc = init_bits(t, msg, f, fib);

		if (t->n_words)
			c->n_bits++;
		if (rc)
			return sn_fail(err, "%s: no memory for the bits of %s", at, fields[f].name);
		if (t->n_words && f == SN_ROUTE)
			c->fib = fib;
		c->reads |= (uint32_t)(t->n_words > 0) << (f == SN_ROUTE ? SN_DST : f);
	}
	return 0;
}

int sn_classifier_init(struct sn_classifier *c, const table_msg *msg, uint32_t n_classes,
		       const struct sn_fib *fib, bool rare, const struct sn_classifier *like, const char *at,
		       struct sn_error *err)
{
	struct sn_table_spec spec = {0};
	int rc;

	memset(c, 0, sizeof(*c));
	if (!msg)
		return sn_fail(err, "%s: is missing", at);
	rc = check(msg, n_classes, fib, at, err);
	if (rc)
		return rc;
	if (fib) {
		rc = sn_classifier_flatten(c, msg, fib, at, err);
		if (rc || c->table)
			return rc;
	}
	if (!msg->n_dims && !msg->n_bits) { /* every box holds every packet */
		c->only = msg->classes[0];
		sn_plain_keys_init(c);
		return 0;
	}
	c->n_dims = msg->n_dims;
	c->n_words = (msg->n_bits + 63) / 64;
	for (uint32_t i = 0; i < c->n_dims; i++) {
		c->dims[i] = (uint8_t)msg->dims[i];
		c->reads |= 1u << c->dims[i];
		if (fields[c->dims[i]].max == UINT32_MAX)
			spec.address_dims |= 1u << i;
	}
	rc = init_all_bits(c, msg, fib, at, err);
	if (rc)
		return rc;
	spec.n_boxes = msg->n_classes;
	spec.n_dims = c->n_dims;
	spec.n_words = c->n_words;
	spec.bounds = msg->bounds;
	spec.required = msg->required;
	spec.classes = msg->classes;
	spec.whole = true; /* see check_last() */
	spec.rare = rare;
	spec.like = like ? like->table : NULL;
	c->table = sn_table_create(&spec, err);
	if (!c->table)
		return sn_fail_in(err, "%s", at);
	sn_plain_keys_init(c);
	return 0;
}

void sn_classifier_free(struct sn_classifier *c)
{
	if (c->table)
		sn_table_free(c->table);
	for (unsigned int i = 0; i <= SN_ROUTE; i++) {
		free(c->bits[i].starts);
		free(c->bits[i].words);
	}
	memset(c, 0, sizeof(*c));
}

/* Split every atom into those in the set and those not. */
static void refine_by(uint16_t *atoms, uint32_t n, uint32_t *count, const uint8_t *in, uint16_t *renamed)
{
	uint32_t next = 0;

	memset(renamed, 0xff, 2 * (size_t)n * sizeof(*renamed));
	for (uint32_t v = 0; v < n; v++) {
		uint16_t *to = &renamed[2 * atoms[v] + in[v]];

		if (*to == UINT16_MAX)
			*to = next++;
		atoms[v] = *to;
	}
	*count = next;
}

int sn_atoms_refine(uint16_t *atoms, uint32_t n, uint32_t *count, const table_msg *msg, enum sn_field field)
{
	uint16_t *renamed = malloc(2 * (size_t)n * sizeof(*renamed));
	uint8_t *in = malloc(n);
	int rc = -ENOMEM;

	if (!renamed || !in)
		goto out;
	for (size_t i = 0; msg && i < msg->n_bits && *count < n; i++) {
		if ((enum sn_field)msg->bits[i]->field != field)
			continue;
		for (uint32_t v = 0; v < n; v++)
			in[v] = in_set(msg->bits[i], v);
		refine_by(atoms, n, count, in, renamed);
	}
	for (size_t i = 0; msg && i < msg->n_bounds && *count < n; i += 2) {
		uint32_t lo = msg->bounds[i], hi = msg->bounds[i + 1];

		if ((enum sn_field)msg->dims[i / 2 % msg->n_dims] != field || (lo == 0 && hi >= n - 1))
			continue;
		for (uint32_t v = 0; v < n; v++)
			in[v] = v >= lo && v <= hi;
		refine_by(atoms, n, count, in, renamed);
	}
	rc = 0;
out:
	free(renamed);
	free(in);
	return rc;
}

/* f(packet's value) for every packet, with the choice of the field outside of the loop. */
#define FOR_FIELD(field, pkts, index, n, use)                                  \
	do {                                                                   \
		switch (field) {                                               \
			FOR_CASE(SN_VLAN, vlan, pkts, index, n, use)           \
			FOR_CASE(SN_SRC, src, pkts, index, n, use)             \
			FOR_CASE(SN_DST, dst, pkts, index, n, use)             \
			FOR_CASE(SN_PROTO, proto, pkts, index, n, use)         \
			FOR_CASE(SN_DSCP, dscp, pkts, index, n, use)           \
			FOR_CASE(SN_TTL, ttl, pkts, index, n, use)             \
			FOR_CASE(SN_FRAG, frag, pkts, index, n, use)           \
			FOR_CASE(SN_SPORT, sport, pkts, index, n, use)         \
			FOR_CASE(SN_DPORT, dport, pkts, index, n, use)         \
			FOR_CASE(SN_TCP_FLAGS, tcp_flags, pkts, index, n, use) \
			FOR_CASE(SN_ICMP_TYPE, icmp_type, pkts, index, n, use) \
			FOR_CASE(SN_ICMP_CODE, icmp_code, pkts, index, n, use) \
		}                                                              \
	} while (0)
#define FOR_CASE(number, member, pkts, index, n, use)      \
	case number:                                       \
		for (unsigned int i = 0; i < (n); i++)     \
			use(i, (pkts)[(index)[i]].member); \
		break;

static inline uint32_t address_row(const struct sn_bit_table *t, uint32_t v)
{
	uint32_t lo = 0, hi = t->n_starts;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (t->starts[mid] <= v)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void or_bits(const struct sn_bit_table *t, const struct sn_fib *fib, const struct sn_pkt *pkts,
		    const uint8_t *index, struct sn_key *keys, unsigned int n)
{
	const uint64_t *words = t->words;
	uint32_t width = t->n_words, first = t->first_word;

#define OR_ONE(i, v) keys[i].bits[first] |= words[v]
#define OR_ALL(i, v)                         \
	for (uint32_t w = 0; w < width; w++) \
	keys[i].bits[first + w] |= words[(size_t)(v)*width + w]
#define OR_ADDRESS(i, v) OR_ALL(i, address_row(t, v))
#define OR_ROUTE(i, v)	 OR_ALL(i, sn_fib_find(fib, v))
	if (t->field == SN_ROUTE)
		FOR_FIELD(SN_DST, pkts, index, n, OR_ROUTE);
	else if (t->starts)
		FOR_FIELD(t->field, pkts, index, n, OR_ADDRESS);
	else if (width == 1)
		FOR_FIELD(t->field, pkts, index, n, OR_ONE);
	else
		FOR_FIELD(t->field, pkts, index, n, OR_ALL);
}

void sn_classifier_lookup(const struct sn_classifier *c, const struct sn_pkt *pkts, const uint8_t *index,
			  uint32_t *classes, unsigned int n)
{
	struct sn_key keys[64];

	if (!c->table) {
		for (unsigned int i = 0; i < n; i++)
			classes[i] = c->only;
		return;
	}
	for (uint32_t d = 0; d < c->n_dims; d++) {
#define SET_DIM(i, v) keys[i].dim[d] = (v)
		FOR_FIELD(c->dims[d], pkts, index, n, SET_DIM);
	}
	for (unsigned int i = 0; i < n; i++)
		for (uint32_t w = 0; w < c->n_words; w++)
			keys[i].bits[w] = 0;
	for (uint32_t b = 0; b < c->n_bits; b++)
		or_bits(&c->bits[b], c->fib, pkts, index, keys, n);
	sn_table_lookup(c->table, keys, classes, n);
}
