/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_MAGLEV_H
#define SN_MAGLEV_H

/*
 * Maglev's consistent hashing (Eisenbud et al., NSDI 2016, section 3.4): new flows are spread over backends
 * by weight, and when backends come or go, few others' entries change. docs/elements.md, "balancer".
 */

#include <stdbool.h>
#include <stdint.h>

#define SN_MAGLEV_ENTRIES 65537u /* a prime */
#define SN_BACKENDS_MAX	  512
#define SN_NO_BACKEND	  0xffffu

struct sn_backend {
	uint32_t address;
	uint16_t port;	 /* 0: that to which the client sends */
	uint16_t weight; /* 0: no new flows */
	bool down;	 /* and its sessions do not count */
};

/* Fills the entries with indexes of the backends, which ascend by address and port; SN_NO_BACKEND: all have
 * weight 0. */
void sn_maglev_fill(uint16_t entries[SN_MAGLEV_ENTRIES], const struct sn_backend *backends, uint32_t n);

#endif /* SN_MAGLEV_H */
