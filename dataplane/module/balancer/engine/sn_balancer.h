/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_BALANCER_H
#define SN_BALANCER_H

/*
 * Load balancers' sessions: the packet path. A session is one of a NAPT whose inside is the backends: the
 * backend is the inside address, the virtual address the outside one, the client the remote. So it is used
 * and remembered by the decision cache as any; what comes from clients is in the direction of returns. Of a
 * direct one nothing but that is seen: it is in the direction from inside.
 */

#include "sn_maglev.h"
#include "sn_session.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_balancer;

/* The part of a table that operations need to know; of the program, as it changes without the state. */
struct sn_balancer_rules {
	uint32_t no_backend, full, no_session; /* reasons */
	uint32_t tcp_ms, tcp_transitory_ms, udp_ms;
	bool by_client;
	bool direct;	/* packets stay as they are, and get the backend as next hop */
	bool stateless; /* without sessions */
	uint32_t n_backends;
	struct sn_backend backends[SN_BACKENDS_MAX]; /* ascending by address and port */
	uint16_t entries[SN_MAGLEV_ENTRIES];
};

enum sn_balancer_result {
	SN_BALANCER_FOUND,
	SN_BALANCER_MADE,  /* reserved: take it back with sn_session_end() if the packet is dropped later */
	SN_BALANCER_MOVED, /* the same, beside one whose backend is gone: sn_entry_replace() if it leaves */
	SN_BALANCER_NO_BACKEND, /* takes new flows */
	SN_BALANCER_FULL,	/* no room for another session, of the table or of the client's port */
	SN_BALANCER_NONE,	/* and none was wanted to be made */
};

/*
 * The shard of a flow from a client, in a table of the program. Both directions know the client's end. By its
 * port alone, unless the table is cut otherwise: behind a NAPT the port's low bits are the shard already.
 */
uint32_t sn_balancer_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *from_client);

/* The session of a flow from a client, in a table of the program; made if there is none and make is set. */
enum sn_balancer_result sn_balancer_forth(struct sn_partition *partition, uint32_t table,
					  const struct sn_balancer_rules *rules, const struct sn_flow *flow,
					  bool make, uint64_t now, struct sn_session **session);

/* The session of a flow from a backend. NULL: there is none. */
struct sn_session *sn_balancer_back(const struct sn_state *state, uint32_t table,
				    const struct sn_balancer_rules *rules, const struct sn_flow *flow,
				    uint64_t now);

/* The backend of a flow from a client by the table alone. NULL: none takes flows. */
const struct sn_backend *sn_balancer_spread(const struct sn_balancer_rules *rules,
					    const struct sn_flow *flow);

#endif /* SN_BALANCER_H */
