/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a table that a program says: its static neighbours and its stops. */

#include "sn_continuation.h"
#include "sn_neigh_impl.h"
#include "sn_wires.h"

/* ---- stops ---- */

static enum sn_neigh_state state_of_stop(const struct sn_env *env, const struct sn_stop *s)
{
	uint64_t down = (s->when_down == SN_DOWN_DROP ? env->down : 0) | env->given_up;

	return down >> s->back & 1 ? SN_NEIGH_DOWN : SN_NEIGH_STATIC;
}

struct sn_neigh *sn_neigh_of_stop(struct sn_neigh_table *t, uint32_t stop, uint32_t continuation)
{
	const struct sn_env *env = t->env;
	const struct sn_stop *s = &env->program->stops[stop];
	uint64_t key = sn_neigh_stop_key(s->out, env->program->nonce, continuation);
	struct sn_neigh *n = sn_neigh_find(t, key);

	/* Its entries never give way, so they are no more than its share. */
	if (n || t->rooms[s->out].n >= t->share)
		return n;
	n = sn_neigh_add(t, key, false);
	if (!n)
		return NULL;
	n->state = state_of_stop(env, s);
	sn_wires_address(env, s->back, continuation, n->l2);
	return n;
}

/* Whether an entry is of a stop of the program that runs. */
static bool is_own_stop(const struct sn_neigh_table *t, const struct sn_neigh *n)
{
	return sn_neigh_is_stop(n) && sn_neigh_nonce(n) == t->env->program->nonce;
}

/* The entry is as it is said to be now. */
static void turn(const struct sn_neigh_table *t, struct sn_neigh *n)
{
	const struct sn_stop *s = sn_continuation_stop(t->env->program, sn_neigh_continuation(n));

	n->state = state_of_stop(t->env, s);
	sn_wires_address(t->env, s->back, sn_neigh_continuation(n), n->l2);
}

void sn_neigh_turn_stops(struct sn_neigh_table *t)
{
	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh; i++)
		if (is_own_stop(t, &t->entries[i]))
			turn(t, &t->entries[i]);
}

static void forget_stop(struct sn_neigh_table *t, struct sn_neigh *n)
{
	n->named = false;
	sn_neigh_forget(t, n);
}

void sn_neigh_forget_ahead(struct sn_neigh_table *t)
{
	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh; i++)
		if (sn_neigh_is_stop(&t->entries[i]) && !is_own_stop(t, &t->entries[i]))
			forget_stop(t, &t->entries[i]);
}

/* ---- programs ---- */

static bool is_configured(const struct sn_interface *ifc, const struct sn_neigh *n)
{
	for (uint32_t i = 0; i < ifc->n_neighbors; i++)
		if (ifc->neighbors[i].address == sn_neigh_address(n) &&
		    ifc->neighbors[i].vlan == sn_neigh_vlan(n) &&
		    memcmp(ifc->neighbors[i].mac, n->l2, 6) == 0)
			return true;
	return false;
}

static bool on_link(const struct sn_interface *i, uint32_t address)
{
	return ((address ^ i->address) & i->mask) == 0 && address != i->address;
}

/* A learnt entry stays if its interface does, a configured one if it is still configured. */
static bool stays(const struct sn_neigh_table *t, const struct sn_program *old, const struct sn_neigh *n)
{
	const struct sn_program *p = t->env->program;
	const struct sn_interface *ifc;

	if (!p || !old || n->iface >= p->n_interfaces)
		return false;
	ifc = &p->interfaces[n->iface];
	if (strcmp(ifc->name, old->interfaces[n->iface].name) != 0)
		return false;
	if (n->state == SN_NEIGH_STATIC)
		return is_configured(ifc, n);
	return on_link(ifc, sn_neigh_address(n)) && sn_vlans_have(ifc->vlans, sn_neigh_vlan(n));
}

static void configure(struct sn_neigh_table *t, uint8_t iface, const struct sn_static_neigh *from)
{
	uint64_t key = sn_neigh_key(iface, from->vlan, from->address);
	struct sn_neigh *n = sn_neigh_find(t, key);

	if (n && n->state == SN_NEIGH_STATIC)
		return; /* it stayed, in its place */
	if (n)
		sn_neigh_forget(t, n);
	n = sn_neigh_add(t, key, false);
	if (!n)
		return; /* asked for by ARP if it is ever free */
	n->state = SN_NEIGH_STATIC;
	sn_neigh_set_l2(t, n, from->mac);
}

/* The program's own were made ahead. Decisions that name those of the program before go with it. */
static void apply_to_stop(struct sn_neigh_table *t, struct sn_neigh *n)
{
	if (t->env->program && is_own_stop(t, n))
		turn(t, n);
	else
		forget_stop(t, n);
}

void sn_neigh_apply(struct sn_neigh_table *t, const struct sn_program *old)
{
	t->hosts_down = 0;
	for (uint32_t i = SN_NEIGH_NONE + 1; i < t->fresh; i++) {
		struct sn_neigh *n = &t->entries[i];

		if (n->state == SN_NEIGH_FREE)
			continue;
		if (sn_neigh_is_stop(n))
			apply_to_stop(t, n);
		else if (stays(t, old, n))
			memcpy(n->l2 + 6, &t->env->addresses.macs[n->iface], 6);
		else
			sn_neigh_forget(t, n);
	}
	if (!t->env->program)
		return;
	sn_wait_divide(&t->wait, t->env->program->n_interfaces);
	t->share = (uint16_t)((t->max - 1) / RTE_MAX(t->env->program->n_interfaces, 1u));
	for (uint32_t i = 0; i < t->env->program->n_interfaces; i++) {
		const struct sn_interface *ifc = &t->env->program->interfaces[i];
		uint16_t evictee;

		while ((evictee = sn_wait_evictee(&t->wait, (uint8_t)i, 0)))
			sn_neigh_drop_first(t, &t->entries[evictee]);
		for (uint32_t j = 0; j < ifc->n_neighbors; j++)
			configure(t, (uint8_t)i, &ifc->neighbors[j]);
	}
}
