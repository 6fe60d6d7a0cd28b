/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HUGE_H
#define SN_HUGE_H

/*
 * Large memory, on huge pages if there are any. They are asked for by advice (madvise), and the system gives
 * them as memory is first used; where it has none, small pages do.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_HUGE_PAGE (2u << 20)

/* Large blocks lie on huge pages if there are any. NULL without memory; free() frees it. */
void *sn_huge_alloc(size_t size);

/* Zeroes, taken from the system as they are first used, from a multiple of SN_HUGE_PAGE on; NULL without
 * memory. */
void *sn_huge_map(size_t size);
void sn_huge_unmap(void *block, size_t size);

/*
 * Huge pages for a part of a mapping, which is used from its start on, or as a whole. In the former case the
 * first of it stays on small pages: if little is used, it costs little.
 */
void sn_huge_advise(void *from, size_t size, bool whole);

/* Small pages for a part of a mapping, of whole pages, whatever the system prefers: it is used here and
 * there. */
void sn_huge_refuse(void *from, size_t size);

/* Where they begin. */
uint8_t *sn_huge_begin(void *from, bool whole);

/* Has the pages of a part of a mapping there, beside those who write it: what they hold stays. */
void sn_huge_populate(void *from, size_t size);

#endif /* SN_HUGE_H */
