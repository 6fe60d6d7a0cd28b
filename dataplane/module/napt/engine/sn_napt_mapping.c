/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_napt_mapping.h"

/* ---- chains ---- */

static uint32_t *head_of(const struct sn_state *state, const struct napt_table *t,
			 const struct napt_shard *sh, const struct sn_flow *f)
{
	uint32_t remote = t->mapping == SN_ADDRESS_DEPENDENT ? f->dst : 0;
	uint64_t h =
		sn_hash2((uint64_t)f->src << 16 | f->sport, (uint64_t)remote << 8 | f->proto, state->seed);

	return &sh->back[BACK_HEADS + (h & (t->n_heads - 1))];
}

struct mapping *sn_mapping_numbered(const struct napt_shard *sh, uint32_t number)
{
	return (struct mapping *)&sh->slots[in_rows(&sh->shard, ROW_WORDS, (number - 1) << sh->slot_log)];
}

uint32_t sn_mapping_find(const struct sn_state *state, const struct napt_table *t,
			 const struct napt_shard *sh, uint32_t run, const struct sn_flow *f)
{
	uint32_t first = ported_class_of(f->proto) * sh->apart;

	for (uint32_t i = *head_of(state, t, sh, f); i;) {
		const struct mapping *m = sn_mapping_numbered(sh, i);

		if (i - 1 - first < sh->apart && has_key(t, m, run, f))
			return i - 1 - first;
		i = m->word & ~SLOT_MAPPED;
	}
	return SN_NO_INDEX;
}

static struct sn_flow flow_of(const struct sn_session *s)
{
	return (struct sn_flow){s->inside_addr, s->remote_addr, s->inside_port, s->remote_port, s->proto};
}

/* ---- the life of a mapping ---- */

bool sn_mapping_join(const struct sn_state *state, const struct napt_table *t, struct napt_shard *sh,
		     uint32_t slot, const struct sn_session *s)
{
	enum sn_proto_class class = ported_class_of(s->proto);
	struct mapping *m = mapping_at(sh, class, slot);
	const struct sn_flow f = flow_of(s);
	uint32_t *head;

	if (is_mapped(m)) {
		m->n++;
		return false;
	}
	head = head_of(state, t, sh, &f);
	m->inside_addr = s->inside_addr;
	m->inside_port = s->inside_port;
	m->owner = s->entry.owner;
	m->n = 1;
	m->shard = s->entry.shard;
	if (t->mapping == SN_ADDRESS_DEPENDENT)
		m->remote_addr = s->remote_addr;
	m->word = SLOT_MAPPED | *head;
	*head = class * sh->apart + slot + 1;
	return true;
}

bool sn_mapping_leave(const struct sn_state *state, const struct napt_table *t, struct napt_shard *sh,
		      uint32_t slot, const struct sn_session *s)
{
	enum sn_proto_class class = ported_class_of(s->proto);
	struct mapping *m = mapping_at(sh, class, slot);
	const struct sn_flow f = flow_of(s);
	uint32_t number = class * sh->apart + slot + 1, *head = head_of(state, t, sh, &f);

	if (--m->n > 0)
		return false;
	if (*head == number) {
		*head = m->word & ~SLOT_MAPPED;
		return true;
	}
	for (uint32_t i = *head; i;) {
		struct mapping *before = sn_mapping_numbered(sh, i);

		i = before->word & ~SLOT_MAPPED;
		if (i == number)
			before->word = m->word;
	}
	return true;
}

bool sn_mapping_taken(const struct sn_state *state, const struct napt_table *t, const struct napt_shard *sh,
		      uint32_t slot, const struct sn_session *s)
{
	const struct mapping *m = mapping_at(sh, ported_class_of(s->proto), slot);
	const struct sn_flow f = flow_of(s);
	uint32_t known = sn_mapping_find(state, t, sh, s->entry.owner, &f);

	if (!is_mapped(m))
		return m->word != 0 || known != SN_NO_INDEX;
	return known != slot ||
	       session_find(sh, s->entry.owner, &f, hash_inside(state, t, s->entry.owner, &f)) != NULL;
}

void sn_mapping_outside(const struct napt_table *t, const struct napt_shard *sh, uint32_t slot,
			uint32_t *address, uint16_t *port)
{
	uint32_t lo = 0, hi = t->table.mask + 1, n;
	const struct cosets *c = t->cosets;

	if (t->paired && c == NULL) {
		n = sh->n_slots / t->n_addresses;
		*address = address_at(t, slot / n);
		*port = (uint16_t)(sh->port_base + ((slot % n) << t->shift));
		return;
	}
	if (c == NULL) {
		*address = address_at(t, slot % t->n_addresses);
		*port = (uint16_t)(sh->port_base + ((slot / t->n_addresses) << t->shift));
		return;
	}
	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (c->first[mid] * t->n_addresses <= slot)
			lo = mid;
		else
			hi = mid;
	}
	slot -= c->first[lo] * t->n_addresses;
	n = c->first[lo + 1] - c->first[lo];
	*address = address_at(t, slot / n);
	*port = c->port[c->first[lo] + slot % n];
}
