/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_CAPABILITY_H
#define SN_CAPABILITY_H

/*
 * What a port's device takes of flow rules, found out by trying: rules of each kind are made and taken out
 * again, for packets from 255.255.255.255, which no chain forwards. Whether the device executes what it takes
 * is not known by that.
 */

#include "flows.pb-c.h"
#include "sn_arena.h"
#include "sn_flows.h"
#include "sn_port.h"

/* try_rules: rules to be made at most to find out how many there is room for. -1: no memory. */
int sn_capability_report(const struct sn_port *port, const struct sn_flows *flows, uint32_t try_rules,
			 struct sn_arena *arena, Sinter__Flows__V1__Device *device);

#endif /* SN_CAPABILITY_H */
