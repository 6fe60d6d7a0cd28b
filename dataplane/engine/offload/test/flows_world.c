/* SPDX-License-Identifier: Apache-2.0 */
#include "flows_world.h"

#include <stdio.h>

#include <rte_mempool.h>

#include "sn_frame.h"
#include "sn_log.h"
#include "sn_offload.h"
#include "sn_parse.h"

#define BUFFERS 1023
#define RING	256

int start_flows(void **state)
{
	sn_log_limit(SN_LOG_ERROR);
	return start_eal(state) || sn_source_register() ? -1 : 0;
}

/* ---- requests ---- */

const response_msg *ask(struct flows *f, request_msg *request)
{
	size_t len = sinter__control__v1__request__get_packed_size(request), reply_len;
	uint8_t *message = malloc(len + 1), *reply;

	sinter__control__v1__request__pack(request, message);
	assert_int_equal(sn_requests_answer(&f->requests, message, len, &reply, &reply_len), 0);
	if (f->response != NULL)
		sinter__control__v1__response__free_unpacked(f->response, NULL);
	f->response = sinter__control__v1__response__unpack(NULL, reply_len - SN_FRAME_HEADER,
							    reply + SN_FRAME_HEADER);
	assert_non_null(f->response);
	free(message);
	free(reply);
	return f->response;
}

const response_msg *ask_well(struct flows *f, request_msg *request)
{
	const response_msg *response = ask(f, request);

	if (response->error[0] != '\0')
		fail_msg("%s", response->error);
	return response;
}

void assert_says(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", text, part);
}

void load_program(struct flows *f, uint32_t generation)
{
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__Load load = SINTER__CONTROL__V1__LOAD__INIT;
	Sinter__Flows__V1__Marks marks = SINTER__FLOWS__V1__MARKS__INIT;

	marks.generation = generation;
	marks.shift = SHIFT;
	load.program = sn_sample_encode(&f->arena, f->program);
	load.marks = &marks;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_LOAD;
	request.load = &load;
	ask_well(f, &request);
}

rule_msg *step_create(struct flows *f, uint32_t number, uint32_t priority, int action, uint32_t queue)
{
	step_msg *s = &f->steps[f->n_steps];
	rule_msg *r = &f->rules[f->n_steps];

	sinter__flows__v1__flow_step__init(s);
	sinter__flows__v1__flow_rule__init(r);
	r->number = number;
	r->priority = priority;
	r->action = action;
	r->queue = queue;
	r->conds = f->cond_lists[f->n_steps];
	s->step_case = SINTER__FLOWS__V1__FLOW_STEP__STEP_CREATE;
	s->create = r;
	f->list[f->n_steps] = s;
	assert_true(++f->n_steps < STEPS);
	return r;
}

void step_destroy(struct flows *f, uint32_t number)
{
	step_msg *s = &f->steps[f->n_steps];

	sinter__flows__v1__flow_step__init(s);
	s->step_case = SINTER__FLOWS__V1__FLOW_STEP__STEP_DESTROY;
	s->destroy = number;
	f->list[f->n_steps++] = s;
}

void add_cond(struct flows *f, rule_msg *r, enum sn_field field, uint32_t value, uint32_t mask)
{
	Sinter__Flows__V1__FlowCond *c = &f->conds[r - f->rules][r->n_conds];

	sinter__flows__v1__flow_cond__init(c);
	c->field = (Sinter__Program__V1__Field)field;
	c->value = value;
	c->mask = mask;
	r->conds[r->n_conds++] = c;
}

const response_msg *update_with(struct flows *f, const char *interface, Sinter__Flows__V1__MarkBelief belief,
				const struct turn *turn)
{
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Flows__V1__UpdateFlows update = SINTER__FLOWS__V1__UPDATE_FLOWS__INIT;
	Sinter__Flows__V1__FlowTurn turning = SINTER__FLOWS__V1__FLOW_TURN__INIT;

	update.interface = (char *)interface;
	update.n_steps = f->n_steps;
	update.steps = f->list;
	update.belief = belief;
	if (turn != NULL) {
		turning.shard = turn->shard;
		turning.from = turn->from;
		update.turn = &turning;
	}
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_UPDATE_FLOWS;
	request.update_flows = &update;
	f->n_steps = 0;
	return ask(f, &request);
}

const response_msg *update(struct flows *f, const char *interface)
{
	return update_with(f, interface, SINTER__FLOWS__V1__MARK_BELIEF__BELIEF_KEPT, NULL);
}

void update_well(struct flows *f, const char *interface)
{
	uint32_t n = f->n_steps;
	const response_msg *r = update(f, interface);

	if (r->error[0] != '\0' || r->flows_updated->done != n)
		fail_msg("%s%s", r->error, r->error[0] != '\0' ? "" : r->flows_updated->refused);
	f->now += SN_FLOWS_GRACE_NS + 1000 * MS;
}

void believe(struct flows *f, const char *interface)
{
	const response_msg *r = update_with(f, interface, SINTER__FLOWS__V1__MARK_BELIEF__BELIEVED, NULL);

	assert_string_equal(r->error, "");
}

const Sinter__Flows__V1__FlowList *list(struct flows *f, const char *interface)
{
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Flows__V1__GetFlows get = SINTER__FLOWS__V1__GET_FLOWS__INIT;

	get.interface = (char *)interface;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_FLOWS;
	request.get_flows = &get;
	return ask_well(f, &request)->flows;
}

const Sinter__Control__V1__PortStats *stats(struct flows *f, unsigned int port)
{
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Control__V1__GetStats get = SINTER__CONTROL__V1__GET_STATS__INIT;

	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_STATS;
	request.get_stats = &get;
	return ask_well(f, &request)->stats->ports[port];
}

const Sinter__Flows__V1__Device *device(struct flows *f, uint32_t try_rules)
{
	request_msg request = SINTER__CONTROL__V1__REQUEST__INIT;
	Sinter__Flows__V1__GetDevices get = SINTER__FLOWS__V1__GET_DEVICES__INIT;

	get.try_rules = try_rules;
	request.body_case = SINTER__CONTROL__V1__REQUEST__BODY_GET_DEVICES;
	request.get_devices = &get;
	return ask_well(f, &request)->devices->devices[0];
}

/* ---- the world ---- */

int open_without_program(void **state)
{
	static const char *const interfaces[2] = {"inside", "outside"};
	static uint8_t macs[2][6] = {{0x02, 0x73, 0x6e, 0, 0, 0}, {0x02, 0x73, 0x6e, 0, 0, 1}};
	struct flows *f = calloc(1, sizeof(*f));
	struct sn_engine_config config = {.ports = {.n = 2},
					  .n_workers = WORKERS,
					  .partitioning = {.by = SN_PARTITION_BY_ADDRESS, .shift = 0}};
	static unsigned int opened; /* names of pools and ports are not used twice */
	char name[32];
	struct sn_error err;

	*state = f;
	stand_in_reset(WORKERS);
	snprintf(name, sizeof(name), "flows%u", opened++);
	f->pool = rte_pktmbuf_pool_create(name, BUFFERS, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(f->pool);
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%u", interfaces[i], opened);
		ring_port_open(&f->rings[i], &f->ports[i], interfaces[i], name, RING, f->pool);
		assert_true(f->ports[i].id < STAND_IN_PORTS);
	}
	sn_arena_init(&f->arena);
	f->program = sn_sample_napt(&f->arena);
	sn_sample_hosts(&f->arena, f->program, HOSTS);
	for (unsigned int i = 0; i < 2; i++) {
		f->program->interfaces[i]->mac.data = macs[i];
		f->program->interfaces[i]->mac.len = sizeof(macs[i]);
	}
	config.ports.all = f->ports;
	config.pool = f->pool;
	f->engine = sn_engine_create(&config, &err);
	if (f->engine == NULL)
		fail_msg("%s", err.text);
	sn_requests_init(&f->requests, f->engine, NULL, NULL);
	f->now = now_of(f->engine);
	return 0;
}

int open_flows(void **state)
{
	open_without_program(state);
	load_program(*state, GENERATION);
	return 0;
}

int close_flows(void **state)
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
	for (unsigned int i = 0; i < 2; i++)
		ring_port_free(&f->rings[i]);
	if (f->response != NULL)
		sinter__control__v1__response__free_unpacked(f->response, NULL);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

/* Frames that left by a port; the last of them is looked at. */
static uint32_t collect(struct flows *f, unsigned int port)
{
	struct rte_mbuf *m;
	uint32_t n = 0;

	while (rte_ring_dequeue(f->rings[port].tx, (void **)&m) == 0) {
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

uint32_t come(struct flows *f, unsigned int port, const struct packet *p)
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
		sn_worker_tick(worker_of(f->engine, w), f->now);
	sn_worker_burst(worker_of(f->engine, queue), (uint16_t)port, &m, 1, f->now);
	for (unsigned int w = 0; w < WORKERS; w++)
		sn_mailbox_poll(mailbox_of(f->engine, w));
	(void)collect(f, port);
	return collect(f, 1 - port);
}

struct packet from_host(uint32_t host, uint16_t dport)
{
	struct packet p = outward(SN_UDP, 5000);

	p.src = SN_SAMPLE_HOST + host;
	p.dport = dport;
	return p;
}

uint64_t handed(const struct flows *f)
{
	uint64_t sum = 0;

	for (unsigned int w = 0; w < WORKERS; w++)
		sum += sn_worker_stats(worker_of(f->engine, w))->handed;
	return sum;
}

void drop_port_9(struct flows *f)
{
	rule_msg *r = step_create(f, 1, 0, DROP, 0);

	add_cond(f, r, SN_PROTO, SN_UDP, 0xff);
	add_cond(f, r, SN_DPORT, 9, 0xffff);
	r->count = true;
	update_well(f, "inside");
}
