/* SPDX-License-Identifier: Apache-2.0 */
/* track: the packet goes on in the segment of its state; one of a known flow uses the flow's entry. */

#include "sn_dispatch.h"
#include "sn_execution.h"
#include "sn_track.h"
#include "sn_window.h"

enum state {
	NEW,
	ESTABLISHED,
	RELATED,
	INVALID,
	STATES,
};
_Static_assert(STATES <= SN_LEADS_MAX, "each is a way on");

struct track {
	uint32_t table;
	uint32_t segments[STATES];
	bool opens, syn, from_outside;
};

static const struct track *track_of(const struct sn_program *p, const struct sn_op *op)
{
	return p->operands[op->value];
}

static int decode_segments(struct sn_builder *b, struct track *to, const Sinter__Program__V1__Track *from)
{
	const struct {
		const char *field;
		uint32_t segment;
	} ways[STATES] = {
		[NEW] = {"track.new", from->new_},
		[ESTABLISHED] = {"track.established", from->established},
		[RELATED] = {"track.related", from->related},
		[INVALID] = {"track.invalid", from->invalid},
	};
	int rc = 0;

	for (uint32_t i = 0; i < STATES && !rc; i++) {
		to->segments[i] = ways[i].segment;
		rc = sn_build_index(b, ways[i].field, ways[i].segment, b->msg->n_segments);
	}
	return rc;
}

static int decode(struct sn_builder *b, struct sn_op *to, const Sinter__Program__V1__Leg *from)
{
	const Sinter__Program__V1__Track *m = from->track;
	struct track *t;
	int rc = sn_build_table_of(b, "track.table", m->table, &sn_track, "one of tracking");

	if (rc)
		return rc;
	t = sn_build_array(1, sizeof(*t));
	rc = sn_build_operands(b, to, t);
	if (rc)
		return rc;
	t->table = m->table;
	t->opens = m->opens;
	t->syn = m->syn;
	t->from_outside = m->from_outside;
	return decode_segments(b, t, m);
}

/* The quoted packet was on its way to where the error comes from. */
static uint32_t shard_of(const struct sn_state *state, const struct track *t, const struct sn_flow *flow,
			 bool quoted)
{
	return sn_flow_shard_in(state, t->table, flow, t->from_outside != quoted);
}

/* A SYN begins a closing flow again, if it has not done so a moment ago. */
static bool begins_again(const struct sn_execution *x, const struct track *t, const struct sn_session *s)
{
	return t->syn && s->seen & SN_SEEN_CLOSING && !sn_journal_has_again(x, s);
}

/* There is no packet in a warm-up, whose decision is not kept. */
static bool fits_window(const struct sn_execution *x, const struct sn_pkt *p, const struct sn_session *s,
			bool is_return)
{
	const uint8_t *tcp;

	if (likely(!(s->seen & SN_SEEN_CHECKED)) || x->warm_up || sn_journal_has_again(x, s))
		return true;
	tcp = rte_pktmbuf_mtod_offset(p->m, const uint8_t *, p->l4);
	return sn_window_fits(s, tcp, sn_window_length(p, tcp), is_return);
}

static enum state state_of(const struct sn_execution *x, const struct track *t, const struct sn_pkt *p,
			   const struct sn_session *s, bool quoted, bool is_return)
{
	if (quoted)
		return s && sn_followed_fits(s, p->quote.icmp_type, is_return) ? RELATED : INVALID;
	if (!s)
		return t->opens ? NEW : INVALID;
	if (unlikely(begins_again(x, t, s)))
		return NEW;
	return sn_followed_fits(s, p->icmp_type, is_return) && fits_window(x, p, s, is_return) ? ESTABLISHED
											       : INVALID;
}

static struct sn_verdict execute(struct sn_execution *x, struct sn_pkt *p, const struct sn_op *op)
{
	const struct track *t = track_of(x->program, op);
	bool quoted, is_return = false;
	enum state state = INVALID;
	struct sn_session *s;
	struct sn_verdict v;
	struct sn_flow flow;
	uint32_t shard;

	if (sn_followed_told(p, &flow, &quoted)) {
		shard = shard_of(x->state, t, &flow, quoted);
		if (unlikely(!x->partition->owned[shard]))
			return sn_hand_over_to(shard);
		s = sn_track_find(x->partition, t->table, shard, &flow, t->from_outside != quoted, x->now,
				  &is_return);
		state = state_of(x, t, p, s, quoted, is_return);
	}
	/* The decision about a known flow holds as long as the flow is known; but a SYN may begin it
	 * again. */
	x->keep &= state == ESTABLISHED && !t->syn;
	if (state == ESTABLISHED) {
		x->each |= (s->seen & SN_SEEN_CHECKED) != 0; /* the next packet's numbers are others */
		v = sn_journal_note(x, s, p, is_return && !sn_journal_has_again(x, s), false);
		if (v.kind != SN_VERDICT_PASS)
			return v;
	}
	return sn_to_segment(t->segments[state]);
}

static struct sn_verdict predict(const struct sn_look *look, struct sn_pkt *p, const struct sn_op *op)
{
	const struct track *t = track_of(look->program, op);
	struct sn_flow flow;
	bool quoted;

	if (!sn_followed_told(p, &flow, &quoted))
		return sn_to_segment(t->segments[INVALID]);
	return sn_hand_over_to(shard_of(look->state, t, &flow, quoted));
}

static struct sn_cut cut(const struct sn_program *p, const struct sn_op *op)
{
	const struct track *t = track_of(p, op);

	return (struct sn_cut){.of = SN_CUT_OF_FLOW, .destination = t->from_outside, .table = t->table};
}

static struct sn_lead leads(const struct sn_program *p, const struct sn_op *op, uint32_t i)
{
	return (struct sn_lead){SN_LED_PACKET, track_of(p, op)->segments[i]};
}

static const struct sn_operation track = {
	.name = "track",
	.wire = SINTER__PROGRAM__V1__LEG__OUTCOME_TRACK,
	.traits = SN_OP_FOLLOWS_FLOW,
	.decode_outcome = decode,
	.execute = execute,
	.predict = predict,
	.cut = cut,
	.leads = leads,
	.n_leads = STATES,
};
SN_OPERATION(track)
