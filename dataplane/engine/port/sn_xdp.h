/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_XDP_H
#define SN_XDP_H

/*
 * Kernel interfaces by AF_XDP, with the rights of a pod: CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW.
 *
 * libxdp by itself shares an interface among programs, and finds its own again by number, for which the
 * kernel wants CAP_SYS_ADMIN. So the driver is given libxdp's program as a file (xdp_prog=): then it attaches
 * that alone, by netlink, and puts its sockets into the map that it has at hand. A program so attached
 * outlives an engine that is killed, hands its frames to the kernel then, and must go before the next one can
 * come.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"

/* Whether net_af_xdp drives the EAL device. */
bool sn_xdp_drives(const char *device);

/*
 * The functions below return 0, or -1 with a message in err that names the
 * interface and what would be right.
 */

/* Finds the kernel interface of an EAL device: "eth1" of "net_af_xdp0,iface=eth1". */
int sn_xdp_link(const char *device, char link[static IF_NAMESIZE], struct sn_error *err);

/*
 * Writes the device string for EAL: the device's, with the program (from the folder LIBXDP_OBJECT_PATH, else
 * libxdp's own) and one queue per worker where it does not say otherwise.
 */
int sn_xdp_devargs(const char *device, uint16_t queues, char *devargs, size_t len, struct sn_error *err);

/*
 * Makes the interface the engine's: takes away the program that a killed engine has left there, and has the
 * device spread frames over as many queues as will be read, unless the device string chooses queues itself.
 * Returns a descriptor that claims the interface among engines of this network namespace until it is closed,
 * or -1.
 */
int sn_xdp_claim(const char *device, uint16_t queues, struct sn_error *err);

/*
 * DPDK's driver (22.11) does not close the sockets of a device that it gives back, and the kernel keeps the
 * device's queues for them. Lists this process's AF_XDP sockets, so that the caller can tell a device's by
 * what there was before; closes those of a list that are still open.
 */
unsigned int sn_xdp_sockets(int *fds, unsigned int max);
void sn_xdp_close_sockets(const int *fds, unsigned int n);

#endif /* SN_XDP_H */
