/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_LINES_H
#define SN_LINES_H

/* Memory that shares no cache line with any other: for what one worker writes. */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SN_LINE 64

/* Zeroed; for n of 0, too. NULL without memory; free() frees it. */
static inline void *sn_lines(size_t n, size_t size)
{
	size_t bytes = (n * size / SN_LINE + 1) * SN_LINE;
	void *memory = aligned_alloc(SN_LINE, bytes);

	return memory ? memset(memory, 0, bytes) : NULL;
}

/* The same with a line behind it that is not used, and not aligned: pages that are not written to take no
 * memory. */
static inline void *sn_untouched(size_t n, size_t size)
{
	return calloc(1, n * size + SN_LINE);
}

#endif /* SN_LINES_H */
