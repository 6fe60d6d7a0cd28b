/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_FIXTURE_H
#define SN_TEST_FIXTURE_H

/* One worker without ports: frames in, frames and drops out, and the clock in hand. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sample.h"
#include "sn_counts.h"
#include "sn_error.h"
#include "sn_worker.h"

#define MS	   1000000ull
#define SECOND	   (1000 * MS)
#define FRAME_MAX  2048
#define EVENTS_MAX 512

/* Whether a sanitizer watches: all takes several times as long. What is long for the sake of rare
 * interleavings may be shorter then, as the plain build runs it at full length. */
#ifdef __has_feature
#define IS_WATCHED (__has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer))
#else
#define IS_WATCHED 0
#endif

struct sent {
	uint16_t iface;
	uint32_t source;
	uint32_t len;
	uint8_t data[FRAME_MAX];
};

struct dropped {
	uint32_t source;
	uint32_t reason;
};

struct fixture {
	struct sn_arena arena; /* of the messages */
	Sinter__Program__V1__Program *msg;
	struct sn_state *state;
	struct sn_program *program;
	struct sn_worker *worker;
	struct sn_wires *wires;
	struct sn_watches *watches;
	uint64_t kept, lost; /* by the last load */
	uint64_t now;
	uint32_t n_out, n_drops, n_in;
	uint16_t tx_limit; /* frames that the port takes at once */
	struct sent out[EVENTS_MAX];
	struct dropped drops[EVENTS_MAX];
	struct sn_error err;
};

/* A packet to be written as a frame, with right checksums. */
struct packet {
	uint8_t iface; /* to whose address it is sent */
	uint8_t proto;
	uint8_t ttl;	    /* 0: 64 */
	uint8_t flags;	    /* of TCP */
	uint8_t type, code; /* of ICMP */
	uint8_t dscp;
	uint8_t options; /* words of IP options */
	uint16_t frag;	 /* the fragment word: DF 0x4000, MF 0x2000 */
	uint16_t tag;	 /* with TCI; 0: none */
	uint32_t src, dst;
	uint16_t sport, dport; /* of ICMP: sport is the identifier */
	uint32_t seq;	       /* of TCP */
	uint32_t payload_len;
	const uint8_t *payload;
};

/* A throw of the tests' dice: less than `sides`, and the same in each run. */
uint32_t dice(uint32_t sides);

int start_eal(void **state);
int stop_eal(void **state);

/* With the sample NAPT (the message in f->msg, to be changed before load()) and nothing loaded. */
int open_fixture(void **state);
int close_fixture(void **state);

/* Load f->msg in place of what runs; with its decisions warmed up before. */
void load(struct fixture *f);
void load_warmed_up(struct fixture *f);

uint32_t write_frame(const struct packet *p, uint8_t *frame);
/* The frame's IP and transport checksums are right. */
void assert_checksums(const uint8_t *frame, uint32_t len);

/* Forgets what came out before. */
void forget(struct fixture *f);

/* Process frames or packets as one burst; what came out before is forgotten. */
void send_frame(struct fixture *f, uint16_t iface, const uint8_t *frame, uint32_t len);
void send_packet(struct fixture *f, const struct packet *p);
void send_burst(struct fixture *f, const struct packet *p, uint32_t n);

/* The frames that came out last come in as one burst, in their order. */
void send_back(struct fixture *f, uint16_t iface);

/* Time passes; what came out before is forgotten. */
void tick(struct fixture *f, uint64_t by);

/* The one frame that came out, with right checksums, by the interface. */
const uint8_t *assert_sent(struct fixture *f, uint16_t iface);
/* Nothing came out but one drop. */
void assert_dropped(struct fixture *f, uint32_t reason);

/* Fields of a frame. */
uint32_t src_of(const uint8_t *frame);
uint32_t dst_of(const uint8_t *frame);
uint16_t sport_of(const uint8_t *frame);
uint16_t dport_of(const uint8_t *frame);
uint8_t *ip_of(const uint8_t *frame);
uint8_t *l4_of(const uint8_t *frame);

/* A packet from the inside host to the remote, and one back to an outside port. */
struct packet outward(uint8_t proto, uint16_t port);
struct packet inward(uint8_t proto, uint16_t port);

uint64_t sessions(const struct fixture *f);

/* Messages: class `class` of a segment gets one more leg, a copy of its first. */
void add_leg(struct fixture *f, uint32_t segment, uint32_t class);

#endif /* SN_TEST_FIXTURE_H */
