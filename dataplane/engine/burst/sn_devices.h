/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_DEVICES_H
#define SN_DEVICES_H

/* Devices with flow rules may have said the classes of packets; who checks the rules is shown some. */

#include "sn_env.h"

/* As sn_classes_find(), for packets of an interface whose marks are believed. */
void sn_devices_find_classes(struct sn_env *env, uint32_t iface, const struct sn_segment *s, uint32_t n);

/* Some of the burst's first n packets, as they came, are shown to the control thread. */
void sn_devices_sample(struct sn_env *env, uint32_t n, uint64_t now);

#endif /* SN_DEVICES_H */
