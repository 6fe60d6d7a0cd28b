/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_peering.h"

#include <stdlib.h>

struct sn_peering {
	struct sn_peers peers;
	bool front;
};

struct sn_peering *sn_peering_create(bool front)
{
	struct sn_peering *peering = calloc(1, sizeof(*peering));

	if (peering != NULL)
		peering->front = front;
	return peering;
}

void sn_peering_free(struct sn_peering *peering)
{
	free(peering);
}

const struct sn_peers *sn_peering_peers(const struct sn_peering *peering)
{
	return &peering->peers;
}

bool sn_peering_front(const struct sn_peering *peering)
{
	return peering->front;
}

void sn_peering_set(struct sn_peering *peering, struct sn_threads *threads, struct sn_peers *peers,
		    bool front)
{
	bool left = sn_peers_left(&peering->peers, peers);
	bool announces = front && (left || !peering->front);

	sn_peers_keep(peers, &peering->peers);
	sn_threads_hold(threads);
	peering->peers = *peers;
	peering->front = front;
	sn_threads_silence(threads, !front);
	if (announces)
		sn_threads_announce(threads);
	sn_threads_release(threads);
}

void sn_peering_give(struct sn_peering *peering, const bool shards[SN_SHARDS], const char *peer)
{
	uint8_t at = sn_peers_find(&peering->peers, peer);

	for (uint32_t i = 0; i < SN_SHARDS; i++)
		if (shards[i])
			peering->peers.at[i] = at;
}

void sn_peering_fit(struct sn_peering *peering, uint32_t units)
{
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		peering->peers.at[i] = peering->peers.at[i % units];
}
