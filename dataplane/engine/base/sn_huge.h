/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HUGE_H
#define SN_HUGE_H

/*
 * Large memory, on huge pages if there are any. They are asked for by advice (madvise), and the system gives
 * them as memory is first used; where it has none, small pages do.
 */

#include <stddef.h>

/* Large blocks lie on huge pages if there are any. NULL without memory; free() frees it. */
void *sn_huge_alloc(size_t size);

/* Zeroes, taken from the system as they are first used; NULL without memory. */
void *sn_huge_map(size_t size);
void sn_huge_unmap(void *block, size_t size);

/*
 * Huge pages for a part of a mapping that is used from its start on. The first of it stays on small pages: if
 * little is used, it costs little.
 */
void sn_huge_advise(void *from, size_t size);

#endif /* SN_HUGE_H */
