/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STATE_KIND_H
#define SN_STATE_KIND_H

/*
 * The kinds of state. A state table holds entries of one kind: NAPT's sessions, for example. Shards and who
 * owns them, look-up chains, timers, quotas, eviction, program swap, transfer and statistics are the same for
 * all kinds (../state). A kind says what is special: what its entries are found by, what they hold, when
 * they end. It registers itself before main(), from its file in ../kind.
 *
 * A kind's packet path is its own: operations call it directly. What workers do ahead of operations, for
 * bursts of new flows and to find the worker of a packet, is in the table, too: workers know no kind by name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_program.h"
#include "sn_program_build.h"

/* ../state/sn_state_impl.h */
struct sn_state;
struct sn_state_owner;
struct sn_state_shard;
struct sn_state_table;
struct sn_partition;
struct sn_partitioning;
/* ../state/sn_entry.h */
struct sn_entry;
struct sn_entry_info;
/* ../session/sn_session.h */
struct sn_flow;
struct sn_flow_hint;
struct sn_session;
struct sn_arena;

/* The measures of a table's shards; all have the same size. */
struct sn_shard_size {
	uint32_t shards;  /* a power of two, at most SN_SHARDS */
	uint32_t entries; /* of a shard */
	uint32_t buckets; /* of a shard, at least */
	size_t memory;	  /* bytes of a shard that are the kind's own */
	size_t rows;	  /* the same: they lie in rows, see sn_state_impl.h */
	uint32_t parts;	  /* of the rows, alike, each of which is used from its start on; 0: none is */
};

/* Results for a flow that was taken for a new one. */
enum sn_open {
	SN_OPEN_KNOWN, /* it is not new, or was known once; nothing was done */
	SN_OPEN_MADE,  /* reserved: take it back with sn_session_end() if the packet is dropped later */
	SN_OPEN_DROP,  /* the packet is to be dropped */
};

struct sn_state_kind {
	const char *name;

	/* ---- a program's table ---- */

	/* Whether a table is of this kind. NULL: of what no other kind claims, which is for NAPT. */
	bool (*claims)(const Sinter__Program__V1__StateTable *msg);
	/* Decode and check what is the kind's own. 0, or what sn_build_fail() says. */
	int (*decode)(struct sn_builder *b, struct sn_table_config *to,
		      const Sinter__Program__V1__StateTable *from);
	/*
	 * Of a run that leads into the table: timeouts. NULL: the kind's tables have no runs, and are the
	 * owners of their entries themselves.
	 */
	void (*owner)(struct sn_state_owner *to, const struct sn_run *from);
	/* The timeouts of a table without runs. NULL: the kind's entries have none by their owner. */
	void (*table_owner)(struct sn_state_owner *to, const struct sn_table_config *from);

	/*
	 * The n sources, ascending and disjoint, that packets have behind the table's functions, with ports
	 * whose low bits tell the shard. NULL: they have those with which they came.
	 */
	const struct sn_range *(*translated)(const struct sn_table_config *config, uint32_t *n);

	/* Whether flows have something in common in a table, by which one of them tells the shard of the
	 * others. Of a kind with runs. */
	bool (*shares)(const struct sn_table_config *config);

	/* ---- flows before there is an operation, of a kind with runs. NULL: operations are followed ---- */

	/* The shard of a flow that starts inside, and meets a run first. */
	uint32_t (*shard_of)(const struct sn_state *state, uint32_t run, const struct sn_flow *flow);
	/* The shard of the return packets of a flow, in a table of the program. */
	uint32_t (*return_shard)(const struct sn_state *state, uint32_t table, const struct sn_flow *flow);
	/*
	 * Flows whose packets come next, and meet a run first: send for the lines that will be read, and set
	 * hints. Bit i of `which`: flows[i] and hints[i]. Once per burst and run.
	 */
	void (*prefetch)(const struct sn_state *state, uint32_t run, const struct sn_flow *flows,
			 uint64_t which, struct sn_flow_hint *hints);
	/*
	 * The session of a flow whose hint is there, and which is most likely new. *reason: of SN_OPEN_DROP.
	 * There with prefetch, and only then.
	 */
	enum sn_open (*open)(struct sn_partition *partition, uint32_t run, const struct sn_flow *flow,
			     const struct sn_flow_hint *hint, uint64_t now, struct sn_session **session,
			     uint32_t *reason);

	/* ---- a table in memory ---- */

	size_t table_size; /* of a struct that begins with sn_state_table … */
	size_t shard_size; /* … and one that begins with sn_state_shard; a multiple of 64 */
	/* By the table's configuration. 0, or -ENOMEM: table_free() is called then. */
	int (*table_init)(struct sn_state_table *t, const struct sn_partitioning *partitioning,
			  struct sn_shard_size *size);
	/* Members that are not set yet are zero. NULL: nothing of its own. */
	void (*table_free)(struct sn_state_table *t);
	/* memory and rows: of sn_shard_size, all zero. NULL: nothing of its own. */
	void (*shard_init)(const struct sn_state_table *t, struct sn_state_shard *sh, uint32_t number,
			   void *memory, void *rows);
	/* No entry is left, and none was ever there. NULL: nothing of its own. */
	void (*shard_reset)(const struct sn_state_table *t, struct sn_state_shard *sh);

	/*
	 * A table takes the place of another one of its name, and goes on with what that has beside entries,
	 * if it can. Each entry that does not come over is released then. NULL: there is nothing.
	 */
	void (*inherit)(struct sn_state_table *t, struct sn_state_table *from);

	/* On each of a worker's ticks, for what the worker keeps of the table beside entries. NULL: nothing.
	 */
	void (*tick)(struct sn_partition *partition, struct sn_state_table *t, uint64_t now);

	/* Count the table's entries for their subscribers, of which nothing is counted yet. NULL:
	 * nothing. */
	void (*count_subscribers)(const struct sn_state *state, const struct sn_state_table *t);

	/* ---- an entry ---- */

	/* By what it is found, its owner included. */
	uint64_t (*hash)(const struct sn_state *state, const struct sn_entry *e);
	/* Owners have a quota for each class of entries. NULL: all are of class 0. */
	uint32_t (*quota_class)(const struct sn_entry *e);
	/* By its owner and table as they are now, in milliseconds. */
	uint32_t (*timeout)(const struct sn_state *state, const struct sn_entry *e);
	/* The shard that an entry has in a table, by the table's cut. NULL: what it has stays. */
	uint32_t (*place)(const struct sn_state *state, const struct sn_state_table *t,
			  const struct sn_entry *e);
	/*
	 * Why an entry, whose shard is set, could never have been made in a table ("its port is another
	 * shard's"); NULL: it could.
	 */
	const char *(*misfit)(const struct sn_state *state, const struct sn_state_table *t,
			      const struct sn_entry *e);
	/* Whether another one has what such an entry would hold. NULL: it holds nothing. */
	bool (*is_taken)(const struct sn_state *state, const struct sn_state_table *t,
			 const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now);
	/* An entry that came into a shard takes what it holds there, such as a port. NULL: it holds nothing.
	 */
	void (*hold)(const struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		     struct sn_entry *e);
	/* Its owner, which is set, has another number in a new program. NULL: what it holds does not know of
	 * it.
	 */
	void (*renumber)(const struct sn_state_table *t, const struct sn_state_shard *sh,
			 const struct sn_entry *e);
	/* It will be held soon: send for the lines. NULL: there are none. */
	void (*expect)(const struct sn_state_table *t, const struct sn_state_shard *sh,
		       const struct sn_entry *e);
	/* It ends and gives that back; unused: as if it never had it. NULL: it holds nothing. */
	void (*release)(const struct sn_state *state, const struct sn_state_table *t,
			struct sn_state_shard *sh, struct sn_entry *e, bool unused);
	/*
	 * An entry was made in the place of another one of the shard, and the packet for which it was made
	 * leaves: that other one. NULL: it has ended already. NULL for a kind that makes none so.
	 */
	struct sn_entry *(*replaced)(const struct sn_state *state, const struct sn_state_shard *sh,
				     const struct sn_entry *e);
	/*
	 * The shard, or the quota of the table or of an owner and class, is full: an entry that may end for
	 * one that is to be made; of the shard, or of another one of the partition's if the shard has room.
	 * NULL: none.
	 */
	bool gives_way; /* any entry may end for another: victim() is asked before all are searched for those
			   whose time is over, and had best give one of these */
	struct sn_entry *(*victim)(struct sn_partition *partition, struct sn_state_table *t,
				   struct sn_state_shard *sh, uint32_t owner, uint32_t quota_class,
				   uint64_t now);

	/* ---- an entry beside others: ../state/sn_bundle.h ---- */

	/*
	 * Whether all packets of a flow that do no more to the leader than to use it do the same to the
	 * entry: then the leader is used for both. turned: the leader's inside is the entry's outside.
	 */
	bool (*is_alike)(const struct sn_entry *leader, const struct sn_entry *e, bool turned);
	/* The entry gets of its own what packets have changed of the leader meanwhile. NULL: the kind's
	 * entries are for themselves always. */
	void (*catch_up)(struct sn_entry *e, const struct sn_entry *leader, bool turned);

	/* ---- an entry elsewhere ---- */

	/*
	 * To and from a record of ../state/sn_carry.h, but for the bytes that are the same for all kinds.
	 * Clocks differ between engines: times go as ages. What comes may be anything.
	 */
	void (*pack)(const struct sn_entry *e, uint64_t now, uint8_t *record);
	void (*unpack)(struct sn_entry *e, uint64_t now, const uint8_t *record);
	/* To a message, whose common fields are set. 0, or -1 without memory. */
	int (*report)(const struct sn_entry_info *info, struct sn_arena *arena,
		      Sinter__Program__V1__Session *session);
	/*
	 * A table's own figures, beside those of all kinds, which are set. Workers may be at work: numbers
	 * are of slightly different instants. 0, or -1 without memory. NULL: it has none.
	 */
	int (*report_table)(const struct sn_state *state, const struct sn_state_table *t,
			    struct sn_arena *arena, Sinter__Program__V1__TableStats *stats);
};

#define SN_STATE_KINDS_MAX 32

/* The kinds; row 0 is none. */
extern const struct sn_state_kind *sn_state_kinds[SN_STATE_KINDS_MAX];

/* A kind's row. */
uint8_t sn_state_kind_row(const struct sn_state_kind *kind);

/* Called by SN_STATE_KIND(). Ends the process if there are too many. */
void sn_state_kind_register(const struct sn_state_kind *kind);

/* The kind of a program's table. NULL: several claim it. */
const struct sn_state_kind *sn_state_kind_of(const Sinter__Program__V1__StateTable *msg);

#define SN_STATE_KIND(kind)                                               \
	static __attribute__((constructor)) void sn_register_##kind(void) \
	{                                                                 \
		sn_state_kind_register(&(kind));                          \
	}

#endif /* SN_STATE_KIND_H */
