/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sn_lines.h"
#include "sn_parse.h"
#include "sn_state_impl.h"

#define PORTS_PER_SHARD 64u    /* at least: fewer shards rather than shards with next to no ports */
#define SLOTS_MAX	65536u /* outside addresses and ports of a shard and protocol that are used at most */
#define RSS_SLOTS_MAX	(1u << 21) /* the same, where a remote can use but one of 128 of them */
#define SHARDS_PER_TICK 8u
#define HUGE_PAGE	(2u << 20)
#define HUGE_MAX	(64u << 20) /* a table larger than that is used thinly: small pages cost less */
#define NO_LIMIT	(1 << 30)   /* of sessions: more than memory holds */
#define OPENING_NS	1000000000u /* for an answer to a TCP opening, however scarce ports are */
#define OPENINGS_LOOKED 16u	    /* ports that are looked at for one that is not answered */

/* An outside address and port. */
struct spot {
	uint32_t slot; /* SN_NO_INDEX: none is free */
	uint32_t address;
	uint16_t port;
};

static inline int32_t limit(uint32_t max_sessions)
{
	return max_sessions && max_sessions < NO_LIMIT ? (int32_t)max_sessions : NO_LIMIT;
}

/* ---- chains, wheel ---- */

static void unchain(const struct sn_state *state, struct shard *sh, const struct sn_session *s)
{
	uint32_t *link = bucket_of(sh, hash_session(state, s)), index = index_of(sh, s);

	while (*link != index)
		link = &at_index(sh, *link)->hash_next;
	*link = s->hash_next;
}

/* ---- ports ---- */

static __rte_always_inline uint32_t slot_take(const struct list *l)
{
	struct queue *q = l->queue;
	uint32_t slot;

	while (q->fresh < l->n && l->slots[q->fresh])
		q->fresh++;
	if (q->fresh < l->n)
		return l->begin + q->fresh++;
	if (!q->head)
		return SN_NO_INDEX;
	slot = q->head - 1;
	q->head = l->slots[slot] & ~SLOT_FREE;
	if (q->head)
		rte_prefetch0(&l->slots[q->head - 1]);
	return l->begin + slot;
}

/* Behind all that are free: it shall rest. */
static void slot_rest(const struct list *l, uint32_t slot)
{
	struct queue *q = l->queue;

	slot -= l->begin;
	l->slots[slot] = SLOT_FREE;
	if (q->head)
		l->slots[q->tail - 1] = SLOT_FREE | (slot + 1);
	else
		q->head = slot + 1;
	q->tail = slot + 1;
}

/* Before all that are free: it was never used. */
static void slot_untake(const struct list *l, uint32_t slot)
{
	struct queue *q = l->queue;

	slot -= l->begin;
	if (slot + 1 == q->fresh) {
		l->slots[slot] = 0;
		q->fresh--;
		return;
	}
	l->slots[slot] = SLOT_FREE | q->head;
	if (!q->head)
		q->tail = slot + 1;
	q->head = slot + 1;
}

static uint32_t address_at(const struct table *t, uint32_t index)
{
	uint32_t i = t->n_pool - 1;

	while (t->pool_base[i] > index)
		i--;
	return t->pool[i].first + (index - t->pool_base[i]);
}

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
static void dissolve(struct sn_part *part, struct table *t, struct shard *sh, struct sn_session *s)
{
	unchain(part->state, sh, s);
	unhang(sh, s);
	if (unlikely(!sn_has_ports(s->proto)))
		back_unlink(part->state, sh, s);
	s->live = 0;
	s->generation++;
	s->hash_next = sh->slab_free;
	sh->slab_free = index_of(sh, s);
	sh->live--;
	part->left[t->id]++;
	++*run_room(part, s->run, class_of(s->proto));
}

void sn_session_end(struct sn_part *part, struct sn_session *s)
{
	struct list l;
	struct table *t;
	struct shard *sh = shard_of(part->state, s, &t);

	dissolve(part, t, sh, s);
	sh->created--;
	if (unlikely(!sn_has_ports(s->proto)))
		return;
	l = list_of_session(t, sh, s);
	slot_untake(&l, slot_of_session(t, sh, s));
}

static void expire(struct sn_part *part, struct table *t, struct shard *sh, struct sn_session *s)
{
	struct list l;

	dissolve(part, t, sh, s);
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
static void reap(struct sn_part *part, struct table *t, struct shard *sh, uint64_t now, bool to_the_moment)
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
				expire(part, t, sh, s);
		}
	}
}

/* All shards of a table: only when a limit of the whole table is met, and once per instant. */
static void reap_all(struct sn_part *part, struct table *t, uint64_t now)
{
	if (part->spent[t->id] == now)
		return;
	part->spent[t->id] = now;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (part->owned[i])
			reap(part, t, &t->shards[i], now, true);
}

static bool is_full(const struct sn_part *part, const struct table *t, uint32_t run,
		    enum sn_proto_class class)
{
	return part->left[t->id] <= 0 || *run_room(part, run, class) <= 0;
}

/* A TCP session that nobody outside answers, for long enough. */
static bool is_unanswered(const struct sn_session *s, uint64_t now)
{
	return (s->seen & SN_SEEN_ANSWERED) == 0 && (int64_t)(now - s->last_use) >= (int64_t)OPENING_NS;
}

static struct sn_session_info info_of(const struct sn_state *state, const struct sn_session *s, uint64_t now)
{
	return (struct sn_session_info){
		.run = state->runs[s->run].name,
		.proto = s->proto,
		.inside_addr = s->inside_addr,
		.outside_addr = s->outside_addr,
		.remote_addr = s->remote_addr,
		.inside_port = s->inside_port,
		.outside_port = s->outside_port,
		.remote_port = s->remote_port,
		.idle_ns = now - s->last_use,
		.shard = s->shard,
	};
}

/* Ends an opening, to make room; its slot is the caller's. */
static void displace(struct sn_part *part, struct table *t, struct shard *sh, struct sn_session *s,
		     uint64_t now)
{
	if (part->ended != NULL) {
		part->ended->table = t->id;
		part->ended->sessions[part->ended->n++] = info_of(part->state, s, now);
	}
	dissolve(part, t, sh, s);
	sh->displaced++;
}

/* The number of `n` that is looked at now; the next one is next. */
static uint32_t turn(uint32_t *hand, uint32_t n)
{
	uint32_t now = *hand < n ? *hand : 0;

	*hand = now + 1;
	return now;
}

/* Ends an unanswered opening that has one of the ports; its slot, which is the caller's. */
static uint32_t slot_displace(struct sn_part *part, struct table *t, struct shard *sh, const struct list *l,
			      uint64_t now)
{
	for (uint32_t looks = 0; looks < OPENINGS_LOOKED && looks < l->n; looks++) {
		uint32_t slot = turn(&l->queue->hand, l->n), index = l->slots[slot];

		if (!index || index & SLOT_FREE || !is_unanswered(at_index(sh, index), now))
			continue;
		displace(part, t, sh, at_index(sh, index), now);
		return l->begin + slot;
	}
	return SN_NO_INDEX;
}

/* Ends an unanswered opening of the shard, of the run if that is what is full. */
static void session_displace(struct sn_part *part, struct table *t, struct shard *sh, uint32_t run,
			     uint64_t now)
{
	bool run_full = *run_room(part, run, SN_PROTO_TCP) <= 0;

	for (uint32_t looks = 0; looks < OPENINGS_LOOKED && looks < sh->slab_fresh; looks++) {
		struct sn_session *s = &sh->slab[turn(&sh->hand, sh->slab_fresh)];
		struct list l;

		if (!s->live || s->proto != SN_TCP || (run_full && s->run != run) || !is_unanswered(s, now))
			continue;
		l = list_of_session(t, sh, s);
		displace(part, t, sh, s, now);
		slot_rest(&l, slot_of_session(t, sh, s));
		return;
	}
}

/*
 * The port of a TCP opening that nobody answered, for one that begins: so a flood of openings cannot hold a
 * shard's ports. What was answered keeps its port. Few are looked at, others at each try.
 */
static struct spot spot_displace(struct sn_part *part, struct table *t, struct shard *sh, uint32_t shard,
				 const struct sn_flow *f, uint64_t now)
{
	uint32_t address = (uint32_t)((sh->created + sh->exhausted) % t->n_addresses), coset = 0, slot;
	struct list l;

	if (t->cosets)
		coset = coset_of(t, sn_rss_words(address_at(t, address), f->dst, f->dport, 0)) ^
			(shard & t->mask);
	l = list_of(t, sh, SN_PROTO_TCP, coset, address);
	slot = slot_displace(part, t, sh, &l, now);
	if (slot == SN_NO_INDEX)
		return (struct spot){.slot = SN_NO_INDEX};
	return spot_at(t, sh, &l, coset, address, slot);
}

static inline bool slab_empty(const struct shard *sh)
{
	return !sh->slab_free && sh->slab_fresh == sh->slab_max;
}

/* Whether there is no room for one more session, after all that can be done about it. */
static __rte_noinline bool stays_full(struct sn_part *part, struct table *t, struct shard *sh, uint32_t run,
				      enum sn_proto_class class, uint64_t now)
{
	reap(part, t, sh, now, true);
	if (is_full(part, t, run, class)) {
		reap_all(part, t, now);
		if (is_full(part, t, run, class))
			atomic_store_explicit(&part->starved, true, memory_order_relaxed);
	}
	if (class == SN_PROTO_TCP && (is_full(part, t, run, class) || slab_empty(sh)))
		session_displace(part, t, sh, run, now);
	return is_full(part, t, run, class) || slab_empty(sh);
}

/* An outside address and port for a session to be made, for which there is room then. */
static struct spot spot_for(struct sn_part *part, struct table *t, struct shard *sh, uint32_t run,
			    uint32_t shard, const struct sn_flow *f, uint64_t now)
{
	enum sn_proto_class class = ported_class_of(f->proto);
	struct spot spot;

	if (unlikely((is_full(part, t, run, class) || slab_empty(sh)) &&
		     stays_full(part, t, sh, run, class, now)))
		return (struct spot){.slot = SN_NO_INDEX};
	if (!sh->live && sh->tick < now >> WHEEL_SHIFT)
		sh->tick = now >> WHEEL_SHIFT;
	spot = spot_take(t, sh, class, shard, f);
	if (likely(spot.slot != SN_NO_INDEX))
		return spot;
	reap(part, t, sh, now, true);
	spot = spot_take(t, sh, class, shard, f);
	if (spot.slot == SN_NO_INDEX && class == SN_PROTO_TCP)
		spot = spot_displace(part, t, sh, shard, f, now);
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
static __rte_noinline struct spot spot_without_port(struct sn_part *part, struct table *t, struct shard *sh,
						    uint32_t run, const struct sn_flow *f, uint64_t now)
{
	uint32_t n = (uint32_t)RTE_MIN(t->n_addresses, BACK_ADDRS), used;

	if (sh->portless >= portless_max(sh))
		reap(part, t, sh, now, true);
	if (sh->portless >= portless_max(sh) || ((is_full(part, t, run, SN_PROTO_OTHER) || slab_empty(sh)) &&
						 stays_full(part, t, sh, run, SN_PROTO_OTHER, now)))
		return (struct spot){.slot = SN_NO_INDEX};
	if (!sh->live && sh->tick < now >> WHEEL_SHIFT)
		sh->tick = now >> WHEEL_SHIFT;
	used = addresses_used(part->state, t, sh, f, now);
	for (uint32_t i = 0; i < n; i++)
		if (!(used >> (f->src % n + i) % n & 1))
			return (struct spot){0, address_at(t, (f->src % n + i) % n), 0};
	return (struct spot){.slot = SN_NO_INDEX};
}

static struct sn_session *make(struct sn_part *part, struct table *t, struct shard *sh, uint32_t run,
			       uint32_t shard, const struct sn_flow *f, uint64_t hash, uint64_t now)
{
	const struct run *r = &part->state->runs[run];
	struct spot spot = likely(sn_has_ports(f->proto)) ? spot_for(part, t, sh, run, shard, f, now)
							  : spot_without_port(part, t, sh, run, f, now);
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
	settle(part, t, sh, s, spot.slot, hash);
	sh->created++;
	return s;
}

/* ---- the packet path ---- */

uint32_t sn_state_shard(const struct sn_state *state, const struct sn_flow *f)
{
	if (unlikely(!sn_has_ports(f->proto)))
		return portless_shard(f->dst);
	if (likely(state->cut.by == SN_CUT_BY_HOST))
		return sn_mum(((uint64_t)f->src << 16 | f->sport) ^ state->key, 0x9e3779b97f4a7c15ull) &
		       (SN_SHARDS - 1);
	if (state->cut.by == SN_CUT_BY_ADDRESS)
		return f->src >> state->cut.shift & (SN_SHARDS - 1);
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

enum sn_state_result sn_state_forward(struct sn_part *part, uint32_t run, uint32_t shard,
				      const struct sn_flow *f, bool wanted, uint64_t now,
				      struct sn_session **session)
{
	const struct sn_state *state = part->state;
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
		expire(part, t, sh, s);
		break;
	}
	if (!wanted)
		return SN_STATE_NONE;
	*session = make(part, t, sh, r, shard, f, hash, now);
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

void sn_part_tick(struct sn_part *part, uint64_t now)
{
	const struct sn_state *state = part->state;

	part->now = now;
	for (uint32_t n = 0; n < SHARDS_PER_TICK; n++) {
		uint32_t i = part->cursor++ & (SN_SHARDS - 1);

		for (uint32_t j = 0; part->owned[i] && j < state->n_tables; j++) {
			struct table *t = state->tables[j];

			if (i <= t->mask)
				reap(part, t, &t->shards[i], now, false);
		}
	}
}

/* ---- shards and rooms change hands ---- */

struct sn_part *sn_state_part(struct sn_state *state, uint32_t worker)
{
	return &state->parts[worker];
}

uint32_t sn_state_units(const struct sn_state *state)
{
	return state->unit_mask + 1;
}

uint32_t sn_state_owner(const struct sn_state *state, uint32_t shard)
{
	return state->owner[shard];
}

enum sn_shard_place sn_state_place(const struct sn_state *state, uint32_t shard)
{
	return state->place[shard];
}

uint64_t sn_state_key(const struct sn_state *state)
{
	return state->key;
}

void sn_state_set_key(struct sn_state *state, uint64_t key)
{
	state->key = key;
}

static void set_owned(struct sn_part *part, uint32_t unit, bool owned)
{
	for (uint32_t i = unit; i < SN_SHARDS; i += part->state->unit_mask + 1)
		part->owned[i] = owned;
}

void sn_part_give(struct sn_part *part, uint32_t unit)
{
	const struct sn_state *state = part->state;

	for (uint32_t i = 0; i < n_rooms(state->n_tables, state->n_runs); i++) {
		state->gift[i] = part->left[i] > 0 ? part->left[i] / (int32_t)part->n_owned : 0;
		part->left[i] -= state->gift[i];
	}
	set_owned(part, unit, false);
	part->n_owned--;
}

void sn_part_take(struct sn_part *part, uint32_t unit)
{
	const struct sn_state *state = part->state;

	for (uint32_t i = 0; i < n_rooms(state->n_tables, state->n_runs); i++)
		part->left[i] += state->gift[i];
	set_owned(part, unit, true);
	part->n_owned++;
}

void sn_state_moved(struct sn_state *state, uint32_t unit, uint32_t worker)
{
	for (uint32_t i = unit; i < SN_SHARDS; i += state->unit_mask + 1)
		state->owner[i] = worker;
}

void sn_state_set_place(struct sn_state *state, uint32_t unit, enum sn_shard_place place)
{
	struct sn_part *part = &state->parts[state->owner[unit]];

	part->n_owned -= state->place[unit] == SN_SHARD_HERE;
	part->n_owned += place == SN_SHARD_HERE;
	set_owned(part, unit, place == SN_SHARD_HERE);
	for (uint32_t i = unit; i < SN_SHARDS; i += state->unit_mask + 1)
		state->place[i] = place;
}

bool sn_state_starved(const struct sn_state *state)
{
	bool starved = false;

	for (uint32_t i = 0; i < state->n_parts && state->n_parts > 1; i++)
		starved |= atomic_load_explicit(&state->parts[i].starved, memory_order_relaxed);
	return starved;
}

/* A part's claim to what is left: its shards, and as much as all of them if it has run out. */
static uint32_t claim(const struct sn_state *state, const struct sn_part *part)
{
	return part->n_owned +
	       (atomic_load_explicit(&part->starved, memory_order_relaxed) ? state->unit_mask + 1 : 0);
}

/* What the parts have left of one room, by their claims; what cannot be divided goes to who wants most. */
static void level_room(struct sn_state *state, uint32_t room)
{
	uint32_t claims = 0, most = 0;
	int64_t left = state->carried.left[room], rest;

	state->carried.left[room] = 0;
	for (uint32_t i = 0; i < state->n_parts; i++) {
		left += state->parts[i].left[room];
		claims += claim(state, &state->parts[i]);
		if (claim(state, &state->parts[i]) > claim(state, &state->parts[most]))
			most = i;
	}
	rest = left;
	for (uint32_t i = 0; i < state->n_parts; i++) {
		int64_t part = left > 0 && claims ? left * claim(state, &state->parts[i]) / claims : 0;

		state->parts[i].left[room] = (int32_t)part;
		rest -= part;
	}
	state->parts[most].left[room] += (int32_t)rest;
}

void sn_state_level(struct sn_state *state)
{
	for (uint32_t i = 0; i < n_rooms(state->n_tables, state->n_runs); i++)
		level_room(state, i);
	for (uint32_t i = 0; i < state->n_parts; i++) {
		atomic_store_explicit(&state->parts[i].starved, false, memory_order_relaxed);
		memset(state->parts[i].spent, 0xff, state->n_tables * sizeof(*state->parts[i].spent));
	}
}

/* ---- programs come and go ---- */

static void table_free(struct table *t)
{
	if (!t)
		return;
	if (t->shards)
		munmap(t->shards, t->size);
	free(t->cosets);
	free(t->name);
	free(t->pool);
	free(t->pool_base);
	free(t);
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* What the shards of a table have in common. */
struct layout {
	size_t shards, wheel, buckets, back, queues, slots, slab; /* bytes; but for the first, of one shard */
	uint32_t n_buckets, n_slots, n_sessions;
};

static struct layout layout_of(const struct table *t, uint64_t n_addresses)
{
	struct layout l = {0};
	/* What a shard's sessions need is the same, whichever of the ports they may have. */
	uint64_t slots = (((uint64_t)t->port_max - t->port_min) / (t->mask + 1) + 1) * n_addresses;

	l.n_slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
	l.n_sessions = l.n_slots * SN_PORTED;
	if (t->cosets) {
		l.n_slots = (t->port_max - t->port_min + 1) * (uint32_t)n_addresses;
		l.queues = round_up(SN_PORTED * (t->mask + 1) * n_addresses * sizeof(struct queue), 64);
	}
	if (t->max_sessions && t->max_sessions < l.n_sessions)
		l.n_sessions = t->max_sessions;
	for (l.n_buckets = 16; l.n_buckets < l.n_sessions;)
		l.n_buckets *= 2;
	l.n_sessions += l.n_sessions / (8 * SN_PORTED) + 1; /* those without ports */
	l.shards = round_up((t->mask + 1) * sizeof(struct shard), 64);
	l.wheel = WHEEL_SLOTS * sizeof(uint32_t);
	l.buckets = l.n_buckets * sizeof(uint32_t);
	l.back = BACK_HEADS * sizeof(uint32_t);
	l.slots = round_up((size_t)SN_PORTED * l.n_slots * sizeof(uint32_t), 64);
	l.slab = (size_t)l.n_sessions * sizeof(struct sn_session);
	return l;
}

static void shard_init(const struct table *t, struct shard *sh, uint32_t number, const struct layout *l,
		       uint8_t *base)
{
	uint32_t n = t->mask + 1;
	uint64_t ports;

	sh->number = number;
	sh->port_base = t->port_min + ((number - t->port_min) & t->mask);
	ports = sh->port_base > t->port_max ? 0 : ((t->port_max - sh->port_base) >> t->shift) + 1;
	ports *= t->n_addresses;
	sh->n_slots = ports < l->n_slots ? ports : l->n_slots;
	if (t->cosets) {
		sh->port_base = t->port_min;
		sh->n_slots = l->n_slots;
	}
	sh->slab_max = l->n_sessions;
	sh->bucket_mask = l->n_buckets - 1;
	base += l->shards;
	sh->wheel = (uint32_t *)(base + number * l->wheel);
	base += n * l->wheel;
	sh->buckets = (uint32_t *)(base + number * l->buckets);
	base += n * l->buckets;
	sh->back = (uint32_t *)(base + number * l->back);
	base += n * l->back;
	sh->queues = (struct queue *)(base + number * l->queues);
	base += n * l->queues;
	for (int p = 0; p < SN_PORTED; p++)
		sh->ports[p].slots = (uint32_t *)(base + number * l->slots) + (size_t)p * l->n_slots;
	base += n * l->slots;
	sh->slab = (struct sn_session *)(base + number * l->slab);
}

/* Pages are taken from the system as they are first used: a pool costs what is used of it. */
static int table_map(struct table *t, uint64_t n_addresses)
{
	struct layout l = layout_of(t, n_addresses);
	void *base;

	t->size = round_up(l.shards + (t->mask + 1) *
					      (l.wheel + l.buckets + l.back + l.queues + l.slots + l.slab),
			   4096);
	base = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	if (t->size >= HUGE_PAGE && t->size <= HUGE_MAX)
		madvise(base, t->size, MADV_HUGEPAGE);
	t->shards = base;
	for (uint32_t i = 0; i <= t->mask; i++)
		shard_init(t, &t->shards[i], i, &l, base);
	return 0;
}

/* The ports of the pool, sorted by the bucket that they take a packet to. */
static struct cosets *cosets_create(const struct table *t)
{
	struct cosets *c = calloc(1, sizeof(*c));
	uint32_t n = 0;

	if (!c)
		return NULL;
	for (uint32_t coset = 0; coset <= t->mask; coset++) {
		for (uint32_t port = t->port_min; port <= t->port_max; port++) {
			if (coset_of(t, (uint16_t)port) != coset)
				continue;
			c->position[port] = (uint16_t)n;
			c->port[n++] = (uint16_t)port;
		}
		c->first[coset + 1] = n;
	}
	return c;
}

static struct table *table_create(const struct sn_table_config *c, struct sn_cut cut)
{
	struct table *t = calloc(1, sizeof(*t));
	uint32_t ports = c->port_max - c->port_min + 1, base = 0;

	if (!t)
		return NULL;
	t->name = strdup(c->name);
	t->n_pool = c->n_pool;
	t->pool = calloc(c->n_pool, sizeof(*t->pool));
	t->pool_base = calloc(c->n_pool, sizeof(*t->pool_base));
	if (!t->name || !t->pool || !t->pool_base)
		goto fail;
	memcpy(t->pool, c->pool, c->n_pool * sizeof(*t->pool));
	for (uint32_t i = 0; i < c->n_pool; i++) {
		uint64_t next = (uint64_t)base + c->pool[i].last - c->pool[i].first + 1;

		t->pool_base[i] = base;
		base = next < UINT32_MAX ? next : UINT32_MAX; /* far beyond SLOTS_MAX: never used */
	}
	t->n_addresses = c->n_addresses < SLOTS_MAX ? c->n_addresses : SLOTS_MAX;
	t->port_min = c->port_min;
	t->port_max = c->port_max;
	t->max_sessions = c->max_sessions;
	while ((2u << t->shift) <= SN_SHARDS && ports >> (t->shift + 1) >= PORTS_PER_SHARD)
		t->shift++;
	t->mask = (1u << t->shift) - 1;
	if (cut.by == SN_CUT_BY_RSS) {
		if (t->n_addresses > RSS_SLOTS_MAX / ports)
			t->n_addresses = RSS_SLOTS_MAX / ports;
		t->cosets = cosets_create(t);
		if (!t->cosets)
			goto fail;
	}
	if (table_map(t, t->n_addresses))
		goto fail;
	return t;
fail:
	table_free(t);
	return NULL;
}

static bool table_is(const struct table *t, const struct sn_table_config *c)
{
	return t->n_pool == c->n_pool && t->port_min == c->port_min && t->port_max == c->port_max &&
	       t->max_sessions == c->max_sessions && !memcmp(t->pool, c->pool, c->n_pool * sizeof(*c->pool));
}

/* A state that is being made for a program, beside the one that is. */
struct change {
	struct table **tables;
	struct run *runs;
	uint32_t *run_of;
	uint32_t *renamed; /* by the old state's run; SN_NO_INDEX: gone */
	int32_t *gift;
	int32_t *carried;
	int32_t **left; /* by part */
	uint64_t **spent;
	uint64_t kept, dropped;
};

static void change_free(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	for (uint32_t i = 0; c->tables && i < p->n_tables; i++) {
		bool ours = true;

		for (uint32_t j = 0; j < state->n_tables; j++)
			ours &= c->tables[i] != state->tables[j];
		if (ours)
			table_free(c->tables[i]);
	}
	for (uint32_t i = 0; c->runs && i < p->n_runs; i++)
		free(c->runs[i].name);
	for (uint32_t i = 0; c->left && c->spent && i < state->n_parts; i++) {
		free(c->left[i]);
		free(c->spent[i]);
	}
	free(c->left);
	free(c->spent);
	free(c->gift);
	free(c->carried);
	free(c->tables);
	free(c->runs);
	free(c->run_of);
	free(c->renamed);
}

static void run_init(struct run *to, const struct sn_run *from, uint32_t index)
{
	to->index = index;
	to->table = from->table;
	to->max_sessions = from->max_sessions;
	to->timeout_ms[SN_PROTO_OTHER] = (uint32_t)(from->udp_ns / NS_PER_MS);
	to->tcp_ms = (uint32_t)(from->tcp_ns / NS_PER_MS);
	to->timeout_ms[SN_PROTO_TCP] = (uint32_t)(from->tcp_transitory_ns / NS_PER_MS);
	to->timeout_ms[SN_PROTO_UDP] = (uint32_t)(from->udp_ns / NS_PER_MS);
	to->timeout_ms[SN_PROTO_ICMP] = (uint32_t)(from->icmp_ns / NS_PER_MS);
}

/* All that needs memory; the state that is stays as it is. */
static int change_prepare(struct change *c, const struct sn_state *state, const struct sn_program *p)
{
	c->tables = calloc(p->n_tables + 1, sizeof(*c->tables));
	c->runs = calloc(p->n_runs + 1, sizeof(*c->runs));
	c->run_of = calloc(p->n_runs + 1, sizeof(*c->run_of));
	c->renamed = calloc(state->n_runs + 1, sizeof(*c->renamed));
	c->gift = calloc(n_rooms(p->n_tables, p->n_runs) + 1, sizeof(*c->gift));
	c->carried = calloc(n_rooms(p->n_tables, p->n_runs) + 1, sizeof(*c->carried));
	c->left = calloc(state->n_parts, sizeof(*c->left));
	c->spent = calloc(state->n_parts, sizeof(*c->spent));
	if (!c->tables || !c->runs || !c->run_of || !c->renamed || !c->gift || !c->carried || !c->left ||
	    !c->spent)
		return -ENOMEM;
	for (uint32_t i = 0; i < state->n_parts; i++) {
		c->left[i] = sn_lines(n_rooms(p->n_tables, p->n_runs), sizeof(**c->left));
		c->spent[i] = sn_lines(p->n_tables, sizeof(**c->spent));
		if (!c->left[i] || !c->spent[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->n_tables; i++) {
		for (uint32_t j = 0; j < state->n_tables; j++)
			if (!strcmp(state->tables[j]->name, p->tables[i].name) &&
			    table_is(state->tables[j], &p->tables[i]))
				c->tables[i] = state->tables[j];
		if (!c->tables[i])
			c->tables[i] = table_create(&p->tables[i], state->cut);
		if (!c->tables[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->n_runs; i++) {
		run_init(&c->runs[i], &p->runs[i], i);
		c->runs[i].name = strdup(p->runs[i].name);
		c->run_of[i] = i;
		if (!c->runs[i].name)
			return -ENOMEM;
	}
	for (uint32_t j = 0; j < state->n_runs; j++) {
		c->renamed[j] = SN_NO_INDEX;
		for (uint32_t i = 0; i < p->n_runs; i++)
			if (!strcmp(c->runs[i].name, state->runs[j].name))
				c->renamed[j] = i;
	}
	return 0;
}

/* Whether a session's outside address and port are free in the table that took the place of its own; *slot:
 * where they are. */
static bool has_place(const struct sn_state *state, const struct table *t, const struct shard *sh,
		      const struct sn_session *s, const struct sn_flow *back, uint32_t *slot)
{
	if (!sn_has_ports(s->proto)) {
		*slot = 0;
		return may_be_portless(t, s->outside_addr) && sh->portless < portless_max(sh) &&
		       !back_find(state, sh, back, s->last_use);
	}
	*slot = slot_of_session(t, sh, s);
	return *slot != SN_NO_INDEX && !sh->ports[ported_class_of(s->proto)].slots[*slot];
}

/* Move a session to the table that took the place of its own; false if it has no place there. */
static bool move(struct sn_state *state, struct table *to, const struct sn_session *from, uint32_t run)
{
	struct shard *sh = &to->shards[from->shard & to->mask];
	struct sn_part *part = state->parts; /* it has all room, for now */
	const struct sn_flow back = {from->remote_addr, from->outside_addr, from->remote_port,
				     from->outside_port, from->proto};
	struct sn_session *s;
	uint32_t slot;

	/* The way out looks in the shard of the inside host, the way back in that of the port. */
	if ((from->shard & to->mask) != return_shard(state, to, &back) ||
	    !has_place(state, to, sh, from, &back, &slot) || is_full(part, to, run, class_of(from->proto)))
		return false;
	s = slab_take(sh);
	if (!s)
		return false;
	*s = *from;
	s->run = run;
	s->timeout_ms = timeout_of(&state->runs[run], s->proto, s->seen);
	if (!sh->live)
		sh->tick = part->now >> WHEEL_SHIFT;
	settle(part, to, sh, s, slot, hash_session(state, s));
	return true;
}

/* A session of a table that stays: its run may be gone, have moved or have other timeouts. */
static bool keep(struct sn_state *state, struct shard *sh, struct table *t, struct sn_session *s,
		 uint32_t run)
{
	uint32_t *bucket;
	struct list l;

	unchain(state, sh, s);
	unhang(sh, s);
	sh->live--;
	state->parts->left[t->id]++;
	if (run == SN_NO_INDEX || state->runs[run].table != t->id) {
		if (!sn_has_ports(s->proto))
			back_unlink(state, sh, s);
		s->live = 0;
		s->generation++;
		s->hash_next = sh->slab_free;
		sh->slab_free = index_of(sh, s);
		if (!sn_has_ports(s->proto))
			return false;
		l = list_of_session(t, sh, s);
		slot_rest(&l, slot_of_session(t, sh, s));
		return false;
	}
	s->run = run;
	s->timeout_ms = timeout_of(&state->runs[run], s->proto, s->seen);
	bucket = bucket_of(sh, hash_session(state, s));
	s->hash_next = *bucket;
	*bucket = index_of(sh, s);
	hang(sh, s);
	sh->live++;
	state->parts->left[t->id]--;
	--*run_room(state->parts, run, class_of(s->proto));
	return true;
}

/* Whether every run is where it was and has its timeouts: then a table that stays needs no visit. */
static bool runs_same(const struct sn_state *state, const struct change *c, const struct sn_program *p)
{
	if (p->n_runs != state->n_runs)
		return false;
	for (uint32_t i = 0; i < p->n_runs; i++) {
		const struct run *a = &state->runs[i], *b = &c->runs[i];

		if (strcmp(a->name, b->name) || a->tcp_ms != b->tcp_ms ||
		    memcmp(a->timeout_ms, b->timeout_ms, sizeof(a->timeout_ms)) ||
		    state->tables[a->table] != c->tables[b->table])
			return false;
	}
	return true;
}

/* Take every live session of the old tables to where it belongs now. */
static void change_sessions(struct sn_state *state, struct change *c, struct table **old, uint32_t n_old,
			    uint32_t n_tables)
{
	for (uint32_t o = 0; o < n_old; o++) {
		struct table *to = NULL;

		for (uint32_t i = 0; i < n_tables; i++)
			if (!strcmp(c->tables[i]->name, old[o]->name))
				to = c->tables[i];
		for (uint32_t n = 0; n <= old[o]->mask; n++) {
			struct shard *sh = &old[o]->shards[n];

			for (uint32_t i = 0; i < sh->slab_fresh; i++) {
				struct sn_session *s = &sh->slab[i];
				uint32_t run = s->live ? c->renamed[s->run] : SN_NO_INDEX;
				bool kept;

				if (!s->live)
					continue;
				if (state->place[s->shard] == SN_SHARD_AWAY)
					run = SN_NO_INDEX; /* its unit has become another engine's */
				if (to == old[o])
					kept = keep(state, sh, to, s, run);
				else
					kept = to && run != SN_NO_INDEX && state->runs[run].table == to->id &&
					       move(state, to, s, run);
				c->kept += kept;
				c->dropped += !kept;
			}
		}
	}
}

static uint32_t live_in(const struct table *t)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i <= t->mask; i++)
		live += t->shards[i].live;
	return live;
}

/* Sessions of a run and protocol: what its limit was, less what all parts have left. */
static int32_t live_of(const struct sn_state *state, uint32_t run, enum sn_proto_class class)
{
	int32_t live = limit(state->runs[run].max_sessions);

	for (uint32_t i = 0; i < state->n_parts; i++)
		live -= *run_room(&state->parts[i], run, class);
	return live;
}

/* The first part gets all room of the new state: to make what is kept, and to split the rest. */
static void change_rooms(struct sn_state *state, struct change *c, const struct sn_program *p, bool same)
{
	int32_t *left = c->left[0];

	for (uint32_t i = 0; i < p->n_tables; i++)
		left[i] = limit(c->tables[i]->max_sessions) - (int32_t)live_in(c->tables[i]);
	for (uint32_t i = 0; i < p->n_runs; i++) {
		for (uint32_t k = 0; k < SN_PROTOS; k++)
			left[p->n_tables + i * SN_PROTOS + k] =
				limit(c->runs[i].max_sessions) - (same ? live_of(state, i, k) : 0);
	}
	for (uint32_t i = 0; i < state->n_parts; i++) {
		struct sn_part *part = &state->parts[i];

		free(part->left);
		free(part->spent);
		part->left = c->left[i];
		part->spent = c->spent[i];
		if (part->now > state->parts->now)
			state->parts->now = part->now;
	}
	free(c->left);
	free(c->spent);
	free(state->gift);
	free(state->carried.left);
	state->gift = c->gift;
	state->carried.left = c->carried;
}

static uint32_t unit_mask_of(const struct change *c, const struct sn_program *p)
{
	uint32_t mask = SN_SHARDS - 1;

	for (uint32_t i = 0; i < p->n_tables; i++)
		mask &= c->tables[i]->mask;
	return p->uncut ? 0 : mask;
}

/* A unit is its first shard's owner's, and where that is: every engine that runs the program finds the same.
 */
static void change_units(struct sn_state *state, uint32_t mask)
{
	state->unit_mask = mask;
	for (uint32_t i = 0; i < state->n_parts; i++)
		state->parts[i].n_owned = 0;
	for (uint32_t i = 0; i < SN_SHARDS; i++) {
		state->owner[i] = state->owner[i & mask];
		state->place[i] = state->place[i & mask];
		for (uint32_t j = 0; j < state->n_parts; j++)
			state->parts[j].owned[i] = j == state->owner[i] && state->place[i] == SN_SHARD_HERE;
	}
	for (uint32_t i = 0; i <= mask; i++)
		state->parts[state->owner[i]].n_owned += state->place[i] == SN_SHARD_HERE;
}

static bool tables_same(const struct sn_state *state, const struct change *c, const struct sn_program *p)
{
	if (p->n_tables != state->n_tables)
		return false;
	return !p->n_tables || !memcmp(c->tables, state->tables, p->n_tables * sizeof(*c->tables));
}

int sn_state_apply(struct sn_state *state, const struct sn_program *p, uint64_t *kept, uint64_t *dropped)
{
	struct change c = {0};
	struct sn_state old = *state;
	bool same;

	if (change_prepare(&c, state, p)) {
		change_free(&c, state, p);
		return -ENOMEM;
	}
	same = tables_same(state, &c, p) && runs_same(state, &c, p) &&
	       unit_mask_of(&c, p) == state->unit_mask;
	for (uint32_t i = 0; same && i < p->n_tables; i++)
		c.kept += live_in(c.tables[i]);
	change_rooms(state, &c, p, same);
	change_units(state, unit_mask_of(&c, p));
	/* Chains are found by the number of the run: sessions leave the old ones by the old numbers, which
	 * they still have. */
	state->tables = c.tables;
	state->n_tables = p->n_tables;
	state->runs = c.runs;
	state->n_runs = p->n_runs;
	state->run_of = c.run_of;
	for (uint32_t i = 0; i < p->n_tables; i++)
		c.tables[i]->id = i;
	if (!same)
		change_sessions(state, &c, old.tables, old.n_tables, p->n_tables);
	sn_state_level(state);
	for (uint32_t i = 0; i < old.n_tables; i++) {
		bool stays = false;

		for (uint32_t j = 0; j < p->n_tables; j++)
			stays |= c.tables[j] == old.tables[i];
		if (!stays)
			table_free(old.tables[i]);
	}
	for (uint32_t i = 0; i < old.n_runs; i++)
		free(old.runs[i].name);
	free(old.tables);
	free(old.runs);
	free(old.run_of);
	free(c.renamed);
	*kept = c.kept;
	*dropped = c.dropped;
	return 0;
}

struct sn_state *sn_state_create(uint64_t seed, uint32_t n_workers, struct sn_cut cut)
{
	struct sn_state *state = sn_lines(1, sizeof(*state));

	if (!state)
		return NULL;
	state->seed = state->key = seed ^ 0xa0761d6478bd642full;
	state->carried.state = state;
	state->cut = cut;
	state->n_parts = n_workers;
	state->parts = sn_lines(n_workers, sizeof(*state->parts));
	if (!state->parts) {
		sn_state_free(state);
		return NULL;
	}
	for (uint32_t i = 0; i < n_workers; i++)
		state->parts[i].state = state;
	for (uint32_t i = 0; i < SN_SHARDS; i++)
		state->owner[i] = i * n_workers / SN_SHARDS;
	change_units(state, SN_SHARDS - 1);
	return state;
}

struct sn_cut sn_state_cut(const struct sn_state *state)
{
	return state->cut;
}

void sn_state_recut(struct sn_state *state, struct sn_cut cut)
{
	state->cut = cut;
}

void sn_state_free(struct sn_state *state)
{
	if (!state)
		return;
	for (uint32_t i = 0; i < state->n_tables; i++)
		table_free(state->tables[i]);
	for (uint32_t i = 0; i < state->n_runs; i++)
		free(state->runs[i].name);
	for (uint32_t i = 0; state->parts && i < state->n_parts; i++) {
		free(state->parts[i].left);
		free(state->parts[i].spent);
	}
	free(state->parts);
	free(state->gift);
	free(state->carried.left);
	free(state->tables);
	free(state->runs);
	free(state->run_of);
	free(state);
}

static void add_stats(struct sn_state_stats *stats, const struct shard *sh)
{
	stats->sessions += sh->live;
	stats->created += sh->created;
	stats->expired += sh->expired;
	stats->exhausted += sh->exhausted;
	stats->displaced += sh->displaced;
}

void sn_state_stats(const struct sn_state *state, uint32_t table, struct sn_state_stats *stats)
{
	const struct table *t = table < state->n_tables ? state->tables[table] : NULL;

	memset(stats, 0, sizeof(*stats));
	for (uint32_t i = 0; t && i <= t->mask; i++)
		add_stats(stats, &t->shards[i]);
}

void sn_state_unit_stats(const struct sn_state *state, uint32_t unit, struct sn_state_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	for (uint32_t i = 0; i < state->n_tables; i++)
		for (uint32_t s = unit; s <= state->tables[i]->mask; s += state->unit_mask + 1)
			add_stats(stats, &state->tables[i]->shards[s]);
}

size_t sn_state_sessions(const struct sn_state *state, uint32_t table, uint64_t now,
			 struct sn_session_info *out, size_t max)
{
	const struct table *t = table < state->n_tables ? state->tables[table] : NULL;
	size_t n = 0;

	for (uint32_t i = 0; t && i <= t->mask; i++) {
		const struct shard *sh = &t->shards[i];

		for (uint32_t j = 0; j < sh->slab_fresh && n < max; j++) {
			const struct sn_session *s = &sh->slab[j];

			if (!sn_session_live(s, now))
				continue;
			out[n++] = info_of(state, s, now);
		}
	}
	return n;
}
