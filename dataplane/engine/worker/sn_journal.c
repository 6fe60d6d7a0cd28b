/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_tcp.h"
#include "sn_flow.h"
#include "sn_worker_impl.h"

struct sn_verdict sn_journal_note(struct sn_execution *x, struct sn_session *s, const struct sn_pkt *p,
				  bool is_return, bool made)
{
	const uint8_t *tcp = NULL;

	if (x->n_uses == SN_JOURNAL_MAX) {
		if (made)
			sn_session_end(x->partition, s);
		return sn_drop(SN_REASON_DEPTH);
	}
	if (p->proto == SN_TCP && !x->warm_up)
		tcp = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
	/* A flow's first packet is often its last: only the second is worth a place in the cache. */
	if (made)
		x->keep = false;
	x->uses[x->n_uses++] =
		(struct sn_use){.entry = &s->entry, .tcp = tcp, .is_return = is_return, .made = made};
	return sn_pass();
}

struct sn_verdict sn_journal_note_again(struct sn_execution *x, struct sn_session *s, const struct sn_pkt *p,
					bool is_return)
{
	struct sn_verdict v = sn_journal_note(x, s, p, false, false);

	if (v.kind == SN_VERDICT_PASS)
		x->uses[x->n_uses - 1].again = is_return ? SN_AGAIN_TURNED : SN_AGAIN;
	return v;
}

bool sn_journal_has_again(const struct sn_execution *x, const struct sn_session *s)
{
	for (uint32_t i = 0; i < x->n_uses; i++)
		if (x->uses[i].entry == &s->entry && x->uses[i].again)
			return true;
	return false;
}

void sn_journal_commit(struct sn_execution *x)
{
	if (x->warm_up)
		return;
	for (uint32_t i = 0; i < x->n_uses; i++) {
		struct sn_use *u = &x->uses[i];

		if (unlikely(u->again == SN_AGAIN_TURNED) && !u->done)
			sn_track_turn((struct sn_session *)u->entry);
		if (!u->done)
			sn_session_use(x->state, (struct sn_session *)u->entry, u->tcp, u->is_return, x->now);
		u->done = 1;
	}
}

void sn_journal_roll_back(struct sn_execution *x, uint32_t n)
{
	while (x->n_uses > n) {
		struct sn_use *u = &x->uses[--x->n_uses];

		if (u->made && !u->done)
			sn_entry_undo(x->partition, u->entry);
	}
}

bool sn_journal_spans_shards(const struct sn_execution *x)
{
	for (uint32_t i = 1; i < x->n_uses; i++)
		if (x->uses[i].entry->shard != x->uses[0].entry->shard)
			return !x->program->unpartitioned;
	return false;
}
