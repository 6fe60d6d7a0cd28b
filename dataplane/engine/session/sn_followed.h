/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FOLLOWED_H
#define SN_FOLLOWED_H

/*
 * Flows that are followed and not translated: sessions that are found by both ends. The inside of a session
 * is the side that sent the first packet; entry.own_bit: that came from the function's outside. What kinds of
 * such sessions are built from, and fill their rows with.
 */

#include "sn_flow.h"
#include "sn_session_impl.h"

/* The flow of a packet itself, in its direction; false: it tells none. */
bool sn_followed_flow(const struct sn_pkt *p, struct sn_flow *flow);

/* The same; of an ICMP error to the sender of the packet that it quotes, that packet's flow. */
bool sn_followed_told(struct sn_pkt *p, struct sn_flow *flow, bool *quoted);

/* Requests of ICMP come from the side that began, replies from the other. */
static inline bool sn_followed_fits(const struct sn_session *s, uint32_t icmp_type, bool is_return)
{
	return s->proto != SN_ICMP || sn_is_query((uint8_t)icmp_type) == !is_return;
}

static inline uint64_t followed_hash(const struct sn_state *state, uint32_t owner, const struct sn_flow *f)
{
	struct sn_flow_ends e = sn_flow_ends(f);

	return sn_hash2(e.low | (uint64_t)owner << 48, e.high << 8 | f->proto, state->seed);
}

/* The flow of a packet from the side that began, or from the other one. */
static inline bool is_along(const struct sn_session *s, const struct sn_flow *f, bool from_outside)
{
	return s->entry.own_bit == from_outside && s->inside_addr == f->src && s->remote_addr == f->dst &&
	       s->inside_port == f->sport && s->remote_port == f->dport;
}

static inline bool is_against(const struct sn_session *s, const struct sn_flow *f, bool from_outside)
{
	return s->entry.own_bit != from_outside && s->inside_addr == f->dst && s->remote_addr == f->src &&
	       s->inside_port == f->dport && s->remote_port == f->sport;
}

/* The session of a flow in a shard, whether its time is over or not. */
static inline struct sn_session *followed_in(const struct sn_state_shard *sh, uint32_t owner,
					     const struct sn_flow *f, bool from_outside, uint64_t hash)
{
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(sh, tier, hash); i > 0; i = at_index(sh, i)->hash_next) {
			struct sn_session *s = (struct sn_session *)at_index(sh, i);

			if ((is_along(s, f, from_outside) || is_against(s, f, from_outside)) &&
			    s->proto == f->proto && s->entry.owner == owner)
				return s;
		}
	}
	return NULL;
}

/* The session of a flow, NULL: there is none. *is_return: the flow is in the other direction than the one in
 * which it began. */
static inline struct sn_session *followed_find(struct sn_partition *partition, struct sn_state_table *t,
					       uint32_t shard, const struct sn_flow *f, bool from_outside,
					       uint64_t now, bool *is_return)
{
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	struct sn_session *s =
		followed_in(sh, t->owner, f, from_outside, followed_hash(partition->state, t->owner, f));

	if (!s)
		return NULL;
	if (unlikely(!sn_entry_live(&s->entry, now))) {
		sn_entry_expire(partition, t, sh, &s->entry);
		return NULL;
	}
	*is_return = s->entry.own_bit != from_outside;
	return s;
}

/* The session of a flow that begins now, in a shard that has room for it. */
static inline struct sn_session *followed_begin(struct sn_partition *partition, struct sn_state_table *t,
						uint32_t shard, const struct sn_flow *f, bool from_outside,
						uint64_t now)
{
	struct sn_state_shard *sh = shard_at(t, shard & t->mask);
	enum sn_proto_class class = class_of(f->proto);
	struct sn_session *s = session_begin(partition->state, sh, t->owner, shard, f->proto, class, now);

	s->entry.own_bit = from_outside;
	s->inside_addr = s->outside_addr = f->src;
	s->inside_port = s->outside_port = f->sport;
	s->remote_addr = f->dst;
	s->remote_port = f->dport;
	memset(s->ack, 0, sizeof(s->ack));
	memset(s->window, 0, sizeof(s->window));
	entry_settle(partition, t, sh, &s->entry, class, followed_hash(partition->state, t->owner, f));
	sh->created++;
	return s;
}

/* ---- rows of sn_state_kind.h ---- */

/*
 * Entries of a shard. Before a NAPT all flows of one port of a host are of one shard: an eighth of all may
 * be. Where addresses tell the shard, all may be. Memory costs only what is used of it.
 */
uint32_t sn_followed_entries(const struct sn_state_table *t, const struct sn_partitioning *partitioning);

uint64_t sn_followed_hash(const struct sn_state *state, const struct sn_entry *e);
bool sn_followed_is_there(const struct sn_state *state, const struct sn_state_table *t,
			  const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now);
uint32_t sn_followed_place(const struct sn_state *state, const struct sn_state_table *t,
			   const struct sn_entry *e);
const char *sn_followed_misfit(const struct sn_state *state, const struct sn_state_table *t,
			       const struct sn_entry *e);
int sn_followed_report(const struct sn_entry_info *info, struct sn_arena *arena,
		       Sinter__Program__V1__Session *session);

#endif /* SN_FOLLOWED_H */
