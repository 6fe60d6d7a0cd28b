/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_SUBSCRIBERS_H
#define SN_SUBSCRIBERS_H

/*
 * What subscribers have of sessions and outside ports. A subscriber is all inside addresses that share a
 * prefix. Its sessions are of any shard, so workers count together: when a session begins or ends, and at no
 * other packet. Each chain of the hash table has a lock, in the word that leads to it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sn_program.h"

struct sn_subscribers;

/* A subscriber as others see it. */
struct sn_subscriber {
	uint32_t prefix;
	uint32_t sessions;
	uint32_t ports[SN_PORTED];
	uint32_t refused; /* packets, since it has had sessions without a break */
};

/* Sessions and ports that come (or go, if less than 0). Those without ports are of SN_PROTO_OTHER. */
struct sn_subscriber_change {
	uint32_t set; /* of the program's subscribers */
	uint32_t address;
	enum sn_proto_class class;
	uint32_t shard; /* of the session */
	int sessions, ports;
};

/* Records for a program that limits subscribers. NULL without memory. */
struct sn_subscribers *sn_subscribers_create(const struct sn_program *p, uint64_t seed);
void sn_subscribers_free(struct sn_subscribers *s);

/* Bytes of memory that they may take. */
size_t sn_subscribers_most(const struct sn_subscribers *s);

/* From now on somebody counts: the memory for it is asked for. */
void sn_subscribers_begin(struct sn_subscribers *s);

/* Whether two have the same limits. NULL: none. */
bool sn_subscribers_same(const struct sn_subscribers *a, const struct sn_subscribers *b);

/* More, if the limits allow it. False: nothing is counted. */
bool sn_subscribers_take(struct sn_subscribers *s, const struct sn_subscriber_change *c);

/* More or less, whatever the limits. */
void sn_subscribers_count(struct sn_subscribers *s, const struct sn_subscriber_change *c);

/* Somebody is about to count: brings a line that says where the next one is, and when that is there the next.
 */
uint64_t sn_subscribers_expect(const struct sn_subscribers *s, uint32_t set, uint32_t address);
void sn_subscribers_expect_more(const struct sn_subscribers *s, uint64_t expected);

/* A packet is dropped for a limit. */
void sn_subscribers_refuse(struct sn_subscribers *s, uint32_t set, uint32_t address);

/* Those of a set with most sessions, in descending order, at most n; *all: how many have any. Safe beside
 * workers. */
uint32_t sn_subscribers_heaviest(struct sn_subscribers *s, uint32_t set, struct sn_subscriber *out,
				 uint32_t n, uint64_t *all);

#endif /* SN_SUBSCRIBERS_H */
