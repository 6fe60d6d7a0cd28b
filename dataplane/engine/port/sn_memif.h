/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_MEMIF_H
#define SN_MEMIF_H

/*
 * DPDK's net_memif: memory that is shared with another process, which finds it by a socket. The driver takes
 * the socket's file away when it ends in order, and cannot wait on one that is there already. So an engine
 * that was killed would keep the next one from starting.
 */

/* Takes away the file of a device's socket, if the device is the one that waits, and nobody waits there. Of
 * another device, nothing. */
void sn_memif_take_over(const char *device);

#endif /* SN_MEMIF_H */
