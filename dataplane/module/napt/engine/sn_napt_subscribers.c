/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and the limits of their subscribers. */

#include "sn_napt_mapping.h"

uint32_t sn_napt_limit(const struct sn_state *state, uint32_t run)
{
	return state->owners[run].limit_reason;
}

bool sn_napt_subscriber_take(struct sn_partition *partition, uint32_t run, uint32_t shard,
			     const struct sn_flow *f, bool new_port, uint64_t now)
{
	const struct sn_state *state = partition->state;
	struct sn_subscriber_change c =
		subscriber_change(state, run, f->src, class_of(f->proto), shard, 1, new_port);

	if (c.set == SN_NO_INDEX || sn_subscribers_take(state->subscribers, &c))
		return true;
	sn_state_reap_counted(partition, now);
	if (sn_subscribers_take(state->subscribers, &c))
		return true;
	sn_subscribers_refuse(state->subscribers, c.set, c.address);
	return false;
}

void sn_napt_subscriber_untake(const struct sn_state *state, uint32_t run, uint32_t shard,
			       const struct sn_flow *f, bool new_port)
{
	struct sn_subscriber_change c =
		subscriber_change(state, run, f->src, class_of(f->proto), shard, -1, -(int)new_port);

	if (c.set != SN_NO_INDEX)
		sn_subscribers_count(state->subscribers, &c);
}

/* Ports that sessions share are those of the shard's mappings. */
static void count_mappings(const struct sn_state *state, const struct napt_table *t,
			   const struct napt_shard *sh, uint32_t shard)
{
	for (uint32_t h = 0; h < t->n_heads; h++) {
		for (uint32_t i = sh->back[BACK_HEADS + h]; i;) {
			const struct mapping *m = sn_mapping_numbered(sh, i);
			struct sn_subscriber_change c = subscriber_change(state, m->owner, m->inside_addr,
									  (i - 1) / sh->apart, shard, 0, 1);

			if (c.set != SN_NO_INDEX)
				sn_subscribers_count(state->subscribers, &c);
			i = m->word & ~SLOT_MAPPED;
		}
	}
}

void sn_napt_count_subscribers(const struct sn_state *state, const struct sn_state_table *table)
{
	const struct napt_table *t = (const struct napt_table *)table;

	for (uint32_t i = 0; i <= table->mask; i++) {
		const struct napt_shard *sh = napt_shard_at(t, i);

		for (uint32_t j = 0; j < slab_used(&sh->shard); j++) {
			const struct sn_session *s = session_at(sh, used_index(&sh->shard, j));

			if (s->entry.live)
				subscriber_count(state, s, 1, sn_has_ports(s->proto) && !is_shared(t));
		}
		if (is_shared(t))
			count_mappings(state, t, sh, i);
	}
}
