/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tables with one dimension: routes. A sweep over the value space turns the
 * ordered, overlapping ranges into disjoint ones, so no order of prefixes is
 * assumed and ranges need not be prefixes; these fill a trie with strides of
 * 16, 8 and 8 bits from left to right. The first level stays in the L2 cache,
 * and a table of a few routes takes a few hundred KB instead of the 64 MB of
 * a 24-8 trie.
 */

#include "sn_huge.h"
#include "sn_table_impl.h"

#include <stdlib.h>
#include <string.h>

#define ROOT	(1u << 16)
#define CHUNK	256u
#define RESULT	(1u << 31) /* the entry is a class, not the position of a chunk */
#define NOTHING INT32_MAX

struct sn_lpm {
	uint32_t *slots; /* the root, then chunks */
	size_t n_slots;
	uint32_t word; /* of the key */
};

struct filler {
	uint32_t *slots;
	size_t n_slots;
	size_t room;
};

/* The chunk below the slot, made if there is none. Its slots are all written: the sweep leaves no gaps. */
static bool open_chunk(struct filler *filler, size_t slot, size_t *chunk)
{
	if (!(filler->slots[slot] & RESULT)) {
		*chunk = filler->slots[slot];
		return true;
	}
	if (filler->n_slots + CHUNK > RESULT)
		return false;
	if (filler->n_slots + CHUNK > filler->room) {
		size_t room = 2 * filler->room;
		uint32_t *slots = sn_huge_alloc(room * sizeof(*slots));

		if (slots == NULL)
			return false;
		memcpy(slots, filler->slots, filler->n_slots * sizeof(*slots));
		free(filler->slots);
		filler->slots = slots;
		filler->room = room;
	}
	*chunk = filler->n_slots;
	for (size_t i = 0; i < CHUNK; i++)
		filler->slots[*chunk + i] = RESULT;
	filler->slots[slot] = *chunk;
	filler->n_slots += CHUNK;
	return true;
}

static bool fill(struct filler *filler, uint32_t low, uint32_t high, uint32_t entry)
{
	for (;;) {
		size_t slot = low >> 16;
		uint32_t last = low | 0xffff;
		size_t chunk;

		if ((low & 0xffff) != 0 || last > high) {
			if (!open_chunk(filler, slot, &chunk))
				return false;
			slot = chunk + (low >> 8 & 0xff);
			last = low | 0xff;
		}
		if (last == (low | 0xff) && ((low & 0xff) != 0 || last > high)) {
			if (!open_chunk(filler, slot, &chunk))
				return false;
			slot = chunk + (low & 0xff);
			last = low;
		}
		filler->slots[slot] = entry;
		if (last == high)
			return true;
		low = last + 1;
	}
}

/* Boxes by lower bound: radix sort, stable, 2 x 16 bits. */
static bool sort_by_low(const struct sn_boxes *boxes, uint32_t *sorted)
{
	uint32_t *other = malloc(boxes->n * sizeof(*other));
	uint32_t *count = malloc((ROOT + 1) * sizeof(*count));
	uint32_t *from = other;
	uint32_t *to = sorted;
	bool done = other != NULL && count != NULL;

	for (uint32_t i = 0; done && i < boxes->n; i++)
		sorted[i] = i;
	for (uint32_t shift = 0; done && shift < 32; shift += 16) {
		uint32_t *swap = from;

		from = to;
		to = swap;
		memset(count, 0, (ROOT + 1) * sizeof(*count));
		for (uint32_t i = 0; i < boxes->n; i++)
			count[(boxes->low[0][i] >> shift & 0xffff) + 1]++;
		for (uint32_t i = 0; i < ROOT; i++)
			count[i + 1] += count[i];
		for (uint32_t i = 0; i < boxes->n; i++)
			to[count[boxes->low[0][from[i]] >> shift & 0xffff]++] = from[i];
	}
	free(other);
	free(count);
	return done;
}

/* Binary heap of boxes: the first in the table's order is on top. */
static void heap_push(uint32_t *heap, size_t n, uint32_t box)
{
	while (n > 0 && heap[(n - 1) / 2] > box) {
		heap[n] = heap[(n - 1) / 2];
		n = (n - 1) / 2;
	}
	heap[n] = box;
}

static void heap_pop(uint32_t *heap, size_t n)
{
	uint32_t box = heap[n - 1];
	size_t at = 0;

	for (size_t child = 1; child < n - 1; child = 2 * at + 1) {
		if (child + 1 < n - 1 && heap[child + 1] < heap[child])
			child++;
		if (box < heap[child])
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = box;
}

static uint32_t entry_of(uint32_t class)
{
	return RESULT | (class == SN_TABLE_NONE ? NOTHING : class);
}

static bool sweep(struct filler *filler, const struct sn_boxes *boxes, const uint32_t *sorted, uint32_t *heap)
{
	const uint32_t *low = boxes->low[0];
	const uint32_t *high = boxes->high[0];
	uint32_t begin = 0; /* of neighbouring ranges with the same entry */
	uint32_t entry = 0;
	size_t n_heap = 0;
	uint32_t at = 0;
	uint32_t i = 0;

	for (;;) {
		uint32_t end = UINT32_MAX;
		uint32_t here;

		for (; i < boxes->n && low[sorted[i]] <= at; i++)
			heap_push(heap, n_heap++, sorted[i]);
		while (n_heap > 0 && high[heap[0]] < at)
			heap_pop(heap, n_heap--);
		here = entry_of(boxes->classes[n_heap > 0 ? heap[0] : boxes->n]);
		if (n_heap > 0)
			end = high[heap[0]];
		if (i < boxes->n && low[sorted[i]] <= end)
			end = low[sorted[i]] - 1;

		if (here != entry) {
			if (at > 0 && !fill(filler, begin, at - 1, entry))
				return false;
			begin = at;
			entry = here;
		}
		if (end == UINT32_MAX)
			return fill(filler, begin, end, entry);
		at = end + 1;
	}
}

struct sn_lpm *sn_lpm_create(const struct sn_boxes *boxes, struct sn_error *err)
{
	struct filler filler = {.room = 2 * ROOT, .n_slots = ROOT};
	uint32_t *sorted = malloc(boxes->n * sizeof(*sorted));
	uint32_t *heap = malloc(boxes->n * sizeof(*heap));
	struct sn_lpm *lpm = calloc(1, sizeof(*lpm));
	bool done = false;

	filler.slots = sn_huge_alloc(filler.room * sizeof(*filler.slots));
	if (sorted != NULL && heap != NULL && lpm != NULL && filler.slots != NULL) {
		for (size_t i = 0; i < ROOT; i++)
			filler.slots[i] = RESULT;
		done = sort_by_low(boxes, sorted) && sweep(&filler, boxes, sorted, heap);
	}
	free(sorted);
	free(heap);
	if (done) { /* growing left up to half of the block unused */
		lpm->word = boxes->word[0];
		lpm->n_slots = filler.n_slots;
		lpm->slots = sn_huge_alloc(lpm->n_slots * sizeof(*lpm->slots));
		done = lpm->slots != NULL;
	}
	if (done)
		memcpy(lpm->slots, filler.slots, filler.n_slots * sizeof(*lpm->slots));
	free(filler.slots);
	if (!done) {
		free(lpm);
		sn_fail(err, "no memory for a trie of %u prefixes", boxes->n);
		return NULL;
	}
	return lpm;
}

void sn_lpm_free(struct sn_lpm *lpm)
{
	if (lpm == NULL)
		return;
	free(lpm->slots);
	free(lpm);
}

size_t sn_lpm_size(const struct sn_lpm *lpm)
{
	return sizeof(*lpm) + lpm->n_slots * sizeof(*lpm->slots);
}

/* Level by level over the bulk, so that the misses of a level overlap. */
void sn_lpm_lookup(const struct sn_lpm *lpm, const struct sn_key *keys, uint32_t *classes, unsigned int n)
{
	const uint32_t *slots = lpm->slots;

	for (unsigned int i = 0; i < n; i++)
		__builtin_prefetch(&slots[keys[i].dim[lpm->word] >> 16]);
	for (unsigned int i = 0; i < n; i++)
		classes[i] = slots[keys[i].dim[lpm->word] >> 16];
	for (int shift = 8; shift >= 0; shift -= 8) {
		for (unsigned int i = 0; i < n; i++) {
			if (!(classes[i] & RESULT))
				__builtin_prefetch(
					&slots[classes[i] + (keys[i].dim[lpm->word] >> shift & 0xff)]);
		}
		for (unsigned int i = 0; i < n; i++) {
			if (!(classes[i] & RESULT))
				classes[i] = slots[classes[i] + (keys[i].dim[lpm->word] >> shift & 0xff)];
		}
	}
	for (unsigned int i = 0; i < n; i++)
		classes[i] = classes[i] == (RESULT | NOTHING) ? SN_TABLE_NONE : classes[i] & ~RESULT;
}
