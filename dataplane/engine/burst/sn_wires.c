/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_wires.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sn_output.h"

/* A frame of the least length: addresses, type, and which engine sent it to come back by which port. */
enum {
	AT_TYPE = 12,
	AT_KEY = 14,
	AT_PORT = SN_PROBE_AT_PORT,
	PROBE_LEN = 60,
};

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "workers wait for nobody");

struct sn_wires *sn_wires_create(void)
{
	struct sn_wires *w = calloc(1, sizeof(*w));

	if (w && getrandom(&w->key, sizeof(w->key), 0) == sizeof(w->key)) {
		sn_turn_init(&w->turn);
		return w;
	}
	free(w);
	return NULL;
}

void sn_wires_free(struct sn_wires *wires)
{
	free(wires);
}

const struct sn_wire *sn_wires_of(const struct sn_wires *wires, uint16_t port)
{
	return wires && port < SN_IFACES_MAX ? &wires->wires[port] : NULL;
}

static struct sn_wire *wire_of(const struct sn_env *env, uint32_t back)
{
	uint16_t port = env->addresses.ports[back];

	return env->wires && port < SN_IFACES_MAX ? &env->wires->wires[port] : NULL;
}

/* ---- probes ---- */

static void write_probe(const struct sn_env *env, uint8_t f[PROBE_LEN], uint32_t back)
{
	memset(f, 0, PROBE_LEN);
	sn_wires_address(env, back, 0, f);
	sn_store16(f + AT_TYPE, SN_PROBE_TYPE);
	memcpy(f + AT_KEY, &env->wires->key, sizeof(env->wires->key));
	sn_store16(f + AT_PORT, env->addresses.ports[back]);
}

static bool is_probe(const struct sn_env *env, const struct rte_mbuf *m, uint32_t back)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	return m->data_len >= AT_PORT + 2 && sn_load16(f + AT_TYPE) == SN_PROBE_TYPE &&
	       !memcmp(f + AT_KEY, &env->wires->key, sizeof(env->wires->key)) &&
	       sn_load16(f + AT_PORT) == env->addresses.ports[back];
}

/* One that cannot be sent counts all the same: no packet could either. */
static void send_probe(struct sn_env *env, struct sn_wire *wire, uint32_t out, uint32_t back)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(env->pool);

	if (!m)
		return;
	atomic_fetch_add_explicit(&wire->probes, 1, memory_order_relaxed);
	sn_source_set(m, SN_SOURCE_NONE);
	write_probe(env, (uint8_t *)rte_pktmbuf_append(m, PROBE_LEN), back);
	sn_output_send(env, (uint16_t)out, m);
}

/*
 * Judges by the last probe, and by packets. A flood that fills a function loses probes, too; were it down
 * then, who floods could have packets go past it. Packets that it has kept show nothing of what it does now,
 * so it is up again by probes alone. A wire that had no probe for long has no past: its program had it
 * unwatched.
 */
static void judge(struct sn_wire *wire, uint32_t patience, uint64_t now)
{
	bool first = now - wire->sent_at >= SN_PROBES_PAST_NS;
	bool heard = atomic_exchange_explicit(&wire->heard, false, memory_order_relaxed);
	bool passed = atomic_exchange_explicit(&wire->passed, false, memory_order_relaxed);

	wire->sent_at = now;
	wire->lost = heard || passed || first ? 0 : wire->lost + 1;
	wire->back = heard && !first ? wire->back + 1 : 0;
	if (wire->lost >= patience)
		atomic_store_explicit(&wire->down, true, memory_order_relaxed);
	else if (first || wire->back >= SN_PROBES_BACK)
		atomic_store_explicit(&wire->down, false, memory_order_relaxed);
}

static void send_probes(struct sn_env *env, uint64_t now)
{
	const struct sn_program *p = env->program;

	for (uint64_t left = p->probed; left; left &= left - 1) {
		uint32_t back = (uint32_t)__builtin_ctzll(left);
		struct sn_wire *wire = wire_of(env, back);

		if (!wire)
			continue;
		judge(wire, p->bypassed >> back & 1 ? SN_PROBES_LOST_OPEN : SN_PROBES_LOST_CLOSED, now);
		send_probe(env, wire, p->interfaces[back].left_by, back);
	}
}

/* ---- by workers ---- */

/* Flows of a replica that is down, also if it is so in one direction alone, go to another one that is up. */
static uint64_t given_up(const struct sn_replicas *r, uint64_t down)
{
	uint64_t wires = 0;
	bool some_up = false;

	for (uint32_t i = 0; i < r->n; i++) {
		if (r->wires[i] & down)
			wires |= r->wires[i];
		else
			some_up = true;
	}
	return some_up ? wires : 0;
}

void sn_wires_look(struct sn_env *env)
{
	env->down = 0;
	env->given_up = 0;
	env->past_wires = 0;
	for (uint64_t left = env->program && env->wires ? env->program->probed : 0; left; left &= left - 1) {
		uint32_t back = (uint32_t)__builtin_ctzll(left);
		const struct sn_wire *wire = wire_of(env, back);

		if (!wire || !atomic_load_explicit(&wire->down, memory_order_relaxed))
			continue;
		env->down |= 1ull << back;
		if (env->program->bypassed >> back & 1)
			env->past_wires |= 1ull << env->program->interfaces[back].left_by;
	}
	for (uint32_t i = 0; env->down && i < env->program->n_replicas; i++)
		env->given_up |= given_up(&env->program->replicas[i], env->down);
}

static void have_checked(struct sn_env *env, uint64_t now)
{
	for (uint64_t left = env->program->returns; left; left &= left - 1) {
		uint32_t back = (uint32_t)__builtin_ctzll(left);
		struct sn_wire *wire = wire_of(env, back);

		if (wire && sn_spots_due(&wire->spots, now))
			env->spotted |= 1ull << env->program->interfaces[back].left_by;
	}
}

void sn_wires_tick(struct sn_env *env, uint64_t now)
{
	struct sn_wires *w = env->wires;

	env->burst.now = now;
	if (likely(!w || !env->program->returns))
		return;
	have_checked(env, now);
	if (!env->program->probed)
		return;
	if (sn_turn_begin(&w->turn, now, SN_PROBES_NS)) {
		send_probes(env, now);
		sn_turn_end(&w->turn);
	}
	sn_wires_look(env);
}

void sn_wires_passed(struct sn_env *env, uint16_t iface, const struct rte_mbuf *m)
{
	struct sn_wire *wire = wire_of(env, iface);

	if (!wire || env->passing)
		return;
	if (sn_load16(rte_pktmbuf_mtod_offset(m, const uint8_t *, AT_TYPE)) == SN_PROBE_TYPE)
		return;							/* somebody else's */
	if (!atomic_load_explicit(&wire->passed, memory_order_relaxed)) /* workers share the line */
		atomic_store_explicit(&wire->passed, true, memory_order_relaxed);
}

uint32_t sn_wires_hear(struct sn_env *env, uint16_t iface, struct rte_mbuf **frames, uint32_t n)
{
	struct sn_wire *wire = wire_of(env, iface);
	uint32_t left = 0;

	if (!wire)
		return n;
	for (uint32_t i = 0; i < n; i++) {
		if (likely(!is_probe(env, frames[i], iface))) {
			frames[left++] = frames[i];
			continue;
		}
		atomic_fetch_add_explicit(&wire->answers, 1, memory_order_relaxed);
		atomic_store_explicit(&wire->heard, true, memory_order_relaxed);
		sn_count_add(&env->stats.ports[iface].rx, frames[i]->pkt_len);
		rte_pktmbuf_free(frames[i]);
	}
	return left;
}
