/* SPDX-License-Identifier: Apache-2.0 */

/* Keys of plain frames, and of plain fragments: one load and one shuffle for the dimensions, one load per set
 * of bits. What a fragment has where others have ports is not read. */

#include <string.h>

#ifdef __SSSE3__
#include <immintrin.h>
#endif

#include "sn_classifier.h"
#include "sn_plain.h"

/* From the TTL to the destination port there are 16 bytes. */
#define WINDOW	   SN_PLAIN_TTL
#define WINDOW_LEN 16
_Static_assert(SN_PLAIN_DPORT + 2 == WINDOW + WINDOW_LEN, "the window ends with the ports");

static void take(struct sn_plain_keys *k, uint32_t dim, uint32_t at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		k->from[4 * dim + i] = (uint8_t)(at - WINDOW + len - 1 - i);
}

static void init_dim(struct sn_plain_keys *k, uint32_t dim, enum sn_field field, enum sn_frag frag)
{
	bool port = field == SN_SPORT || field == SN_DPORT;

	if (port && frag == SN_FRAG_LATER) {
		k->fixed[dim] = SN_PORT_ABSENT;
		return;
	}
	switch (field) {
	case SN_SRC:
		take(k, dim, SN_PLAIN_SRC, 4);
		break;
	case SN_DST:
		take(k, dim, SN_PLAIN_DST, 4);
		break;
	case SN_SPORT:
		take(k, dim, SN_PLAIN_SPORT, 2);
		break;
	case SN_DPORT:
		take(k, dim, SN_PLAIN_DPORT, 2);
		break;
	case SN_TTL:
		take(k, dim, SN_PLAIN_TTL, 1);
		break;
	case SN_VLAN:
		k->fixed[dim] = SN_VLAN_ABSENT;
		break;
	default:
		k->possible = false;
	}
}

static void add_fixed(struct sn_plain_keys *k, const struct sn_bit_table *t, uint32_t value)
{
	for (uint32_t w = 0; w < t->n_words; w++)
		k->bits[t->first_word + w] |= t->words[(size_t)value * t->n_words + w];
}

static void init_bits(struct sn_plain_keys *k, const struct sn_bit_table *t, enum sn_frag frag)
{
	switch (t->field) {
	case SN_VLAN:
		add_fixed(k, t, SN_VLAN_ABSENT);
		break;
	case SN_FRAG:
		add_fixed(k, t, frag);
		break;
	case SN_ICMP_TYPE:
	case SN_ICMP_CODE:
		add_fixed(k, t, SN_BYTE_ABSENT);
		break;
	case SN_TCP_FLAGS:
		if (frag == SN_FRAG_LATER)
			add_fixed(k, t, SN_BYTE_ABSENT);
		break;
	case SN_PROTO:
	case SN_DSCP:
	case SN_TTL:
		break;
	default: /* addresses and ports, as bits: seldom, and not worth it */
		k->possible = false;
	}
}

static void init_keys(const struct sn_classifier *c, struct sn_plain_keys *k, enum sn_frag frag)
{
	*k = (struct sn_plain_keys){.possible = true};
	memset(k->from, SN_KEY_FIXED, sizeof(k->from));
	for (uint32_t d = 0; d < c->n_dims; d++)
		init_dim(k, d, c->dims[d], frag);
	for (uint32_t b = 0; b < c->n_bits; b++)
		init_bits(k, &c->bits[b], frag);
}

void sn_plain_keys_init(struct sn_classifier *c)
{
	init_keys(c, &c->plain, SN_FRAG_WHOLE);
	init_keys(c, &c->fragments, SN_FRAG_LATER);
}

#ifdef __SSSE3__
static inline void set_dims(const struct sn_plain_keys *k, const uint8_t *const *frames, struct sn_key *keys,
			    unsigned int n, bool all)
{
	const __m128i low = _mm_loadu_si128((const __m128i *)k->from);
	const __m128i high = _mm_loadu_si128((const __m128i *)(k->from + 16));
	const __m128i fixed = _mm_loadu_si128((const __m128i *)k->fixed);
	const __m128i fixed_high = _mm_loadu_si128((const __m128i *)(k->fixed + 4));

	for (unsigned int i = 0; i < n; i++) {
		__m128i window = _mm_loadu_si128((const __m128i *)(frames[i] + WINDOW));

		_mm_storeu_si128((__m128i *)&keys[i].dim[0],
				 _mm_or_si128(_mm_shuffle_epi8(window, low), fixed));
		if (all)
			_mm_storel_epi64((__m128i *)&keys[i].dim[4],
					 _mm_or_si128(_mm_shuffle_epi8(window, high), fixed_high));
	}
}
#else
static inline void set_dims(const struct sn_plain_keys *k, const uint8_t *const *frames, struct sn_key *keys,
			    unsigned int n, bool all)
{
	for (unsigned int i = 0; i < n; i++) {
		for (uint32_t d = 0; d < (all ? SN_TABLE_DIMS_MAX : 4); d++) {
			keys[i].dim[d] = k->fixed[d];
			for (uint32_t b = 0; b < 4; b++)
				if (k->from[4 * d + b] != SN_KEY_FIXED)
					keys[i].dim[d] |= (uint32_t)frames[i][WINDOW + k->from[4 * d + b]]
							  << 8 * b;
		}
	}
}
#endif

#define OR_EACH(value)                                               \
	for (unsigned int i = 0; i < n; i++) {                       \
		const uint8_t *f = frames[i];                        \
		const uint64_t *row = words + (size_t)(value)*width; \
                                                                     \
		for (uint32_t w = 0; w < width; w++)                 \
			keys[i].bits[first + w] |= row[w];           \
	}

/* Values that are the same for all frames are read once: as far as the compiler knows, keys may overlap it.
 */
static inline void or_bits(const struct sn_bit_table *t, const uint8_t *const *frames, struct sn_key *keys,
			   unsigned int n, uint32_t width)
{
	const uint64_t *words = t->words;
	uint32_t first = t->first_word;

	switch (t->field) {
	case SN_PROTO:
		OR_EACH(f[SN_PLAIN_PROTO])
		break;
	case SN_DSCP:
		OR_EACH(f[SN_PLAIN_TOS] >> 2)
		break;
	case SN_TTL:
		OR_EACH(f[SN_PLAIN_TTL])
		break;
	case SN_TCP_FLAGS:
		OR_EACH(sn_choose(f[SN_PLAIN_PROTO] == SN_TCP, f[SN_PLAIN_TCP_FLAGS], SN_BYTE_ABSENT))
		break;
	}
}

static inline void set_bits(const struct sn_plain_keys *k, struct sn_key *keys, unsigned int n,
			    uint32_t n_words)
{
	for (unsigned int i = 0; i < n; i++)
		for (uint32_t w = 0; w < n_words; w++)
			keys[i].bits[w] = k->bits[w];
}

static inline __attribute__((always_inline)) void look_up(const struct sn_classifier *c,
							  const struct sn_plain_keys *k,
							  const uint8_t *const *frames, uint32_t *classes,
							  unsigned int n, enum sn_frag frag)
{
	struct sn_key keys[64];

	if (!c->table) {
		for (unsigned int i = 0; i < n; i++)
			classes[i] = c->only;
		return;
	}
	set_dims(k, frames, keys, n, c->n_dims > 4);
	if (c->n_words == 1)
		set_bits(k, keys, n, 1);
	else
		set_bits(k, keys, n, c->n_words);
	for (uint32_t b = 0; b < c->n_bits; b++) {
		if (frag == SN_FRAG_LATER && c->bits[b].field == SN_TCP_FLAGS)
			continue;
		if (c->bits[b].n_words == 1)
			or_bits(&c->bits[b], frames, keys, n, 1);
		else
			or_bits(&c->bits[b], frames, keys, n, c->bits[b].n_words);
	}
	sn_table_lookup(c->table, keys, classes, n);
}

void sn_classifier_lookup_plain(const struct sn_classifier *c, const uint8_t *const *frames,
				uint32_t *classes, unsigned int n)
{
	look_up(c, &c->plain, frames, classes, n, SN_FRAG_WHOLE);
}

void sn_classifier_lookup_fragments(const struct sn_classifier *c, const uint8_t *const *frames,
				    uint32_t *classes, unsigned int n)
{
	look_up(c, &c->fragments, frames, classes, n, SN_FRAG_LATER);
}
