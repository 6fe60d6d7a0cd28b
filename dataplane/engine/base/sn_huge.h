/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HUGE_H
#define SN_HUGE_H

#include <stddef.h>

/* Large blocks lie on huge pages if there are any. NULL without memory; free() frees it. */
void *sn_huge_alloc(size_t size);

#endif /* SN_HUGE_H */
