/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_STEER_H
#define SN_STEER_H

/*
 * One flow rule of a device (rte_flow): made, counted, taken out; and what it asks of a packet, in
 * software.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_flow.h>

#include "sn_error.h"
#include "sn_field.h"

/* A condition on a field: with a mask, that the bits under it are the value's; without, that it is in
 * value..last. Zero: none. Numbers in the host's byte order; SN_VLAN_ABSENT is a bit above the VLAN's twelve.
 */
struct sn_cond {
	uint32_t value, mask, last;
};

/* Conditions of a rule on an IPv4 packet; zero: nothing. */
struct sn_steer_match {
	struct sn_cond conds[SN_FIELDS];
	struct rte_ether_addr mac; /* destination; zero: any */
};

/* As FlowRule.Action of flows.proto. */
enum sn_steer_action {
	SN_STEER_PASS, /* to where the port sends packets without a rule */
	SN_STEER_QUEUE,
	SN_STEER_JUMP, /* to the next table */
	SN_STEER_DROP,
};

struct sn_steer_rule {
	struct sn_steer_match match;
	uint32_t table, priority; /* the lowest of a table's holds */
	enum sn_steer_action action;
	uint16_t queue;
	uint32_t mark; /* 0: none */
	bool count;
};

#define SN_STEER_QUEUES_MAX 64

/* The device that rules are for, started. */
struct sn_steer_device {
	uint16_t port;
	uint16_t queues;
	bool tap; /* net_tap, which has ways of its own */
};

struct sn_steer_device sn_steer_device(uint16_t port, const char *driver, uint16_t queues);

/* All bits of a field, SN_VLAN_ABSENT included. */
uint32_t sn_steer_mask(enum sn_field field);

/* As users know it: "tcp-flags". */
const char *sn_steer_field_name(enum sn_field field);

static inline struct sn_cond sn_cond_is(enum sn_field field, uint32_t value)
{
	return (struct sn_cond){.value = value, .mask = sn_steer_mask(field)};
}

static inline bool sn_cond_any(const struct sn_cond *c)
{
	return (c->value | c->mask | c->last) == 0;
}

static inline bool sn_cond_holds(const struct sn_cond *c, uint32_t value)
{
	return c->mask != 0 ? ((value ^ c->value) & c->mask) == 0
			    : sn_cond_any(c) || (value >= c->value && value <= c->last);
}

/* Whether a rule can ask for that at all, whatever the device: -1 with a message in err if not. */
int sn_steer_check(const struct sn_steer_rule *rule, struct sn_error *err);

/* NULL, and the driver's words in err, if it does not take the rule; else err is empty. */
struct rte_flow *sn_steer_install(const struct sn_steer_device *device, const struct sn_steer_rule *rule,
				  struct sn_error *err);

/* 0, or -1 with the driver's words; the rule may be there still. */
int sn_steer_remove(const struct sn_steer_device *device, struct rte_flow *flow, struct sn_error *err);

/* Read the counters of a rule. 0, or -1 with the driver's words. */
int sn_steer_count(const struct sn_steer_device *device, struct rte_flow *flow, uint64_t *packets,
		   uint64_t *bytes, struct sn_error *err);

#endif /* SN_STEER_H */
