/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_peers.h"

#include <string.h>

uint8_t sn_peers_find(const struct sn_peers *peers, const char *name)
{
	for (uint32_t i = 0; i < peers->n; i++)
		if (strcmp(peers->names[i], name) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

bool sn_peers_left(const struct sn_peers *before, const struct sn_peers *now)
{
	for (uint32_t i = 0; i < before->n; i++)
		if (sn_peers_find(now, before->names[i]) == 0)
			return true;
	return false;
}

void sn_peers_keep(struct sn_peers *now, const struct sn_peers *before)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		if (now->at[i] == 0 && before->at[i] > 0)
			now->at[i] = sn_peers_find(now, before->names[before->at[i] - 1]);
}
