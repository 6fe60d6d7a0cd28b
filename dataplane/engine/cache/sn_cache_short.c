/* SPDX-License-Identifier: Apache-2.0 */
/* Short decisions: a session and a form each. */

#include "sn_cache_impl.h"
#include "sn_session.h"
#include "sn_rewrite.h"

#define BEFORE_NS  10000000000ull
#define LINE_SHIFT 6			 /* of a session's address: what a slot has of it, … */
#define HIGH_SHIFT 29			 /* … and what its form has */
#define PAIRS	   (SN_CACHE_SHORTS / 2) /* places of a bucket for two slots: the first has an even number */
#define CROWD	   4u			 /* short decisions of a bucket on average: more are too many */

static struct sn_cache_shorts *shorts_of(const struct sn_cache_short_table *t, uint64_t hash)
{
	return &t->buckets[hash >> 16 & t->mask];
}

static const struct sn_cache_form *form_of(const struct sn_cache *c, uint16_t number)
{
	return (uint16_t)(number - c->first_form) < c->n_forms ? &c->forms[number] : NULL;
}

/* Whether the other entry is there as it was when it was named. */
static bool is_there(const struct sn_cache_short *found)
{
	const struct sn_entry *e = found->other;

	return e->live && e->generation == found->others;
}

/* A decision's key, and all but the flow as it leaves. back: the packet comes from the session's outside.
 * first, second: the entries that it uses; the second may be NULL. */
static __rte_always_inline void begin(const struct sn_cache *c, const struct sn_cache_short *found, bool back,
				      const struct sn_entry *first, const struct sn_entry *second,
				      struct sn_cache_entry *e)
{
	const struct sn_cache_form *form = found->form;
	const struct sn_session *s = found->session;
	uint32_t address = back ? s->outside_addr : s->inside_addr;
	uint16_t port = back ? s->outside_port : s->inside_port;

	memset(e, 0, sizeof(*e));
	e->addresses =
		back ? (uint64_t)s->remote_addr << 32 | address : (uint64_t)address << 32 | s->remote_addr;
	e->ports_key = (back ? (uint64_t)s->remote_port << 48 | (uint64_t)port << 32
			     : (uint64_t)port << 48 | (uint64_t)s->remote_port << 32) |
		       (uint32_t)s->proto << 24 | (uint32_t)form->ingress << 8 | c->generation;
	e->signature = form->signature;
	e->neigh = form->neigh;
	e->vlan = SN_CACHE_KEEP_VLAN;
	e->path = form->path;
	e->shard = first->shard;
	e->min_ttl = form->min_ttl;
	e->dscp = SN_CACHE_KEEP_DSCP;
	e->flags = form->flags;
	e->sessions[0] = sn_cache_entry_word(first);
	if (second)
		e->sessions[1] = sn_cache_entry_word(second);
}

/* The flow as it leaves by a session; to its inside, if back. */
static __rte_always_inline void leave(const struct sn_session *s, bool back, struct sn_cache_entry *e)
{
	e->src = rte_cpu_to_be_32(back ? s->remote_addr : s->outside_addr);
	e->dst = rte_cpu_to_be_32(back ? s->inside_addr : s->remote_addr);
	e->sport = rte_cpu_to_be_16(back ? s->remote_port : s->outside_port);
	e->dport = rte_cpu_to_be_16(back ? s->inside_port : s->remote_port);
}

/* How checksums move with it. addresses, ports: the changes of what is under them. */
static __rte_always_inline void sum_up(const struct sn_cache_form *form, uint32_t addresses, uint32_t ports,
				       struct sn_cache_entry *e)
{
	e->head_move = sn_head_move_of(form->ttl_dec,
				       sn_diff_norm(addresses + sn_diff16((uint32_t)form->ttl_dec << 8, 0)));
	e->l4_diff = rte_cpu_to_be_16(sn_diff_norm(addresses + ports));
}

/* One session has the flow as it comes and as it leaves. */
static __rte_always_inline bool expand_one(const struct sn_cache *c, const struct sn_cache_short *found,
					   bool back, const struct sn_entry *first,
					   const struct sn_entry *second, struct sn_cache_entry *e)
{
	const struct sn_session *s = found->session;
	uint32_t addresses = back ? sn_diff32(s->outside_addr, s->inside_addr)
				  : sn_diff32(s->inside_addr, s->outside_addr);
	uint32_t ports = back ? sn_diff16(s->outside_port, s->inside_port)
			      : sn_diff16(s->inside_port, s->outside_port);

	if (!sn_session_tells(s, found->form->owner, found->generation))
		return false;
	begin(c, found, back, first, second, e);
	leave(s, back, e);
	sum_up(found->form, addresses, ports, e);
	return true;
}

/* The other has it as it leaves. */
static bool expand_two(const struct sn_cache *c, const struct sn_cache_short *found, bool back,
		       const struct sn_entry *first, const struct sn_entry *second, struct sn_cache_entry *e)
{
	const struct sn_session *s = found->session, *other = (const struct sn_session *)found->other;
	uint32_t src, dst;

	if (!sn_session_tells(s, found->form->owner, found->generation) ||
	    !sn_session_tells(other, other->entry.owner, found->others))
		return false;
	begin(c, found, back, first, second, e);
	leave(other, found->form->how & SN_CACHE_OTHER_BACK, e);
	src = sn_diff32((uint32_t)(e->addresses >> 32), rte_be_to_cpu_32(e->src));
	dst = sn_diff32((uint32_t)e->addresses, rte_be_to_cpu_32(e->dst));
	sum_up(found->form, src + dst,
	       sn_diff16((uint32_t)(e->ports_key >> 48), rte_be_to_cpu_16(e->sport)) +
		       sn_diff16((uint32_t)(e->ports_key >> 32), rte_be_to_cpu_16(e->dport)),
	       e);
	return true;
}

bool sn_cache_expand(const struct sn_cache *c, const struct sn_cache_short *found, struct sn_cache_entry *e)
{
	const struct sn_entry *s = &found->session->entry, *first = s, *second = NULL;
	uint8_t how = found->form->how;
	bool back = how & SN_CACHE_BACK;

	if (likely(!(how & SN_CACHE_TWO)))
		return expand_one(c, found, back, s, NULL, e);
	if (!is_there(found))
		return false;
	if (how & SN_CACHE_OTHER_FIRST)
		first = found->other;
	if (how & SN_CACHE_BOTH)
		second = how & SN_CACHE_OTHER_FIRST ? s : found->other;
	return how & SN_CACHE_LEAVES_BY_OTHER ? expand_two(c, found, back, first, second, e)
					      : expand_one(c, found, back, first, second, e);
}

/* Bit i: slot i has the tag's first 8 bits. */
static uint32_t match(const struct sn_cache_shorts *b, uint8_t tag)
{
	uint32_t bits = 0;

#ifdef __SSE2__
	__m128i eq = _mm_cmpeq_epi8(_mm_loadl_epi64((const __m128i *)b), _mm_set1_epi8((char)tag));

	bits = (uint32_t)_mm_movemask_epi8(eq);
#else
	for (uint32_t i = 0; i < SN_CACHE_SHORTS; i++)
		bits |= (uint32_t)(b->tags[i] == tag) << i;
#endif
	return bits & ((1u << SN_CACHE_SHORTS) - 1);
}

/* The slot with the hash's tag, of those that are guests or of those that are not: there is one at most. */
static struct sn_cache_slot *slot_in(struct sn_cache_shorts *b, uint64_t hash, bool guest)
{
	for (uint32_t ways = match(b, hash >> 56); ways; ways &= ways - 1) {
		struct sn_cache_slot *slot = &b->slots[__builtin_ctz(ways)];

		if (slot->tag == (hash >> 54 & 3) && slot->guest == guest && !slot->other)
			return slot;
	}
	return NULL;
}

static bool is_empty(const struct sn_cache *c, const struct sn_cache_slot *slot)
{
	return !form_of(c, slot->form);
}

/* Room for a slot, or for two in a row. */
static struct sn_cache_slot *empty_in(const struct sn_cache *c, struct sn_cache_shorts *b, bool two)
{
	for (uint32_t i = 0; i < SN_CACHE_SHORTS; i++) {
		struct sn_cache_slot *slot = &b->slots[i];

		if (!two && is_empty(c, slot))
			return slot;
		if (two && i % 2 == 0 && i / 2 < PAIRS && is_empty(c, slot) && is_empty(c, slot + 1))
			return slot;
	}
	return NULL;
}

static struct sn_cache_shorts *beside(struct sn_cache_shorts *b)
{
	return (struct sn_cache_shorts *)((uintptr_t)b ^ sizeof(*b));
}

static uintptr_t address_of(uint32_t high, struct sn_cache_slot slot)
{
	return (uintptr_t)high << HIGH_SHIFT | (uintptr_t)slot.line << LINE_SHIFT;
}

/* The decision of a slot. False: there is none. */
static __rte_always_inline bool read_slot(const struct sn_cache *c, const struct sn_cache_slot *slot,
					  struct sn_cache_short *found)
{
	found->form = form_of(c, slot->form);
	if (!found->form)
		return false;
	found->session = (const struct sn_session *)address_of(found->form->high[0], *slot);
	found->generation = slot->generation;
	if (likely(!(found->form->how & SN_CACHE_TWO)))
		return true;
	if (!slot[1].other || slot[1].form != slot->form)
		return false; /* another decision has its place */
	found->other = (const struct sn_entry *)address_of(found->form->high[1], slot[1]);
	found->others = slot[1].generation;
	rte_prefetch0(found->other);
	return true;
}

/* The slot that may be a flow's; NULL: there is none. */
static const struct sn_cache_slot *find_in(const struct sn_cache *c, const struct sn_cache_short_table *t,
					   uint64_t hash, struct sn_cache_short *found)
{
	struct sn_cache_shorts *b = shorts_of(t, hash);
	const struct sn_cache_slot *slot = slot_in(b, hash, false);

	if (!slot && unlikely(b->away))
		slot = slot_in(beside(b), hash, true);
	return slot && read_slot(c, slot, found) ? slot : NULL;
}

/* A slot gets other contents. */
static void fill(struct sn_cache *c, struct sn_cache_shorts *b, struct sn_cache_slot *slot, uint64_t hash,
		 struct sn_cache_slot what)
{
	if (is_empty(c, slot) && what.form && ++c->shorts.used > (c->shorts.mask + 1) * CROWD)
		c->crowded = true;
	if (slot->guest != what.guest) /* else its line need not come */
		beside(b)->away += what.guest ? 1 : -1;
	what.tag = hash >> 54 & 3;
	*slot = what;
	b->tags[slot - b->slots] = hash >> 56;
}

/* Whether a slot's place is one for as many slots as a decision has. */
static bool is_place(const struct sn_cache_shorts *b, const struct sn_cache_slot *slot, bool two)
{
	uint32_t i = (uint32_t)(slot - b->slots);

	return !two || (i % 2 == 0 && i / 2 < PAIRS);
}

/* Into the slot of the same tag, else an empty one, be it in the bucket beside; else one that is given up.
 * The other of two, if there is one, goes behind it. */
static void put(struct sn_cache *c, uint64_t hash, struct sn_cache_slot what,
		const struct sn_cache_slot *other)
{
	struct sn_cache_shorts *own = shorts_of(&c->shorts, hash), *b = own;
	struct sn_cache_slot *slot = slot_in(own, hash, false), *old = slot;
	bool two = other != NULL;

	if (!slot)
		slot = empty_in(c, own, two);
	if (!slot) {
		b = beside(own);
		slot = old = slot_in(b, hash, true);
	}
	if (old && !is_place(b, old, two)) {
		fill(c, b, old, hash, (struct sn_cache_slot){.other = 1});
		b = own;
		slot = empty_in(c, own, two);
	}
	if (!slot) {
		b = beside(own);
		slot = empty_in(c, b, two);
	}
	if (!slot) {
		b = own;
		slot = &own->slots[two ? c->hand++ % PAIRS * 2 : c->hand++ % SN_CACHE_SHORTS];
	}
	what.guest = b != own;
	fill(c, b, slot, hash, what);
	if (two)
		fill(c, b, slot + 1, hash, *other);
}

bool sn_cache_find_short(struct sn_cache *c, uint64_t hash, struct sn_cache_short *found)
{
	const struct sn_cache_slot *slot;

	if (find_in(c, &c->shorts, hash, found))
		return true;
	if (likely(!c->before.buckets))
		return false;
	slot = find_in(c, &c->before, hash, found);
	if (!slot)
		return false;
	put(c, hash, *slot, found->form->how & SN_CACHE_TWO ? slot + 1 : NULL);
	return true;
}

/* Flows go over from the table before: so that one is the last. */
uint32_t sn_cache_n_shorts(const struct sn_cache *c)
{
	return (c->shorts.buckets ? c->shorts.mask + 1 : 0) + (c->before.buckets ? c->before.mask + 1 : 0);
}

uint32_t sn_cache_list_shorts(const struct sn_cache *c, uint32_t bucket,
			      struct sn_cache_short found[SN_CACHE_SHORTS])
{
	const struct sn_cache_shorts *b = bucket <= c->shorts.mask
						  ? &c->shorts.buckets[bucket]
						  : &c->before.buckets[bucket - c->shorts.mask - 1];
	uint32_t n = 0;

	for (uint32_t i = 0; i < SN_CACHE_SHORTS; i++)
		n += !b->slots[i].other && read_slot(c, &b->slots[i], &found[n]);
	return n;
}

/* Where the chain of a form begins. */
static uint16_t *head_of(const struct sn_cache *c, const struct sn_cache_form *form)
{
	uint64_t words[SN_CACHE_FORM_WORDS];

	memcpy(words, form, sizeof(words));
	return &c->heads[sn_hash2(words[0] ^ sn_mum(words[1], c->seed), words[2], c->seed) &
			 (SN_CACHE_FORM_HEADS - 1)];
}

/*
 * The form of a decision, as a number; 0: there is no room for another one. They are as many as there are
 * next hops times interfaces and classes of flows. A chain leads to older forms only, so the first that is
 * forgotten ends it.
 */
static uint16_t form_for(struct sn_cache *c, const struct sn_cache_form *form)
{
	uint16_t *head = head_of(c, form), number = *head;
	const struct sn_cache_form *other;
	struct sn_cache_form *made;

	for (; (other = form_of(c, number)) != NULL; number = other->next)
		if (!memcmp(other, form, SN_CACHE_FORM_WORDS * sizeof(uint64_t)))
			return number;
	if (c->first_form + c->n_forms == SN_FORMS)
		return 0;
	number = (uint16_t)(c->first_form + c->n_forms++);
	made = &c->forms[number];
	*made = *form;
	made->next = *head;
	*head = number;
	return number;
}

/* Whether the packets of a decision come from a session's outside. */
static bool comes_back(const struct sn_cache_entry *e, const struct sn_session *s)
{
	return e->addresses != ((uint64_t)s->inside_addr << 32 | s->remote_addr) ||
	       (uint16_t)(e->ports_key >> 48) != s->inside_port;
}

/* Whether they go to its inside. */
static bool goes_back(const struct sn_cache_entry *e, const struct sn_session *s)
{
	return e->src != rte_cpu_to_be_32(s->outside_addr) || e->sport != rte_cpu_to_be_16(s->outside_port);
}

/* How a decision that uses these entries is short, and the other entry, NULL if there is none. It need not be
 * so: there are two slots, and the directions are those of most. */
static uint8_t how_of(const struct sn_cache_entry *e, struct sn_cache_told told,
		      const struct sn_entry **other)
{
	const struct sn_entry *s = &told.comes->entry, *first = sn_cache_entry_of(e->sessions[0]),
			      *second = sn_cache_entry_of(e->sessions[1]);
	uint8_t how = comes_back(e, told.comes) ? SN_CACHE_BACK : 0;

	*other = NULL;
	if (told.leaves != told.comes) {
		*other = &told.leaves->entry;
		how |= SN_CACHE_LEAVES_BY_OTHER | (goes_back(e, told.leaves) ? SN_CACHE_OTHER_BACK : 0);
	} else if (first != s) {
		*other = first;
	} else if (second) {
		*other = second;
	}
	if (!*other)
		return how;
	return how | SN_CACHE_TWO | (first == *other ? SN_CACHE_OTHER_FIRST : 0) |
	       (second ? SN_CACHE_BOTH : 0);
}

static struct sn_cache_slot slot_of(uint16_t form, const struct sn_entry *e)
{
	return (struct sn_cache_slot){
		.form = form, .line = (uintptr_t)e >> LINE_SHIFT, .generation = e->generation};
}

#define SHORT_FLAGS (SN_CACHE_RETURN0 | SN_CACHE_RETURN1 | SN_CACHE_OBSERVED) /* that a form may have */

bool sn_shorts_keep(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
		    struct sn_cache_told told)
{
	uint8_t proto = (uint8_t)(e->ports_key >> 24), ttl_dec = sn_head_ttl_dec(e->head_move);
	const struct sn_session *s = told.comes;
	const struct sn_entry *other;
	uint8_t how = how_of(e, told, &other);
	struct sn_cache_form form = {
		.high = {(uint32_t)((uintptr_t)s >> HIGH_SHIFT), (uint32_t)((uintptr_t)other >> HIGH_SHIFT)},
		.signature = e->signature,
		.owner = s->entry.owner,
		.neigh = e->neigh,
		.path = e->path,
		.ingress = (uint16_t)sn_cache_ingress(e->ports_key),
		.min_ttl = e->min_ttl,
		.ttl_dec = ttl_dec,
		.flags = e->flags,
		.how = how,
	};
	struct sn_cache_short as = {&form, s, other, s->entry.generation, other ? other->generation : 0};
	struct sn_cache_slot behind;
	struct sn_cache_entry same;
	uint16_t number;

	if ((proto != SN_TCP && proto != SN_UDP) || e->flags & ~SHORT_FLAGS ||
	    !sn_cache_expand(c, &as, &same) || memcmp(&same, e, sizeof(same)) != 0)
		return false;
	if (!c->shorts.buckets) {
		c->crowded = true;
		return false;
	}
	number = form_for(c, &form);
	if (!number)
		return false;
	if (other) {
		behind = slot_of(number, other);
		behind.other = 1;
	}
	put(c, hash, slot_of(number, &s->entry), other ? &behind : NULL);
	return true;
}

/* ---- tables come and go ---- */

/* Forms are numbered from 1 again: what slots and chains name now is none of them. */
static void empty(struct sn_cache_short_table *t)
{
	for (uint32_t i = 0; t->buckets && i <= t->mask; i++)
		t->buckets[i] = (struct sn_cache_shorts){0};
}

void sn_shorts_forget(struct sn_cache *c)
{
	c->first_form += c->n_forms;
	c->n_forms = 0;
	c->shorts.used = 0;
	if (c->first_form < SN_FORMS / 2)
		return;
	empty(&c->shorts);
	empty(&c->before);
	memset(c->heads, 0, SN_CACHE_FORM_HEADS * sizeof(*c->heads));
	c->first_form = 1;
}

static void shorts_free(struct sn_cache_short_table *t)
{
	if (t->buckets)
		sn_stretch_give_up(t->stretch);
	*t = (struct sn_cache_short_table){0};
}

/* Buckets of a table for so many sessions, which have two decisions each. */
static uint32_t buckets_for(const struct sn_cache *c, uint32_t sessions)
{
	uint32_t n = sn_shorts_first(c);

	while (n * CROWD < 2 * (uint64_t)sessions && n < SN_SHORTS_MAX)
		n *= 2;
	return n;
}

static struct sn_stretch *room_of(const struct sn_cache *c, uint32_t buckets)
{
	return &c->rooms[__builtin_ctz(buckets) - __builtin_ctz(sn_shorts_first(c))];
}

/* A table of n buckets takes the place of the one that there is, if its memory is there; else that comes. */
static bool use_room(struct sn_cache *c, uint32_t n)
{
	struct sn_stretch *room;

	if (!c->coming)
		c->coming = n;
	room = room_of(c, c->coming);
	if (!sn_stretch_whole(room))
		return false;
	shorts_free(&c->before);
	c->before = c->shorts;
	c->shorts = (struct sn_cache_short_table){
		.buckets = (struct sn_cache_shorts *)room->base, .stretch = room, .mask = c->coming - 1};
	c->coming = 0;
	return true;
}

bool sn_shorts_begin(struct sn_cache *c, uint32_t sessions)
{
	return c->shorts.buckets || use_room(c, buckets_for(c, sessions));
}

void sn_cache_rest(struct sn_cache *c)
{
	if (c->coming)
		sn_stretch_give_up(room_of(c, c->coming));
	c->coming = 0;
	shorts_free(&c->before);
	shorts_free(&c->shorts);
}

void sn_cache_tick(struct sn_cache *c, uint32_t sessions, uint64_t now)
{
	uint32_t n = buckets_for(c, sessions);

	if (c->before.buckets && now >= c->before_until)
		shorts_free(&c->before);
	if (likely(!c->crowded))
		return;
	if (!c->shorts.buckets || n > c->shorts.mask + 1) {
		if (!use_room(c, n))
			return; /* it is being brought */
		c->before_until = now + BEFORE_NS;
	} else {
		/* Most slots may be of sessions that have ended: these go as others come. */
		c->shorts.used = (c->shorts.mask + 1) * CROWD / 2;
	}
	c->crowded = false;
}
