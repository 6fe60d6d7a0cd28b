/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SOURCE_H
#define SN_SOURCE_H

/*
 * Which packet caused this one: set by the harness before a burst, inherited by copies and generated packets.
 */

#include <stdint.h>

#include <rte_mbuf.h>

#define SN_SOURCE_NONE UINT32_MAX

/* Once, after rte_eal_init(), before the first worker (sn_worker_create() does it too). 0, or -errno. */
int sn_source_register(void);
uint32_t sn_source(const struct rte_mbuf *m);
void sn_source_set(struct rte_mbuf *m, uint32_t source);

#endif /* SN_SOURCE_H */
