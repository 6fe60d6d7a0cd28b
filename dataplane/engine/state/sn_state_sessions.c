/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions are found, made, and end: the packet path. */

#include "sn_state_ports.h"

#define SHARDS_PER_TICK 8u
#define OPENING_NS	1000000000u /* for an answer to a TCP opening, however scarce ports are */
#define OPENINGS_LOOKED 16u	    /* ports that are looked at for one that is not answered */

/* An outside address and port. */
struct spot {
	uint32_t slot; /* SN_NO_INDEX: none is free */
	uint32_t address;
	uint16_t port;
};

/* ---- ports ---- */

/* What a slot of a list stands for. */
static __rte_always_inline struct spot spot_at(const struct table *t, const struct shard *sh,
					       const struct list *l, uint32_t coset, uint32_t address,
					       uint32_t slot)
{
	if (t->cosets)
		return (struct spot){slot, address_at(t, address),
				     t->cosets->port[t->cosets->first[coset] + slot - l->begin]};
	return (struct spot){slot, address_at(t, slot % t->n_addresses),
			     (uint16_t)(sh->port_base + ((slot / t->n_addresses) << t->shift))};
}

/* An outside address and port whose return packets hash into the shard. */
static __rte_noinline struct spot spot_by_hash(const struct table *t, struct shard *sh,
					       enum sn_proto_class class, uint32_t shard,
					       const struct sn_flow *f)
{
	for (uint32_t i = 0; i < t->n_addresses; i++) {
		uint32_t index = (uint32_t)((sh->created + i) % t->n_addresses);
		uint32_t address = address_at(t, index);
		uint32_t coset = coset_of(t, sn_rss_words(address, f->dst, f->dport, 0)) ^ (shard & t->mask);
		struct list l = list_of(t, sh, class, coset, index);
		uint32_t slot = slot_take(&l);

		if (slot != SN_NO_INDEX)
			return spot_at(t, sh, &l, coset, index, slot);
	}
	return (struct spot){.slot = SN_NO_INDEX};
}

static inline struct spot spot_take(const struct table *t, struct shard *sh, enum sn_proto_class class,
				    uint32_t shard, const struct sn_flow *f)
{
	struct list l;
	uint32_t slot;

	if (unlikely(t->cosets != NULL))
		return spot_by_hash(t, sh, class, shard, f);
	l = list_of(t, sh, class, 0, 0);
	slot = slot_take(&l);
	if (slot == SN_NO_INDEX)
		return (struct spot){.slot = SN_NO_INDEX};
	return spot_at(t, sh, &l, 0, 0, slot);
}

/* ---- the life of a session ---- */

/* All of a session's end but its port. */
static void dissolve(struct sn_partition *partition, struct table *t, struct shard *sh, struct sn_session *s)
{
	unchain(partition->state, sh, s);
	unhang(sh, s);
	if (unlikely(!sn_has_ports(s->proto)))
		back_unlink(partition->state, sh, s);
	s->live = 0;
	s->generation++;
	s->hash_next = sh->slab_free;
	sh->slab_free = index_of(sh, s);
	sh->live--;
	partition->left[t->id]++;
	++*run_quota(partition, s->run, class_of(s->proto));
}

void sn_session_end(struct sn_partition *partition, struct sn_session *s)
{
	struct list l;
	struct table *t;
	struct shard *sh = shard_of(partition->state, s, &t);

	dissolve(partition, t, sh, s);
	sh->created--;
	if (unlikely(!sn_has_ports(s->proto)))
		return;
	l = list_of_session(t, sh, s);
	slot_untake(&l, slot_of_session(t, sh, s));
}

static void expire(struct sn_partition *partition, struct table *t, struct shard *sh, struct sn_session *s)
{
	struct list l;

	dissolve(partition, t, sh, s);
	sh->expired++;
	if (unlikely(!sn_has_ports(s->proto)))
		return;
	l = list_of_session(t, sh, s);
	slot_rest(&l, slot_of_session(t, sh, s));
}

/*
 * Reclaim what has expired. The slot of this very moment is looked at only if
 * asked for: it is the one that is not over.
 */
static void reap(struct sn_partition *partition, struct table *t, struct shard *sh, uint64_t now,
		 bool to_the_moment)
{
	uint64_t end = now >> WHEEL_SHIFT, tick = sh->tick;

	if (sh->live && end > tick + WHEEL_SLOTS)
		tick = end - WHEEL_SLOTS; /* every slot once */
	if (!sh->live)
		tick = end;
	if (sh->tick < end)
		sh->tick = end;
	end += to_the_moment;
	for (; tick < end; tick++) {
		uint32_t *head = &sh->wheel[tick & (WHEEL_SLOTS - 1)], index = *head;

		*head = 0;
		while (index) {
			struct sn_session *s = at_index(sh, index);

			index = s->wheel_next;
			hang(sh, s);
			if (!sn_session_live(s, now))
				expire(partition, t, sh, s);
		}
	}
}

/* All shards of a table: only when a limit of the whole table is met, and once per instant. */
static void reap_all(struct sn_partition *partition, struct table *t, uint64_t now)
{
	if (partition->spent[t->id] == now)
		return;
	partition->spent[t->id] = now;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (partition->owned[i])
			reap(partition, t, &t->shards[i], now, true);
}

/* A TCP session that nobody outside answers, for long enough. */
static bool is_unanswered(const struct sn_session *s, uint64_t now)
{
	return (s->seen & SN_SEEN_ANSWERED) == 0 && (int64_t)(now - s->last_use) >= (int64_t)OPENING_NS;
}

/* Ends an opening, to make room; its slot is the caller's. */
static void evict(struct sn_partition *partition, struct table *t, struct shard *sh, struct sn_session *s,
		  uint64_t now)
{
	if (partition->ended != NULL) {
		partition->ended->table = t->id;
		partition->ended->sessions[partition->ended->n++] = sn_session_info(partition->state, s, now);
	}
	dissolve(partition, t, sh, s);
	sh->evicted++;
}

/* The number of `n` that is looked at now; the next one is next. */
static uint32_t turn(uint32_t *hand, uint32_t n)
{
	uint32_t now = *hand < n ? *hand : 0;

	*hand = now + 1;
	return now;
}

/* Ends an unanswered opening that has one of the ports; its slot, which is the caller's. */
static uint32_t slot_evict(struct sn_partition *partition, struct table *t, struct shard *sh,
			   const struct list *l, uint64_t now)
{
	for (uint32_t looks = 0; looks < OPENINGS_LOOKED && looks < l->n; looks++) {
		uint32_t slot = turn(&l->queue->hand, l->n), index = l->slots[slot];

		if (!index || index & SLOT_FREE || !is_unanswered(at_index(sh, index), now))
			continue;
		evict(partition, t, sh, at_index(sh, index), now);
		return l->begin + slot;
	}
	return SN_NO_INDEX;
}

/* Ends an unanswered opening of the shard, of the run if that is what is full. */
static void session_evict(struct sn_partition *partition, struct table *t, struct shard *sh, uint32_t run,
			  uint64_t now)
{
	bool run_full = *run_quota(partition, run, SN_PROTO_TCP) <= 0;

	for (uint32_t looks = 0; looks < OPENINGS_LOOKED && looks < sh->slab_fresh; looks++) {
		struct sn_session *s = &sh->slab[turn(&sh->hand, sh->slab_fresh)];
		struct list l;

		if (!s->live || s->proto != SN_TCP || (run_full && s->run != run) || !is_unanswered(s, now))
			continue;
		l = list_of_session(t, sh, s);
		evict(partition, t, sh, s, now);
		slot_rest(&l, slot_of_session(t, sh, s));
		return;
	}
}

/*
 * The port of a TCP opening that nobody answered, for one that begins: so a flood of openings cannot hold a
 * shard's ports. What was answered keeps its port. Few are looked at, others at each try.
 */
static struct spot spot_evict(struct sn_partition *partition, struct table *t, struct shard *sh,
			      uint32_t shard, const struct sn_flow *f, uint64_t now)
{
	uint32_t address = (uint32_t)((sh->created + sh->exhausted) % t->n_addresses), coset = 0, slot;
	struct list l;

	if (t->cosets)
		coset = coset_of(t, sn_rss_words(address_at(t, address), f->dst, f->dport, 0)) ^
			(shard & t->mask);
	l = list_of(t, sh, SN_PROTO_TCP, coset, address);
	slot = slot_evict(partition, t, sh, &l, now);
	if (slot == SN_NO_INDEX)
		return (struct spot){.slot = SN_NO_INDEX};
	return spot_at(t, sh, &l, coset, address, slot);
}

static inline bool slab_empty(const struct shard *sh)
{
	return !sh->slab_free && sh->slab_fresh == sh->slab_max;
}

/* Whether there is no room for one more session, after all that can be done about it. */
static __rte_noinline bool stays_full(struct sn_partition *partition, struct table *t, struct shard *sh,
				      uint32_t run, enum sn_proto_class class, uint64_t now)
{
	reap(partition, t, sh, now, true);
	if (is_full(partition, t, run, class)) {
		reap_all(partition, t, now);
		if (is_full(partition, t, run, class))
			atomic_store_explicit(&partition->starved, true, memory_order_relaxed);
	}
	if (class == SN_PROTO_TCP && (is_full(partition, t, run, class) || slab_empty(sh)))
		session_evict(partition, t, sh, run, now);
	return is_full(partition, t, run, class) || slab_empty(sh);
}

/* An outside address and port for a session to be made, for which there is room then. */
static struct spot spot_for(struct sn_partition *partition, struct table *t, struct shard *sh, uint32_t run,
			    uint32_t shard, const struct sn_flow *f, uint64_t now)
{
	enum sn_proto_class class = ported_class_of(f->proto);
	struct spot spot;

	if (unlikely((is_full(partition, t, run, class) || slab_empty(sh)) &&
		     stays_full(partition, t, sh, run, class, now)))
		return (struct spot){.slot = SN_NO_INDEX};
	if (!sh->live && sh->tick < now >> WHEEL_SHIFT)
		sh->tick = now >> WHEEL_SHIFT;
	spot = spot_take(t, sh, class, shard, f);
	if (likely(spot.slot != SN_NO_INDEX))
		return spot;
	reap(partition, t, sh, now, true);
	spot = spot_take(t, sh, class, shard, f);
	if (spot.slot == SN_NO_INDEX && class == SN_PROTO_TCP)
		spot = spot_evict(partition, t, sh, shard, f, now);
	return spot;
}

/* The addresses of the pool, by their bits, that sessions to a flow's remote have. */
static uint32_t addresses_used(const struct sn_state *state, const struct table *t, const struct shard *sh,
			       const struct sn_flow *f, uint64_t now)
{
	uint32_t used = 0;

	for (uint32_t i = *back_head(state, sh, f->proto, f->dst); i;) {
		const struct sn_session *s = at_index(sh, i);

		i = s->back_next;
		if (s->proto != f->proto || s->remote_addr != f->dst || !sn_session_live(s, now))
			continue;
		used |= 1u << address_index(t, s->outside_addr);
	}
	return used;
}

/* The first address, from the one that the source tells on, that no session of the protocol has with the
 * remote. */
static __rte_noinline struct spot spot_without_port(struct sn_partition *partition, struct table *t,
						    struct shard *sh, uint32_t run, const struct sn_flow *f,
						    uint64_t now)
{
	uint32_t n = (uint32_t)RTE_MIN(t->n_addresses, BACK_ADDRS), used;

	if (sh->portless >= portless_max(sh))
		reap(partition, t, sh, now, true);
	if (sh->portless >= portless_max(sh) ||
	    ((is_full(partition, t, run, SN_PROTO_OTHER) || slab_empty(sh)) &&
	     stays_full(partition, t, sh, run, SN_PROTO_OTHER, now)))
		return (struct spot){.slot = SN_NO_INDEX};
	if (!sh->live && sh->tick < now >> WHEEL_SHIFT)
		sh->tick = now >> WHEEL_SHIFT;
	used = addresses_used(partition->state, t, sh, f, now);
	for (uint32_t i = 0; i < n; i++)
		if (!(used >> (f->src % n + i) % n & 1))
			return (struct spot){0, address_at(t, (f->src % n + i) % n), 0};
	return (struct spot){.slot = SN_NO_INDEX};
}

static struct sn_session *make(struct sn_partition *partition, struct table *t, struct shard *sh,
			       uint32_t run, uint32_t shard, const struct sn_flow *f, uint64_t hash,
			       uint64_t now)
{
	const struct run *r = &partition->state->runs[run];
	struct spot spot = likely(sn_has_ports(f->proto)) ? spot_for(partition, t, sh, run, shard, f, now)
							  : spot_without_port(partition, t, sh, run, f, now);
	struct sn_session *s;

	if (unlikely(spot.slot == SN_NO_INDEX)) {
		sh->exhausted++;
		return NULL;
	}
	s = slab_take(sh);
	s->last_use = now;
	s->timeout_ms = timeout_of(r, f->proto, 0);
	s->inside_addr = f->src;
	s->inside_port = f->sport;
	s->remote_addr = f->dst;
	s->remote_port = f->dport;
	s->outside_addr = spot.address;
	s->outside_port = spot.port;
	s->run = run;
	s->proto = f->proto;
	s->seen = 0;
	s->shard = shard;
	s->scales = SN_SCALES_NONE;
	settle(partition, t, sh, s, spot.slot, hash);
	sh->created++;
	return s;
}

/* ---- the packet path ---- */

uint32_t sn_state_shard(const struct sn_state *state, const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return portless_shard(f->dst);
	if (likely(state->partitioning.by == SN_PARTITION_BY_HOST))
		return sn_mum(((uint64_t)f->src << 16 | f->sport) ^ state->key, 0x9e3779b97f4a7c15ull) &
		       (SN_SHARDS - 1);
	if (state->partitioning.by == SN_PARTITION_BY_ADDRESS)
		return f->src >> state->partitioning.shift & (SN_SHARDS - 1);
	return sn_rss_bucket(sn_rss_words(f->src, f->dst, f->sport, f->dport));
}

struct sn_state_hint sn_state_prefetch(const struct sn_state *state, uint32_t run, uint32_t shard,
				       const struct sn_flow *f)
{
	uint32_t r = state->run_of[run];
	const struct table *t = state->tables[state->runs[r].table];
	const struct shard *sh = &t->shards[shard & t->mask];
	struct sn_state_hint hint = {bucket_of(sh, hash_inside(state, r, f)), sh->slab};

	rte_prefetch0(hint.bucket);
	return hint;
}

enum sn_state_result sn_state_forward(struct sn_partition *partition, uint32_t run, uint32_t shard,
				      const struct sn_flow *f, bool wanted, uint64_t now,
				      struct sn_session **session)
{
	const struct sn_state *state = partition->state;
	uint32_t r = state->run_of[run];
	struct table *t = state->tables[state->runs[r].table];
	struct shard *sh = &t->shards[shard & t->mask];
	uint64_t hash = hash_inside(state, r, f);

	for (uint32_t i = *bucket_of(sh, hash); i;) {
		struct sn_session *s = at_index(sh, i);

		i = s->hash_next;
		if (s->inside_addr != f->src || s->inside_port != f->sport || s->remote_addr != f->dst ||
		    s->remote_port != f->dport || s->proto != f->proto || s->run != r)
			continue;
		if (likely(sn_session_live(s, now))) {
			*session = s;
			return SN_STATE_FOUND;
		}
		expire(partition, t, sh, s);
		break;
	}
	if (!wanted)
		return SN_STATE_NONE;
	*session = make(partition, t, sh, r, shard, f, hash, now);
	return *session ? SN_STATE_MADE : SN_STATE_NONE;
}

uint32_t sn_state_return_shard(const struct sn_state *state, uint32_t table, const struct sn_flow *f)
{
	return return_shard(state, state->tables[table], f);
}

struct sn_session *sn_state_return(const struct sn_state *state, uint32_t table, const struct sn_flow *f,
				   uint64_t now)
{
	const struct table *t = state->tables[table];
	const struct shard *sh = &t->shards[return_shard(state, t, f)];
	uint32_t slot, index;
	struct sn_session *s;

	if (unlikely(!sn_has_ports(f->proto)))
		return back_find(state, sh, f, now);
	slot = slot_of(t, sh, f->dst, f->dport);
	if (slot == SN_NO_INDEX)
		return NULL;
	index = sh->ports[ported_class_of(f->proto)].slots[slot];
	if (!index || index & SLOT_FREE)
		return NULL;
	s = at_index(sh, index);
	if (s->remote_addr != f->src || s->remote_port != f->sport || s->proto != f->proto ||
	    !sn_session_live(s, now))
		return NULL;
	return s;
}

uint32_t sn_session_run(const struct sn_state *state, const struct sn_session *s)
{
	return state->runs[s->run].index;
}

void sn_partition_tick(struct sn_partition *partition, uint64_t now)
{
	const struct sn_state *state = partition->state;

	partition->now = now;
	for (uint32_t n = 0; n < SHARDS_PER_TICK; n++) {
		uint32_t i = partition->cursor++ & (SN_SHARDS - 1);

		for (uint32_t j = 0; partition->owned[i] && j < state->n_tables; j++) {
			struct table *t = state->tables[j];

			if (i <= t->mask)
				reap(partition, t, &t->shards[i], now, false);
		}
	}
}
