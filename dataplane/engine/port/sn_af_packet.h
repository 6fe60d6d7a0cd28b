/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_AF_PACKET_H
#define SN_AF_PACKET_H

/*
 * Kernel interfaces by AF_PACKET.
 *
 * DPDK's driver joins its sockets to a fanout group with PACKET_FANOUT_FLAG_DEFRAG: the kernel then puts IP
 * fragments together before the engine sees them, and drops, uncounted, what does not fit a frame. The driver
 * has no argument for it, and a socket cannot leave its group or join another. So this file defines
 * setsockopt() for the whole process, which takes that one flag out of that one option.
 */

#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>

#define SN_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + 4 + RTE_ETHER_CRC_LEN) /* Ethernet, one tag, FCS */

/* Bytes of a ring's slot for frames of an MTU. */
uint32_t sn_af_packet_slot(uint16_t mtu);

/* Writes the device string of a kernel interface for EAL: slots that hold its MTU, a deep ring, no qdisc. */
void sn_af_packet_devargs(const char *link, uint16_t mtu, uint16_t queues, char *devargs, size_t len);

#endif /* SN_AF_PACKET_H */
