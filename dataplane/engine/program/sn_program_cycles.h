/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PROGRAM_CYCLES_H
#define SN_PROGRAM_CYCLES_H

#include "sn_error.h"
#include "sn_program.h"

/*
 * Segments may lead back to each other only where every packet's TTL gets smaller on the way and so ends it:
 * no leg on a cycle raises or sets the TTL, and every cycle has a leg that lowers it.
 * dataplane/program/cycles.go has the same rule. Programs may come from strangers: it takes linear time and
 * does not recurse.
 *
 * Returns 0, -EINVAL with a message that names the segments, or -ENOMEM.
 */
int sn_program_check_cycles(const struct sn_program *p, struct sn_error *err);

#endif /* SN_PROGRAM_CYCLES_H */
