/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of the slow path, kept in the cache. */

#include "sn_bundle.h"
#include "sn_exec.h"
#include "sn_fast.h"
#include "sn_rewrite.h"

/* Keeps what is decided of a flow's packet. */
struct flow_keeper {
	struct sn_keeper keeper; /* first */
	struct sn_fast *fast;
	const struct sn_cache_key *key;
	uint64_t hash;
};

/* The state that a decision uses: sessions first, then what those operations have that are done to each
 * packet, in their order. False: it is more than an entry can name. */
static bool remember_state(const struct sn_execution *x, struct sn_cache_entry *e)
{
	struct sn_bundle_uses uses;
	uint32_t n = 0;

	if (!sn_journal_sessions(x, &uses) || uses.n > SN_CACHE_SESSIONS)
		return false;
	for (; n < uses.n; n++) {
		e->sessions[n] = sn_cache_entry_word(uses.entries[n]);
		if (uses.returns >> n & 1)
			e->flags |= SN_CACHE_RETURN0 << n;
	}
	for (uint32_t i = 0; i < x->n_uses; i++) {
		if (!x->uses[i].each)
			continue;
		if (n == SN_CACHE_SESSIONS)
			return false;
		e->flags |= SN_CACHE_EACH0 << n;
		e->sessions[n++] = sn_cache_entry_word(x->uses[i].entry);
	}
	return true;
}

/* The packets of a kept decision are counted in its cell. What is there is the running program's. */
static void observe_kept(const struct sn_fast *f, const struct sn_execution *x,
			 const struct sn_cache_entry *kept)
{
	const struct sn_counts *running = x->warm_up ? f->warm_up.counts : f->env.counts;

	sn_observer_place(running->observer, sn_cache_cell(&f->cache, kept), &x->seen);
}

/* Whether something is to be done to each packet. */
static bool has_each(const struct sn_execution *x)
{
	return x->each || x->n_copied > 0;
}

/* Sessions on the way that say all there is about the flow, if a short decision would: what is observed then
 * is the packet as it comes, or as it leaves. Those between that translate, too, need not be known. */
static struct sn_cache_told told_by(const struct sn_execution *x, const struct sn_pkt *p)
{
	const struct sn_flow_cell *f = &x->seen;
	struct sn_cache_told told = {0};

	if (x->n_uses < 1 || has_each(x))
		return told;
	if (x->observed &&
	    (f->src != p->src || f->dst != p->dst || f->sport != p->sport || f->dport != p->dport) &&
	    (f->src != p->src0 || f->dst != p->dst0 || f->sport != p->sport0 || f->dport != p->dport0))
		return told;
	for (uint32_t i = 0; i < x->n_uses; i++) {
		const struct sn_session *s = (const struct sn_session *)x->uses[i].entry;

		if (!sn_session_translates(s))
			continue;
		if (!told.comes)
			told.comes = s;
		told.leaves = s;
	}
	if (!told.comes)
		told.comes = told.leaves = (const struct sn_session *)x->uses[0].entry;
	return told;
}

static bool is_as_it_came(const struct sn_copied *c, const struct sn_pkt *p)
{
	return c->src == p->src0 && c->dst == p->dst0 && (uint16_t)c->sport == p->sport0 &&
	       (uint16_t)c->dport == p->dport0 && c->id == p->id0;
}

static bool is_as_it_leaves(const struct sn_copied *c, const struct sn_pkt *p)
{
	return c->src == p->src && c->dst == p->dst && c->sport == p->sport && c->dport == p->dport &&
	       c->id == p->id;
}

/* Says of each copy on the way whether it is as the packet came, or as it leaves. False: one is neither, as
 * where something translates before it and after it. */
static bool place_copies(struct sn_execution *x, const struct sn_pkt *p)
{
	for (uint32_t i = 0; i < x->n_copied; i++) {
		if (is_as_it_came(&x->copied[i], p))
			continue;
		if (!is_as_it_leaves(&x->copied[i], p))
			return false;
		x->steps[x->copied[i].step] |= SN_COPY_LEAVES;
	}
	return true;
}

/* Keep the decision for the packets of this flow that follow. */
static void keep(const struct sn_keeper *keeper, struct sn_execution *x, const struct sn_pkt *p,
		 const struct sn_neigh *n)
{
	const struct flow_keeper *flow = (const struct flow_keeper *)keeper;
	struct sn_fast *f = flow->fast;
	struct sn_cache_entry entry, *e = &entry, *kept;
	uint8_t ttl_dec = p->ttl0 - p->ttl;
	uint32_t path;

	if (x->min_ttl > 255 || !sn_cache_current(&f->cache, flow->key) || sn_journal_spans_shards(x))
		return;
	memset(e, 0, sizeof(*e));
	if (!remember_state(x, e) || !place_copies(x, p))
		return;
	path = sn_paths_find(&f->env.counts->paths, x->steps, x->n_steps);
	if (path == SN_NO_INDEX)
		return;
	e->addresses = flow->key->addresses;
	e->ports_key = flow->key->ports;
	e->signature = flow->key->signature;
	e->src = rte_cpu_to_be_32(p->src);
	e->dst = rte_cpu_to_be_32(p->dst);
	e->sport = rte_cpu_to_be_16(p->proto == SN_ICMP ? p->id : p->sport);
	e->dport = rte_cpu_to_be_16(p->dport);
	e->head_move = sn_head_move_of(ttl_dec, sn_ip_diff(p));
	e->l4_diff = rte_cpu_to_be_16(sn_l4_diff(p));
	e->neigh = n - f->neighbors.entries;
	e->vlan = p->vlan != p->vlan0 || p->stripped ? p->vlan : SN_CACHE_KEEP_VLAN;
	e->dscp = p->dscp != p->dscp0 ? p->dscp : SN_CACHE_KEEP_DSCP;
	e->path = path;
	e->shard = e->sessions[0] ? sn_cache_entry_of(e->sessions[0])->shard : SN_PKT_NO_SHARD;
	e->min_ttl = x->min_ttl > ttl_dec ? x->min_ttl : ttl_dec;
	e->flags |= (p->stripped ? SN_CACHE_STRIPPED : 0) | (has_each(x) ? SN_CACHE_EACH : 0) |
		    (has_each(x) || e->vlan != SN_CACHE_KEEP_VLAN ? SN_CACHE_READ : 0) |
		    (x->observed ? SN_CACHE_OBSERVED : 0);
	kept = sn_cache_keep(&f->cache, e, flow->hash, told_by(x, p), !x->warm_up);
	if (x->observed && kept)
		observe_kept(f, x, kept);
}

void sn_fast_decide(struct sn_fast *f, struct sn_pkt *p, uint32_t segment, uint32_t class,
		    const struct sn_cache_key *key, uint64_t hash, uint64_t now)
{
	const struct flow_keeper flow = {.keeper = {keep}, .fast = f, .key = key, .hash = hash};

	sn_exec(&f->slow, p, segment, class, key ? &flow.keeper : NULL, now);
}

void sn_fast_decide_ahead(struct sn_fast *f, struct sn_pkt *p, uint32_t segment, uint32_t class,
			  const struct sn_cache_key *key, uint64_t hash, uint64_t now)
{
	const struct flow_keeper flow = {.keeper = {keep}, .fast = f, .key = key, .hash = hash};

	sn_exec_warm_up(&f->slow, p, segment, class, &flow.keeper, now);
}
