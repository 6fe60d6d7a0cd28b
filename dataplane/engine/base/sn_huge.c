/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_huge.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE	  4096u
#define HUGE_FROM (256u << 10) /* smaller blocks are not worth a huge page */
#define SMALL	  (1u << 20)   /* at the start of a mapping's part */

void *sn_huge_alloc(size_t size)
{
	size_t align = size >= HUGE_FROM ? SN_HUGE_PAGE : 64;
	void *block;

	size = (size + align - 1) & ~(align - 1);
	block = aligned_alloc(align, size ? size : align);
	if (block != NULL && align == SN_HUGE_PAGE)
		madvise(block, size, MADV_HUGEPAGE); /* best effort */
	return block;
}

void *sn_huge_map(size_t size)
{
	size_t more = size + SN_HUGE_PAGE, skip;
	uint8_t *block =
		mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (block == MAP_FAILED)
		return NULL;
	skip = -(uintptr_t)block & (SN_HUGE_PAGE - 1);
	if (skip > 0)
		munmap(block, skip);
	munmap(block + skip + size, SN_HUGE_PAGE - skip);
	return block + skip;
}

void sn_huge_unmap(void *block, size_t size)
{
	munmap(block, size);
}

uint8_t *sn_huge_begin(void *from, bool whole)
{
	uintptr_t begin = (uintptr_t)from + (whole ? 0 : SMALL);

	return (uint8_t *)((begin + SN_HUGE_PAGE - 1) & ~(uintptr_t)(SN_HUGE_PAGE - 1));
}

void sn_huge_advise(void *from, size_t size, bool whole)
{
	uint8_t *begin = sn_huge_begin(from, whole), *end = (uint8_t *)from + size;

	if (begin < end)
		madvise(begin, (size_t)(end - begin), MADV_HUGEPAGE); /* best effort */
}

void sn_huge_refuse(void *from, size_t size)
{
	madvise(from, size, MADV_NOHUGEPAGE); /* best effort */
}

/* For kernels before 5.14: writes what is there. */
static void touch(uint8_t *from, const uint8_t *end)
{
	for (; from < end; from += PAGE)
		__atomic_fetch_or(from, 0, __ATOMIC_RELAXED);
}

void sn_huge_populate(void *from, size_t size)
{
	uint8_t *page = (uint8_t *)((uintptr_t)from & ~(uintptr_t)(PAGE - 1)), *end = (uint8_t *)from + size;

	if (size > 0 && madvise(page, (size_t)(end - page), MADV_POPULATE_WRITE) != 0)
		touch(page, end);
}
