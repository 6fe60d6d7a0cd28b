/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_INSPECT_IMPL_H
#define SN_INSPECT_IMPL_H

/* The inside of inspectors; for the files that keep them. */

#include <rte_spinlock.h>

#include "sn_inspect.h"
#include "sn_state_impl.h"

typedef struct hs_scratch hs_scratch_t; /* hs.h */

#define INSPECT_WORKERS_MAX    64
#define INSPECT_RULES_MAX      4096
#define INSPECT_PARTS_MAX      16 /* of a rule */
#define INSPECT_EXPRESSION_MAX 8192
#define INSPECT_END_MAX	       (1u << 16)
#define INSPECT_BUFFERS	       4 /* InspectPart.Buffer */
#define INSPECT_DEPTH_MAX      (1u << 14)
#define INSPECT_KEPT_MAX       (1u << 16)
#define INSPECT_KNOWN_MAX      (1u << 24)

/* A table's configuration, by which its state is kept over a change of program. */
struct inspect_config {
	uint32_t n_rules;
	uint32_t depth; /* of streams; 0: there are none */
	uint32_t max;	/* streams of which bytes are kept */
	char names[];	/* of rules, each with its zero */
};

struct inspect_rule {
	uint32_t reason; /* SN_REASON_NONE: it does not drop */
	uint32_t dscp;	 /* or SN_INSPECT_KEEP_DSCP */
	uint32_t n_parts;
};

/* A worker's own: of a scan, and Hyperscan's. It is made when the worker first scans, in memory that is
 * there. */
struct inspect_work {
	hs_scratch_t *scratch; /* NULL: not made yet */
	uint32_t n_touched;
	uint32_t touched[]; /* rules of which some part matched; behind it, bytes: how many parts of each rule
			     */
};

/* One block from malloc(), which goes with the program: places in it are offsets. 0: there is none. */
struct sn_inspect_rules {
	uint32_t n_rules;
	uint32_t n_parts;
	uint32_t depth; /* of streams; 0: packets are matched */
	uint32_t timeout_ms;
	uint32_t full; /* reason */
	bool marks;
	size_t rules;			   /* struct inspect_rule[n_rules] */
	size_t rule_of_part;		   /* uint32_t[n_parts] */
	size_t databases[INSPECT_BUFFERS]; /* of the parts of each buffer */
	size_t scratch;			   /* of which workers have copies */
	size_t works;			   /* of worker 0 … */
	size_t work_size;		   /* … and so far on the next one's */
	size_t scratch_at;		   /* in a work: memory for its copy … */
	size_t scratch_size;
};

static inline void *inspect_at(const struct sn_inspect_rules *r, size_t offset)
{
	return (uint8_t *)r + offset;
}

static inline uint8_t *inspect_parts_of(const struct sn_inspect_rules *r, struct inspect_work *w)
{
	return (uint8_t *)(w->touched + r->n_rules);
}

/* The progress of a stream. */
enum inspect_progress {
	INSPECT_FRESH,	 /* its first packet says where it begins */
	INSPECT_LOOKS,	 /* at its first bytes */
	INSPECT_DECIDED, /* there is nothing more to look at */
	INSPECT_OVER,	 /* its end came, and all before it was looked at */
};

struct inspect_stream {
	struct sn_entry entry; /* own: enum inspect_progress; own_bit: its source is outside */
	uint32_t src, dst;
	uint16_t sport, dport;
	uint32_t begin; /* the number of its first byte */
	uint32_t have;	/* so many bytes from there on were matched */
	uint32_t slot;	/* + 1; 0: no bytes are kept */
	uint16_t drops; /* the rule that drops it, + 1; 0: none */
	uint16_t marks; /* the same */
	uint32_t pad;
};
_Static_assert(sizeof(struct inspect_stream) == sizeof(struct sn_entry_line), "a stream is one cache line");
_Static_assert(INSPECT_RULES_MAX < UINT16_MAX, "rules have numbers of 16 bits");

/* The bytes of a stream. Behind it lie: a bit for each rule that matched, a bit for each byte that is there,
 * the bytes. */
struct inspect_slot {
	uint32_t next; /* + 1, of slots that were given back */
	uint32_t end;  /* of the byte that lies farthest */
	uint64_t matched[];
};

/*
 * What a table has beside entries; the one that takes its place goes on with it. All workers share the slots,
 * as streams of one host may all be of one shard: a stream takes one and gives it back once. Pages are taken
 * from the system as slots are first used.
 */
struct inspect_memory {
	_Alignas(64) rte_spinlock_t lock; /* of back and fresh */
	uint32_t back;			  /* the slot that was given back last, + 1 */
	uint32_t fresh;			  /* slots that were never used begin here */
	uint32_t tables;		  /* which have it */
	uint8_t *slots;
	uint64_t *counts; /* rows: packets, bytes, packets of each rule */
};
_Static_assert(sizeof(struct inspect_memory) == 64, "a line that workers share with nothing else");

struct inspect_table {
	struct sn_state_table table;
	struct inspect_memory *memory;
	bool inherited;		     /* from the table whose place it took */
	size_t row;		     /* of counts, of a worker: so many numbers */
	uint64_t *counts;	     /* the memory's, as are slots */
	uint32_t n_slots, slot_size; /* n_slots 0: packets are matched */
	uint32_t there_at, bytes_at; /* in a slot */
	uint32_t depth;
	uint8_t *slots;
};

#define INSPECT_COUNTS_OF_ALL 2 /* packets and bytes, before the rules' */

static inline struct inspect_table *inspector_of(const struct sn_state_table *t)
{
	return (struct inspect_table *)t;
}

static inline struct inspect_stream *stream_of(const struct sn_entry *e)
{
	return (struct inspect_stream *)e;
}

/* Counts a packet; the counts of the rules. */
static inline uint64_t *inspect_count(const struct inspect_table *t, const struct sn_partition *partition,
				      uint32_t bytes)
{
	uint64_t *counts = t->counts + partition_number(partition) * t->row;

	counts[0]++;
	counts[1] += bytes;
	return counts + INSPECT_COUNTS_OF_ALL;
}

/* The rules that a payload matches, in no order: until the worker scans again. How many. */
uint32_t sn_inspect_scan(const struct sn_inspect_rules *rules, uint32_t worker, struct sn_payload payload,
			 const uint32_t **matched);

/* Places in slots, by the table's configuration. */
void sn_stream_lay_out(struct inspect_table *t, const struct inspect_config *c);

/* Hooks of the kind. */
uint64_t sn_stream_hash(const struct sn_state *state, const struct sn_entry *e);
uint32_t sn_stream_place(const struct sn_state *state, const struct sn_state_table *t,
			 const struct sn_entry *e);
const char *sn_stream_misfit(const struct sn_state *state, const struct sn_state_table *table,
			     const struct sn_entry *e);
bool sn_stream_is_taken(const struct sn_state *state, const struct sn_state_table *t,
			const struct sn_state_shard *sh, const struct sn_entry *e, uint64_t now);
void sn_stream_hold(const struct sn_state *state, const struct sn_state_table *t, struct sn_state_shard *sh,
		    struct sn_entry *e);
void sn_stream_release(const struct sn_state *state, const struct sn_state_table *t,
		       struct sn_state_shard *sh, struct sn_entry *e, bool unused);
struct sn_entry *sn_stream_victim(struct sn_partition *partition, struct sn_state_table *t,
				  struct sn_state_shard *sh, uint32_t owner, uint32_t quota_class,
				  uint64_t now);
void sn_stream_pack(const struct sn_entry *e, uint64_t now, uint8_t *record);
void sn_stream_unpack(struct sn_entry *e, uint64_t now, const uint8_t *record);

/* The rules of a table, as a block; NULL: sn_build_fail() or sn_build_no_memory() said it, in *rc. */
struct sn_inspect_rules *sn_inspect_build(struct sn_builder *b, const Sinter__Program__V1__StateTable *table,
					  int *rc);

/* A copy of a scratch in memory of one's own, of as many bytes as the scratch has. NULL: it does not fit. */
hs_scratch_t *sn_inspect_copy_scratch(const hs_scratch_t *from, void *memory, size_t size);

#endif /* SN_INSPECT_IMPL_H */
