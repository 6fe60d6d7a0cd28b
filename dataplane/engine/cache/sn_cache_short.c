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

/* Whether the other session is there as it was when it was named. */
static bool is_there(const struct sn_cache_short *found)
{
	const struct sn_entry *e = found->other;

	return e->live && e->generation == found->others;
}

/* first, second: the decision's sessions; the second may be NULL. back: the packet comes from the outside of
 * the session that has the flow. */
static inline bool expand(const struct sn_cache *c, const struct sn_cache_short *found,
			  const struct sn_entry *first, const struct sn_entry *second, bool back,
			  struct sn_cache_entry *e)
{
	const struct sn_cache_form *form = found->form;
	const struct sn_session *s = found->session;
	uint32_t was = back ? s->outside_addr : s->inside_addr, is = back ? s->inside_addr : s->outside_addr;
	uint16_t port = back ? s->outside_port : s->inside_port,
		 now = back ? s->inside_port : s->outside_port;
	uint32_t sum = sn_diff32(was, is);

	if (!sn_session_tells(s, form->owner, found->generation))
		return false;
	memset(e, 0, sizeof(*e));
	e->addresses = back ? (uint64_t)s->remote_addr << 32 | was : (uint64_t)was << 32 | s->remote_addr;
	e->ports_key = (back ? (uint64_t)s->remote_port << 48 | (uint64_t)port << 32
			     : (uint64_t)port << 48 | (uint64_t)s->remote_port << 32) |
		       (uint32_t)s->proto << 24 | (uint32_t)form->ingress << 8 | c->generation;
	e->signature = form->signature;
	e->src = rte_cpu_to_be_32(back ? s->remote_addr : is);
	e->dst = rte_cpu_to_be_32(back ? is : s->remote_addr);
	e->sport = rte_cpu_to_be_16(back ? s->remote_port : now);
	e->dport = rte_cpu_to_be_16(back ? now : s->remote_port);
	e->head_move = sn_head_move_of(form->ttl_dec,
				       sn_diff_norm(sum + sn_diff16((uint32_t)form->ttl_dec << 8, 0)));
	e->l4_diff = rte_cpu_to_be_16(sn_diff_norm(sum + sn_diff16(port, now)));
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
	return true;
}

bool sn_cache_expand(const struct sn_cache *c, const struct sn_cache_short *found, struct sn_cache_entry *e)
{
	const struct sn_entry *s = &found->session->entry, *other = found->other;
	bool back = found->form->flags & SN_CACHE_RETURN0, second_back;

	if (likely(found->form->kind == SN_CACHE_ALONE))
		return expand(c, found, s, NULL, back, e);
	if (!is_there(found))
		return false;
	second_back = found->form->flags & SN_CACHE_RETURN1;
	switch (found->form->kind) {
	case SN_CACHE_FIRST:
		return expand(c, found, s, other, back, e);
	case SN_CACHE_SECOND:
		return expand(c, found, other, s, second_back, e);
	case SN_CACHE_FOLLOWS:
		return expand(c, found, other, NULL, back, e);
	default:
		return expand(c, found, other, NULL, !back, e);
	}
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

/* The slot that may be a flow's; NULL: there is none. */
static const struct sn_cache_slot *find_in(const struct sn_cache *c, const struct sn_cache_short_table *t,
					   uint64_t hash, struct sn_cache_short *found)
{
	struct sn_cache_shorts *b = shorts_of(t, hash);
	const struct sn_cache_slot *slot = slot_in(b, hash, false);

	if (!slot && unlikely(b->away))
		slot = slot_in(beside(b), hash, true);
	found->form = slot ? form_of(c, slot->form) : NULL;
	if (!found->form)
		return NULL;
	found->session = (const struct sn_session *)address_of(found->form->high[0], *slot);
	found->generation = slot->generation;
	if (likely(found->form->kind == SN_CACHE_ALONE))
		return slot;
	if (!slot[1].other || slot[1].form != slot->form)
		return NULL; /* another decision has its place */
	found->other = (const struct sn_entry *)address_of(found->form->high[1], slot[1]);
	found->others = slot[1].generation;
	rte_prefetch0(found->other);
	return slot;
}

/* A slot gets other contents. */
static void fill(struct sn_cache *c, struct sn_cache_shorts *b, struct sn_cache_slot *slot, uint64_t hash,
		 struct sn_cache_slot what)
{
	if (is_empty(c, slot) && what.form && ++c->shorts.used > (c->shorts.mask + 1) * CROWD)
		c->crowded = true;
	beside(b)->away -= slot->guest;
	beside(b)->away += what.guest;
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
	put(c, hash, *slot, found->form->kind == SN_CACHE_ALONE ? NULL : slot + 1);
	return true;
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
static bool is_back(const struct sn_cache_entry *e, const struct sn_session *s)
{
	return e->addresses != ((uint64_t)s->inside_addr << 32 | s->remote_addr) ||
	       (uint16_t)(e->ports_key >> 48) != s->inside_port;
}

/* The session of a decision that is not the one, and what that is to it. NULL: the decision has no other. */
static const struct sn_entry *other_of(const struct sn_cache_entry *e, const struct sn_session *s,
				       uint8_t *kind)
{
	const struct sn_entry *first = sn_cache_entry_of(e->sessions[0]);

	if (e->sessions[1]) {
		*kind = sn_cache_entry_of(e->sessions[1]) == &s->entry ? SN_CACHE_SECOND : SN_CACHE_FIRST;
		return *kind == SN_CACHE_SECOND ? first : sn_cache_entry_of(e->sessions[1]);
	}
	*kind = SN_CACHE_ALONE;
	if (first == &s->entry)
		return NULL;
	*kind = is_back(e, s) == ((e->flags & SN_CACHE_RETURN0) != 0) ? SN_CACHE_FOLLOWS
								      : SN_CACHE_FOLLOWS_TURNED;
	return first;
}

static struct sn_cache_slot slot_of(uint16_t form, const struct sn_entry *e)
{
	return (struct sn_cache_slot){
		.form = form, .line = (uintptr_t)e >> LINE_SHIFT, .generation = e->generation};
}

#define SHORT_FLAGS (SN_CACHE_RETURN0 | SN_CACHE_RETURN1 | SN_CACHE_OBSERVED) /* that a form may have */

bool sn_shorts_keep(struct sn_cache *c, const struct sn_cache_entry *e, uint64_t hash,
		    const struct sn_session *s)
{
	uint8_t proto = (uint8_t)(e->ports_key >> 24), ttl_dec = sn_head_ttl_dec(e->head_move), kind;
	const struct sn_entry *other = other_of(e, s, &kind);
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
		.kind = kind,
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

/* Whether sessions are so many that a table of n buckets would be used. */
static bool is_room_wanted(const struct sn_cache *c, uint32_t n, uint32_t sessions)
{
	if (n > SN_SHORTS_MAX)
		return false;
	return !c->shorts.buckets ||
	       n / 4 * CROWD <= 2 * (uint64_t)sessions; /* which have two decisions each */
}

static void use_room(struct sn_cache *c, uint32_t n, uint64_t now)
{
	shorts_free(&c->before);
	c->before = c->shorts;
	c->before_until = now + BEFORE_NS;
	c->shorts = (struct sn_cache_short_table){
		.buckets = (struct sn_cache_shorts *)c->rooms->base, .stretch = c->rooms, .mask = n - 1};
	c->rooms++;
}

void sn_cache_tick(struct sn_cache *c, uint32_t sessions, uint64_t now)
{
	uint32_t n = c->shorts.buckets ? 4 * (c->shorts.mask + 1) : sn_shorts_first(c);
	bool wanted;

	if (c->before.buckets && now >= c->before_until)
		shorts_free(&c->before);
	if (likely(!c->crowded))
		return;
	wanted = is_room_wanted(c, n, sessions);
	if (wanted && !sn_stretch_whole(c->rooms))
		return; /* it is being brought */
	c->crowded = false;
	/* Most slots may be of sessions that have ended: these go as others come. */
	c->shorts.used = (c->shorts.mask + 1) * CROWD / 2;
	if (wanted)
		use_room(c, n, now);
}
