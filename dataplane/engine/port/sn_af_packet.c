/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_af_packet.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/if_packet.h>
#include <rte_common.h>

/* A TPACKET_V2 slot's header and address are taken from the frame's room. */
#define SN_TPACKET_OVERHEAD 96

/* Kernel rings hold this many frames: what arrives while the workers are held for a program swap waits there.
 */
#define SN_KERNEL_RING 4096

uint32_t sn_af_packet_slot(uint16_t mtu)
{
	return rte_align32pow2((uint32_t)mtu + SN_FRAME_OVERHEAD + SN_TPACKET_OVERHEAD);
}

void sn_af_packet_devargs(const char *link, uint16_t mtu, uint16_t queues, char *devargs, size_t len)
{
	uint32_t frame = sn_af_packet_slot(mtu);
	uint32_t block = RTE_MAX(frame, (uint32_t)sysconf(_SC_PAGESIZE) * 8);

	snprintf(devargs, len,
		 "net_af_packet_%s,iface=%s,qpairs=%u,blocksz=%u,framesz=%u,framecnt=%u,qdisc_bypass=1", link,
		 link, queues, block, frame, SN_KERNEL_RING);
}

/* In place of libc's: an executable's symbols go before those of libraries. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	uint32_t fanout;

	if (level == SOL_PACKET && name == PACKET_FANOUT && len == sizeof(fanout)) {
		memcpy(&fanout, value, sizeof(fanout));
		fanout &= ~((uint32_t)PACKET_FANOUT_FLAG_DEFRAG << 16);
		value = &fanout;
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}
