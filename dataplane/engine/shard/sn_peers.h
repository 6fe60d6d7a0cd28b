/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PEERS_H
#define SN_PEERS_H

/*
 * The other engines that share a chain's state, as workers see them: which one has a shard that is away, and
 * where packets for it go. Read by workers, changed while they are quiescent.
 */

#include <stdint.h>

#include "sn_program.h"
#include "sn_state.h"

#define SN_PEERS_MAX 63
#define SN_PEER_NAME 254

struct sn_peers {
	uint8_t at[SN_SHARDS]; /* peer + 1; 0: nobody knows */
	uint32_t n;
	uint64_t macs[SN_PEERS_MAX][SN_IFACES_MAX]; /* by port, as sn_mac_number(); 0: not reached by it */
	char names[SN_PEERS_MAX][SN_PEER_NAME];
};

/* The number of the peer with the name plus one; 0: there is none. */
uint8_t sn_peers_find(const struct sn_peers *peers, const char *name);

/* Whether a peer that was is none any more. */
bool sn_peers_left(const struct sn_peers *before, const struct sn_peers *now);

/* A shard that no peer is to have is where it was, be it that it is on its way here. */
void sn_peers_keep(struct sn_peers *now, const struct sn_peers *before);

/* Where a shard's packets that came by a port go; 0: nowhere. */
static inline uint64_t sn_peers_way(const struct sn_peers *peers, uint32_t shard, uint16_t port)
{
	uint8_t at = peers->at[shard];

	return at && port < SN_IFACES_MAX ? peers->macs[at - 1][port] : 0;
}

/* Whether a frame that came by a port was sent by a peer. */
static inline bool sn_peers_sent(const struct sn_peers *peers, uint16_t port, uint64_t source)
{
	for (uint32_t i = 0; i < peers->n; i++)
		if (port < SN_IFACES_MAX && peers->macs[i][port] == source)
			return true;
	return false;
}

#endif /* SN_PEERS_H */
