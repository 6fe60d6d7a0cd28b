/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine with rules for its devices, which a stand-in executes (see stand_in.h): two workers without
 * threads, ports that are rings, all requests as a client sends them. What the device makes of a frame says
 * which worker gets it.
 */
#include "fixture.h"

#include <stdio.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "sn_frame.h"
#include "sn_log.h"
#include "sn_offload.h"
#include "sn_parse.h"
#include "sn_request.h"
#include "sn_shards.h"
#include "sn_worker_impl.h"
#include "stand_in.h"

#define WORKERS	   2
#define BUFFERS	   1023
#define RING	   256
#define HOSTS	   250
#define STEPS	   512
#define GENERATION 5
#define SHIFT	   20

typedef Sinter__Program__V1__Request request_msg;
typedef Sinter__Program__V1__Response response_msg;
typedef Sinter__Program__V1__FlowRule rule_msg;
typedef Sinter__Program__V1__FlowStep step_msg;
typedef Sinter__Program__V1__FlowState state_msg;

#define PASS  SINTER__PROGRAM__V1__FLOW_RULE__ACTION__PASS
#define QUEUE SINTER__PROGRAM__V1__FLOW_RULE__ACTION__QUEUE
#define JUMP  SINTER__PROGRAM__V1__FLOW_RULE__ACTION__JUMP
#define DROP  SINTER__PROGRAM__V1__FLOW_RULE__ACTION__DROP

struct flows {
	struct rte_mempool *pool;
	struct rte_ring *rx[2][WORKERS]; /* not used: packets are given to workers */
	struct rte_ring *tx[2];
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
	Sinter__Program__V1__FlowCond conds[STEPS][4];
	Sinter__Program__V1__FlowCond *cond_lists[STEPS][4];
	uint32_t last_src, last_dst; /* of the last frame that came out */
	uint16_t last_sport, last_dport;
};

static unsigned int opened; /* names of ports are not used twice */

static int start(void **state)
{
	sn_log_limit(SN_LOG_ERROR);
	return start_eal(state) || sn_source_register() ? -1 : 0;
}

/* ---- requests ---- */

static const response_msg *ask(struct flows *f, request_msg *request)
{
	size_t len = sinter__program__v1__request__get_packed_size(request), reply_len;
	uint8_t *message = malloc(len + 1), *reply;

	sinter__program__v1__request__pack(request, message);
	assert_int_equal(sn_requests_answer(&f->requests, message, len, &reply, &reply_len), 0);
	if (f->response != NULL)
		sinter__program__v1__response__free_unpacked(f->response, NULL);
	f->response = sinter__program__v1__response__unpack(NULL, reply_len - SN_FRAME_HEADER,
							    reply + SN_FRAME_HEADER);
	assert_non_null(f->response);
	free(message);
	free(reply);
	return f->response;
}

static const response_msg *ask_well(struct flows *f, request_msg *request)
{
	const response_msg *response = ask(f, request);

	if (response->error[0] != '\0')
		fail_msg("%s", response->error);
	return response;
}

static void assert_says(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void load_program(struct flows *f, uint32_t generation)
{
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__Load load = SINTER__PROGRAM__V1__LOAD__INIT;
	Sinter__Program__V1__Marks marks = SINTER__PROGRAM__V1__MARKS__INIT;

	marks.generation = generation;
	marks.shift = SHIFT;
	load.program = sn_sample_encode(&f->arena, f->program);
	load.marks = &marks;
	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	ask_well(f, &request);
}

/* A rule that makes the next step; conditions are added to it. */
static rule_msg *step_create(struct flows *f, uint32_t number, uint32_t priority, int action, uint32_t queue)
{
	step_msg *s = &f->steps[f->n_steps];
	rule_msg *r = &f->rules[f->n_steps];

	sinter__program__v1__flow_step__init(s);
	sinter__program__v1__flow_rule__init(r);
	r->number = number;
	r->priority = priority;
	r->action = action;
	r->queue = queue;
	r->conds = f->cond_lists[f->n_steps];
	s->step_case = SINTER__PROGRAM__V1__FLOW_STEP__STEP_CREATE;
	s->create = r;
	f->list[f->n_steps] = s;
	assert_true(++f->n_steps < STEPS);
	return r;
}

static void step_destroy(struct flows *f, uint32_t number)
{
	step_msg *s = &f->steps[f->n_steps];

	sinter__program__v1__flow_step__init(s);
	s->step_case = SINTER__PROGRAM__V1__FLOW_STEP__STEP_DESTROY;
	s->destroy = number;
	f->list[f->n_steps++] = s;
}

static void add_cond(struct flows *f, rule_msg *r, enum sn_field field, uint32_t value, uint32_t mask)
{
	Sinter__Program__V1__FlowCond *c = &f->conds[r - f->rules][r->n_conds];

	sinter__program__v1__flow_cond__init(c);
	c->field = (Sinter__Program__V1__Field)field;
	c->value = value;
	c->mask = mask;
	r->conds[r->n_conds++] = c;
}

struct turn {
	uint32_t shard, from;
};

static const response_msg *update_with(struct flows *f, const char *interface,
				       Sinter__Program__V1__MarkBelief belief, const struct turn *turn)
{
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__UpdateFlows update = SINTER__PROGRAM__V1__UPDATE_FLOWS__INIT;
	Sinter__Program__V1__FlowTurn turning = SINTER__PROGRAM__V1__FLOW_TURN__INIT;

	update.interface = (char *)interface;
	update.n_steps = f->n_steps;
	update.steps = f->list;
	update.belief = belief;
	if (turn != NULL) {
		turning.shard = turn->shard;
		turning.from = turn->from;
		update.turn = &turning;
	}
	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_UPDATE_FLOWS;
	request.update_flows = &update;
	f->n_steps = 0;
	return ask(f, &request);
}

static const response_msg *update(struct flows *f, const char *interface)
{
	return update_with(f, interface, SINTER__PROGRAM__V1__MARK_BELIEF__BELIEF_KEPT, NULL);
}

/* All steps are done, and the packets that waited before are forgotten. */
static void update_well(struct flows *f, const char *interface)
{
	uint32_t n = f->n_steps;
	const response_msg *r = update(f, interface);

	if (r->error[0] != '\0' || r->flows_updated->done != n)
		fail_msg("%s%s", r->error, r->error[0] != '\0' ? "" : r->flows_updated->refused);
	f->now += SN_FLOWS_GRACE_NS + 1000 * MS;
}

static void believe(struct flows *f, const char *interface)
{
	const response_msg *r = update_with(f, interface, SINTER__PROGRAM__V1__MARK_BELIEF__BELIEVED, NULL);

	assert_string_equal(r->error, "");
}

static const Sinter__Program__V1__FlowList *list(struct flows *f, const char *interface)
{
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__GetFlows get = SINTER__PROGRAM__V1__GET_FLOWS__INIT;

	get.interface = (char *)interface;
	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_GET_FLOWS;
	request.get_flows = &get;
	return ask_well(f, &request)->flows;
}

static const Sinter__Program__V1__PortStats *stats(struct flows *f, unsigned int port)
{
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__GetStats get = SINTER__PROGRAM__V1__GET_STATS__INIT;

	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_GET_STATS;
	request.get_stats = &get;
	return ask_well(f, &request)->stats->ports[port];
}

static const Sinter__Program__V1__Device *device(struct flows *f, uint32_t try_rules)
{
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__GetDevices get = SINTER__PROGRAM__V1__GET_DEVICES__INIT;

	get.try_rules = try_rules;
	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_GET_DEVICES;
	request.get_devices = &get;
	return ask_well(f, &request)->devices->devices[0];
}

/* ---- the world ---- */

static void open_port(struct flows *f, unsigned int i, const char *name)
{
	struct rte_ring *tx[WORKERS];
	struct sn_port_config config = {.queues = WORKERS, .rx_desc = 64, .tx_desc = 64, .pool = f->pool};
	struct sn_bind bind;
	char text[64], err[256];

	for (unsigned int q = 0; q < WORKERS; q++) {
		snprintf(text, sizeof(text), "%s%u-rx%u", name, opened, q);
		f->rx[i][q] = rte_ring_create(text, RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		assert_non_null(f->rx[i][q]);
	}
	snprintf(text, sizeof(text), "%s%u-tx", name, opened);
	f->tx[i] = rte_ring_create(text, RING, SOCKET_ID_ANY, RING_F_SC_DEQ);
	assert_non_null(f->tx[i]);
	for (unsigned int q = 0; q < WORKERS; q++)
		tx[q] = f->tx[i];
	snprintf(text, sizeof(text), "%s%u", name, opened);
	assert_true(rte_eth_from_rings(text, f->rx[i], WORKERS, tx, WORKERS, 0) >= 0);
	snprintf(text, sizeof(text), "%s=net_ring_%s%u", name, name, opened);
	assert_int_equal(sn_bind_parse(text, &bind, err, sizeof(err)), 0);
	if (sn_port_attach(&f->ports[i], &bind, WORKERS, 1500, err, sizeof(err)) != 0 ||
	    sn_port_start(&f->ports[i], &config, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	assert_true(f->ports[i].id < STAND_IN_PORTS);
}

static int open_without_program(void **state)
{
	static uint8_t macs[2][6] = {{0x02, 0x73, 0x6e, 0, 0, 0}, {0x02, 0x73, 0x6e, 0, 0, 1}};
	struct flows *f = calloc(1, sizeof(*f));
	struct sn_engine_config config = {.n_ports = 2,
					  .n_workers = WORKERS,
					  .partitioning = {.by = SN_PARTITION_BY_ADDRESS, .shift = 0}};
	char err[256];

	*state = f;
	stand_in_reset(WORKERS);
	snprintf(err, sizeof(err), "flows%u", opened++);
	f->pool = rte_pktmbuf_pool_create(err, BUFFERS, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(f->pool);
	open_port(f, 0, "inside");
	open_port(f, 1, "outside");
	sn_arena_init(&f->arena);
	f->program = sn_sample_napt(&f->arena);
	sn_sample_hosts(&f->arena, f->program, HOSTS);
	for (unsigned int i = 0; i < 2; i++) {
		f->program->interfaces[i]->mac.data = macs[i];
		f->program->interfaces[i]->mac.len = sizeof(macs[i]);
	}
	config.ports = f->ports;
	config.pool = f->pool;
	f->engine = sn_engine_create(&config, err, sizeof(err));
	if (f->engine == NULL)
		fail_msg("%s", err);
	sn_requests_init(&f->requests, f->engine, NULL, NULL);
	f->now = sn_engine_now(f->engine);
	return 0;
}

static int open_flows(void **state)
{
	open_without_program(state);
	load_program(*state, GENERATION);
	return 0;
}

static int close_flows(void **state)
{
	struct flows *f = *state;

	sn_engine_stop(f->engine);
	assert_int_equal(stand_in[f->ports[0].id].installed, 0);
	assert_int_equal(stand_in[f->ports[1].id].installed, 0);
	sn_requests_free(&f->requests);
	for (unsigned int i = 0; i < 2; i++)
		sn_port_close(&f->ports[i]);
	sn_engine_free(f->engine);
	assert_int_equal(rte_mempool_in_use_count(f->pool), 0);
	rte_mempool_free(f->pool);
	for (unsigned int i = 0; i < 2; i++) {
		rte_ring_free(f->tx[i]);
		for (unsigned int q = 0; q < WORKERS; q++)
			rte_ring_free(f->rx[i][q]);
	}
	if (f->response != NULL)
		sinter__program__v1__response__free_unpacked(f->response, NULL);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

/* Frames that left by a port; the last of them is looked at. */
static uint32_t collect(struct flows *f, unsigned int port)
{
	struct rte_mbuf *m;
	uint32_t n = 0;

	while (rte_ring_dequeue(f->tx[port], (void **)&m) == 0) {
		const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

		if (sn_load16(frame + 12) == RTE_ETHER_TYPE_IPV4) {
			f->last_src = src_of(frame);
			f->last_dst = dst_of(frame);
			f->last_sport = sport_of(frame);
			f->last_dport = dport_of(frame);
			n++;
		}
		rte_pktmbuf_free(m);
	}
	return n;
}

/* A packet comes by a port, as its device gives it. Returns the frames that left by the other port. */
static uint32_t come(struct flows *f, unsigned int port, const struct packet *p)
{
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(p, frame), mark;
	int queue = stand_in_receive(f->ports[port].id, frame, len, &mark);
	struct rte_mbuf *m;

	if (queue == STAND_IN_DROPPED)
		return 0;
	m = rte_pktmbuf_alloc(f->pool);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	if (mark != 0) {
		m->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
		m->hash.fdir.hi = mark;
	}
	f->now += MS;
	for (unsigned int w = 0; w < WORKERS; w++)
		sn_worker_tick(f->engine->threads[w].worker, f->now);
	sn_worker_burst(f->engine->threads[queue].worker, (uint16_t)port, &m, 1, f->now);
	for (unsigned int w = 0; w < WORKERS; w++)
		sn_mailbox_poll(f->engine->threads[w].mailbox);
	(void)collect(f, port);
	return collect(f, 1 - port);
}

static struct packet from_host(uint32_t host, uint16_t dport)
{
	struct packet p = outward(SN_UDP, 5000);

	p.src = SN_SAMPLE_HOST + host;
	p.dport = dport;
	return p;
}

static uint64_t handed(const struct flows *f)
{
	uint64_t sum = 0;

	for (unsigned int w = 0; w < WORKERS; w++)
		sum += sn_worker_stats(f->engine->threads[w].worker)->handed;
	return sum;
}

/* A rule per shard, in both directions: numbers are shards. */
static void steer_shards(struct flows *f)
{
	uint32_t units = sn_state_units(f->engine->state);

	for (uint32_t s = 0; s < units; s++)
		add_cond(f, step_create(f, s, 0, QUEUE, sn_state_owner(f->engine->state, s)), SN_SRC, s,
			 units - 1);
	update_well(f, "inside");
	for (uint32_t s = 0; s < units; s++) {
		rule_msg *r = step_create(f, s, 0, QUEUE, sn_state_owner(f->engine->state, s));

		add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
		add_cond(f, r, SN_DPORT, s, units - 1);
	}
	update_well(f, "outside");
}

/* Packets of many hosts' flows, there and back. */
static void exchange(struct flows *f)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		struct packet p = from_host(host, 80);

		assert_int_equal(come(f, 0, &p), 1);
		p = inward(SN_UDP, f->last_sport);
		p.dst = f->last_src;
		assert_int_equal(come(f, 1, &p), 1);
		assert_int_equal(f->last_dst, SN_SAMPLE_HOST + host);
		if (host % 64 == 0)
			(void)stats(f, 0);
	}
}

/* ---- tests ---- */

static void each_packet_comes_to_the_owner_of_its_shard_in_both_directions(void **state)
{
	struct flows *f = *state;
	const Sinter__Program__V1__PortStats *s;
	const Sinter__Program__V1__FlowList *l;
	uint32_t executed = 0;

	for (uint32_t shard = 0; shard < sn_state_units(f->engine->state); shard += 2) {
		uint64_t blocked;
		char err[256];

		assert_int_equal(sn_shards_move(f->engine, shard, 1, &blocked, err, sizeof(err)), 0);
	}
	steer_shards(f);
	exchange(f);
	assert_int_equal(handed(f), 0);
	for (unsigned int port = 0; port < 2; port++) {
		s = stats(f, port);
		assert_int_equal(s->strays, 0);
		assert_in_range(s->flow_checked, HOSTS / 2, HOSTS);
		assert_int_equal(s->flow_misqueued + s->flow_undropped + s->flow_mismarked, 0);
	}
	l = list(f, "outside");
	for (size_t i = 0; i < l->n_flows; i++)
		executed += l->flows[i]->verdict == SINTER__PROGRAM__V1__FLOW_STATE__VERDICT__EXECUTED;
	assert_in_range(executed, l->n_flows / 2, l->n_flows);
}

static void a_device_that_ignores_rules_is_found_out(void **state)
{
	struct flows *f = *state;
	const Sinter__Program__V1__FlowList *l;
	uint32_t ignored = 0;

	stand_in[f->ports[0].id].ignores = true;
	for (uint32_t shard = 0; shard < sn_state_units(f->engine->state); shard += 2) {
		uint64_t blocked;
		char err[256];

		assert_int_equal(sn_shards_move(f->engine, shard, 1, &blocked, err, sizeof(err)), 0);
	}
	steer_shards(f);
	exchange(f);
	assert_in_range(stats(f, 0)->strays, HOSTS / 8, HOSTS);
	assert_in_range(stats(f, 0)->flow_misqueued, HOSTS / 8, HOSTS);
	assert_int_equal(stats(f, 1)->flow_misqueued, 0);
	l = list(f, "inside");
	for (size_t i = 0; i < l->n_flows; i++)
		ignored += l->flows[i]->verdict == SINTER__PROGRAM__V1__FLOW_STATE__VERDICT__IGNORED;
	assert_in_range(ignored, 1, l->n_flows);
}

/* Port 9 is dropped by the chain: so is a rule right that does. */
static void drop_port_9(struct flows *f)
{
	rule_msg *r = step_create(f, 1, 0, DROP, 0);

	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
	r->count = true;
	update_well(f, "inside");
}

static void a_rule_that_drops_is_seen_by_its_counter(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);
	const Sinter__Program__V1__FlowList *l;

	assert_int_equal(sn_offload_watch(f->engine), -1); /* nothing to watch */
	drop_port_9(f);
	assert_in_range(sn_offload_watch(f->engine), 1, 100); /* ms */
	assert_int_equal(list(f, "inside")->flows[0]->verdict,
			 SINTER__PROGRAM__V1__FLOW_STATE__VERDICT__UNSEEN);
	for (uint32_t i = 0; i < 3; i++)
		come(f, 0, &p);
	assert_int_equal(stats(f, 0)->rx_packets, 0);
	l = list(f, "inside");
	assert_int_equal(l->flows[0]->packets, 3);
	assert_in_range(l->flows[0]->bytes, 3 * 42, 3 * 1500);
	assert_int_equal(l->flows[0]->verdict, SINTER__PROGRAM__V1__FLOW_STATE__VERDICT__EXECUTED);
}

static void a_drop_that_is_not_executed_is_found_out(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	stand_in[f->ports[0].id].ignores_drops = true;
	drop_port_9(f);
	assert_int_equal(come(f, 0, &p), 0); /* software drops it */
	assert_int_equal(stats(f, 0)->flow_undropped, 1);
	assert_int_equal(list(f, "inside")->flows[0]->verdict,
			 SINTER__PROGRAM__V1__FLOW_STATE__VERDICT__IGNORED);
}

static void what_came_before_a_rule_says_nothing_of_it(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	stand_in[f->ports[0].id].ignores_drops = true;
	drop_port_9(f);
	f->now = sn_engine_now(f->engine);
	come(f, 0, &p);
	assert_int_equal(stats(f, 0)->flow_checked, 0);
}

static void of_two_rules_the_one_above_decides(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	step_create(f, 1, 3, DROP, 0);
	add_cond(f, step_create(f, 2, 2, JUMP, 0), SN_SRC, p.src, UINT32_MAX);
	add_cond(f, step_create(f, 3, 1, PASS, 0), SN_SRC, p.src + 1, UINT32_MAX);
	step_create(f, 4, 0, QUEUE, 1)->table = 1;
	update_well(f, "inside");
	p.dport = 80;
	assert_int_equal(come(f, 0, &p), 1);
	p.src++;
	assert_int_equal(come(f, 0, &p), 1);
	p.src++;
	assert_int_equal(come(f, 0, &p), 0);
	assert_int_equal(stats(f, 0)->flow_checked, 2);
	assert_int_equal(stats(f, 0)->flow_misqueued + stats(f, 0)->flow_undropped, 0);
	assert_int_equal(list(f, "inside")->flows[1]->agreed, 1); /* the jump, by what it led to */
	assert_int_equal(list(f, "inside")->flows[3]->agreed, 1);
}

static void an_update_ends_at_the_first_step_that_is_refused(void **state)
{
	struct flows *f = *state;
	const response_msg *r;

	stand_in[f->ports[0].id].rules = 3;
	for (uint32_t i = 0; i < 5; i++)
		add_cond(f, step_create(f, 10 + i, 0, QUEUE, 1), SN_DST, i, UINT32_MAX);
	step_destroy(f, 10);
	r = update(f, "inside");
	assert_string_equal(r->error, "");
	assert_int_equal(r->flows_updated->done, 3);
	assert_string_equal(r->flows_updated->refused, "no room for another rule");
	assert_int_equal(list(f, "inside")->n_flows, 3);
	/* What there is can be replaced. */
	step_destroy(f, 11);
	add_cond(f, step_create(f, 11, 0, QUEUE, 0), SN_DST, 11, UINT32_MAX);
	update_well(f, "inside");
	assert_int_equal(stand_in[f->ports[0].id].installed, 3);
}

static void an_update_that_cannot_be_does_nothing(void **state)
{
	struct flows *f = *state;

	step_create(f, 1, 0, DROP, 0);
	step_create(f, 2, 0, QUEUE, WORKERS);
	assert_says(update(f, "inside")->error, "step 1, rule 2: queue 2, the port has 2");
	step_create(f, 1, 0, DROP, 0);
	step_create(f, 1, 0, DROP, 0);
	assert_says(update(f, "inside")->error, "step 1: there is already a rule 1");
	step_create(f, 1, 0, DROP, 0);
	step_destroy(f, 2);
	assert_says(update(f, "inside")->error, "step 1: there is no rule 2");
	step_create(f, 1, 0, DROP, 0)->table = 2;
	assert_says(update(f, "inside")->error, "table 2, there are 2");
	step_create(f, 1, 0, JUMP, 0)->table = 1;
	assert_says(update(f, "inside")->error, "a jump from table 1");
	step_create(f, 1, 0, DROP, 0)->mark = 7;
	assert_says(update(f, "inside")->error, "mark 0x7 on packets that are dropped");
	add_cond(f, step_create(f, 1, 0, DROP, 0), SN_DPORT, 9, 0xffff);
	assert_says(update(f, "inside")->error, "want a rule for one protocol");
	step_create(f, 1, 0, DROP, 0);
	assert_says(update(f, "elsewhere")->error, "interface \"elsewhere\" is bound to no device");
	step_create(f, 1, 0, DROP, 0);
	assert_says(update_with(f, "inside", SINTER__PROGRAM__V1__MARK_BELIEF__BELIEF_KEPT,
				&(struct turn){.shard = 128})
			    ->error,
		    "turn: shard 128");
	assert_int_equal(stand_in[f->ports[0].id].created, 0);
}

/* Which class the sample's packets have: 0 passes, 1 is port 9. */
static void mark_classes(struct flows *f, uint32_t generation)
{
	rule_msg *r = step_create(f, 1, 0, QUEUE, 0);

	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
	r->mark = generation << SHIFT | 2;
	step_create(f, 2, 1, QUEUE, 0)->mark = generation << SHIFT | 1;
	update_well(f, "inside");
}

static void a_believed_mark_is_the_class(void **state)
{
	struct flows *f = *state;
	struct packet p;

	mark_classes(f, GENERATION);
	p = from_host(0, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0); /* not asked to */
	believe(f, "inside");
	for (uint32_t host = 1; host < 9; host++) {
		p = from_host(host, 80);
		assert_int_equal(come(f, 0, &p), 1);
		p = from_host(host, 9);
		assert_int_equal(come(f, 0, &p), 0);
	}
	assert_int_equal(stats(f, 0)->marked, 16);
	assert_int_equal(stats(f, 0)->misclassified, 0);
	assert_int_equal(stats(f, 0)->flow_mismarked, 0);
	assert_true(list(f, "inside")->believed);
}

static void a_marked_packet_of_another_workers_shard_counts_once(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(100, 80);

	mark_classes(f, GENERATION);
	believe(f, "inside");
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(handed(f), 1);
	assert_int_equal(stats(f, 0)->rx_packets, 1);
	assert_int_equal(stats(f, 0)->marked, 1);
}

static void marks_of_another_generation_are_not_believed(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	mark_classes(f, GENERATION);
	believe(f, "inside");
	load_program(f, GENERATION + 1);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0);
	load_program(f, GENERATION);
	p = from_host(1, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 1);
}

static void packets_about_to_die_and_fragments_are_classified_whatever_their_mark(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	mark_classes(f, GENERATION);
	believe(f, "inside");
	p.ttl = 1;
	come(f, 0, &p);
	p.ttl = 64;
	p.frag = 0x2000;
	come(f, 0, &p);
	assert_int_equal(stats(f, 0)->marked, 0);
	assert_int_equal(stats(f, 0)->misclassified, 0); /* not so much as looked at */
}

static void a_wrong_mark_is_found_and_marks_are_no_longer_believed(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	/* Class 0 becomes class 1, which drops. */
	stand_in[f->ports[0].id].mark_errors = 1;
	mark_classes(f, GENERATION);
	believe(f, "inside");
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(come(f, 0, &p), 1); /* the worker knows, the control thread does not yet */
	assert_int_equal(stats(f, 0)->misclassified, 1);
	assert_int_equal(stats(f, 0)->flow_mismarked, 2);
	assert_false(list(f, "inside")->believed);
	p = from_host(1, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0);
	/* Until somebody asks to. */
	stand_in[f->ports[0].id].mark_errors = 0;
	believe(f, "inside");
	p = from_host(2, 80);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 1);
}

static void a_mark_of_no_class_is_not_believed(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);

	step_create(f, 2, 1, QUEUE, 0)->mark = GENERATION << SHIFT | 4; /* the segment has three */
	update_well(f, "inside");
	believe(f, "inside");
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->marked, 0);
	assert_int_equal(stats(f, 0)->misclassified, 0);
}

static void marks_that_cannot_be_are_refused_with_the_program(void **state)
{
	struct flows *f = *state;
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__Load load = SINTER__PROGRAM__V1__LOAD__INIT;
	Sinter__Program__V1__Marks marks = SINTER__PROGRAM__V1__MARKS__INIT;

	load.program = sn_sample_encode(&f->arena, f->program);
	load.marks = &marks;
	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	marks.shift = 29;
	assert_says(ask(f, &request)->error, "shift 29, want 1..28");
	marks.shift = 20;
	marks.generation = 16;
	assert_says(ask(f, &request)->error, "generation 16, want 0..15");
	load.marks = NULL;
	ask_well(f, &request);
	assert_says(update_with(f, "inside", SINTER__PROGRAM__V1__MARK_BELIEF__BELIEVED, NULL)->error,
		    "no program with marks");
}

static void rules_are_made_again_after_a_reset(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 9);

	drop_port_9(f);
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 1);
	add_cond(f, step_create(f, 7, 0, QUEUE, 1), SN_DST, 7, UINT32_MAX);
	update_well(f, "inside");
	stand_in[f->ports[0].id].rules = 1; /* less room than before */
	stand_in_lose(f->ports[0].id);
	assert_int_equal(list(f, "inside")->resets, 1);
	assert_string_equal(list(f, "inside")->lost, "no room for another rule");
	assert_int_equal(stand_in[f->ports[0].id].installed, 1);
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->n_flows, 1);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 2);
	assert_int_equal(list(f, "outside")->resets, 0);
}

/* A rule that has packets of the host to port 9 pass, above one that drops all to port 9; numbers 1 and 2. */
static void cover(struct flows *f, uint32_t queue)
{
	rule_msg *r = step_create(f, 1, 0, QUEUE, queue);

	add_cond(f, r, SN_SRC, SN_SAMPLE_HOST, UINT32_MAX);
	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
}

static void drop_below(struct flows *f)
{
	rule_msg *r = step_create(f, 2, 1, DROP, 0);

	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
}

static void after_a_reset_no_rule_is_there_without_those_that_it_relies_on(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];

	for (uint32_t made_anew = 0; made_anew < 2; made_anew++) {
		add_cond(f, step_create(f, 5, 0, QUEUE, 0), SN_DST, 5, UINT32_MAX);
		cover(f, 1);
		drop_below(f);
		update_well(f, "inside");
		if (made_anew) { /* the cover is younger than what relies on it */
			step_destroy(f, 1);
			cover(f, 1);
			update_well(f, "inside");
		}
		s->queues = 1; /* less than before: the cover is refused */
		stand_in_lose(f->ports[0].id);
		assert_string_equal(list(f, "inside")->lost, "no such queue");
		assert_int_equal(list(f, "inside")->n_flows, 1);
		assert_int_equal(list(f, "inside")->flows[0]->number, 5);
		assert_int_equal(s->installed, 1);
		s->queues = WORKERS;
		step_destroy(f, 5);
		update_well(f, "inside");
	}
}

static void after_a_reset_no_rule_jumps_where_rules_are_missing(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];

	step_create(f, 1, 1, QUEUE, 0)->table = 1;
	step_create(f, 2, 0, QUEUE, 1)->table = 1;
	step_create(f, 3, 0, JUMP, 0);
	update_well(f, "inside");
	step_destroy(f, 1);
	step_create(f, 1, 1, QUEUE, 1)->table = 1; /* is younger than what jumps there */
	update_well(f, "inside");
	s->rules = 2;
	stand_in_lose(f->ports[0].id);
	assert_int_equal(list(f, "inside")->n_flows, 2);
	assert_int_equal(list(f, "inside")->flows[0]->number, 1);
	assert_int_equal(list(f, "inside")->flows[1]->number, 2);
	s->rules = 1;
	stand_in_lose(f->ports[0].id);
	assert_int_equal(list(f, "inside")->n_flows, 1);
	assert_int_equal(list(f, "inside")->flows[0]->number, 1); /* the end of the table */
}

static void while_a_device_cannot_be_reset_its_driver_is_not_asked_for_its_rules(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	struct packet p = from_host(0, 9);

	drop_port_9(f);
	add_cond(f, step_create(f, 7, 0, QUEUE, 1), SN_DST, 7, UINT32_MAX);
	update_well(f, "inside");
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 1);
	s->stuck = true;
	stand_in_lose(f->ports[0].id);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(list(f, "inside")->n_flows, 2);
	assert_int_equal(s->resets, 1); /* not at each look */
	step_destroy(f, 7);
	update_well(f, "inside");
	f->engine->flows[0].reset_ns = 0; /* time passes */
	(void)list(f, "inside");
	assert_int_equal(s->resets, 2);
	assert_int_equal(f->engine->flows[0].pause_ns, 2 * SECOND);
	s->stuck = false;
	f->engine->flows[0].reset_ns = 0;
	assert_int_equal(list(f, "inside")->resets, 1);
	assert_int_equal(list(f, "inside")->n_flows, 1);
	assert_int_equal(s->installed, 1);
	assert_int_equal(f->engine->flows[0].pause_ns, 0);
	come(f, 0, &p);
	assert_int_equal(list(f, "inside")->flows[0]->packets, 2);
}

struct held {
	const struct sn_engine *engine;
	uint32_t looks, held;
};

static void look_for_held_workers(void *context)
{
	struct held *h = context;

	h->looks++;
	h->held += atomic_load(&h->engine->orders.epoch) & 1;
}

static void workers_go_on_while_rules_are_made_again(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	struct held held = {.engine = f->engine};

	for (uint32_t i = 0; i < 9; i++)
		add_cond(f, step_create(f, i, 0, QUEUE, 1), SN_DST, i, UINT32_MAX);
	update_well(f, "inside");
	s->look = look_for_held_workers;
	s->context = &held;
	stand_in_lose(f->ports[0].id);
	(void)list(f, "inside");
	assert_int_equal(s->installed, 9);
	assert_int_equal(held.looks, 9);
	assert_int_equal(held.held, 0);
	s->rules = 0;
	stand_in_lose(f->ports[0].id);
	(void)list(f, "inside");
	assert_false(f->ports[0].watched); /* no rule is left */
	s->rules = STAND_IN_RULES;
	s->look = NULL;
}

static void a_refusal_that_another_way_made_good_is_not_told(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	const response_msg *r;

	s->spreads_not = true;
	add_cond(f, step_create(f, 1, 0, PASS, 0), SN_DST, 7, UINT32_MAX);
	r = update(f, "inside");
	assert_int_equal(r->flows_updated->done, 1);
	assert_string_equal(r->flows_updated->refused, "");
	stand_in_lose(f->ports[0].id);
	assert_string_equal(list(f, "inside")->lost, "");
	assert_int_equal(list(f, "inside")->n_flows, 1);
}

static void rules_follow_a_shard_to_its_owner(void **state)
{
	struct flows *f = *state;
	struct packet p = from_host(0, 80);
	uint32_t shard = p.src % sn_state_units(f->engine->state);
	uint64_t blocked;
	char err[256];
	const response_msg *r;

	steer_shards(f);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(sn_shards_move(f->engine, shard, 1, &blocked, err, sizeof(err)), 0);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->strays, 1);
	step_destroy(f, shard);
	add_cond(f, step_create(f, shard, 0, QUEUE, 1), SN_SRC, shard, sn_state_units(f->engine->state) - 1);
	r = update_with(f, "inside", SINTER__PROGRAM__V1__MARK_BELIEF__BELIEF_KEPT,
			&(struct turn){.shard = shard, .from = 0});
	assert_string_equal(r->error, "");
	assert_int_equal(r->flows_updated->done, 2);
	assert_in_range(r->flows_updated->blocked_ns, 1, SECOND);
	assert_int_equal(come(f, 0, &p), 1);
	assert_int_equal(stats(f, 0)->strays, 1);
	assert_int_equal(sn_worker_stats(f->engine->threads[1].worker)->drops[SN_REASON_NOT_OURS].packets, 0);
}

static void a_cut_that_rules_forbid_changes_nothing_and_ends_nothing(void **state)
{
	struct flows *f = *state;
	request_msg request = SINTER__PROGRAM__V1__REQUEST__INIT;
	Sinter__Program__V1__PartitionShards shards = SINTER__PROGRAM__V1__PARTITION_SHARDS__INIT;
	Sinter__Program__V1__Partitioning partitioning = SINTER__PROGRAM__V1__PARTITIONING__INIT;

	partitioning.by = SINTER__PROGRAM__V1__PARTITIONING__BY__HOST;
	shards.partitioning = &partitioning;
	request.body_case = SINTER__PROGRAM__V1__REQUEST__BODY_PARTITION_SHARDS;
	request.partition_shards = &shards;
	add_cond(f, step_create(f, 7, 0, QUEUE, 1), SN_DST, 7, UINT32_MAX);
	update_well(f, "inside");
	assert_says(ask(f, &request)->error, "shards: interface inside has flow rules");
	assert_false(f->requests.shutdown);
	step_destroy(f, 7);
	update_well(f, "inside");
	ask_well(f, &request);
	assert_int_equal(sn_state_partitioning(f->engine->state).by, SN_PARTITION_BY_HOST);
}

static uint32_t matching_of(const Sinter__Program__V1__Device *d, enum sn_field field)
{
	for (size_t i = 0; i < d->flows->n_fields; i++)
		if ((enum sn_field)d->flows->fields[i]->field == field)
			return d->flows->fields[i]->matching;
	return SINTER__PROGRAM__V1__FLOW_CAPABILITIES__MATCHING__NEVER;
}

static bool has_refusal(const Sinter__Program__V1__Device *d, const char *of, const char *words)
{
	for (size_t i = 0; i < d->flows->n_refusals; i++)
		if (strcmp(d->flows->refusals[i]->of, of) == 0)
			return strcmp(d->flows->refusals[i]->words, words) == 0;
	return false;
}

static void what_a_device_can_do_is_found_by_trying(void **state)
{
	struct flows *f = *state;
	const Sinter__Program__V1__Device *d = device(f, 0);

	assert_string_equal(d->interface, "inside");
	assert_string_equal(d->driver, "net_ring");
	assert_int_equal(d->queues, WORKERS);
	assert_int_equal(d->flows->rules, 0); /* not tried */
	assert_int_equal(d->flows->priorities, 64);
	assert_int_equal(d->flows->mark_bits, 24);
	assert_true(d->flows->drop && d->flows->count && d->flows->queue && d->flows->jump);
	assert_true(d->flows->dst_mac && d->flows->untagged);
	assert_int_equal(d->flows->fragments,
			 SINTER__PROGRAM__V1__FLOW_CAPABILITIES__FRAGMENTS__FRAGMENTS_TOLD);
	for (enum sn_field field = 0; field < SN_FIELDS; field++)
		if (field != SN_FRAG)
			assert_int_equal(matching_of(d, field),
					 SINTER__PROGRAM__V1__FLOW_CAPABILITIES__MATCHING__RANGED);
	assert_int_equal(d->flows->n_refusals, 0);
	assert_int_equal(stand_in[f->ports[0].id].installed, 0);
}

static void what_a_device_can_do_is_tried_with_no_packet_that_may_come(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	struct packet p = from_host(0, 80);
	uint8_t frame[FRAME_MAX] = {0};

	s->bystander = frame;
	for (uint32_t bit = 0; bit < 8; bit++) { /* what is like 255.255.255.255 and a host's address */
		p.src = ~(UINT32_C(1) << (24 + bit));
		if (p.src >> 28 == 15)
			continue;
		write_frame(&p, frame);
		(void)device(f, 0);
	}
	assert_true(s->created > 0);
	assert_int_equal(s->disturbed, 0);
}

static void what_a_device_cannot_do_comes_with_its_drivers_words(void **state)
{
	struct flows *f = *state;
	struct stand_in *s = &stand_in[f->ports[0].id];
	const Sinter__Program__V1__Device *d;

	s->masks = s->ranges = s->marks = s->jumps = s->counts = false;
	s->priorities = 1;
	s->rules = 40;
	d = device(f, 100);
	assert_int_equal(d->flows->rules, 40);
	assert_int_equal(d->flows->priorities, 1);
	assert_int_equal(d->flows->mark_bits, 0);
	assert_false(d->flows->jump || d->flows->count);
	assert_true(d->flows->drop && d->flows->queue);
	assert_int_equal(matching_of(d, SN_SRC), SINTER__PROGRAM__V1__FLOW_CAPABILITIES__MATCHING__EXACT);
	assert_int_equal(matching_of(d, SN_DPORT), SINTER__PROGRAM__V1__FLOW_CAPABILITIES__MATCHING__EXACT);
	assert_true(has_refusal(d, "src by prefix", "whole values only"));
	assert_true(has_refusal(d, "count", "no counters"));
	assert_true(has_refusal(d, "priority 1", "no such priority"));
	assert_int_equal(s->installed, 0);
	s->rules = 0;
	d = device(f, 100);
	assert_string_equal(d->flows->refused, "this device knows no rules");
	assert_int_equal(d->flows->n_fields, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_flows, close_flows)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_packet_comes_to_the_owner_of_its_shard_in_both_directions),
		TEST(a_device_that_ignores_rules_is_found_out),
		TEST(a_rule_that_drops_is_seen_by_its_counter),
		TEST(a_drop_that_is_not_executed_is_found_out),
		TEST(what_came_before_a_rule_says_nothing_of_it),
		TEST(of_two_rules_the_one_above_decides),
		TEST(an_update_ends_at_the_first_step_that_is_refused),
		TEST(an_update_that_cannot_be_does_nothing),
		TEST(a_believed_mark_is_the_class),
		TEST(a_marked_packet_of_another_workers_shard_counts_once),
		TEST(marks_of_another_generation_are_not_believed),
		TEST(packets_about_to_die_and_fragments_are_classified_whatever_their_mark),
		TEST(a_wrong_mark_is_found_and_marks_are_no_longer_believed),
		TEST(a_mark_of_no_class_is_not_believed),
		TEST(marks_that_cannot_be_are_refused_with_the_program),
		TEST(rules_are_made_again_after_a_reset),
		TEST(after_a_reset_no_rule_is_there_without_those_that_it_relies_on),
		TEST(after_a_reset_no_rule_jumps_where_rules_are_missing),
		TEST(while_a_device_cannot_be_reset_its_driver_is_not_asked_for_its_rules),
		TEST(workers_go_on_while_rules_are_made_again),
		TEST(a_refusal_that_another_way_made_good_is_not_told),
		TEST(rules_follow_a_shard_to_its_owner),
		cmocka_unit_test_setup_teardown(a_cut_that_rules_forbid_changes_nothing_and_ends_nothing,
						open_without_program, close_flows),
		TEST(what_a_device_can_do_is_found_by_trying),
		TEST(what_a_device_can_do_is_tried_with_no_packet_that_may_come),
		TEST(what_a_device_cannot_do_comes_with_its_drivers_words),
	};

	return cmocka_run_group_tests(tests, start, stop_eal);
}
