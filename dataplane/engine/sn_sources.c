/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sn_sources.h"

typedef Sinter__Program__V1__RefusedSources refused_msg;

/* RFC 1812, section 5.3.7: "this network", loopback, and all from 224.0.0.0 on. */
static const struct {
	uint32_t mask, value;
} martians[] = {{0xff000000, 0}, {0xff000000, 127u << 24}, {0xe0000000, 0xe0000000}};

#define MARTIANS (sizeof(martians) / sizeof(martians[0]))

bool sn_sources_may_say(uint32_t reason)
{
	switch (reason) {
	case SN_REASON_OWN_SOURCE:
	case SN_REASON_POOL_SOURCE:
	case SN_REASON_BROADCAST_SOURCE:
	case SN_REASON_REVERSE_PATH:
		return true;
	}
	return false;
}

/* The mask of the longest prefix that holds both. */
static uint32_t common(uint32_t a, uint32_t b)
{
	uint32_t differ = a ^ b;

	return differ ? ~(uint32_t)(0xffffffffull >> __builtin_clz(differ)) : UINT32_MAX;
}

/* Where all below and above a range are refused, as for an interface behind which is only its prefix, a
 * prefix around the range is compared: all outside of it is suspect. */
static void find_outside(struct sn_sources *s)
{
	uint32_t low = 0, high = s->n - 1, first, last;

	if (!s->n || s->refused[0].first || s->refused[high].last != UINT32_MAX)
		return;
	while (low < high && s->refused[low + 1].first == s->refused[low].last + 1)
		low++;
	if (low == high) /* nothing is let in */
		return;
	while (s->refused[high].first == s->refused[high - 1].last + 1)
		high--;
	first = s->refused[low].last + 1;
	last = s->refused[high].first - 1;
	s->outside_mask = common(first, last);
	s->outside = first & s->outside_mask;
}

struct prefix {
	uint32_t mask, value;
};

/* Prefixes that hold what is refused within the compared one; returns how many. */
static uint32_t cover(const struct sn_sources *s, struct prefix *out)
{
	uint32_t from = s->outside, to = s->outside | ~s->outside_mask, n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t first = s->refused[i].first, last = s->refused[i].last;

		if (last < from || first > to)
			continue;
		first = first < from ? from : first;
		last = last > to ? to : last;
		out[n].mask = common(first, last);
		out[n].value = first & out[n].mask;
		n++;
	}
	return n;
}

/* Two neighbours become one prefix, those that have most bits in common. */
static uint32_t merge(struct prefix *p, uint32_t n)
{
	uint32_t best = 0, bits = 0;

	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t mask = common(p[i].value, p[i + 1].value) & p[i].mask & p[i + 1].mask;

		if (mask >= bits) {
			bits = mask;
			best = i;
		}
	}
	p[best].mask = bits;
	p[best].value &= bits;
	for (uint32_t i = best + 1; i + 1 < n; i++)
		p[i] = p[i + 1];
	return n - 1;
}

static int fill_lanes(struct sn_sources *s)
{
	struct prefix *p = malloc((s->n + 1) * sizeof(*p));
	uint32_t n;

	if (!p)
		return -1;
	n = cover(s, p);
	while (n > SN_LANES - MARTIANS)
		n = merge(p, n);
	for (uint32_t i = 0; i < SN_LANES; i++) {
		s->mask[i] = 0;
		s->value[i] = 1; /* of no source */
		if (i < MARTIANS) {
			s->mask[i] = martians[i].mask;
			s->value[i] = martians[i].value;
		} else if (i - MARTIANS < n) {
			s->mask[i] = p[i - MARTIANS].mask;
			s->value[i] = p[i - MARTIANS].value;
		}
	}
	free(p);
	return 0;
}

struct sn_sources *sn_sources_create(refused_msg *const *refused, size_t n)
{
	struct sn_sources *s = aligned_alloc(32, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sn_sources){.n = (uint32_t)n, .refused = malloc((n + 1) * sizeof(*s->refused))};
	for (size_t i = 0; s->refused && i < n; i++)
		s->refused[i] = (struct sn_refused){refused[i]->first, refused[i]->last,
						    (uint32_t)refused[i]->reason};
	if (s->refused)
		find_outside(s);
	if (!s->refused || fill_lanes(s)) {
		sn_sources_free(s);
		return NULL;
	}
	return s;
}

void sn_sources_free(struct sn_sources *s)
{
	if (!s)
		return;
	free(s->refused);
	free(s);
}

enum sn_reason sn_sources_reason(const struct sn_sources *s, uint32_t source)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t at = low + (high - low) / 2;

		if (s->refused[at].last < source)
			low = at + 1;
		else
			high = at;
	}
	return low < s->n && s->refused[low].first <= source ? (enum sn_reason)s->refused[low].reason
							     : SN_REASON_NONE;
}
