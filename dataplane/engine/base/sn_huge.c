/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_huge.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)
#define HUGE_FROM (256u << 10) /* smaller blocks are not worth a huge page */

void *sn_huge_alloc(size_t size)
{
	size_t align = size >= HUGE_FROM ? HUGE_PAGE : 64;
	void *block;

	size = (size + align - 1) & ~(align - 1);
	block = aligned_alloc(align, size ? size : align);
	if (block != NULL && align == HUGE_PAGE)
		madvise(block, size, MADV_HUGEPAGE); /* best effort */
	return block;
}
