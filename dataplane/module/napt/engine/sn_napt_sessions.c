/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions are found, made, and end: the packet path. */

#include "sn_flow.h"
#include "sn_napt_mapping.h"

#define OPENINGS_LOOKED 16u /* ports that are looked at for one whose opening is stuck */

/* An outside address and port. */
struct spot {
	uint32_t slot; /* SN_NO_INDEX: none is free */
	uint32_t address;
	uint16_t port;
};

/* ---- ports ---- */

/* The address and port of a slot of a list. */
static __rte_always_inline struct spot spot_at(const struct napt_table *t, const struct napt_shard *sh,
					       const struct list *l, uint32_t coset, uint32_t address,
					       uint32_t slot)
{
	if (t->cosets)
		return (struct spot){slot, address_at(t, address),
				     t->cosets->port[t->cosets->first[coset] + slot - l->begin]};
	if (t->paired)
		return (struct spot){slot, address_at(t, address),
				     (uint16_t)(sh->port_base + ((slot - l->begin) << t->shift))};
	return (struct spot){slot, address_at(t, slot % t->n_addresses),
			     (uint16_t)(sh->port_base + ((slot / t->n_addresses) << t->shift))};
}

/* The ports of an address by which return packets of a flow hash into the shard. */
static uint32_t coset_for(const struct napt_table *t, uint32_t address, uint32_t shard,
			  const struct sn_flow *f)
{
	uint16_t words =
		t->by_end ? sn_rss_words(address, 0, 0, 0) : sn_rss_words(address, f->dst, f->dport, 0);

	return coset_of(t, words) ^ (shard & t->table.mask);
}

/* An outside address and port whose return packets hash into the shard. */
static __rte_noinline struct spot spot_by_hash(const struct napt_table *t, struct napt_shard *sh,
					       enum sn_proto_class class, uint32_t shard,
					       const struct sn_flow *f, uint64_t now)
{
	for (uint32_t i = 0; i < (t->paired ? 1 : t->n_addresses); i++) {
		uint32_t index = t->paired ? paired_index(t, f->src)
					   : (uint32_t)((sh->shard.created + i) % t->n_addresses);
		uint32_t address = address_at(t, index);
		uint32_t coset = coset_for(t, address, shard, f);
		struct list l = list_of(t, sh, class, coset, index);
		uint32_t slot = slot_take(&l, now);

		if (slot != SN_NO_INDEX)
			return spot_at(t, sh, &l, coset, index, slot);
	}
	return (struct spot){.slot = SN_NO_INDEX};
}

static inline struct spot spot_take(const struct napt_table *t, struct napt_shard *sh,
				    enum sn_proto_class class, uint32_t shard, const struct sn_flow *f,
				    uint64_t now)
{
	uint32_t slot, index = unlikely(t->paired) ? paired_index(t, f->src) : 0;
	struct list l;

	if (unlikely(t->cosets != NULL))
		return spot_by_hash(t, sh, class, shard, f, now);
	l = list_of(t, sh, class, 0, index);
	slot = slot_take(&l, now);
	if (slot == SN_NO_INDEX)
		return (struct spot){.slot = SN_NO_INDEX};
	return spot_at(t, sh, &l, 0, index, slot);
}

/* ---- the life of a session ---- */

/* A session takes its port, or its place among those without. True: it is the first one that has the port. */
static inline bool take_place(const struct sn_state *state, const struct napt_table *t, struct napt_shard *sh,
			      uint32_t slot, struct sn_session *s)
{
	if (unlikely(!sn_has_ports(s->proto))) {
		back_link(state, sh, s);
		return false;
	}
	if (is_shared(t))
		return sn_mapping_join(state, t, sh, slot, s);
	*slot_at(sh, ported_class_of(s->proto), slot) = index_of(&sh->shard, &s->entry);
	return true;
}

void sn_napt_hold(const struct sn_state *state, const struct sn_state_table *table,
		  struct sn_state_shard *shard, struct sn_entry *e)
{
	const struct napt_table *t = (const struct napt_table *)table;
	struct napt_shard *sh = (struct napt_shard *)shard;
	struct sn_session *s = (struct sn_session *)e;

	subscriber_count(state, s, 1, take_place(state, t, sh, slot_of_session(t, sh, s), s));
}

void sn_napt_release(const struct sn_state *state, const struct sn_state_table *table,
		     struct sn_state_shard *shard, struct sn_entry *e, bool unused)
{
	const struct napt_table *t = (const struct napt_table *)table;
	struct napt_shard *sh = (struct napt_shard *)shard;
	struct sn_session *s = (struct sn_session *)e;
	struct list l;
	uint32_t slot;

	if (unlikely(!sn_has_ports(s->proto))) {
		back_unlink(state, sh, s);
		subscriber_count(state, s, -1, 0);
		return;
	}
	slot = slot_of_session(t, sh, s);
	if (unlikely(t->rest_ns) && !unused)
		slot_note_rest(t, rests_of(t, sh, ported_class_of(s->proto)), slot,
			       sn_entry_last_use(e) + e->timeout_ms * NS_PER_MS);
	if (unlikely(is_shared(t)) && !sn_mapping_leave(state, t, sh, slot, s)) {
		subscriber_count(state, s, -1, 0);
		return;
	}
	subscriber_count(state, s, -1, -1);
	l = list_of_session(t, sh, s);
	if (unused)
		slot_untake(&l, slot);
	else
		slot_rest(&l, slot);
}

/* Ends a stuck opening that has one of the ports; its slot, which is the caller's. */
static uint32_t slot_evict(struct sn_partition *partition, struct napt_table *t, struct napt_shard *sh,
			   const struct list *l, uint64_t now)
{
	for (uint32_t looks = 0; looks < OPENINGS_LOOKED && looks < l->n; looks++) {
		uint32_t slot = turn(&l->queue->hand, l->n), index = *list_slot(l, slot);

		struct sn_session *s;

		if (!index || index & SLOT_FREE)
			continue;
		s = session_at(sh, index);
		if (!sn_session_is_stuck(s, now))
			continue;
		sn_state_note_evicted(partition, &t->table, &sh->shard, &s->entry, now);
		subscriber_count(partition->state, s, -1, -1);
		entry_end(partition, &t->table, &sh->shard, &s->entry, class_of(s->proto),
			  hash_session(partition->state, s));
		return l->begin + slot;
	}
	return SN_NO_INDEX;
}

/*
 * The port of a TCP opening that is stuck, for one that begins: so a flood of openings cannot hold a
 * shard's ports, though somebody answers them. What was acknowledged keeps its port. Few are looked at,
 * others at each try.
 */
static struct spot spot_evict(struct sn_partition *partition, struct napt_table *t, struct napt_shard *sh,
			      uint32_t shard, const struct sn_flow *f, uint64_t now)
{
	uint32_t address =
		t->paired ? paired_index(t, f->src)
			  : (uint32_t)((sh->shard.created + sh->shard.cold->exhausted) % t->n_addresses);
	uint32_t coset = 0, slot;
	struct list l;

	if (t->cosets)
		coset = coset_for(t, address_at(t, address), shard, f);
	l = list_of(t, sh, SN_PROTO_TCP, coset, address);
	slot = slot_evict(partition, t, sh, &l, now);
	if (slot == SN_NO_INDEX)
		return (struct spot){.slot = SN_NO_INDEX};
	return spot_at(t, sh, &l, coset, address, slot);
}

/* The same where sessions share ports: one that has its port for itself gives it back. */
static void evict_alone(struct sn_partition *partition, struct napt_table *t, struct napt_shard *sh,
			const struct sn_flow *f, uint64_t now)
{
	for (uint32_t looks = 0; looks < OPENINGS_LOOKED && looks < slab_used(&sh->shard); looks++) {
		struct sn_entry *e = used_entry(&sh->shard, turn(&sh->shard.hand, slab_used(&sh->shard)));
		const struct sn_session *s = (const struct sn_session *)e;

		if (!e->live || s->proto != SN_TCP || !sn_session_is_stuck(s, now) ||
		    (t->paired && address_index(t, s->outside_addr) != paired_index(t, f->src)) ||
		    mapping_at(sh, SN_PROTO_TCP, slot_of_session(t, sh, s))->n > 1)
			continue;
		sn_state_note_evicted(partition, &t->table, &sh->shard, e, now);
		sn_napt_release(partition->state, &t->table, &sh->shard, e, false);
		entry_end(partition, &t->table, &sh->shard, e, SN_PROTO_TCP,
			  hash_session(partition->state, s));
		return;
	}
}

/* Sessions of a mapping with one remote address, where the filter asks for them; *first: a live one. */
static uint32_t sessions_with(const struct sn_state *state, const struct napt_table *t,
			      const struct napt_shard *sh, uint32_t run, const struct sn_flow *f,
			      uint64_t now)
{
	uint64_t hash = hash_inside(state, t, run, f);
	uint32_t n = 0;

	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint32_t i = first_of(&sh->shard, tier, hash); i;) {
			const struct sn_session *s = session_at(sh, i);

			i = s->entry.hash_next;
			n += s->inside_addr == f->src && s->inside_port == f->sport &&
			     s->remote_addr == f->dst && s->proto == f->proto && s->entry.owner == run &&
			     sn_entry_live(&s->entry, now);
		}
	}
	return n;
}

/* The outside address and port that other sessions have already. */
static struct spot spot_shared(const struct sn_state *state, const struct napt_table *t,
			       const struct napt_shard *sh, uint32_t run, const struct sn_flow *f)
{
	struct spot spot = {.slot = sn_mapping_find(state, t, sh, run, f)};

	if (spot.slot != SN_NO_INDEX)
		sn_mapping_outside(t, sh, spot.slot, &spot.address, &spot.port);
	return spot;
}

/* An outside address and port for a session to be made, for which there is room then. */
static struct spot spot_for(struct sn_partition *partition, struct napt_table *t, struct napt_shard *sh,
			    uint32_t run, uint32_t shard, const struct sn_flow *f, uint64_t now)
{
	enum sn_proto_class class = ported_class_of(f->proto);
	struct spot spot;

	if (unlikely(!has_room(partition, &t->table, &sh->shard, run, class, now)))
		return (struct spot){.slot = SN_NO_INDEX};
	if (is_shared(t)) {
		if (t->filtering == SN_ADDRESS_DEPENDENT &&
		    sessions_with(partition->state, t, sh, run, f, now) >= REMOTE_PORTS)
			return (struct spot){.slot = SN_NO_INDEX};
		spot = spot_shared(partition->state, t, sh, run, f);
		if (spot.slot != SN_NO_INDEX)
			return spot;
	}
	spot = spot_take(t, sh, class, shard, f, now);
	if (likely(spot.slot != SN_NO_INDEX))
		return spot;
	sn_state_reap(partition, &t->table, &sh->shard, now, true);
	spot = spot_take(t, sh, class, shard, f, now);
	if (spot.slot != SN_NO_INDEX || class != SN_PROTO_TCP || t->rest_ns)
		return spot; /* a port that somebody gives up would have to rest */
	if (!is_shared(t))
		return spot_evict(partition, t, sh, shard, f, now);
	evict_alone(partition, t, sh, f, now);
	return spot_take(t, sh, class, shard, f, now);
}

/* The addresses of the pool, by their bits, that sessions to a flow's remote have. */
static uint32_t addresses_used(const struct sn_state *state, const struct napt_table *t,
			       const struct napt_shard *sh, const struct sn_flow *f, uint64_t now)
{
	uint32_t used = 0;

	for (uint32_t i = *back_head(state, sh, f->proto, f->dst); i;) {
		const struct sn_session *s = session_at(sh, i);

		i = s->back_next;
		if (s->proto != f->proto || s->remote_addr != f->dst || !sn_entry_live(&s->entry, now))
			continue;
		used |= 1u << address_index(t, s->outside_addr);
	}
	return used;
}

/* The first address, from the one that the source tells on, that no session of the protocol has with the
 * remote. */
static __rte_noinline struct spot spot_without_port(struct sn_partition *partition, struct napt_table *t,
						    struct napt_shard *sh, uint32_t run,
						    const struct sn_flow *f, uint64_t now)
{
	uint32_t n = (uint32_t)RTE_MIN(t->n_addresses, BACK_ADDRS), used;

	if (sh->portless >= portless_max(partition->state, sh))
		sn_state_reap(partition, &t->table, &sh->shard, now, true);
	if (sh->portless >= portless_max(partition->state, sh) ||
	    !has_room(partition, &t->table, &sh->shard, run, SN_PROTO_OTHER, now))
		return (struct spot){.slot = SN_NO_INDEX};
	used = addresses_used(partition->state, t, sh, f, now);
	for (uint32_t i = 0; i < n; i++)
		if (!(used >> (f->src % n + i) % n & 1))
			return (struct spot){0, address_at(t, (f->src % n + i) % n), 0};
	return (struct spot){.slot = SN_NO_INDEX};
}

/* Whether a flow gets a port that none of its inside end's has. */
static bool needs_port(const struct sn_state *state, const struct napt_table *t, const struct napt_shard *sh,
		       uint32_t run, const struct sn_flow *f)
{
	return sn_has_ports(f->proto) &&
	       (!is_shared(t) || sn_mapping_find(state, t, sh, run, f) == SN_NO_INDEX);
}

/* A session of a flow that has none. MADE, LIMITED or NONE. */
static enum sn_napt_result make(struct sn_partition *partition, struct napt_table *t, struct napt_shard *sh,
				uint32_t run, uint32_t shard, const struct sn_flow *f, uint64_t hash,
				uint64_t now, struct sn_session **made)
{
	const struct sn_state *state = partition->state;
	enum sn_proto_class class = class_of(f->proto);
	bool counted = state->subscribers && needs_port(state, t, sh, run, f), first;
	struct sn_session *s;
	struct spot spot;

	*made = NULL;
	if (state->subscribers && !sn_napt_subscriber_take(partition, run, shard, f, counted, now))
		return SN_NAPT_LIMITED;
	spot = likely(class != SN_PROTO_OTHER) ? spot_for(partition, t, sh, run, shard, f, now)
					       : spot_without_port(partition, t, sh, run, f, now);
	if (unlikely(spot.slot == SN_NO_INDEX)) {
		if (state->subscribers)
			sn_napt_subscriber_untake(state, run, shard, f, counted);
		sh->shard.cold->exhausted++;
		return SN_NAPT_NONE;
	}
	s = session_begin(state, &sh->shard, run, shard, f->proto, class, now);
	s->inside_addr = f->src;
	s->inside_port = f->sport;
	s->remote_addr = f->dst;
	s->remote_port = f->dport;
	s->outside_addr = spot.address;
	s->outside_port = spot.port;
	if (t->filtering == SN_ADDRESS_DEPENDENT)
		s->seen = SN_SEEN_BY_ADDRESS;
	first = take_place(state, t, sh, spot.slot, s);
	if (unlikely(first && !counted)) /* the mapping that it would have joined ended to make room */
		subscriber_count(state, s, 0, 1);
	entry_settle(partition, &t->table, &sh->shard, &s->entry, class, hash);
	sh->shard.created++;
	sn_state_note_made(partition, &t->table, &s->entry, now);
	*made = s;
	return SN_NAPT_MADE;
}

/* ---- the packet path ---- */

uint32_t sn_napt_shard(const struct sn_state *state, uint32_t run, const struct sn_flow *f)
{
	if (unlikely(state->partitioning.by == SN_PARTITION_BY_RSS) && sn_has_ports(f->proto) &&
	    ((const struct napt_table *)state->tables[state->owners[run].table])->by_end)
		return sn_rss_bucket(sn_rss_words(f->src, 0, f->sport, 0));
	/* First what all runs have in common: that lies on a line that is read anyway. */
	if (unlikely(state->n_translated) && state->owners[run].again &&
	    sn_range_of(state->translated, state->n_translated, f->src) != SN_NO_INDEX)
		return sn_flow_shard(state, SN_CUT_BY_PORT, f);
	return unlikely(state->by_ends) ? sn_flow_both_shard(state, f) : sn_flow_host_shard(state, f);
}

static struct sn_flow_hint hint_of(const struct sn_state *state, uint32_t run, const struct sn_flow *f)
{
	const struct napt_table *t = (struct napt_table *)state->tables[state->owners[run].table];
	uint32_t shard = sn_napt_shard(state, run, f), set = state->owners[run].subscribers;
	const struct sn_state_shard *sh = &napt_shard_at(t, shard & t->table.mask)->shard;
	struct sn_flow_hint hint = {sh, hash_inside(state, t, run, f), shard, set != SN_NO_INDEX, 0};

	expect_first(sh, hint.hash);
	if (hint.counted)
		hint.subscriber = sn_subscribers_expect(state->subscribers, set, f->src);
	return hint;
}

void sn_napt_prefetch(const struct sn_state *state, uint32_t run, const struct sn_flow *flows, uint64_t which,
		      struct sn_flow_hint *hints)
{
	for (uint64_t left = which; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		hints[i] = hint_of(state, run, &flows[i]);
	}
	for (uint32_t tier = 0; tier < TIERS; tier++) {
		for (uint64_t left = which; left; left &= left - 1) {
			const struct sn_flow_hint *hint = &hints[__builtin_ctzll(left)];

			expect_entry(hint->shard, first_of(hint->shard, tier, hint->hash));
		}
	}
	for (uint64_t left = state->subscribers ? which : 0; left; left &= left - 1) {
		const struct sn_flow_hint *hint = &hints[__builtin_ctzll(left)];

		if (hint->counted)
			sn_subscribers_expect_more(state->subscribers, hint->subscriber);
	}
}

enum sn_napt_result sn_napt_forward(struct sn_partition *partition, uint32_t run, uint32_t shard,
				    const struct sn_flow *f, bool wanted, uint64_t now,
				    struct sn_session **session)
{
	const struct sn_state *state = partition->state;
	struct napt_table *t = (struct napt_table *)state->tables[state->owners[run].table];
	struct napt_shard *sh = napt_shard_at(t, shard & t->table.mask);
	uint64_t hash = hash_inside(state, t, run, f);

	struct sn_session *s = session_find(sh, run, f, hash);

	if (s && likely(sn_entry_live(&s->entry, now))) {
		*session = s;
		return SN_NAPT_FOUND;
	}
	if (s)
		sn_entry_expire(partition, &t->table, &sh->shard, &s->entry);
	if (!wanted)
		return SN_NAPT_NONE;
	return make(partition, t, sh, run, shard, f, hash, now, session);
}

enum sn_open sn_napt_open(struct sn_partition *partition, uint32_t run, const struct sn_flow *f,
			  const struct sn_flow_hint *hint, uint64_t now, struct sn_session **session,
			  uint32_t *reason)
{
	const struct sn_state *state = partition->state;
	struct napt_table *t = (struct napt_table *)state->tables[state->owners[run].table];
	struct napt_shard *sh = napt_shard_at(t, hint->number & t->table.mask);

	if (session_find(sh, run, f, hint->hash))
		return SN_OPEN_KNOWN;
	switch (make(partition, t, sh, run, hint->number, f, hint->hash, now, session)) {
	case SN_NAPT_MADE:
		return SN_OPEN_MADE;
	case SN_NAPT_LIMITED:
		*reason = sn_napt_limit(state, run);
		return SN_OPEN_DROP;
	default:
		*reason = SN_REASON_NAT_EXHAUSTED;
		return SN_OPEN_DROP;
	}
}

uint32_t sn_napt_return_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *f)
{
	return return_shard(state, (const struct napt_table *)state->tables[table], f);
}

/* The session by a mapping that sessions share, be it live or not. */
static struct sn_session *return_shared(const struct sn_state *state, const struct napt_table *t,
					const struct napt_shard *sh, const struct mapping *m,
					const struct sn_flow *f)
{
	struct sn_flow inside;

	if (!is_mapped_to(t, m, f->src))
		return NULL;
	inside = inside_of(m, f);
	return session_find(sh, m->owner, &inside, hash_inside(state, t, m->owner, &inside));
}

struct sn_session *sn_napt_return(const struct sn_state *state, uint32_t table, const struct sn_flow *f,
				  uint64_t now)
{
	const struct napt_table *t = (const struct napt_table *)state->tables[table];
	const struct napt_shard *sh = napt_shard_at(t, return_shard(state, t, f));
	uint32_t slot, index;
	struct sn_session *s;

	if (unlikely(!sn_has_ports(f->proto)))
		return back_find(state, sh, f, now);
	slot = slot_of(t, sh, f->dst, f->dport);
	if (slot == SN_NO_INDEX)
		return NULL;
	if (is_shared(t)) {
		s = return_shared(state, t, sh, mapping_at(sh, ported_class_of(f->proto), slot), f);
		return s && sn_entry_live(&s->entry, now) ? s : NULL;
	}
	index = *slot_at(sh, ported_class_of(f->proto), slot);
	if (!index || index & SLOT_FREE)
		return NULL;
	s = session_at(sh, index);
	if (s->remote_addr != f->src || s->remote_port != f->sport || s->proto != f->proto ||
	    !sn_entry_live(&s->entry, now))
		return NULL;
	return s;
}

/* Whether a mapping lets a flow begin from outside. It may be there only because what has expired was not
 * reclaimed. */
static bool lets_in(struct sn_partition *partition, const struct napt_table *t, struct napt_shard *sh,
		    const struct mapping *m, const struct sn_flow *inside, uint64_t now)
{
	if (!is_mapped_to(t, m, inside->dst) || t->filtering == SN_ADDRESS_AND_PORT_DEPENDENT)
		return false;
	if (t->filtering == SN_ADDRESS_DEPENDENT)
		return sessions_with(partition->state, t, sh, m->owner, inside, now) > 0;
	if (sh->reaped != now)
		sn_state_reap(partition, &t->table, &sh->shard, now, true);
	sh->reaped = now;
	return is_mapped(m);
}

enum sn_napt_result sn_napt_come(struct sn_partition *partition, uint32_t table, const struct sn_flow *f,
				 uint64_t now, struct sn_session **session, uint32_t *run)
{
	const struct sn_state *state = partition->state;
	struct napt_table *t = (struct napt_table *)state->tables[table];
	struct napt_shard *sh = napt_shard_at(t, return_shard(state, t, f));
	enum sn_napt_result result;
	const struct mapping *m;
	struct sn_flow inside;
	struct sn_session *s;
	uint32_t slot;

	*session = sn_napt_return(state, table, f, now);
	if (likely(*session != NULL))
		return SN_NAPT_FOUND;
	if (likely(!is_shared(t)) || (f->proto != SN_TCP && f->proto != SN_UDP))
		return SN_NAPT_NONE;
	slot = slot_of(t, sh, f->dst, f->dport);
	if (slot == SN_NO_INDEX)
		return SN_NAPT_NONE;
	m = mapping_at(sh, ported_class_of(f->proto), slot);
	inside = inside_of(m, f);
	if (!lets_in(partition, t, sh, m, &inside, now))
		return SN_NAPT_NONE;
	s = return_shared(state, t, sh, m, f);
	if (s)
		sn_entry_expire(partition, &t->table, &sh->shard, &s->entry);
	*run = m->owner;
	result = make(partition, t, sh, m->owner, m->shard, &inside, hash_inside(state, t, m->owner, &inside),
		      now, session);
	if (*session && ((*session)->outside_addr != f->dst || (*session)->outside_port != f->dport)) {
		sn_session_end(partition, *session); /* to make room, the mapping's only session ended */
		*session = NULL;
	}
	if (*session)
		return SN_NAPT_MADE;
	return result == SN_NAPT_LIMITED ? SN_NAPT_LIMITED : SN_NAPT_FULL;
}
