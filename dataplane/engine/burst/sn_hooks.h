/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_HOOKS_H
#define SN_HOOKS_H

/* Hooks of a worker where packets leave, die, or make and end state. */

#include <stdint.h>

#include <rte_mbuf.h>

#include "sn_state.h"

/* Sends up to n packets, returns how many were taken (the first ones); the rest is dropped as tx-full. */
typedef uint16_t (*sn_tx_fn)(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n);

/* Sees every drop. m may be NULL (a copy that could not be made); source as in sn_source(). */
typedef void (*sn_drop_fn)(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason);

/* Sees every session that made room for that of another packet. */
typedef void (*sn_events_fn)(void *ctx, uint32_t source, const struct sn_events *events);

#endif /* SN_HOOKS_H */
