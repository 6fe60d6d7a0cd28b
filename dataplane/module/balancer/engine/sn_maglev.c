/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_maglev.h"

#include "sn_hash.h"

/* A backend's permutation of the entries, and its turns. */
struct permutation {
	uint32_t next, skip;
	uint32_t credit; /* of weight; a turn is as much as the largest weight */
};

static uint32_t begin(struct permutation *to, const struct sn_backend *backends, uint32_t n)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = (uint64_t)backends[i].address << 16 | backends[i].port;

		to[i].next = (uint32_t)(sn_mix(key) % SN_MAGLEV_ENTRIES);
		to[i].skip = (uint32_t)(sn_mix(key + (1ull << 48)) % (SN_MAGLEV_ENTRIES - 1)) + 1;
		to[i].credit = 0;
		if (backends[i].weight > most)
			most = backends[i].weight;
	}
	return most;
}

/* The first entry of the permutation that nobody has. */
static void take(uint16_t *entries, struct permutation *p, uint32_t backend)
{
	while (entries[p->next] != SN_NO_BACKEND) {
		p->next += p->skip;
		if (p->next >= SN_MAGLEV_ENTRIES)
			p->next -= SN_MAGLEV_ENTRIES;
	}
	entries[p->next] = (uint16_t)backend;
}

void sn_maglev_fill(uint16_t entries[SN_MAGLEV_ENTRIES], const struct sn_backend *backends, uint32_t n)
{
	struct permutation p[SN_BACKENDS_MAX];
	uint32_t most = begin(p, backends, n), left = SN_MAGLEV_ENTRIES;

	for (uint32_t i = 0; i < SN_MAGLEV_ENTRIES; i++)
		entries[i] = SN_NO_BACKEND;
	while (most && left) {
		for (uint32_t i = 0; i < n && left; i++) {
			p[i].credit += backends[i].weight;
			if (p[i].credit < most)
				continue;
			p[i].credit -= most;
			take(entries, &p[i], i);
			left--;
		}
	}
}
