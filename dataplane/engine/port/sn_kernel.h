/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_KERNEL_H
#define SN_KERNEL_H

/*
 * The kernel's own use of an interface that the engine opens by a socket. The kernel gets each frame as well:
 * with forwarding on, as pods have it from their node, it would forward packets past the chain, and answer
 * for addresses of other interfaces. So of IPv4 it is told not to forward what comes in there (forwarding 0),
 * to take nothing from sources that are not behind the interface, which are all if it has no address
 * (rp_filter 1, RFC 3704), and to answer ARP for its own addresses alone (arp_ignore 1). By netlink, as
 * /proc/sys is read-only in a pod; CAP_NET_ADMIN is enough.
 */

#include <net/if.h>

#include "sn_error.h"

#define SN_KERNEL_SETTINGS 3

/* Settings of an interface as they were before; index 0: nothing was changed. */
struct sn_kernel {
	unsigned int index;
	int before[SN_KERNEL_SETTINGS];
};

/*
 * Keeps the kernel from using an interface; once more it does so only if another interface has the name now.
 * Returns 0, or -1 with a message in err. IPv6 cannot be switched off so: a warning says where the kernel
 * forwards it.
 */
int sn_kernel_quiet(const char *link, struct sn_kernel *kernel, struct sn_error *err);

/* Sets what there was before. */
void sn_kernel_restore(struct sn_kernel *kernel);

#endif /* SN_KERNEL_H */
