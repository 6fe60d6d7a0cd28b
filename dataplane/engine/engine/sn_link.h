/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_LINK_H
#define SN_LINK_H

/*
 * Kernel interfaces that are set down and up again. While one is down the kernel takes frames into its
 * socket's ring and keeps them, and would send them, however old, when it is up. So the workers send nothing
 * by a port that is down, and a port that comes up is opened again, with an empty ring.
 */

#include "sn_port.h"
#include "sn_threads.h"

struct sn_link;

/* NULL without memory. */
struct sn_link *sn_link_create(struct sn_ports ports, struct sn_threads *threads);
void sn_link_free(struct sn_link *link);

/* Looks at the interfaces, from time to time. Returns after how many ms to be called again, -1: no need. */
int sn_link_watch(struct sn_link *link);

#endif /* SN_LINK_H */
