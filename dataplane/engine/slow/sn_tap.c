/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_tap.h"

#include <string.h>

#include "sn_output.h"
#include "sn_rewrite.h"

/* No station has it: bridges flood the frame, and the kernel of the host that gets it takes the packet for
 * another host's. Neither a tag (sn_tag.h) nor an address of spot checks (sn_spot.h) begins like it. */
static const uint8_t destination[6] = {0x0a, 's', 'i', 'n', 't', 'r'};

void sn_tap_send(struct sn_env *env, struct sn_pkt *copy, uint32_t iface)
{
	uint8_t *f;

	if (copy->ip_len > env->program->interfaces[iface].mtu) {
		sn_output_drop(env, copy->m, SN_REASON_TOO_BIG);
		return;
	}
	if (!sn_rewrite(copy)) {
		sn_output_drop(env, copy->m, SN_REASON_NO_MEMORY);
		return;
	}
	f = rte_pktmbuf_mtod(copy->m, uint8_t *);
	memcpy(f, destination, sizeof(destination));
	memcpy(f + 6, &env->addresses.macs[iface], 6);
	sn_output_send(env, (uint16_t)iface, copy->m);
}
