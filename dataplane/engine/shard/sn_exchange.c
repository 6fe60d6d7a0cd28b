/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_exchange.h"

#include <string.h>

/* Messages in a ring, which are no packets: odd numbers. */
enum message {
	MARK = 1, /* no packet of the moving unit comes from here any more */
	HAND_OFF = 3,
};

/* Limits on what waits in a ring: packets whose memory is asked for before their shard is looked at, and
 * packets that are processed before their turn in a round, as devices wait meanwhile. */
#define AHEAD	   8
#define OVERTAKING 256

static bool is_message(const void *item)
{
	return ((uintptr_t)item & 1) != 0;
}

static struct sn_ring *ring_of(const struct sn_exchange *x, uint32_t from, uint32_t to)
{
	return x->rings[from * x->n_workers + to];
}

struct sn_exchange *sn_exchange_create(uint32_t n_workers)
{
	static const uint8_t owner[SN_EXCHANGE_SHARDS];
	struct sn_exchange *x = aligned_alloc(64, sizeof(*x));
	bool complete;

	if (x == NULL)
		return NULL;
	memset(x, 0, sizeof(*x));
	x->n_workers = n_workers;
	x->mailboxes = aligned_alloc(64, n_workers * sizeof(*x->mailboxes));
	x->rings = calloc((size_t)n_workers * n_workers, sizeof(*x->rings));
	complete = x->mailboxes != NULL && x->rings != NULL;
	if (x->mailboxes != NULL)
		memset(x->mailboxes, 0, n_workers * sizeof(*x->mailboxes));
	for (uint32_t i = 0; complete && i < n_workers; i++) {
		x->mailboxes[i].exchange = x;
		x->mailboxes[i].number = (uint16_t)i;
		x->mailboxes[i].marked = true;
		x->mailboxes[i].held = calloc(SN_EXCHANGE_HELD, sizeof(void *));
		complete = x->mailboxes[i].held != NULL;
		for (uint32_t j = 0; complete && j < n_workers; j++) {
			if (i == j)
				continue;
			x->rings[i * n_workers + j] = sn_ring_create(SN_EXCHANGE_RING);
			complete = ring_of(x, i, j) != NULL;
		}
	}
	if (!complete) {
		sn_exchange_free(x, NULL);
		return NULL;
	}
	sn_exchange_set(x, SN_EXCHANGE_SHARDS, owner, NULL);
	return x;
}

static void drop_ring(struct sn_ring *ring, void (*drop)(void *packet))
{
	void *item;

	while (ring != NULL && sn_ring_take(ring, &item, 1) > 0)
		if (!is_message(item))
			drop(item);
	free(ring);
}

void sn_exchange_free(struct sn_exchange *x, void (*drop)(void *packet))
{
	if (x == NULL)
		return;
	for (uint32_t i = 0; x->mailboxes != NULL && i < x->n_workers; i++) {
		for (uint32_t j = 0; j < x->mailboxes[i].n_held; j++)
			drop(x->mailboxes[i].held[j]);
		free(x->mailboxes[i].held);
	}
	for (uint32_t i = 0; x->rings != NULL && i < x->n_workers * x->n_workers; i++)
		drop_ring(x->rings[i], drop);
	free(x->mailboxes);
	free(x->rings);
	free(x);
}

void sn_exchange_join(struct sn_exchange *x, uint32_t worker, const struct sn_exchange_ops *ops,
		      void *context)
{
	x->mailboxes[worker].ops = ops;
	x->mailboxes[worker].context = context;
}

/* ---- the control thread ---- */

void sn_exchange_set(struct sn_exchange *x, uint32_t units, const uint8_t *owner, const uint8_t *place)
{
	x->units = units;
	for (uint32_t i = 0; i < x->n_workers; i++) {
		x->mailboxes[i].review = true;
		for (uint32_t s = 0; s < SN_EXCHANGE_SHARDS; s++)
			x->mailboxes[i].place[s] = owner[s] != i   ? owner[s]
						   : place != NULL ? place[s]
								   : SN_PLACE_HERE;
	}
}

/* In one word, as a worker may look while the next order is given, if it has no part in this one. */
static uint64_t pack(uint32_t number, struct sn_move move)
{
	return (uint64_t)number << 32 | (uint64_t)move.unit << 24 | (uint64_t)move.from << 16 |
	       (uint64_t)move.to << 8 | move.kind;
}

static struct sn_move unpack(uint64_t order)
{
	return (struct sn_move){(uint8_t)(order >> 24), (uint8_t)(order >> 16), (uint8_t)(order >> 8),
				(uint8_t)order};
}

static uint32_t number_of(uint64_t order)
{
	return (uint32_t)(order >> 32);
}

void sn_exchange_begin(struct sn_exchange *x, struct sn_move move)
{
	uint32_t number = number_of(atomic_load_explicit(&x->order, memory_order_relaxed));

	atomic_store_explicit(&x->order, pack(number + 1, move), memory_order_release);
}

bool sn_exchange_done(const struct sn_exchange *x, uint64_t *taken_ns)
{
	uint64_t order = atomic_load_explicit(&x->order, memory_order_relaxed);
	const struct sn_mailbox *taker = &x->mailboxes[unpack(order).to];

	if (atomic_load_explicit(&taker->done, memory_order_acquire) != number_of(order))
		return false;
	*taken_ns = taker->taken_ns;
	return true;
}

/* ---- a worker ---- */

static void set_place(struct sn_mailbox *s, uint32_t unit, uint8_t place)
{
	for (uint32_t i = unit; i < SN_EXCHANGE_SHARDS; i += s->exchange->units)
		s->place[i] = place;
}

static bool tell(struct sn_mailbox *s, uint32_t to, enum message message)
{
	struct sn_ring *ring = ring_of(s->exchange, s->number, to);

	return sn_ring_put(ring, (void *)(uintptr_t)message);
}

static void end(struct sn_mailbox *s)
{
	atomic_store_explicit(&s->done, s->seen, memory_order_release);
}

/* An order that was not known yet. */
static void obey(struct sn_mailbox *s)
{
	switch ((enum sn_move_kind)s->move.kind) {
	case SN_MOVE_OWNER:
		s->marked = s->number == s->move.from;
		s->awaits = s->number == s->move.from || s->number == s->move.to;
		if (s->number == s->move.to)
			set_place(s, s->move.unit, SN_PLACE_AWAITED);
		break;
	case SN_MOVE_HOLD:
		if (s->number != s->move.to)
			break;
		set_place(s, s->move.unit, SN_PLACE_TURNING);
		end(s);
		break;
	case SN_MOVE_DRAIN:
		s->draining = s->number == s->move.from;
		s->awaits = s->number == s->move.to;
		break;
	}
}

/* A move that was not known yet, or whose giver's ring was full. */
static void notice(struct sn_mailbox *s)
{
	uint64_t order = atomic_load_explicit(&s->exchange->order, memory_order_acquire);

	if (number_of(order) != s->seen) {
		s->seen = number_of(order);
		s->move = unpack(order);
		obey(s);
	}
	if (s->marked || !tell(s, s->move.from, MARK))
		return;
	s->marked = true;
	if (s->number != s->move.to)
		set_place(s, s->move.unit, s->move.to);
	sn_ring_publish(ring_of(s->exchange, s->number, s->move.from));
}

/* The giver has everybody's mark. */
static void give(struct sn_mailbox *s)
{
	if (s->marks == 0 || s->marks < s->exchange->n_workers - 1 || !tell(s, s->move.to, HAND_OFF))
		return;
	s->marks = 0;
	s->awaits = false;
	set_place(s, s->move.unit, s->move.to);
	s->ops->give(s->context, s->move.unit);
	sn_ring_publish(ring_of(s->exchange, s->number, s->move.to));
}

/* Review what is held, in its order; packets whose unit is still on its way are held again, at or before
 * where they were. */
static uint32_t review(struct sn_mailbox *s)
{
	uint32_t n = s->n_held;

	s->n_held = 0;
	if (n > 0)
		s->ops->packets(s->context, s->held, n);
	return n - s->n_held;
}

/* The unit is here, all of it. */
static void arrive(struct sn_mailbox *s)
{
	s->awaits = false;
	set_place(s, s->move.unit, SN_PLACE_HERE);
	s->taken_ns = s->ops->now(s->context);
	review(s);
	end(s);
}

static void hear(struct sn_mailbox *s, enum message message)
{
	if (message == HAND_OFF) {
		s->ops->take(s->context, s->move.unit);
		arrive(s);
	} else if (s->move.kind == SN_MOVE_DRAIN) {
		arrive(s);
	} else {
		s->marks++;
	}
}

void sn_mailbox_drained(struct sn_mailbox *s)
{
	if (!tell(s, s->move.to, MARK))
		return; /* its ring is full: in the next round */
	s->draining = false;
	sn_ring_publish(ring_of(s->exchange, s->number, s->move.to));
}

static bool is_moving(const struct sn_mailbox *s, const void *packet)
{
	return (s->ops->shard(packet) & (s->exchange->units - 1)) == s->move.unit;
}

/* Processes the moving unit's packets before a place in a ring, up to OVERTAKING. Returns how many there
 * were. */
static uint32_t process_moving(struct sn_mailbox *s, struct sn_ring *ring, uint32_t end)
{
	void *own[SN_EXCHANGE_BURST];
	uint32_t n = 0, sum = 0;

	for (uint32_t at = sn_ring_head(ring); at != end && sum + n < OVERTAKING; at++) {
		void **item = sn_ring_at(ring, at);

		if (end - at > AHEAD)
			__builtin_prefetch(*sn_ring_at(ring, at + AHEAD));
		if (!is_moving(s, *item))
			continue;
		own[n++] = *item;
		*item = NULL;
		if (n < SN_EXCHANGE_BURST)
			continue;
		s->ops->packets(s->context, own, n);
		sum += n;
		n = 0;
	}
	if (n > 0)
		s->ops->packets(s->context, own, n);
	return sum + n;
}

/* Whether there is a message in a ring, and where. */
static bool find_message(struct sn_ring *ring, uint32_t *place)
{
	uint32_t head = sn_ring_head(ring), tail = sn_ring_tail(ring), at = ring->looked;

	if (at - head > tail - head) /* it was taken long ago */
		at = head;
	while (at != tail && !is_message(*sn_ring_at(ring, at)))
		at++;
	*place = ring->looked = at;
	return at != tail;
}

/* Hears a message that waits in a ring, before its turn. Before a hand-off token there are no packets of its
 * unit. */
static uint32_t overtake(struct sn_mailbox *s, struct sn_ring *ring)
{
	enum message message;
	uint32_t at, sum = 0;

	if (!find_message(ring, &at))
		return 0;
	message = (enum message)(uintptr_t)*sn_ring_at(ring, at);
	if (message == MARK)
		sum = process_moving(s, ring, at);
	if (sum == OVERTAKING) { /* there may be more: in the next round */
		sn_ring_close_up(ring, at);
		return sum;
	}
	*sn_ring_at(ring, at) = NULL;
	sn_ring_close_up(ring, at + 1);
	hear(s, message);
	return sum;
}

/* Packets and messages in their order. */
static uint32_t process(struct sn_mailbox *s, void **items, uint32_t n)
{
	uint32_t packets = 0, first = 0;

	for (uint32_t i = 0; i <= n; i++) {
		if (i < n && !is_message(items[i]))
			continue;
		if (i > first)
			s->ops->packets(s->context, items + first, i - first);
		packets += i - first;
		first = i + 1;
		if (i < n)
			hear(s, (enum message)(uintptr_t)items[i]);
	}
	return packets;
}

uint32_t sn_mailbox_poll(struct sn_mailbox *s)
{
	void *items[SN_EXCHANGE_BURST];
	uint32_t sum = 0;

	if (s->review) {
		s->review = false;
		sum += review(s);
	}
	notice(s);
	for (uint32_t from = 0; s->awaits && from < s->exchange->n_workers; from++)
		if (from != s->number)
			sum += overtake(s, ring_of(s->exchange, from, s->number));
	for (uint32_t from = 0; from < s->exchange->n_workers; from++) {
		uint32_t n;

		if (from == s->number)
			continue;
		n = sn_ring_take(ring_of(s->exchange, from, s->number), items, SN_EXCHANGE_BURST);
		if (n == 0)
			continue;
		notice(s); /* re-read the order: the marker may belong to a newer move */
		sum += process(s, items, n);
	}
	give(s);
	return sum;
}

void sn_mailbox_publish(struct sn_mailbox *s)
{
	for (; s->touched != 0; s->touched &= s->touched - 1)
		sn_ring_publish(ring_of(s->exchange, s->number, (uint32_t)__builtin_ctzll(s->touched)));
}
