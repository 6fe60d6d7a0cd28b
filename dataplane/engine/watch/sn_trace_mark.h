/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TRACE_MARK_H
#define SN_TRACE_MARK_H

/*
 * What a frame carries that is traced and was at a function, or goes past one: by it, its way behind the
 * function is known to be that packet's. Devices forget it, as all flags of a buffer, when they receive
 * another frame into that.
 */

#include <stdint.h>

#include <rte_mbuf.h>

/* Once, after rte_eal_init(), before the first worker (sn_worker_create() does it too). 0, or -errno. */
int sn_trace_mark_register(void);

/* 0: it has none. */
uint64_t sn_trace_mark(const struct rte_mbuf *m);
void sn_trace_mark_set(struct rte_mbuf *m, uint64_t mark);

#endif /* SN_TRACE_MARK_H */
