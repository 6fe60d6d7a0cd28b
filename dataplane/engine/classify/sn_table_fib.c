/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Routes by content: the trie is a FIB's, which several tables and programs share, and each table has its own
 * classes of the FIB's numbers.
 */

#include <stdlib.h>
#include <string.h>

#include "sn_chunks.h"
#include "sn_table_impl.h"

struct sn_view {
	const uint32_t *root;
	const uint32_t *slots;
	uint32_t *classes; /* by number */
	size_t n;
	struct sn_trie trie;
};

struct sn_view *sn_view_create(struct sn_trie *trie, const uint32_t *classes, size_t n)
{
	struct sn_view *view = calloc(1, sizeof(*view));

	if (view == NULL)
		return NULL;
	view->classes = malloc((n + 1) * sizeof(*classes));
	if (view->classes == NULL) {
		free(view);
		return NULL;
	}
	memcpy(view->classes, classes, n * sizeof(*classes));
	view->n = n;
	view->trie = *trie;
	view->root = trie->root;
	view->slots = sn_trie_slots(trie);
	*trie = (struct sn_trie){0};
	return view;
}

void sn_view_free(struct sn_view *view)
{
	if (view == NULL)
		return;
	sn_trie_free(&view->trie);
	free(view->classes);
	free(view);
}

size_t sn_view_size(const struct sn_view *view)
{
	return sizeof(*view) + view->n * sizeof(*view->classes) + SN_ROOT_SLOTS * sizeof(*view->root) +
	       (size_t)sn_trie_chunks(&view->trie) * SN_CHUNK_SLOTS * sizeof(*view->slots);
}

/* Level by level over the bulk, so that the misses of a level overlap. */
void sn_view_lookup(const struct sn_view *view, const struct sn_key *keys, uint32_t *classes, unsigned int n)
{
	const uint32_t *root = view->root, *slots = view->slots;

	for (unsigned int i = 0; i < n; i++)
		__builtin_prefetch(&root[keys[i].dim[0] >> 16]);
	for (unsigned int i = 0; i < n; i++)
		classes[i] = root[keys[i].dim[0] >> 16];
	for (int shift = 8; shift >= 0; shift -= 8) {
		for (unsigned int i = 0; i < n; i++) {
			if (!(classes[i] & SN_TRIE_RESULT))
				__builtin_prefetch(&slots[classes[i] + (keys[i].dim[0] >> shift & 0xff)]);
		}
		for (unsigned int i = 0; i < n; i++) {
			if (!(classes[i] & SN_TRIE_RESULT))
				classes[i] = slots[classes[i] + (keys[i].dim[0] >> shift & 0xff)];
		}
	}
	for (unsigned int i = 0; i < n; i++)
		classes[i] = view->classes[classes[i] & ~SN_TRIE_RESULT];
}
