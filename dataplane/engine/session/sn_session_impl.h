/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SESSION_IMPL_H
#define SN_SESSION_IMPL_H

/* Building blocks of the kinds whose entries are sessions. */

#include "sn_parse.h"
#include "sn_session.h"
#include "sn_state_impl.h"

/* Owners' timeouts are numbered by enum sn_proto_class, TCP's being the transitory one; and behind them: */
enum {
	SN_SESSION_ESTABLISHED = SN_PROTOS,
	SN_SESSION_CLOSING, /* TCP's, behind a FIN or RST; 0: the transitory one is */
	SN_SESSION_TIMEOUTS,
};
_Static_assert(SN_SESSION_TIMEOUTS <= SN_OWNER_TIMEOUTS && SN_PROTOS <= SN_QUOTA_CLASSES, "all have a place");

static inline const struct sn_session *session_of(const struct sn_entry *e)
{
	return (const struct sn_session *)e;
}

/* The class of a protocol that has ports. */
static inline enum sn_proto_class ported_class_of(uint8_t proto)
{
	return proto == SN_TCP ? SN_PROTO_TCP : proto == SN_UDP ? SN_PROTO_UDP : SN_PROTO_ICMP;
}

static inline enum sn_proto_class class_of(uint8_t proto)
{
	return likely(sn_has_ports(proto)) ? ported_class_of(proto) : SN_PROTO_OTHER;
}

static inline bool is_established(uint8_t seen)
{
	return (seen & SN_SEEN_TCP) == (SN_SEEN_ANSWERED | SN_SEEN_ACKNOWLEDGED);
}

static inline uint32_t timeout_of(const struct sn_state_owner *run, uint8_t proto, uint8_t seen)
{
	if (proto == SN_TCP && is_established(seen))
		return run->timeout_ms[SN_SESSION_ESTABLISHED];
	if (proto == SN_TCP && seen & SN_SEEN_CLOSING && run->timeout_ms[SN_SESSION_CLOSING])
		return run->timeout_ms[SN_SESSION_CLOSING];
	return run->timeout_ms[class_of(proto)];
}

/* A session of the slab, which has one, that begins now; its addresses and ports are the caller's to set. No
 * packet of it was seen, so it has the timeout of its protocol's class: the caller knows that already. */
static inline struct sn_session *session_begin(const struct sn_state *state, struct sn_state_shard *sh,
					       uint32_t owner, uint32_t shard, uint8_t proto,
					       enum sn_proto_class class, uint64_t now)
{
	struct sn_session *s = (struct sn_session *)slab_take(sh);

	s->entry.last_use = now;
	s->entry.timeout_ms = state->owners[owner].timeout_ms[class];
	s->entry.owner = (uint16_t)owner;
	s->entry.shard = shard & (SN_SHARDS - 1);
	s->entry.own = SN_SCALES_NONE;
	s->proto = proto;
	s->seen = 0;
	return s;
}

/* ---- subscribers ---- */

/* The change that a session of an owner makes to its subscriber's count. */
static inline struct sn_subscriber_change subscriber_change(const struct sn_state *state, uint32_t owner,
							    uint32_t inside, enum sn_proto_class class,
							    uint32_t shard, int sessions, int ports)
{
	return (struct sn_subscriber_change){state->owners[owner].subscribers, inside,	 class,
					     shard & (SN_SHARDS - 1),	       sessions, ports};
}

/* It has so many sessions and ports more. */
static inline void subscriber_count(const struct sn_state *state, const struct sn_session *s, int sessions,
				    int ports)
{
	struct sn_subscriber_change c;

	if (likely(!state->subscribers))
		return;
	c = subscriber_change(state, s->entry.owner, s->inside_addr, class_of(s->proto), s->entry.shard,
			      sessions, ports);
	if (c.set != SN_NO_INDEX)
		sn_subscribers_count(state->subscribers, &c);
}

/* ---- rows of sn_state_kind.h ---- */

/* The class of owners' quotas and timeouts: enum sn_proto_class. */
uint32_t sn_session_quota_class(const struct sn_entry *e);
uint32_t sn_session_timeout(const struct sn_state *state, const struct sn_entry *e);

/* A session beside others; see sn_state_kind.h. */
bool sn_session_is_alike(const struct sn_entry *leader, const struct sn_entry *e, bool turned);
void sn_session_catch_up(struct sn_entry *e, const struct sn_entry *leader, bool turned);

/* A session elsewhere; see sn_state_kind.h. */
void sn_session_pack(const struct sn_entry *e, uint64_t now, uint8_t *record);
void sn_session_unpack(struct sn_entry *e, uint64_t now, const uint8_t *record);
int sn_session_report(const struct sn_entry_info *info, struct sn_arena *arena,
		      Sinter__Program__V1__Session *session);

/* A session that may end for a new one of its protocol; see sn_state_kind.h. */
struct sn_entry *sn_session_victim(struct sn_partition *partition, struct sn_state_table *table,
				   struct sn_state_shard *shard, uint32_t owner, uint32_t quota_class,
				   uint64_t now);

/* A TCP session that is not answered, or whose answer is not acknowledged, for so long that it may end where
 * room is scarce. */
bool sn_session_is_stuck(const struct sn_session *s, uint64_t now);

#endif /* SN_SESSION_IMPL_H */
