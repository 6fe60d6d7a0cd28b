/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_watch.h"

#include <stdlib.h>

#include "sn_env.h"

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "workers wait for nobody");

struct sn_watches *sn_watches_create(void)
{
	struct sn_watches *w = calloc(1, sizeof(*w));

	if (w)
		sn_turn_init(&w->turn);
	return w;
}

void sn_watches_free(struct sn_watches *watches)
{
	free(watches);
}

const struct sn_watch *sn_watches_of(const struct sn_watches *watches, uint16_t port)
{
	return watches && port < SN_IFACES_MAX ? &watches->hosts[port] : NULL;
}

struct sn_watch *sn_watch_at(const struct sn_env *env, uint32_t iface)
{
	uint16_t port = env->addresses.ports[iface];

	return env->watches && port < SN_IFACES_MAX ? &env->watches->hosts[port] : NULL;
}

uint64_t sn_watch_key(const struct sn_env *env, uint32_t iface)
{
	return sn_neigh_key((uint8_t)iface, SN_VLAN_ABSENT, env->program->interfaces[iface].watched);
}

void sn_watch_hear(const struct sn_neigh_table *t, const struct sn_neigh *n)
{
	struct sn_watch *w;

	if (likely(!t->env->program || !(t->env->program->watched >> n->iface & 1)) ||
	    n->key != sn_watch_key(t->env, n->iface))
		return;
	w = sn_watch_at(t->env, n->iface);
	if (!w)
		return;
	atomic_fetch_add_explicit(&w->answers, 1, memory_order_relaxed);
	atomic_store_explicit(&w->heard, true, memory_order_relaxed);
	atomic_store_explicit(&w->down, false, memory_order_relaxed);
}
