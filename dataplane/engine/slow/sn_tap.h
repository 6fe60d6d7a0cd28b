/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TAP_H
#define SN_TAP_H

/* Copies for functions outside of the program that give nothing back. */

#include <stdint.h>

#include "sn_env.h"

struct sn_pkt;

/* A copy, as its fields say, leaves by a wire; or it is dropped, as it is too big or there is no memory. */
void sn_tap_send(struct sn_env *env, struct sn_pkt *copy, uint32_t iface);

#endif /* SN_TAP_H */
