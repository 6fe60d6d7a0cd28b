/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_NAPT_MAPPING_H
#define SN_NAPT_MAPPING_H

/*
 * Mappings that sessions share (RFC 4787 section 4.1): all flows of an inside address and port, or those with
 * one remote address, have one outside address and port. A mapping is the slot of that port, which is wider
 * than where each session has a port of its own; it is there as long as it has sessions. From inside it is
 * found by a hash of its key, from outside by its port; a session then by its flow.
 */

#include "sn_napt_ports.h"

#define SLOT_MAPPED  0x40000000u /* of a slot in use; with the next mapping of the chain + 1 */
#define REMOTE_PORTS 64u /* sessions of a mapping with one remote address, where filters ask for that */

/* SN_ADDRESS_DEPENDENT has the longer one. */
struct mapping {
	uint32_t word; /* as any slot's */
	uint32_t inside_addr;
	uint16_t inside_port;
	uint16_t owner;
	uint32_t n : 24; /* sessions */
	uint32_t shard : 8;
	uint32_t remote_addr;
	uint32_t pad[3];
};
_Static_assert(sizeof(struct mapping) == 32, "words of a slot are a power of two");

#define SLOT_LOG_ENDPOINT 2 /* words of a slot, as a power of two: up to remote_addr */
#define SLOT_LOG_ADDRESS  3

static inline bool is_shared(const struct napt_table *t)
{
	return t->mapping != SN_ADDRESS_AND_PORT_DEPENDENT;
}

static inline struct mapping *mapping_at(const struct napt_shard *sh, enum sn_proto_class class,
					 uint32_t slot)
{
	return (struct mapping *)slot_at(sh, class, slot);
}

static inline bool is_mapped(const struct mapping *m)
{
	return m->word & SLOT_MAPPED && !(m->word & SLOT_FREE);
}

static inline bool has_key(const struct napt_table *t, const struct mapping *m, uint32_t run,
			   const struct sn_flow *f)
{
	return m->inside_addr == f->src && m->inside_port == f->sport && m->owner == run &&
	       (t->mapping != SN_ADDRESS_DEPENDENT || m->remote_addr == f->dst);
}

/* Whether the mapping is there for packets of a remote address. A host may have a session with that by
 * another mapping: its packets are to come to the port of that one. */
static inline bool is_mapped_to(const struct napt_table *t, const struct mapping *m, uint32_t remote)
{
	return is_mapped(m) && (t->mapping != SN_ADDRESS_DEPENDENT || m->remote_addr == remote);
}

/* The slot of the mapping that a flow from inside has; SN_NO_INDEX: none. */
uint32_t sn_mapping_find(const struct sn_state *state, const struct napt_table *t,
			 const struct napt_shard *sh, uint32_t run, const struct sn_flow *f);

/* A session takes a slot that is free, or joins the mapping that the slot is. True: it is the first one. */
bool sn_mapping_join(const struct sn_state *state, const struct napt_table *t, struct napt_shard *sh,
		     uint32_t slot, const struct sn_session *s);

/* It leaves the mapping. True: it was the last one, and the slot is to be given back. */
bool sn_mapping_leave(const struct sn_state *state, const struct napt_table *t, struct napt_shard *sh,
		      uint32_t slot, const struct sn_session *s);

/* Whether a session that comes from elsewhere, with its owner set, has no place: its slot is another mapping,
 * its mapping another slot, or its flow has a session. */
bool sn_mapping_taken(const struct sn_state *state, const struct napt_table *t, const struct napt_shard *sh,
		      uint32_t slot, const struct sn_session *s);

/* A mapping by its number in chains: that of its slot of all protocols, + 1. */
struct mapping *sn_mapping_numbered(const struct napt_shard *sh, uint32_t number);

/* The outside address and port of a slot. */
void sn_mapping_outside(const struct napt_table *t, const struct napt_shard *sh, uint32_t slot,
			uint32_t *address, uint16_t *port);

/* The flow from inside of what comes to a mapping from outside. */
static inline struct sn_flow inside_of(const struct mapping *m, const struct sn_flow *back)
{
	return (struct sn_flow){m->inside_addr, back->src, m->inside_port, back->sport, back->proto};
}

#endif /* SN_NAPT_MAPPING_H */
