/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_BALANCER_IMPL_H
#define SN_BALANCER_IMPL_H

/* The inside of load balancers; for the files that keep them. */

#include "sn_balancer.h"
#include "sn_flow.h"
#include "sn_session_impl.h"

/* Sessions are found by the client's end: both directions know it. */
struct client {
	uint32_t owner;
	uint32_t address;
	uint16_t port;
	uint8_t proto;
};

static inline struct client client_of(const struct sn_session *s)
{
	return (struct client){s->entry.owner, s->remote_addr, s->remote_port, s->proto};
}

static inline uint64_t hash_client(const struct sn_state *state, const struct client *c)
{
	return sn_hash2((uint64_t)c->address << 16 | c->port, (uint64_t)c->owner << 8 | c->proto,
			state->seed);
}

/* The sessions of a client's end, one after the other. */
struct sessions {
	const struct sn_state_shard *shard;
	struct client client;
	uint64_t hash;
	uint32_t tier;
	uint32_t index; /* of the next of the chain */
};

static inline struct sessions sessions_of(const struct sn_state *state, const struct sn_state_shard *sh,
					  const struct client *c)
{
	struct sessions all = {sh, *c, hash_client(state, c), 0, 0};

	all.index = first_of(sh, 0, all.hash);
	return all;
}

/* Live or not. NULL: there are no more. */
static inline struct sn_session *sessions_next(struct sessions *all)
{
	for (;;) {
		struct sn_session *s;

		while (!all->index) {
			if (++all->tier == TIERS)
				return NULL;
			all->index = first_of(all->shard, all->tier, all->hash);
		}
		s = (struct sn_session *)at_index(all->shard, all->index);
		all->index = s->entry.hash_next;
		if (s->remote_port == all->client.port && s->remote_addr == all->client.address &&
		    s->proto == all->client.proto && s->entry.owner == all->client.owner)
			return s;
	}
}

/* The shard of a client's end. With RSS the hash is that of both ends, of which one changes here. */
static inline uint32_t shard_of(const struct sn_state *state, const struct sn_state_table *t,
				uint32_t address, uint16_t port, uint8_t proto)
{
	const struct sn_flow f = {address, 0, port, 0, proto};

	if (likely(cut_of(state, t)->by != SN_CUT_BY_HOST) || state->partitioning.by == SN_PARTITION_BY_RSS)
		return port & (SN_SHARDS - 1);
	return sn_flow_host_shard(state, &f);
}

/* The entry that a session replaced; see sn_state_kind.h. */
struct sn_entry *sn_balancer_replaced(const struct sn_state *state, const struct sn_state_shard *shard,
				      const struct sn_entry *entry);

/* A session that may end for a new one; see sn_state_kind.h. */
struct sn_entry *sn_balancer_victim(struct sn_partition *partition, struct sn_state_table *table,
				    struct sn_state_shard *shard, uint32_t owner, uint32_t quota_class,
				    uint64_t now);

#endif /* SN_BALANCER_IMPL_H */
