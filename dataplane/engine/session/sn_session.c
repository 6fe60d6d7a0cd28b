/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of all kinds whose entries are sessions. */

#include "sn_carry.h"
#include "sn_session_impl.h"

#define OPENING_NS	1000000000u /* for the next segment of a TCP opening, however scarce room is */
#define OPENINGS_LOOKED 16u	    /* entries that are looked at for one that is stuck */

uint32_t sn_session_quota_class(const struct sn_entry *e)
{
	return class_of(session_of(e)->proto);
}

uint32_t sn_session_timeout(const struct sn_state *state, const struct sn_entry *e)
{
	return timeout_of(&state->owners[e->owner], session_of(e)->proto, session_of(e)->seen);
}

/* ---- one ends for another ---- */

bool sn_session_is_stuck(const struct sn_session *s, uint64_t now)
{
	return (s->seen & SN_SEEN_ACKNOWLEDGED) == 0 &&
	       (int64_t)(now - sn_entry_last_use(&s->entry)) >= (int64_t)OPENING_NS;
}

/* A stuck opening of the shard, of the owner if that is what is full, for another TCP session. */
struct sn_entry *sn_session_victim(struct sn_partition *partition, struct sn_state_table *table,
				   struct sn_state_shard *sh, uint32_t owner, uint32_t class, uint64_t now)
{
	bool owner_full = *owner_quota(partition, owner, class) <= 0;

	(void)table;
	for (uint32_t looks = 0; class == SN_PROTO_TCP && looks < OPENINGS_LOOKED && looks < slab_used(sh);
	     looks++) {
		struct sn_entry *e = used_entry(sh, turn(&sh->hand, slab_used(sh)));
		const struct sn_session *s = (const struct sn_session *)e;

		if (e->live && s->proto == SN_TCP && (!owner_full || e->owner == owner) &&
		    sn_session_is_stuck(s, now))
			return e;
	}
	return NULL;
}

/* ---- elsewhere ---- */

void sn_session_pack(const struct sn_entry *e, uint64_t now, uint8_t *record)
{
	const struct sn_session *s = session_of(e);

	(void)now;
	sn_store32(record, s->inside_addr);
	sn_store32(record + 4, s->outside_addr);
	sn_store32(record + 8, s->remote_addr);
	sn_store16(record + 12, s->inside_port);
	sn_store16(record + 14, s->outside_port);
	sn_store16(record + 16, s->remote_port);
	record[20] = s->proto;
	record[21] = s->seen;
	memcpy(record + 32, s->ack, 8); /* in network order, both */
	memcpy(record + 40, s->window, 4);
	record[44] = e->own;
	record[45] = e->own_bit;
}

void sn_session_unpack(struct sn_entry *e, uint64_t now, const uint8_t *record)
{
	struct sn_session *s = (struct sn_session *)e;

	(void)now;
	s->inside_addr = sn_load32(record);
	s->outside_addr = sn_load32(record + 4);
	s->remote_addr = sn_load32(record + 8);
	s->inside_port = sn_load16(record + 12);
	s->outside_port = sn_load16(record + 14);
	s->remote_port = sn_load16(record + 16);
	s->proto = record[20];
	s->seen = record[21] & (SN_SEEN_TCP | SN_SEEN_BY_ADDRESS);
	memcpy(s->ack, record + 32, 8);
	memcpy(s->window, record + 40, 4);
	e->own = record[44];
	e->own_bit = record[45] & 1;
}

int sn_session_report(const struct sn_entry_info *info, struct sn_arena *arena,
		      Sinter__Program__V1__Session *session)
{
	const struct sn_session *s = session_of(&info->line.entry);

	(void)arena;
	session->proto = s->proto;
	session->inside_address = s->inside_addr;
	session->outside_address = s->outside_addr;
	session->remote_address = s->remote_addr;
	session->inside_port = s->inside_port;
	session->outside_port = s->outside_port;
	session->remote_port = s->remote_port;
	return 0;
}
