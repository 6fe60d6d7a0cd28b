/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_carry.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "sn_parse.h"
#include "sn_state_impl.h"

#define SN_ERR(...) (snprintf(err, err_len, __VA_ARGS__), -1)
#define PAGE	    4096u
#define AHEAD	    16 /* sessions whose lines are on their way at a time */

/* ---- bytes ---- */

static void store64(uint8_t *to, uint64_t v)
{
	sn_store32(to, (uint32_t)(v >> 32));
	sn_store32(to + 4, (uint32_t)v);
}

static uint64_t load64(const uint8_t *from)
{
	return (uint64_t)sn_load32(from) << 32 | sn_load32(from + 4);
}

static void write_session(const struct sn_session *s, uint32_t table, uint64_t now, uint8_t *out)
{
	sn_store32(out, s->inside_addr);
	sn_store32(out + 4, s->outside_addr);
	sn_store32(out + 8, s->remote_addr);
	sn_store16(out + 12, s->inside_port);
	sn_store16(out + 14, s->outside_port);
	sn_store16(out + 16, s->remote_port);
	sn_store16(out + 18, s->run);
	out[20] = s->proto;
	out[21] = s->seen;
	out[22] = s->shard;
	out[23] = (uint8_t)table;
	store64(out + 24, now - s->last_use);
	memcpy(out + 32, s->ack, 8); /* in network order, both */
	memcpy(out + 40, s->window, 4);
	out[44] = s->scales;
	memset(out + 45, 0, SN_CARRY_BYTES - 45);
}

static struct sn_session read_session(const uint8_t *in, uint64_t now)
{
	struct sn_session s = {
		.inside_addr = sn_load32(in),
		.outside_addr = sn_load32(in + 4),
		.remote_addr = sn_load32(in + 8),
		.inside_port = sn_load16(in + 12),
		.outside_port = sn_load16(in + 14),
		.remote_port = sn_load16(in + 16),
		.run = sn_load16(in + 18),
		.proto = in[20],
		.seen = in[21],
		.shard = in[22] & (SN_SHARDS - 1),
		.scales = in[44],
		.last_use = now - load64(in + 24),
	};

	memcpy(s.ack, in + 32, 8);
	memcpy(s.window, in + 40, 4);
	return s;
}

/* ---- out ---- */

/* A cursor: table, shard of the table, session of the shard. */
struct place {
	uint32_t table, shard, session;
};

static struct place place_of(uint64_t cursor)
{
	return (struct place){(uint32_t)(cursor >> 48), cursor >> 32 & 0xffff, (uint32_t)cursor};
}

static uint64_t cursor_of(const struct place *p)
{
	return (uint64_t)p->table << 48 | (uint64_t)p->shard << 32 | p->session;
}

/* Sessions of one shard. */
static size_t read_shard(const struct table *t, const struct shard *sh, struct place *p, uint64_t now,
			 uint8_t *out, size_t max)
{
	size_t n = 0;

	for (; p->session < sh->slab_fresh && n < max; p->session++) {
		const struct sn_session *s = &sh->slab[p->session];

		if (sn_session_live(s, now))
			write_session(s, t->id, now, out + SN_CARRY_BYTES * n++);
	}
	return n;
}

size_t sn_carry_read(const struct sn_state *state, const bool shards[SN_SHARDS], uint64_t *cursor,
		     uint64_t now, uint8_t *out, size_t max)
{
	struct place p = place_of(*cursor);
	size_t n = 0;

	for (; p.table < state->n_tables; p.table++, p.shard = 0) {
		const struct table *t = state->tables[p.table];

		for (; p.shard <= t->mask; p.shard++, p.session = 0) {
			if (!shards[p.shard])
				continue;
			n += read_shard(t, &t->shards[p.shard], &p, now, out + SN_CARRY_BYTES * n, max - n);
			if (n == max) {
				*cursor = cursor_of(&p);
				return n;
			}
		}
	}
	*cursor = 0;
	return n;
}

/* ---- in ---- */

/* A kernel that does not know how (before 5.14) brings pages as they are written. */
static void populate(const void *from, size_t len)
{
	uintptr_t begin = RTE_ALIGN_FLOOR((uintptr_t)from, PAGE);

	if (len > 0)
		(void)madvise((void *)begin, (uintptr_t)from + len - begin, MADV_POPULATE_WRITE);
}

/* What sessions find by a hash, or by their ports: of few, most pages would never be used. */
static void populate_scattered(const void *from, size_t len, uint32_t sessions)
{
	if (sessions >= len / PAGE)
		populate(from, len);
}

static void reserve_shard(const struct shard *sh, uint32_t sessions)
{
	if (sessions == 0)
		return;
	populate(sh->slab, RTE_MIN(sessions, sh->slab_max) * sizeof(*sh->slab));
	populate(sh->wheel, WHEEL_SLOTS * sizeof(*sh->wheel));
	populate_scattered(sh->buckets, (sh->bucket_mask + 1) * sizeof(*sh->buckets), sessions);
	for (int p = 0; p < SN_PORTED; p++)
		populate_scattered(sh->ports[p].slots, sh->n_slots * sizeof(*sh->ports[p].slots), sessions);
}

void sn_carry_reserve(const struct sn_state *state, uint32_t unit, uint32_t sessions)
{
	for (uint32_t i = 0; i < state->n_tables; i++) {
		const struct table *t = state->tables[i];
		uint32_t n = (t->mask + 1) / (state->unit_mask + 1); /* shards of the unit */

		for (uint32_t s = unit; s <= t->mask; s += state->unit_mask + 1)
			reserve_shard(&t->shards[s], sessions / n + (sessions % n > 0));
	}
}

/* A session on its way to where it belongs. */
struct comer {
	struct sn_session session;
	struct table *table;
	struct shard *shard;
	uint32_t slot;
	uint64_t hash;
};

/* Whether a session could have been made here, if its port is free. */
static int check(const struct sn_state *state, const bool *shards, const uint8_t *in, struct comer *c,
		 char *err, size_t err_len)
{
	struct sn_session *s = &c->session;
	const struct sn_flow back = {s->remote_addr, s->outside_addr, s->remote_port, s->outside_port,
				     s->proto};

	if (s->run >= state->n_runs || state->runs[s->run].table != in[23])
		return SN_ERR("session of table %u and run %u, which the program does not have so", in[23],
			      s->run);
	if (sn_is_sealed(s->proto))
		return SN_ERR("session of protocol %u, which is not translated", s->proto);
	c->table = state->tables[in[23]];
	if (in[22] >= SN_SHARDS || !shards[s->shard] ||
	    (s->shard & c->table->mask) != return_shard(state, c->table, &back))
		return SN_ERR("session of shard %u with outside port %u, which are none of the transfer's",
			      in[22], s->outside_port);
	c->shard = &c->table->shards[s->shard & c->table->mask];
	if (sn_has_ports(s->proto))
		c->slot = slot_of_session(c->table, c->shard, s);
	else
		c->slot = may_be_portless(c->table, s->outside_addr) && !s->outside_port && !s->inside_port &&
					  !s->remote_port
				  ? 0
				  : SN_NO_INDEX;
	if (c->slot == SN_NO_INDEX)
		return SN_ERR(
			"session with outside address %u.%u.%u.%u and port %u, which are not the pool's",
			s->outside_addr >> 24, s->outside_addr >> 16 & 255, s->outside_addr >> 8 & 255,
			s->outside_addr & 255, s->outside_port);
	return 0;
}

/* Reads a session and sends for the lines that it will be put into. */
static int expect(const struct sn_state *state, const bool *shards, const uint8_t *in, uint64_t now,
		  struct comer *c, char *err, size_t err_len)
{
	struct sn_session *s = &c->session;

	*s = read_session(in, now);
	if (check(state, shards, in, c, err, err_len) != 0)
		return -1;
	s->seen &= SN_SEEN_ANSWERED | SN_SEEN_ACKNOWLEDGED | SN_SEEN_CLOSING;
	s->timeout_ms = timeout_of(&state->runs[s->run], s->proto, s->seen);
	c->hash = hash_session(state, s);
	rte_prefetch0(bucket_of(c->shard, c->hash));
	if (sn_has_ports(s->proto))
		rte_prefetch0(&c->shard->ports[ported_class_of(s->proto)].slots[c->slot]);
	return 0;
}

static bool is_taken(const struct sn_state *state, const struct comer *c, uint64_t now)
{
	const struct sn_session *s = &c->session;
	const struct sn_flow back = {s->remote_addr, s->outside_addr, 0, 0, s->proto};

	if (sn_has_ports(s->proto))
		return c->shard->ports[ported_class_of(s->proto)].slots[c->slot] != 0;
	return back_find(state, c->shard, &back, now) != NULL;
}

static int admit(struct sn_state *state, const struct comer *c, uint64_t now, char *err, size_t err_len)
{
	const struct sn_session *came = &c->session;
	struct shard *sh = c->shard;
	struct sn_session *s;
	uint32_t generation;

	if (is_taken(state, c, now))
		return SN_ERR("session of shard %u with outside port %u, which another one has", came->shard,
			      came->outside_port);
	if (now - came->last_use > came->timeout_ms * NS_PER_MS)
		return 0;
	if (!sh->live)
		sh->tick = now >> WHEEL_SHIFT;
	s = slab_take(sh);
	if (s == NULL)
		return SN_ERR("shard %u of table %s has no room for another session", came->shard,
			      c->table->name);
	generation = s->generation;
	*s = *came;
	s->generation = generation;
	settle(&state->carried, c->table, sh, s, c->slot, c->hash);
	return 0;
}

int sn_carry_put(struct sn_state *state, const bool shards[SN_SHARDS], const uint8_t *in, size_t n,
		 uint64_t now, char *err, size_t err_len)
{
	struct comer comers[AHEAD];

	for (size_t done = 0; done < n; done += AHEAD) {
		size_t some = RTE_MIN(n - done, (size_t)AHEAD);

		for (size_t i = 0; i < some; i++)
			if (expect(state, shards, in + SN_CARRY_BYTES * (done + i), now, &comers[i], err,
				   err_len) != 0)
				return -1;
		for (size_t i = 0; i < some; i++)
			if (admit(state, &comers[i], now, err, err_len) != 0)
				return -1;
	}
	return 0;
}

/* ---- away ---- */

/* No port of the list was ever used. */
static void reset_list(const struct list *l)
{
	uint32_t next;

	for (uint32_t i = l->queue->head; i > 0; i = next) {
		next = l->slots[i - 1] & ~SLOT_FREE;
		l->slots[i - 1] = 0;
	}
	*l->queue = (struct queue){0};
}

static void reset_ports(const struct table *t, struct shard *sh)
{
	uint32_t cosets = t->cosets ? t->mask + 1 : 1, addresses = t->cosets ? t->n_addresses : 1;

	for (uint32_t class = 0; class < SN_PORTED; class ++) {
		for (uint32_t coset = 0; coset < cosets; coset++) {
			for (uint32_t address = 0; address < addresses; address++) {
				struct list l = list_of(t, sh, class, coset, address);

				reset_list(&l);
			}
		}
	}
}

/* Its line stays, with another generation: decisions that remember the session do not hold any more. */
static void end_session(struct sn_state *state, const struct table *t, const struct shard *sh,
			struct sn_session *s)
{
	enum sn_proto_class class = class_of(s->proto);

	*bucket_of(sh, hash_session(state, s)) = 0;
	if (class != SN_PROTO_OTHER)
		sh->ports[class].slots[slot_of_session(t, sh, s)] = 0;
	s->live = 0;
	s->generation++;
	state->carried.left[t->id]++;
	++*run_quota(&state->carried, s->run, class);
}

static void forget_shard(struct sn_state *state, const struct table *t, struct shard *sh)
{
	for (uint32_t i = 0; i < sh->slab_fresh; i++)
		if (sh->slab[i].live)
			end_session(state, t, sh, &sh->slab[i]);
	memset(sh->wheel, 0, WHEEL_SLOTS * sizeof(*sh->wheel));
	memset(sh->back, 0, BACK_HEADS * sizeof(*sh->back));
	sh->portless = 0;
	sh->live = sh->slab_free = sh->slab_fresh = 0; /* lines are used again in their order: that is fast */
	reset_ports(t, sh);
}

void sn_carry_forget(struct sn_state *state, const bool shards[SN_SHARDS])
{
	for (uint32_t i = 0; i < state->n_tables; i++)
		for (uint32_t n = 0; n <= state->tables[i]->mask; n++)
			if (shards[n])
				forget_shard(state, state->tables[i], &state->tables[i]->shards[n]);
}
