/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PROBE_H
#define SN_PROBE_H

/* Probes: packets that a flow rule takes, and that are known again where they come out. */

#include "sn_steer.h"

#define SN_PROBE_LEN 80

/*
 * Write a frame that the match takes: of a VLAN, a destination address, IPv4 addresses and the ports of TCP
 * or UDP, by value and mask. Probes of one match differ in all that it leaves open, so that hashing spreads
 * them. Returns the frame's length.
 */
size_t sn_probe_write(const struct sn_steer_match *match, uint32_t series, uint32_t number,
		      uint8_t frame[SN_PROBE_LEN]);

/* The series of a probe, 0 if the frame is none. */
uint32_t sn_probe_series(const uint8_t *frame, size_t len);

#endif /* SN_PROBE_H */
