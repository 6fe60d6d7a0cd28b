/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PROGRAM_H
#define SN_PROGRAM_H

/*
 * A decoded program: segments, classes, counters. Checked once when it is
 * created, immutable afterwards and shared by all workers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program.pb-c.h"
#include "sn_classifier.h"
#include "sn_error.h"
#include "sn_field.h"
#include "sn_range.h"
#include "sn_sources.h"

#define SN_SCHEMA	   2
#define SN_WAY_MAX	   (1 << 20) /* segments on a packet's way, those of its answers included */
#define SN_IFACES_MAX	   64
#define SN_TABLES_MAX	   256 /* state tables */
#define SN_RUNS_MAX	   1024
#define SN_SUBSCRIBERS_MAX 256 /* NAPTs that limit them */
#define SN_FIBS_MAX	   64
#define SN_TOPS_MAX	   8	      /* lists of an observation */
#define SN_REPLICAS_MAX	   8	      /* of a function outside of the program */
#define SN_LEGS_MAX	   64	      /* of a class */
#define SN_COPIES_MAX	   256	      /* of one packet, over all its ways */
#define SN_INDEX_END	   (1u << 29) /* of classes, operations, counters */

/* The protocols that a NAPT translates; timeouts and counts are kept by them. */
enum sn_proto_class {
	SN_PROTO_TCP,
	SN_PROTO_UDP,
	SN_PROTO_ICMP,
	SN_PROTO_OTHER, /* without ports */
	SN_PROTOS,
	SN_PORTED = SN_PROTO_OTHER, /* those before have ports */
};

struct sn_static_neigh {
	uint32_t address;
	uint16_t vlan; /* SN_VLAN_ABSENT: untagged */
	uint8_t mac[6];
};

struct sn_interface {
	char *name;
	struct sn_sources *sources; /* which Entry drops */
	uint32_t address;
	uint32_t mask; /* of the prefix */
	uint32_t gateway;
	uint32_t mtu;
	uint32_t segment;
	uint32_t n_neighbors;
	uint32_t n_proxy;
	struct sn_static_neigh *neighbors;
	uint32_t *proxy;
	uint64_t *vlans;     /* a bit for each VID; NULL: untagged frames only */
	bool tiny_fragments; /* first fragments that end within their transport header are let in */
	uint32_t full;	     /* why frames are dropped that it does not take */
	bool wire;	     /* a side of a stop: no hosts are there, and ARP is neither sent nor heard */
	uint8_t left_by;     /* of a wire by which packets come back from stops: that by which they leave */
	uint32_t watched;    /* a host there that is a function of the chain; 0: none */
	uint8_t answer_ttl;  /* of errors that the interface sends into the chain */
	bool has_mac;	     /* else the device's */
	uint8_t mac[6];
};

struct sn_state_kind;

/* Configuration of a state table; the state itself is in sn_state. */
/* Ways to tell the shard of a table's flows; see sn_cuts.h. */
enum sn_cut_by {
	SN_CUT_BY_KIND, /* as it is best for the kind alone */
	SN_CUT_BY_HOST, /* by one end, as a NAPT's by that inside */
	SN_CUT_BY_PORT, /* by one end, as a NAPT's by that outside: low bits of its port, for example */
};

struct sn_table_cut {
	uint8_t by;	 /* enum sn_cut_by */
	uint8_t outside; /* the end is on a firewall's outside; else on its inside */
};

struct sn_table_config {
	char *name;
	const struct sn_state_kind *kind;
	uint32_t max_entries; /* 0: as many as the kind has room for */
	/* For others than NAPT's tables: where these tell shards as they do alone, and where by both ends. */
	struct sn_table_cut cut, cut_by_ends;
	uint32_t subscribers; /* of a table without runs: as of sn_run */
	void *own; /* what else the kind decoded: bytes without pointers, which are compared as such */
	size_t own_size;
	/* The rules that the kind decoded for operations on the table, from malloc(): bytes without pointers
	 * that say nothing of its state, which is kept when they change. NULL: nothing. */
	void *rules;
};

/* The limits of one subscriber: all inside addresses that share a prefix. */
struct sn_subscriber_limits {
	char *name;
	uint32_t prefix_len; /* 1..32 */
	uint32_t max_sessions;
	uint32_t max_ports; /* of each protocol; 0: of entries that have none */
	uint32_t reason;    /* to drop packets that would begin one too many */
};

struct sn_run {
	char *name;
	uint32_t table;
	uint32_t subscribers; /* whose its sessions are; SN_NO_INDEX: nobody counts */
	uint32_t segment;
	uint32_t max_sessions; /* per protocol; 0: none */
	uint32_t n_single;
	uint32_t *single; /* the runs of its NAPTs one by one, if it has several */
	uint64_t tcp_ns;
	uint64_t tcp_transitory_ns;
	uint64_t udp_ns;
	uint64_t icmp_ns;
	bool again; /* packets that a NAPT has translated may come to it */
};

/* Traits of an operation, with its operands, that matter beyond its execution. */
enum sn_op_trait {
	SN_OP_LOWERS_TTL = 1,
	SN_OP_RAISES_TTL = 2,	/* or sets it */
	SN_OP_MAKES_STATE = 4,	/* finds or makes an entry by the packet's flow from inside */
	SN_OP_FINDS_STATE = 8,	/* looks an entry up by the flow of its return packets */
	SN_OP_UNCACHEABLE = 16, /* what it does is not the same for all packets of a flow */
	SN_OP_ON_PACKET = 32,	/* changes nothing but the packet: idle where that is dropped */
	SN_OP_OWN_SHARD = 64, /* finds or makes an entry, of a shard that it tells itself: its row has cut */
	SN_OP_FOLLOWS_FLOW = 128, /* the same by the flow, whose table tells the shard of both directions */
};

#define SN_OP_STATE (SN_OP_MAKES_STATE | SN_OP_FINDS_STATE | SN_OP_OWN_SHARD | SN_OP_FOLLOWS_FLOW)

/* Eight bytes: those of many classes have to share the processor's first cache. */
struct sn_op {
	uint32_t value;	   /* the operand: an index, a value, a reason */
	uint16_t writes;   /* bit per field of the packet: enum sn_field */
	uint8_t operation; /* number of its row in the table: sn_operation.h */
	uint8_t traits;	   /* enum sn_op_trait */
};
_Static_assert(sizeof(struct sn_op) == 8, "eight operations per cache line");

/* Operations in order; the last one is the outcome. */
struct sn_leg {
	uint32_t first_op;
	uint32_t first_counter;
	uint16_t n_ops;
	uint16_t n_counters;
};

/*
 * A class; 32 bytes, so that two share a cache line. `simple` classes have one
 * leg that does nothing but lower the TTL, note a next hop and leave, drop or lead
 * on: the stateless fast path needs nothing else of them.
 */
enum sn_simple {
	SN_SIMPLE_NOT,
	SN_SIMPLE_SEGMENT, /* a TTL, a next hop, and the way to another segment */
	SN_SIMPLE_FORWARD, /* state_run translates the source, and the packet leaves as of SN_SIMPLE_OUTPUT */
	SN_SIMPLE_STOP,	   /* a TTL, a next hop, and out to a stop */
	SN_SIMPLE_OUTPUT,
	SN_SIMPLE_DROP,
};

/* The first state that a class's packets meet, as far as the class alone tells; see sn_ways.h. */
enum sn_way {
	SN_WAY_STATELESS, /* none */
	SN_WAY_OUTPUT,	  /* none, unless it is too big */
	SN_WAY_FORWARD,	  /* a session by the flow as it came */
	SN_WAY_RETURN,	  /* a look-up by the flow as it came */
	SN_WAY_FOLLOW,	  /* the packet must be followed */
};

struct sn_class {
	uint32_t first_leg;
	uint16_t n_legs;
	uint8_t simple;
	uint8_t ttl_dec;
	uint32_t target;   /* of its way's last operation: interface, stop, reason, state table, segment */
	uint32_t next_hop; /* 0: none noted, or that before is forgotten */
	uint32_t first_counter;
	uint32_t n_counters;
	uint32_t state_run; /* run of the first operation that makes state, SN_NO_INDEX: none */
	uint8_t way;	    /* enum sn_way */
	bool notes_hop;	    /* or forgets it */
	uint8_t kind;	    /* of the state that it tells of: a row of sn_state_kinds, 0: it tells of none */
	uint8_t pad;
};
_Static_assert(sizeof(struct sn_class) == 32, "two classes per cache line");

/* Facts about all ways that plain frames may be followed on from a segment: see sn_follow.h. */
struct sn_follows {
	bool possible;	/* there are some with a second segment */
	bool slow;	/* some table takes so long that a memo may be faster */
	uint16_t reads; /* bit per field: enum sn_field */
};

struct sn_segment {
	char *name;
	uint32_t ttl_floor;
	uint32_t frag_max;    /* of what goes by table: SN_FRAG_WHOLE or everything */
	uint32_t first_class; /* classes are numbered through over all segments */
	uint32_t n_classes;
	bool readable; /* a plain frame that was followed here is classified as it came */
	struct sn_follows follows;
	struct sn_classifier table;
	struct sn_classifier low; /* for what does not go by table */
};

struct sn_generator {
	uint8_t kind; /* Generator.Kind */
	uint8_t type;
	uint8_t code;
	uint32_t source;
	uint32_t segment;
};

/* The fate of packets while a function does not answer probes. */
enum sn_when_down {
	SN_DOWN_UNWATCHED, /* it gets no probes */
	SN_DOWN_DROP,	   /* they are dropped for a reason */
	SN_DOWN_BYPASS,	   /* they go on at once, and a counter counts them */
};

/* A function outside of the program, between two wires. */
/* The numbers are the protocol's. */
enum sn_never {
	SN_NEVER_DROPS = 1,
	SN_NEVER_RESIZES = 2,
	SN_NEVER_ORIGINATES = 4,
	SN_NEVER_REORDERS = 8,
	SN_NEVER_ALL = 15,
};

struct sn_stop {
	uint32_t out, back; /* interfaces: packets leave by the one and come back by the other */
	uint32_t segment;   /* where they go on then */
	uint16_t writes;    /* bit per field that the function may change: enum sn_field */
	uint8_t never;	    /* what it never does: bits of enum sn_never */
	uint8_t when_down;  /* enum sn_when_down */
	uint32_t down;	    /* the reason, or the counter */
};

/* Functions outside of the program of which each may take the packets of another one that is down. */
struct sn_replicas {
	uint64_t wires[SN_REPLICAS_MAX]; /* of each, bit per interface */
	uint64_t n;
};

/* How a program before numbered the packets that may still be at stops, in terms of this one
 * (sn_continuation.h). */
struct sn_numbering {
	uint16_t nonce;
	uint32_t n_stops;
	uint32_t n_hops;
	uint32_t n_interfaces;
	uint32_t *stops;      /* which they are now; SN_NO_INDEX: none */
	uint32_t *hops;	      /* as it had them */
	uint32_t *interfaces; /* as of stops */
};

#define SN_BEFORE_MAX 4 /* programs before whose packets go on */

/* By what an observation counts packets together. The numbers are the protocol's. */
enum sn_observe_what {
	SN_BY_FLOW,
	SN_BY_SOURCE,
	SN_BY_DESTINATION,
};

struct sn_observe_by {
	uint8_t what; /* enum sn_observe_what */
	uint8_t prefix_len;
};

/* Notes about packets where a monitor asks for them. */
struct sn_observation {
	char *name; /* NULL: nothing is */
	uint64_t interval_ns;
	uint32_t entries;  /* of each list */
	uint32_t sampling; /* one in so many packets is exported; 0: none */
	uint32_t n_tops;
	struct sn_observe_by tops[SN_TOPS_MAX];
};

struct sn_program {
	char *chain;
	uint32_t n_interfaces;
	uint32_t n_tables;
	uint32_t n_runs;
	uint32_t n_subscribers;
	uint32_t n_segments;
	uint32_t n_generators;
	uint32_t n_counters;
	uint32_t n_reasons;
	uint32_t n_classes; /* of all segments */
	uint32_t n_legs;
	uint32_t n_ops;
	uint32_t n_leg_counters;
	uint32_t n_operands;
	uint32_t icmp_rate;
	uint32_t longest_way; /* segments that a packet and its answers pass at most */
	bool stateful;	      /* some leg reads or makes state, or notes flows: decisions are worth a cache */
	/*
	 * A packet may meet state of two shards: all are one unit. First by whether devices' hashes tell them
	 * (SN_PARTITION_BY_RSS), then by whether NAPTs tell the shard of a flow from inside by both of its
	 * ends.
	 */
	bool unpartitioned[2][2];
	bool cacheable; /* no classifier for high TTLs reads the TTL */
	struct sn_interface *interfaces;
	struct sn_table_config *tables;
	struct sn_run *runs;
	struct sn_subscriber_limits *subscribers;
	struct sn_segment *segments;
	struct sn_generator *generators;
	struct sn_class *classes;
	struct sn_leg *legs;
	struct sn_op *ops;
	void **operands; /* of operations that need more than a value: see sn_build_operands() */
	uint32_t *leg_counters;
	char **counters; /* names */
	char **reasons;
	struct sn_atoms *atoms;
	struct sn_observation observation;
	struct sn_fib **fibs; /* it has a reference to each */
	uint32_t n_fibs;
	uint32_t n_stops;
	uint32_t n_hops; /* 0 without stops */
	struct sn_stop *stops;
	uint32_t n_replicas;
	struct sn_replicas *replicas;
	uint32_t *hops; /* next hops that operations note, ascending; the first is 0: none */
	uint16_t nonce; /* of the tags of its frames on their way to stops: sn_tag.h */
	uint32_t n_before;
	struct sn_numbering before[SN_BEFORE_MAX]; /* the last one first */
	uint64_t returns;			   /* bit per interface: packets come back from stops by it */
	uint64_t only_returns;			   /* … and no others, by the functions' declarations */
	uint64_t probed;			   /* … and so do probes */
	uint64_t watched;			   /* bit per interface: it has a host that is watched */
	uint64_t bypassed; /* bit per interface: packets do not wait for the function that should return them
			    */
};

/* Whether plain frames of the class may be followed on to the segment that it leads to. */
static inline bool sn_class_leads(const struct sn_program *p, const struct sn_class *c)
{
	return c->simple == SN_SIMPLE_SEGMENT && p->segments[c->target].readable;
}

/* Whether two programs say the same of subscribers. */
bool sn_program_same_subscribers(const struct sn_program *p, const struct sn_program *q);

/*
 * NULL on error, with a message in err that names field, value and what is allowed. Nothing is kept of msg,
 * nor of like: the program before, or NULL; the more they have in common, the sooner this one is made.
 */
struct sn_program *sn_program_create(const Sinter__Program__V1__Program *msg, const struct sn_program *like,
				     struct sn_error *err);

/* FIBs that a program may name, beside those of the program before. */
struct sn_fibs {
	struct sn_fib **all;
	size_t n;
};

/* The FIB of a hash (SN_SHA256_LEN bytes) among them; NULL: there is none. */
struct sn_fib *sn_fibs_find(const struct sn_fibs *fibs, const uint8_t *hash);

/* sn_program_create() of a program that may name FIBs; fibs NULL: those of `like` alone. */
struct sn_program *sn_program_create_with(const Sinter__Program__V1__Program *msg,
					  const struct sn_program *like, const struct sn_fibs *fibs,
					  struct sn_error *err);
void sn_program_free(struct sn_program *program);

/* Whether two tables keep the same state, in the same way. */
bool sn_table_config_same(const struct sn_table_config *a, const struct sn_table_config *b);

/* Whether what was counted for one goes on for the other. */
bool sn_observation_same(const struct sn_observation *a, const struct sn_observation *b);

/* Name of any reason, the chain's included; NULL if there is no such reason. */
const char *sn_program_reason(const struct sn_program *program, uint32_t reason);
/* Its kind; 0 if there is no such reason. */
uint32_t sn_program_reason_kind(const struct sn_program *program, uint32_t reason);

#endif /* SN_PROGRAM_H */
