/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STEER_H
#define SN_STEER_H

/*
 * Flow rules of a device (rte_flow), and probes that show whether it executes them: there are drivers
 * that take rules for which their device has no use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_flow.h>

/* What a rule asks for; zero: does not matter. Numbers in the host's byte order. */
struct sn_steer_match {
	struct rte_ether_addr mac; /* destination */
	uint16_t vlan;
	bool priority; /* with vlan: and priority 0, on which some drivers insist */
	uint32_t src, src_mask;
	uint32_t dst, dst_mask;
	uint8_t proto; /* of TCP and UDP */
	uint16_t sport, dport;
};

struct sn_steer_rule {
	struct sn_steer_match match;
	bool drop;
	uint16_t queue; /* if it does not drop */
};

/* NULL, and the driver's words, if the driver does not take it. The port is started. */
struct rte_flow *sn_steer_install(uint16_t port, const struct sn_steer_rule *rule, char *err, size_t err_len);

void sn_steer_remove(uint16_t port, struct rte_flow *flow);

#define SN_STEER_PROBE_LEN 80

/*
 * Write a frame that the match takes. Probes of one match differ in all that it leaves open, so that
 * hashing spreads them. Returns the frame's length.
 */
size_t sn_steer_probe(const struct sn_steer_match *match, uint32_t series, uint32_t number,
		      uint8_t frame[SN_STEER_PROBE_LEN]);

/* The series of a probe, 0 if the frame is none. */
uint32_t sn_steer_series(const uint8_t *frame, size_t len);

#endif /* SN_STEER_H */
