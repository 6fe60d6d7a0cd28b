/* SPDX-License-Identifier: Apache-2.0 */
/* A program takes the place of another: tables are made, and sessions go to where they belong now. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_lines.h"
#include "sn_state_ports.h"

#define NO_LIMIT (1 << 30) /* of sessions: more than memory holds */

static inline int32_t limit(uint32_t max_sessions)
{
	return max_sessions && max_sessions < NO_LIMIT ? (int32_t)max_sessions : NO_LIMIT;
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
			sn_state_table_free(c->tables[i]);
	}
	for (uint32_t i = 0; c->runs && i < p->n_runs; i++)
		free(c->runs[i].name);
	for (uint32_t i = 0; c->left && c->spent && i < state->n_partitions; i++) {
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
	c->gift = calloc(n_quotas(p->n_tables, p->n_runs) + 1, sizeof(*c->gift));
	c->carried = calloc(n_quotas(p->n_tables, p->n_runs) + 1, sizeof(*c->carried));
	c->left = calloc(state->n_partitions, sizeof(*c->left));
	c->spent = calloc(state->n_partitions, sizeof(*c->spent));
	if (!c->tables || !c->runs || !c->run_of || !c->renamed || !c->gift || !c->carried || !c->left ||
	    !c->spent)
		return -ENOMEM;
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		c->left[i] = sn_lines(n_quotas(p->n_tables, p->n_runs), sizeof(**c->left));
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
			c->tables[i] = sn_state_table_create(&p->tables[i], state->partitioning);
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
	struct sn_partition *partition = state->partitions; /* it has all room, for now */
	const struct sn_flow back = {from->remote_addr, from->outside_addr, from->remote_port,
				     from->outside_port, from->proto};
	struct sn_session *s;
	uint32_t slot;

	/* The way out looks in the shard of the inside host, the way back in that of the port. */
	if ((from->shard & to->mask) != return_shard(state, to, &back) ||
	    !has_place(state, to, sh, from, &back, &slot) ||
	    is_full(partition, to, run, class_of(from->proto)))
		return false;
	s = slab_take(sh);
	if (!s)
		return false;
	*s = *from;
	s->run = run;
	s->timeout_ms = timeout_of(&state->runs[run], s->proto, s->seen);
	if (!sh->live)
		sh->tick = partition->now >> WHEEL_SHIFT;
	settle(partition, to, sh, s, slot, hash_session(state, s));
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
	state->partitions->left[t->id]++;
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
	state->partitions->left[t->id]--;
	--*run_quota(state->partitions, run, class_of(s->proto));
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

	for (uint32_t i = 0; i < state->n_partitions; i++)
		live -= *run_quota(&state->partitions[i], run, class);
	return live;
}

/* The first part gets all room of the new state: to make what is kept, and to split the rest. */
static void change_quotas(struct sn_state *state, struct change *c, const struct sn_program *p, bool same)
{
	int32_t *left = c->left[0];

	for (uint32_t i = 0; i < p->n_tables; i++)
		left[i] = limit(c->tables[i]->max_sessions) - (int32_t)live_in(c->tables[i]);
	for (uint32_t i = 0; i < p->n_runs; i++) {
		for (uint32_t k = 0; k < SN_PROTOS; k++)
			left[p->n_tables + i * SN_PROTOS + k] =
				limit(c->runs[i].max_sessions) - (same ? live_of(state, i, k) : 0);
	}
	for (uint32_t i = 0; i < state->n_partitions; i++) {
		struct sn_partition *partition = &state->partitions[i];

		free(partition->left);
		free(partition->spent);
		partition->left = c->left[i];
		partition->spent = c->spent[i];
		if (partition->now > state->partitions->now)
			state->partitions->now = partition->now;
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
	return p->unpartitioned ? 0 : mask;
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
	change_quotas(state, &c, p, same);
	sn_state_set_units(state, unit_mask_of(&c, p));
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
			sn_state_table_free(old.tables[i]);
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
