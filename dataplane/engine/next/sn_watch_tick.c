/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_watch_tick.h"

#include "sn_arp.h"
#include "sn_neigh_impl.h"
#include "sn_output.h"
#include "sn_watch.h"

/* Judges by the last question. A host that got none for long has no past: it had no watch. */
static void judge(struct sn_watch *w, uint32_t address, uint64_t now)
{
	bool first = w->address != address || now - w->asked_at >= SN_WATCH_PAST_NS;
	bool heard = atomic_exchange_explicit(&w->heard, false, memory_order_relaxed);

	w->address = address;
	w->asked_at = now;
	w->unanswered = heard || first ? 0 : w->unanswered + 1;
	if (w->unanswered >= SN_WATCH_UNANSWERED)
		atomic_store_explicit(&w->down, true, memory_order_relaxed);
	else if (first)
		atomic_store_explicit(&w->down, false, memory_order_relaxed);
}

/* Where it is known to be. When that was not answered, all are asked: another device may have the address. */
static void ask(struct sn_neigh_table *t, uint32_t iface, struct sn_watch *w)
{
	uint64_t key = sn_watch_key(t->env, iface);
	const struct sn_neigh *known = sn_neigh_find(t, key);
	struct sn_neigh unknown = {.iface = (uint8_t)iface, .key = key};
	bool there = known && sn_neigh_usable(known) && !w->unanswered;

	atomic_fetch_add_explicit(&w->questions, 1, memory_order_relaxed);
	sn_arp_ask(t, there ? known : &unknown, there, SN_SOURCE_NONE);
}

static void ask_hosts(struct sn_neigh_table *t, uint64_t now)
{
	const struct sn_program *p = t->env->program;

	for (uint64_t left = p->watched; left; left &= left - 1) {
		uint32_t iface = (uint32_t)__builtin_ctzll(left);
		struct sn_watch *w = sn_watch_at(t->env, iface);

		if (!w)
			continue;
		judge(w, p->interfaces[iface].watched, now);
		ask(t, iface, w);
	}
}

/* The next packet to one that went down asks all, and is dropped if nobody answers. */
static void look(struct sn_neigh_table *t)
{
	uint64_t down = 0;

	for (uint64_t left = t->env->program->watched; left; left &= left - 1) {
		uint32_t iface = (uint32_t)__builtin_ctzll(left);
		const struct sn_watch *w = sn_watch_at(t->env, iface);
		struct sn_neigh *n;

		if (!w || !atomic_load_explicit(&w->down, memory_order_relaxed))
			continue;
		down |= 1ull << iface;
		if (t->hosts_down >> iface & 1)
			continue;
		n = sn_neigh_find(t, sn_watch_key(t->env, iface));
		if (n && n->state != SN_NEIGH_STATIC)
			sn_neigh_forget(t, n);
	}
	t->hosts_down = down;
}

void sn_watch_tick(struct sn_neigh_table *t, uint64_t now)
{
	struct sn_watches *ws = t->env->watches;

	if (likely(!ws || !t->env->program->watched))
		return;
	if (sn_turn_begin(&ws->turn, now, SN_WATCH_NS)) {
		ask_hosts(t, now);
		sn_turn_end(&ws->turn);
	}
	look(t);
}
