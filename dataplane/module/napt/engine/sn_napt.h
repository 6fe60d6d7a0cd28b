/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NAPT_H
#define SN_NAPT_H

/* The NAPTs' sessions: the packet path. */

#include "sn_flow.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_napt;

/* The part of a remote endpoint that a mapping or filter depends on (RFC 4787 sections 4.1 and 5); as on the
 * wire. */
enum sn_dependence {
	SN_ADDRESS_AND_PORT_DEPENDENT,
	SN_ADDRESS_DEPENDENT,
	SN_ENDPOINT_INDEPENDENT,
};

enum sn_napt_result {
	SN_NAPT_FOUND,
	SN_NAPT_MADE,	 /* reserved: take it back with sn_session_end() if the packet is dropped later */
	SN_NAPT_NONE,	 /* no port is free, or no session wanted to be made */
	SN_NAPT_FULL,	 /* from outside: it might be made, but there is no room */
	SN_NAPT_LIMITED, /* its subscriber may not have another one: sn_napt_limit() says why */
};

/*
 * The shard of a flow that starts inside, and meets a run first. It is the same for a flow that another NAPT
 * has translated, whose port tells the shard of what it met there: from wherever packets or errors about it
 * come.
 */
uint32_t sn_napt_shard(const struct sn_state *state, uint32_t run, const struct sn_flow *flow);

/* The session of a run by the flow as it is inside; made if there is none and make is set. */
enum sn_napt_result sn_napt_forward(struct sn_partition *partition, uint32_t run, uint32_t shard,
				    const struct sn_flow *flow, bool make, uint64_t now,
				    struct sn_session **session);

/* The shard of a flow's return packets; of a small pool's it is told but for its high bits. */
uint32_t sn_napt_return_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *flow);

/* The session by the flow as its return packets are outside: NULL if there is none. Its shard is the part's.
 */
struct sn_session *sn_napt_return(const struct sn_state *state, uint32_t table, const struct sn_flow *flow,
				  uint64_t now);

/* The same; made if there is none and the filter of the mapping lets the flow begin from outside. LIMITED: by
 * the limits of *run. */
enum sn_napt_result sn_napt_come(struct sn_partition *partition, uint32_t table, const struct sn_flow *flow,
				 uint64_t now, struct sn_session **session, uint32_t *run);

/* The reason to drop what a run's subscribers may not have. */
uint32_t sn_napt_limit(const struct sn_state *state, uint32_t run);

#endif /* SN_NAPT_H */
