/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "sn_range.h"
#include "sn_sources.h"

typedef Sinter__Program__V1__RefusedSources refused_msg;

/* RFC 1812, section 5.3.7: "this network", loopback, and all from 224.0.0.0 on. */
static const struct sn_range martians[] = {
	{0, 0x00ffffff},
	{127u << 24, 127u << 24 | 0x00ffffff},
	{224u << 24, UINT32_MAX},
};

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

/* All that is refused, ascending on a ring: the first range goes on where the last one ends, and holds both
 * 255.255.255.255 and 0.0.0.0. Returns how many there are. */
static uint32_t collect(const struct sn_sources *s, struct sn_range *out)
{
	uint32_t n;

	memcpy(out, martians, sizeof(martians));
	for (uint32_t i = 0; i < s->n; i++)
		out[MARTIANS + i] = (struct sn_range){s->refused[i].first, s->refused[i].last};
	n = sn_ranges_merge(out, MARTIANS + s->n);
	if (n == 1)
		return 1;
	out[0].first = out[n - 1].first;
	return n - 1;
}

struct gap {
	uint32_t width;
	uint32_t after; /* index of the range before it */
};

static int widest_first(const void *a, const void *b)
{
	uint32_t x = ((const struct gap *)a)->width, y = ((const struct gap *)b)->width;

	return (x < y) - (x > y);
}

static int by_place(const void *a, const void *b)
{
	uint32_t x = ((const struct gap *)a)->after, y = ((const struct gap *)b)->after;

	return (x > y) - (x < y);
}

static void fill_destination_lanes(struct sn_sources *s)
{
	uint32_t *first = s->first + SN_SOURCE_LANES, *span = s->span + SN_SOURCE_LANES;

	first[0] = martians[2].first; /* and on with the first one */
	span[0] = martians[0].last - first[0];
	first[1] = martians[1].first;
	span[1] = martians[1].last - first[1];
}

/* The lanes are what lies between the widest gaps. */
static int fill_source_lanes(struct sn_sources *s)
{
	struct sn_range *ranges = malloc((MARTIANS + s->n) * sizeof(*ranges));
	struct gap *gaps = malloc((MARTIANS + s->n) * sizeof(*gaps));
	uint32_t n, kept, from;

	if (!ranges || !gaps) {
		free(ranges);
		free(gaps);
		return -1;
	}
	n = collect(s, ranges);
	for (uint32_t i = 0; i < n; i++)
		gaps[i] = (struct gap){ranges[(i + 1) % n].first - ranges[i].last, i};
	qsort(gaps, n, sizeof(*gaps), widest_first);
	kept = n < SN_SOURCE_LANES ? n : SN_SOURCE_LANES;
	qsort(gaps, kept, sizeof(*gaps), by_place);
	for (uint32_t i = 0; i < SN_SOURCE_LANES; i++) {
		from = (gaps[(i + kept - 1) % kept].after + 1) % n;
		s->first[i] = ranges[from].first;
		s->span[i] = ranges[gaps[i % kept].after].last - s->first[i];
	}
	free(ranges);
	free(gaps);
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
	if (!s->refused || fill_source_lanes(s)) {
		sn_sources_free(s);
		return NULL;
	}
	fill_destination_lanes(s);
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
