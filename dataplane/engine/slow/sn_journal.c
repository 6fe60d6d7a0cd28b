/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_bundle.h"
#include "sn_flow.h"
#include "sn_slow.h"
#include "sn_tcp.h"
#include "sn_window.h"

/* An entry that the packet uses does not give way to one that the packet makes: until it is known whether the
 * packet leaves, it is as if used. */
static void hold(struct sn_use *u, uint64_t now)
{
	if (u->entry->follows)
		return;
	u->held = 1;
	u->last_use = u->entry->last_use;
	u->entry->last_use = now;
}

/* The last one that was noted comes first: several may be of one entry. */
static void let_go(struct sn_use *u)
{
	if (u->held)
		u->entry->last_use = u->last_use;
	u->held = 0;
}

struct sn_verdict sn_journal_note(struct sn_execution *x, struct sn_session *s, const struct sn_pkt *p,
				  bool is_return, bool made)
{
	const uint8_t *tcp = NULL;
	uint16_t length = 0;

	if (x->n_uses == SN_JOURNAL_MAX) {
		if (made)
			sn_session_end(x->partition, s);
		return sn_drop(SN_REASON_DEPTH);
	}
	if (p->proto == SN_TCP && !x->warm_up) {
		tcp = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
		length = (uint16_t)sn_window_length(p, tcp);
	}
	/* A flow's first packet is often its last: only the second is worth a place in the cache. */
	if (made)
		x->keep = false;
	x->uses[x->n_uses] = (struct sn_use){
		.entry = &s->entry, .tcp = tcp, .is_return = is_return, .made = made, .length = length};
	if (!made && !x->warm_up)
		hold(&x->uses[x->n_uses], x->now);
	x->n_uses++;
	return sn_pass();
}

struct sn_verdict sn_journal_note_again(struct sn_execution *x, struct sn_session *s, const struct sn_pkt *p,
					bool is_return, bool checked)
{
	struct sn_verdict v = sn_journal_note(x, s, p, false, false);

	if (v.kind == SN_VERDICT_PASS) {
		x->uses[x->n_uses - 1].again = is_return ? SN_AGAIN_TURNED : SN_AGAIN;
		x->uses[x->n_uses - 1].checked = checked;
	}
	return v;
}

struct sn_verdict sn_journal_note_instead(struct sn_execution *x, struct sn_session *s,
					  const struct sn_pkt *p, bool is_return)
{
	struct sn_verdict v = sn_journal_note(x, s, p, is_return, true);

	if (v.kind == SN_VERDICT_PASS)
		x->uses[x->n_uses - 1].instead = true;
	return v;
}

struct sn_verdict sn_journal_note_counted(struct sn_execution *x, struct sn_session *s,
					  const struct sn_pkt *p, bool is_return, bool made)
{
	struct sn_verdict v = sn_journal_note(x, s, p, is_return, made);

	if (v.kind == SN_VERDICT_PASS)
		x->uses[x->n_uses - 1].counts = true;
	return v;
}

bool sn_journal_has(const struct sn_execution *x, const struct sn_session *s)
{
	for (uint32_t i = 0; i < x->n_uses; i++)
		if (x->uses[i].entry == &s->entry)
			return true;
	return false;
}

bool sn_journal_has_again(const struct sn_execution *x, const struct sn_session *s)
{
	for (uint32_t i = 0; i < x->n_uses; i++)
		if (x->uses[i].entry == &s->entry && x->uses[i].again)
			return true;
	return false;
}

/*
 * The sessions that the packet uses, but for what was done already unless `all`. False: they are too many, or
 * some begin with the packet.
 */
static bool sessions_of(const struct sn_execution *x, bool all, struct sn_bundle_uses *to)
{
	to->n = to->returns = to->translating = 0;
	for (uint32_t i = 0; i < x->n_uses; i++) {
		const struct sn_use *u = &x->uses[i];

		if (u->each || (u->done && !all))
			continue;
		if (to->n == SN_BUNDLE_MAX || u->made || u->again)
			return false;
		to->returns |= (uint32_t)u->is_return << to->n;
		to->translating |= (uint32_t)sn_session_translates((struct sn_session *)u->entry) << to->n;
		to->entries[to->n++] = u->entry;
	}
	return true;
}

/* The packet uses all entries of a bundle and nothing else: its leader, for all. False: else. */
static bool commit_bundle(struct sn_execution *x)
{
	struct sn_bundle_uses uses;
	struct sn_entry *leader = NULL;

	if (sessions_of(x, false, &uses))
		leader = sn_bundle_leader(x->state, &uses);
	for (uint32_t i = 0; i < x->n_uses; i++) {
		struct sn_use *u = &x->uses[i];

		if (u->done)
			continue;
		if (!leader)
			sn_bundle_part(x->state, u->entry);
		else if (u->entry == leader)
			sn_session_use(x->state, (struct sn_session *)leader, u->tcp, u->is_return, x->now);
	}
	for (uint32_t i = 0; leader && i < x->n_uses; i++)
		x->uses[i].done = 1;
	return leader != NULL;
}

static bool has_bundled(const struct sn_execution *x)
{
	for (uint32_t i = 0; i < x->n_uses; i++)
		if (!x->uses[i].done && sn_entry_bundled(x->uses[i].entry))
			return true;
	return false;
}

bool sn_journal_sessions(const struct sn_execution *x, struct sn_bundle_uses *uses)
{
	struct sn_entry *leader;

	if (!sessions_of(x, true, uses))
		return false;
	leader = sn_bundle_leader(x->state, uses);
	if (!leader && !x->warm_up)
		leader = sn_bundle_make(x->state, uses, x->now);
	if (leader) {
		for (uint32_t i = 0; i < uses->n; i++)
			if (uses->entries[i] == leader)
				uses->returns = uses->returns >> i & 1;
		uses->entries[0] = leader;
		uses->n = 1;
		return true;
	}
	for (uint32_t i = 0; i < uses->n; i++)
		if (sn_entry_bundled(uses->entries[i]))
			return false;
	return true;
}

static void commit_use(const struct sn_execution *x, const struct sn_use *u)
{
	struct sn_session *s = (struct sn_session *)u->entry;

	if (unlikely(u->again))
		sn_session_again(x->state, s, u->again == SN_AGAIN_TURNED, u->checked);
	if (unlikely(u->instead))
		sn_entry_replace(x->partition, u->entry);
	if (unlikely(s->seen & SN_SEEN_CHECKED) && u->tcp)
		sn_window_move(s, u->tcp, u->length, u->is_return);
	if (unlikely(u->counts))
		sn_session_count_down(s);
	sn_session_use(x->state, s, u->tcp, u->is_return, x->now);
}

void sn_journal_commit(struct sn_execution *x)
{
	for (uint32_t i = x->n_uses; i-- > 0;)
		let_go(&x->uses[i]);
	if (x->warm_up || (unlikely(has_bundled(x)) && commit_bundle(x)))
		return;
	for (uint32_t i = 0; i < x->n_uses; i++) {
		struct sn_use *u = &x->uses[i];

		if (!u->done)
			commit_use(x, u);
		u->done = 1;
	}
}

void sn_journal_roll_back(struct sn_execution *x, uint32_t n)
{
	while (x->n_uses > n) {
		struct sn_use *u = &x->uses[--x->n_uses];

		let_go(u);
		if (u->made && !u->done)
			sn_entry_undo(x->partition, u->entry);
	}
}

bool sn_journal_spans_shards(const struct sn_execution *x)
{
	for (uint32_t i = 1; i < x->n_uses; i++)
		if ((x->uses[i].entry->shard ^ x->uses[0].entry->shard) & (sn_state_units(x->state) - 1))
			return true;
	return false;
}
