/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_FLOWS_H
#define SN_FLOWS_H

/* The flow rules that a port's device was given, and what was seen of them. For the control thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sn_error.h"
#include "sn_sample.h"
#include "sn_steer.h"

/* Packets that came so soon after a change say nothing: they may have waited in a queue. */
#define SN_FLOWS_GRACE_NS 100000000u

struct sn_flow_rule {
	uint32_t number; /* as its client calls it */
	uint32_t order;	 /* of two at one place the older decides */
	struct sn_steer_rule rule;
	struct rte_flow *flow; /* NULL: the device lost it, and is to be reset */
	/* Counts of a rule, by the device; and what it had before the device was reset, as far as somebody
	 * asked. */
	uint64_t packets, bytes;
	uint64_t packets_before, bytes_before;
	/* Packets that the rule holds for, which came as it asks or did not. */
	uint64_t agreed, contradicted;
};

/* As FlowState.Verdict of flows.proto. */
enum sn_flow_verdict {
	SN_FLOW_UNSEEN,
	SN_FLOW_EXECUTED,
	SN_FLOW_IGNORED,
};

struct sn_flow_counts {
	uint64_t checked;
	uint64_t undropped;
	uint64_t misqueued;
	uint64_t mismarked;
	uint64_t no_rule;
};

struct sn_flows {
	struct sn_steer_device device;
	uint32_t n, room;
	struct sn_flow_rule **by_number;
	struct sn_flow_rule **by_place; /* table, priority, order: the first that holds decides */
	uint32_t orders;
	uint64_t changed_ns; /* by the workers' clock */
	uint64_t resets;
	uint64_t reset_ns,
		pause_ns;     /* after a reset that failed: when to try again, how long that was put off */
	struct sn_error lost; /* why a rule could not be made again; empty: all were */
	struct sn_flow_counts counts;
};

void sn_flows_init(struct sn_flows *flows, struct sn_steer_device device);

/* The rule with a number, NULL if there is none. */
struct sn_flow_rule *sn_flows_find(const struct sn_flows *flows, uint32_t number);

/* 0, or -1 with the driver's words. The number is free, the rule was checked. */
int sn_flows_create(struct sn_flows *flows, uint32_t number, const struct sn_steer_rule *rule,
		    struct sn_error *err);

/* 0, or -1 with the driver's words: then the rule is still there. */
int sn_flows_destroy(struct sn_flows *flows, struct sn_flow_rule *rule, struct sn_error *err);

/* Takes out all rules, whatever the driver says. */
void sn_flows_clear(struct sn_flows *flows);

/* The device lost its rules, and the driver has freed them. */
void sn_flows_lose(struct sn_flows *flows);

/*
 * Makes rules that were lost again, such that none is there without those above it. One that the device
 * refuses now is gone, with all that would have followed.
 */
void sn_flows_restore(struct sn_flows *flows);

/* Reads the counters of counted rules. */
void sn_flows_count(struct sn_flows *flows);

/* Compares a packet of this port with the rules. Returns how many rules were looked at. */
uint32_t sn_flows_see(struct sn_flows *flows, const struct sn_sample *sample);

enum sn_flow_verdict sn_flow_verdict(const struct sn_flow_rule *rule);

#endif /* SN_FLOWS_H */
