/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_ENTRY_H
#define SN_ENTRY_H

/* An entry of a state table: a cache line, of which half is the same for all kinds of state. */

#include <stdbool.h>
#include <stdint.h>

/* An entry's generations: two eras of them, by turns. See entry_outdate(). */
#define SN_GENERATIONS (1u << 21)
#define SN_ERA	       (SN_GENERATIONS / 2)

/* Links are indexes into the shard's slab, + 1. A kind's entries begin with it. */
struct sn_entry {
	union {
		uint64_t last_use;	 /* ns */
		struct sn_entry *leader; /* of one that follows: see sn_bundle.h */
	};
	uint32_t timeout_ms; /* live while now - last_use <= timeout */
	uint32_t hash_next;
	uint32_t wheel_next;
	uint32_t wheel_prev;
	uint32_t generation : 21; /* of SN_GENERATIONS; changes by entry_outdate() alone */
	uint32_t own_bit : 1;	  /* the kind's */
	uint32_t leads : 1;
	uint32_t follows : 1;
	uint32_t wheel_slot : 8;
	uint16_t owner;	   /* of the state's register of owners */
	uint8_t shard : 7; /* of SN_SHARDS */
	uint8_t live : 1;
	uint8_t own; /* the kind's, if its half does not suffice */
};
_Static_assert(sizeof(struct sn_entry) == 32, "half a cache line");

/* All of it. A slab's are aligned, copies need not be. */
struct sn_entry_line {
	struct sn_entry entry;
	uint8_t own[32];
};
_Static_assert(sizeof(struct sn_entry_line) == 64, "an entry is one cache line");

/* Whether it is used together with others: see sn_bundle.h. */
static inline bool sn_entry_bundled(const struct sn_entry *e)
{
	return e->leads | e->follows;
}

static inline uint64_t sn_entry_last_use(const struct sn_entry *e)
{
	return e->follows ? e->leader->last_use : e->last_use;
}

static inline bool sn_entry_live(const struct sn_entry *e, uint64_t now)
{
	return e->live && (int64_t)(now - sn_entry_last_use(e)) <= e->timeout_ms * 1000000ll;
}

/* The same of an entry that does not follow another one. */
static inline bool sn_entry_live_itself(const struct sn_entry *e, uint64_t now)
{
	return e->live && (int64_t)(now - e->last_use) <= e->timeout_ms * 1000000ll;
}

struct sn_state_kind;

/* An entry as others see it: a copy. */
struct sn_entry_info {
	const struct sn_state_kind *kind;
	const char *owner; /* its name; lives until the next sn_state_apply() */
	uint64_t idle_ns;
	struct sn_entry_line line;
};

#endif /* SN_ENTRY_H */
