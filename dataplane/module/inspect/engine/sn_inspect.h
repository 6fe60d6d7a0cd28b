/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_INSPECT_H
#define SN_INSPECT_H

/*
 * Inspectors: a state table each. Payloads are matched by Hyperscan. Its databases are made
 * when a program is loaded and belong to the program. An entry is a TCP stream, that is, a direction of a
 * connection, of which an inspector may look at the first bytes; one of single packets has no entries.
 */

#include "sn_flow.h"
#include "sn_state.h"
#include "sn_state_kind.h"

extern const struct sn_state_kind sn_inspect;

#define SN_INSPECT_KEEP_DSCP 0xff
#define SN_NAME_MAX	     255

/* The matcher of a table's rules: of the program. Opaque, as it is one block of memory. */
struct sn_inspect_rules;

/* Whether some rule marks packets; whether streams are matched, else packets. */
bool sn_inspect_marks(const struct sn_inspect_rules *rules);
bool sn_inspect_has_streams(const struct sn_inspect_rules *rules);

/* The reason of packets for whose bytes there is no room. */
uint32_t sn_inspect_full(const struct sn_inspect_rules *rules);

/* It tells which names may be in it. */
enum sn_payload_kind {
	SN_PAYLOAD_DATAGRAM, /* a DNS query's */
	SN_PAYLOAD_SEGMENT,  /* none */
	SN_PAYLOAD_STREAM,   /* a TLS server's, an HTTP host's */
};

struct sn_payload {
	const uint8_t *bytes;
	uint32_t len;
	enum sn_payload_kind kind;
};

/* The result for a packet. */
struct sn_inspected {
	uint32_t reason; /* SN_REASON_NONE: it is not dropped */
	uint32_t dscp;	 /* that it gets, or SN_INSPECT_KEEP_DSCP */
};

/* Matches a payload with a table's rules, and counts it. Allocates nothing. */
struct sn_inspected sn_inspect_payload(struct sn_partition *partition, struct sn_inspect_rules *rules,
				       uint32_t table, struct sn_payload payload);

enum sn_stream_result {
	SN_STREAM_FOUND,
	SN_STREAM_MADE,
	SN_STREAM_NONE, /* no entry can make room, or none was wanted to be made */
};

/* A stream's entry in a table of the program; made if there is none and make is set. */
enum sn_stream_result sn_inspect_stream(struct sn_partition *partition, uint32_t table, uint32_t shard,
					const struct sn_flow *flow, bool from_outside, bool make,
					uint64_t now, struct sn_entry **entry);

/* A packet of a stream: its payload is matched together with what came before. tcp: its header. */
struct sn_inspected sn_inspect_segment(struct sn_partition *partition, struct sn_inspect_rules *rules,
				       uint32_t table, struct sn_entry *entry, const uint8_t *tcp,
				       struct sn_payload payload, uint64_t now);

/*
 * Names in payloads; `name` has SN_NAME_MAX bytes. Their lengths; less than 0: there is none, or not all of
 * it. Which a DNS query asks for first, with dots between labels; that of the server in a TLS ClientHello;
 * that of the host in an HTTP request.
 */
int sn_dns_query_name(const uint8_t *message, uint32_t len, uint8_t *name);
int sn_tls_server_name(const uint8_t *bytes, uint32_t len, uint8_t *name);
int sn_http_host(const uint8_t *bytes, uint32_t len, uint8_t *name);

#endif /* SN_INSPECT_H */
