/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ASSIGNMENT_H
#define SN_ASSIGNMENT_H

/* Flows that are a replica's (docs/elements.md, "assign"): a state table each, of sn_outside_flows.h. */

#include "sn_outside_flows.h"

extern const struct sn_state_kind sn_assignment;

#endif /* SN_ASSIGNMENT_H */
