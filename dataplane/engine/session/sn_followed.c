/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_followed.h"

#include "sn_icmp.h"

bool sn_followed_flow(const struct sn_pkt *p, struct sn_flow *flow)
{
	*flow = (struct sn_flow){p->src, p->dst, 0, 0, p->proto};
	if (unlikely(p->frag != SN_FRAG_WHOLE))
		return false;
	if (likely(p->proto == SN_TCP || p->proto == SN_UDP)) {
		flow->sport = (uint16_t)p->sport;
		flow->dport = (uint16_t)p->dport;
		return p->sport != SN_PORT_ABSENT;
	}
	if (p->proto != SN_ICMP)
		return true;
	if (sn_is_query(p->icmp_type))
		flow->sport = p->id;
	else
		flow->dport = p->id;
	return sn_is_query(p->icmp_type) || sn_is_query_reply(p->icmp_type);
}

bool sn_followed_told(struct sn_pkt *p, struct sn_flow *flow, bool *quoted)
{
	*quoted = false;
	if (likely(sn_followed_flow(p, flow)))
		return true;
	if (p->frag != SN_FRAG_WHOLE || !sn_icmp_quote(p) || p->dst != p->quote.src)
		return false;
	*quoted = true;
	*flow = (struct sn_flow){p->quote.src, p->quote.dst, p->quote.sport, p->quote.dport, p->quote.proto};
	return true;
}

/* ---- rows of sn_state_kind.h ---- */

uint32_t sn_followed_entries(const struct sn_state_table *t, const struct sn_partitioning *partitioning)
{
	uint32_t max = t->config.max_entries, entries = max / 8 + 1024;

	return partitioning->by == SN_PARTITION_BY_ADDRESS || entries > max ? max : entries;
}

static struct sn_flow flow_of(const struct sn_session *s)
{
	return (struct sn_flow){s->inside_addr, s->remote_addr, s->inside_port, s->remote_port, s->proto};
}

uint64_t sn_followed_hash(const struct sn_state *state, const struct sn_entry *e)
{
	struct sn_flow f = flow_of(session_of(e));

	return followed_hash(state, e->owner, &f);
}

bool sn_followed_is_there(const struct sn_state *state, const struct sn_state_table *t,
			  const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now)
{
	struct sn_flow f = flow_of(session_of(e));

	(void)now;
	return followed_in(sh, t->owner, &f, e->own_bit, followed_hash(state, t->owner, &f)) != NULL;
}

uint32_t sn_followed_place(const struct sn_state *state, const struct sn_state_table *t,
			   const struct sn_entry *e)
{
	struct sn_flow f = flow_of(session_of(e));

	return sn_flow_table_shard(state, t, &f, e->own_bit);
}

const char *sn_followed_misfit(const struct sn_state *state, const struct sn_state_table *table,
			       const struct sn_entry *e)
{
	const struct sn_session *s = session_of(e);

	if ((s->outside_addr != s->inside_addr && !(s->seen & SN_SEEN_CHECKED)) ||
	    (s->outside_port != s->inside_port && !(s->seen & SN_SEEN_COUNTED)))
		return "it is translated, which flows that are followed are not";
	if (!sn_has_ports(s->proto) && (s->inside_port || s->remote_port))
		return "its protocol has no ports, but it has";
	if (((e->shard ^ sn_followed_place(state, table, e)) & table->mask) != 0)
		return "its flow is another shard's";
	return NULL;
}

int sn_followed_report(const struct sn_entry_info *info, struct sn_arena *arena,
		       Sinter__Program__V1__Session *session)
{
	static char opening[] = "opening", established[] = "established", closing[] = "closing",
		    open[] = "open";
	const struct sn_session *s = session_of(&info->line.entry);

	(void)arena;
	session->proto = s->proto;
	session->inside_address = s->inside_addr;
	session->remote_address = s->remote_addr;
	session->inside_port = s->inside_port;
	session->remote_port = s->remote_port;
	session->from_outside = s->entry.own_bit;
	session->state = s->proto != SN_TCP	     ? open
			 : s->seen & SN_SEEN_CLOSING ? closing
			 : is_established(s->seen)   ? established
						     : opening;
	return 0;
}
