/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_FLOWS_WORLD_H
#define SN_TEST_FLOWS_WORLD_H

/*
 * The engine with rules for its devices, which a stand-in executes (see stand_in.h): two workers without
 * threads, ports that are rings, all requests as a client sends them. What the device makes of a frame says
 * which worker gets it.
 */
#include "fixture.h"

#include "ring_port.h"
#include "sn_engine.h"
#include "sn_request.h"
#include "stand_in.h"

#define WORKERS	   2
#define HOSTS	   250
#define STEPS	   512
#define GENERATION 5
#define SHIFT	   20

typedef Sinter__Control__V1__Request request_msg;
typedef Sinter__Control__V1__Response response_msg;
typedef Sinter__Flows__V1__FlowRule rule_msg;
typedef Sinter__Flows__V1__FlowStep step_msg;
typedef Sinter__Flows__V1__FlowState state_msg;

#define PASS  SINTER__FLOWS__V1__FLOW_RULE__ACTION__PASS
#define QUEUE SINTER__FLOWS__V1__FLOW_RULE__ACTION__QUEUE
#define JUMP  SINTER__FLOWS__V1__FLOW_RULE__ACTION__JUMP
#define DROP  SINTER__FLOWS__V1__FLOW_RULE__ACTION__DROP

struct flows {
	struct rte_mempool *pool;
	struct ring_port rings[2]; /* those to receive from are not used: packets are given to workers */
	struct sn_port ports[2];
	struct sn_engine *engine;
	struct sn_requests requests;
	struct sn_arena arena;
	Sinter__Program__V1__Program *program;
	response_msg *response; /* the last */
	uint64_t now;
	uint32_t n_steps;
	step_msg steps[STEPS];
	step_msg *list[STEPS];
	rule_msg rules[STEPS];
	Sinter__Flows__V1__FlowCond conds[STEPS][4];
	Sinter__Flows__V1__FlowCond *cond_lists[STEPS][4];
	uint32_t last_src, last_dst; /* of the last frame that came out */
	uint16_t last_sport, last_dport;
};

int start_flows(void **state);
int open_without_program(void **state);
int open_flows(void **state);
int close_flows(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_flows, close_flows)

/* The response to a request, until the next one; ask_well: it is no error. */
const response_msg *ask(struct flows *f, request_msg *request);
const response_msg *ask_well(struct flows *f, request_msg *request);
void assert_says(const char *text, const char *part);

void load_program(struct flows *f, uint32_t generation);

/* The steps of the next update. A rule that makes a step; conditions are added to it. */
rule_msg *step_create(struct flows *f, uint32_t number, uint32_t priority, int action, uint32_t queue);
void step_destroy(struct flows *f, uint32_t number);
void add_cond(struct flows *f, rule_msg *r, enum sn_field field, uint32_t value, uint32_t mask);

struct turn {
	uint32_t shard, from;
};

const response_msg *update_with(struct flows *f, const char *interface, Sinter__Flows__V1__MarkBelief belief,
				const struct turn *turn);
const response_msg *update(struct flows *f, const char *interface);
/* All steps are done, and the packets that waited before are forgotten. */
void update_well(struct flows *f, const char *interface);
void believe(struct flows *f, const char *interface);
/* Port 9 is dropped by the chain: so is a rule right that does. Number 1. */
void drop_port_9(struct flows *f);

const Sinter__Flows__V1__FlowList *list(struct flows *f, const char *interface);
const Sinter__Control__V1__PortStats *stats(struct flows *f, unsigned int port);
const Sinter__Flows__V1__Device *device(struct flows *f, uint32_t try_rules);

/* A packet comes by a port, as its device gives it. Returns the frames that left by the other port. */
uint32_t come(struct flows *f, unsigned int port, const struct packet *p);
struct packet from_host(uint32_t host, uint16_t dport);

/* Packets that workers gave to others. */
uint64_t handed(const struct flows *f);

#endif /* SN_TEST_FLOWS_WORLD_H */
