/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_carry.h"

#include <stdio.h>
#include <string.h>

#include "sn_parse.h"
#include "sn_state_impl.h"

#define SN_ERR(...) (snprintf(err, err_len, __VA_ARGS__), -1)

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

static void write_session(const struct sn_session *s, uint64_t now, uint8_t *out)
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
	out[23] = (uint8_t)s->table;
	store64(out + 24, now - s->last_use);
}

static struct sn_session read_session(const uint8_t *in, uint64_t now)
{
	return (struct sn_session){
		.inside_addr = sn_load32(in),
		.outside_addr = sn_load32(in + 4),
		.remote_addr = sn_load32(in + 8),
		.inside_port = sn_load16(in + 12),
		.outside_port = sn_load16(in + 14),
		.remote_port = sn_load16(in + 16),
		.run = sn_load16(in + 18),
		.proto = in[20],
		.seen = in[21],
		.shard = in[22],
		.table = in[23],
		.last_use = now - load64(in + 24),
	};
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
static size_t read_shard(const struct shard *sh, struct place *p, uint64_t now, uint8_t *out, size_t max)
{
	size_t n = 0;

	for (; p->session < sh->slab_fresh && n < max; p->session++) {
		const struct sn_session *s = &sh->slab[p->session];

		if (sn_session_live(s, now))
			write_session(s, now, out + SN_CARRY_BYTES * n++);
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
			n += read_shard(&t->shards[p.shard], &p, now, out + SN_CARRY_BYTES * n, max - n);
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

/* Whether a session could have been made here; its slot is set. */
static int check(const struct sn_state *state, const bool *shards, struct sn_session *s, char *err,
		 size_t err_len)
{
	const struct sn_flow back = {s->remote_addr, s->outside_addr, s->remote_port, s->outside_port,
				     s->proto};
	const struct table *t;
	const struct shard *sh;

	if (s->table >= state->n_tables || s->run >= state->n_runs || state->runs[s->run].table != s->table)
		return SN_ERR("session of table %u and run %u, which the program does not have so", s->table,
			      s->run);
	if (s->proto != SN_TCP && s->proto != SN_UDP && s->proto != SN_ICMP)
		return SN_ERR("session of protocol %u, want 1, 6 or 17", s->proto);
	t = state->tables[s->table];
	if (s->shard >= SN_SHARDS || !shards[s->shard] ||
	    (s->shard & t->mask) != return_shard(state, t, &back))
		return SN_ERR("session of shard %u with outside port %u, which are none of the transfer's",
			      s->shard, s->outside_port);
	sh = &t->shards[s->shard & t->mask];
	s->slot = slot_of(t, sh, s->outside_addr, s->outside_port);
	if (s->slot == SN_NO_INDEX)
		return SN_ERR(
			"session with outside address %u.%u.%u.%u and port %u, which are not the pool's",
			s->outside_addr >> 24, s->outside_addr >> 16 & 255, s->outside_addr >> 8 & 255,
			s->outside_addr & 255, s->outside_port);
	if (sh->ports[class_of(s->proto)].slots[s->slot])
		return SN_ERR("session of shard %u with outside port %u, which another one has", s->shard,
			      s->outside_port);
	return 0;
}

int sn_carry_put(struct sn_state *state, const bool shards[SN_SHARDS], const uint8_t in[SN_CARRY_BYTES],
		 uint64_t now, char *err, size_t err_len)
{
	struct sn_session came = read_session(in, now), *s;
	struct table *t;
	struct shard *sh;
	uint32_t generation;

	if (check(state, shards, &came, err, err_len) != 0)
		return -1;
	came.seen &= SN_SEEN_FORWARD | SN_SEEN_RETURN | SN_SEEN_CLOSE;
	came.timeout = timeout_of(&state->runs[came.run], came.proto, came.seen);
	if (now - came.last_use > came.timeout)
		return 0;
	t = state->tables[came.table];
	sh = &t->shards[came.shard & t->mask];
	if (!sh->live)
		sh->tick = now >> WHEEL_SHIFT;
	s = slab_take(sh);
	if (s == NULL)
		return SN_ERR("shard %u of table %s has no room for another session", came.shard, t->name);
	generation = s->generation;
	*s = came;
	s->generation = generation;
	settle(&state->carried, t, sh, s, hash_session(state, s));
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

	for (uint32_t class = 0; class < SN_PROTOS; class ++) {
		for (uint32_t coset = 0; coset < cosets; coset++) {
			for (uint32_t address = 0; address < addresses; address++) {
				struct list l = list_of(t, sh, class, coset, address);

				reset_list(&l);
			}
		}
	}
}

/* Sessions keep their lines and change their generations: decisions that remember them do not hold any more.
 */
static void end_session(struct sn_state *state, struct shard *sh, struct sn_session *s)
{
	enum sn_proto_class class = class_of(s->proto);

	*bucket_of(sh, hash_session(state, s)) = 0;
	sh->ports[class].slots[s->slot] = 0;
	s->live = 0;
	s->generation++;
	s->hash_next = sh->slab_free;
	sh->slab_free = index_of(sh, s);
	state->carried.left[s->table]++;
	++*run_room(&state->carried, s->run, class);
}

static void forget_shard(struct sn_state *state, const struct table *t, struct shard *sh)
{
	for (uint32_t i = 0; i < sh->slab_fresh; i++)
		if (sh->slab[i].live)
			end_session(state, sh, &sh->slab[i]);
	memset(sh->wheel, 0, WHEEL_SLOTS * sizeof(*sh->wheel));
	sh->live = 0;
	reset_ports(t, sh);
}

void sn_carry_forget(struct sn_state *state, const bool shards[SN_SHARDS])
{
	for (uint32_t i = 0; i < state->n_tables; i++)
		for (uint32_t n = 0; n <= state->tables[i]->mask; n++)
			if (shards[n])
				forget_shard(state, state->tables[i], &state->tables[i]->shards[n]);
}
