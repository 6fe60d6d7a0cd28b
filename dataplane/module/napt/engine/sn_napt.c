/* SPDX-License-Identifier: Apache-2.0 */
/* NAPTs' sessions as a kind of state. */

#include "sn_carry.h"
#include "sn_napt_mapping.h"

static void owner(struct sn_state_owner *to, const struct sn_run *from)
{
	to->timeout_ms[SN_PROTO_TCP] = (uint32_t)(from->tcp_transitory_ns / NS_PER_MS);
	to->timeout_ms[SN_PROTO_UDP] = (uint32_t)(from->udp_ns / NS_PER_MS);
	to->timeout_ms[SN_PROTO_ICMP] = (uint32_t)(from->icmp_ns / NS_PER_MS);
	to->timeout_ms[SN_PROTO_OTHER] = (uint32_t)(from->udp_ns / NS_PER_MS);
	to->timeout_ms[SN_SESSION_ESTABLISHED] = (uint32_t)(from->tcp_ns / NS_PER_MS);
}

static uint64_t hash(const struct sn_state *state, const struct sn_entry *e)
{
	return hash_session(state, session_of(e));
}

/* The flow of the session's return packets. */
static struct sn_flow back_of(const struct sn_session *s)
{
	return (struct sn_flow){s->remote_addr, s->outside_addr, s->remote_port, s->outside_port, s->proto};
}

static const char *misfit(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_entry *e)
{
	const struct napt_table *t = (const struct napt_table *)table;
	const struct sn_session *s = session_of(e);
	const struct sn_flow back = back_of(s);

	if (sn_is_sealed(s->proto))
		return "its protocol is not translated";
	if (!(s->seen & SN_SEEN_BY_ADDRESS) != (t->filtering != SN_ADDRESS_DEPENDENT))
		return "it was found in another way than the table's sessions are";
	/* The way out looks in the shard of the inside host, the way back in that of the port. */
	if ((e->shard & table->mask) != return_shard(state, t, &back))
		return "its outside port is another shard's";
	if (sn_has_ports(s->proto))
		return slot_of_session(t, napt_shard_at(t, e->shard & table->mask), s) == SN_NO_INDEX
			       ? "its outside address and port are not the pool's"
			       : NULL;
	if (s->inside_port || s->outside_port || s->remote_port)
		return "its protocol has no ports, but it has";
	return may_be_portless(t, s->outside_addr) ? NULL : "its outside address is not the pool's";
}

static bool is_port_taken(const struct sn_state *state, const struct sn_state_table *table,
			  const struct sn_state_shard *shard, const struct sn_entry *e, uint64_t now)
{
	const struct napt_table *t = (const struct napt_table *)table;
	const struct napt_shard *sh = (const struct napt_shard *)shard;
	const struct sn_session *s = session_of(e);
	const struct sn_flow back = back_of(s);

	if (sn_has_ports(s->proto) && is_shared(t))
		return sn_mapping_taken(state, t, sh, slot_of_session(t, sh, s), s);
	if (sn_has_ports(s->proto))
		return *slot_at(sh, ported_class_of(s->proto), slot_of_session(t, sh, s)) != 0;
	return sh->portless >= portless_max(state, sh) || back_find(state, sh, &back, now) != NULL;
}

static void expect(const struct sn_state_table *table, const struct sn_state_shard *shard,
		   const struct sn_entry *e)
{
	const struct napt_table *t = (const struct napt_table *)table;
	const struct napt_shard *sh = (const struct napt_shard *)shard;
	const struct sn_session *s = session_of(e);

	if (sn_has_ports(s->proto))
		rte_prefetch0(slot_at(sh, ported_class_of(s->proto), slot_of_session(t, sh, s)));
}

/* Runs of the program before may have had other numbers. */
static void renumber(const struct sn_state_table *table, const struct sn_state_shard *shard,
		     const struct sn_entry *e)
{
	const struct napt_table *t = (const struct napt_table *)table;
	const struct napt_shard *sh = (const struct napt_shard *)shard;
	const struct sn_session *s = session_of(e);

	if (is_shared(t) && sn_has_ports(s->proto))
		mapping_at(sh, ported_class_of(s->proto), slot_of_session(t, sh, s))->owner = e->owner;
}

/* No port of the list was ever used. */
static void reset_list(const struct list *l)
{
	uint32_t next;

	for (uint32_t i = l->queue->head; i > 0; i = next) {
		next = *list_slot(l, i - 1) & ~SLOT_FREE;
		*list_slot(l, i - 1) = 0;
	}
	*l->queue = (struct queue){0};
}

static void shard_reset(const struct sn_state_table *table, struct sn_state_shard *shard)
{
	const struct napt_table *t = (const struct napt_table *)table;
	struct napt_shard *sh = (struct napt_shard *)shard;
	uint32_t cosets = t->cosets ? table->mask + 1 : 1, addresses = has_lists(t) ? t->n_addresses : 1;

	for (uint32_t class = 0; class < SN_PORTED; class ++) {
		for (uint32_t coset = 0; coset < cosets; coset++) {
			for (uint32_t address = 0; address < addresses; address++) {
				struct list l = list_of(t, sh, class, coset, address);

				reset_list(&l);
			}
		}
	}
}

static const struct sn_range *translated(const struct sn_table_config *config, uint32_t *n)
{
	const struct napt_config *c = config->own;

	*n = c->n_pool;
	return c->pool;
}

static bool shares(const struct sn_table_config *config)
{
	const struct napt_config *c = config->own;

	return c->mapping != SN_ADDRESS_AND_PORT_DEPENDENT;
}

const struct sn_state_kind sn_napt = {
	.name = "napt",
	.decode = sn_napt_decode,
	.owner = owner,
	.translated = translated,
	.shares = shares,
	.shard_of = sn_napt_shard,
	.return_shard = sn_napt_return_shard,
	.prefetch = sn_napt_prefetch,
	.open = sn_napt_open,
	.table_size = sizeof(struct napt_table),
	.shard_size = sizeof(struct napt_shard),
	.table_init = sn_napt_table_init,
	.table_free = sn_napt_table_free,
	.shard_init = sn_napt_shard_init,
	.shard_reset = shard_reset,
	.count_subscribers = sn_napt_count_subscribers,
	.hash = hash,
	.quota_class = sn_session_quota_class,
	.timeout = sn_session_timeout,
	.misfit = misfit,
	.is_taken = is_port_taken,
	.hold = sn_napt_hold,
	.expect = expect,
	.renumber = renumber,
	.release = sn_napt_release,
	.victim = sn_session_victim,
	.is_alike = sn_session_is_alike,
	.catch_up = sn_session_catch_up,
	.pack = sn_session_pack,
	.unpack = sn_session_unpack,
	.report = sn_session_report,
};

SN_STATE_KIND(sn_napt)
