/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_huge.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)
#define HUGE_FROM (256u << 10) /* smaller blocks are not worth a huge page */
#define SMALL	  (1u << 20)   /* at the start of a mapping's part */

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

void *sn_huge_map(size_t size)
{
	void *block =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

void sn_huge_unmap(void *block, size_t size)
{
	munmap(block, size);
}

void sn_huge_advise(void *from, size_t size)
{
	uintptr_t end = (uintptr_t)from + size;
	uintptr_t begin = ((uintptr_t)from + SMALL + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);

	if (begin < end)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* best effort */
}
