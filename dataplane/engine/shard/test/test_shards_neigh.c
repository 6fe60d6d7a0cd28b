/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours that several workers use. */
#include "shards_world.h"

#include "arp.h"
#include "sn_parse.h"

#define NEIGHBOR (SN_SAMPLE_HOST + 1)

/* A neighbour's ARP comes to a worker. */
static void hear_arp(struct world *w, uint32_t worker, uint16_t op, uint8_t mac, uint32_t target)
{
	const uint8_t from[6] = {0x02, 1, 1, 1, 1, mac};
	uint8_t frame[ARP_FRAME];
	uint32_t len =
		write_arp(frame, op == ARP_REQUEST ? ALL_MAC : INSIDE_MAC, from, 0, op, NEIGHBOR, target);
	struct rte_mbuf *m = buffer(frame, len);

	receive(w, worker, 0, &m, 1);
	settle(w);
}

/* A worker's entry of the neighbour; of state SN_NEIGH_FREE: nothing. */
static struct sn_neigh_info known(const struct world *w, uint32_t worker)
{
	struct sn_neigh_info infos[8];
	size_t n = sn_worker_neighbors(worker_of(w->engine, worker), infos, 8);

	for (size_t i = 0; i < n; i++)
		if (infos[i].address == NEIGHBOR)
			return infos[i];
	return (struct sn_neigh_info){.state = SN_NEIGH_FREE};
}

/* The last byte of the MAC that a worker knows the neighbour by; 0: it does not. */
static uint8_t known_mac(const struct world *w, uint32_t worker)
{
	return known(w, worker).mac[5];
}

/* A worker sends to the neighbour: its packet dies, and it is told so. */
static void use(struct world *w, uint32_t worker)
{
	const struct packet dying = {
		.proto = SN_UDP, .ttl = 1, .src = NEIGHBOR, .dst = SN_SAMPLE_REMOTE, .sport = 1, .dport = 2};
	uint64_t before = w->n_out;
	uint8_t frame[FRAME_MAX];
	uint32_t len = write_frame(&dying, frame);
	struct rte_mbuf *m = buffer(frame, len);

	receive(w, worker, 0, &m, 1);
	settle(w);
	assert_int_equal(w->n_out, before + 1);
}

static void an_arp_reply_reaches_every_worker(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(known_mac(w, i), 1);
		assert_int_equal(stats_of(w, i)->ports[0].rx.packets, i == 1);
		assert_int_equal(stats_of(w, i)->drops[SN_REASON_ARP].packets, i == 1);
		assert_int_equal(stats_of(w, i)->packets, i == 1);
		assert_int_equal(stats_of(w, i)->handed + stats_of(w, i)->taken, 0);
	}
}

static void a_question_for_us_teaches_every_worker_and_one_answers(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REQUEST, 1, SN_SAMPLE_INSIDE);
	assert_int_equal(w->n_out, 1);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 1);
}

/* Each worker asks it three times. */
static void who_had_it_is_silent(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		let_pass(w->engine, SECOND / 10);
		tick_all(w);
	}
}

static void a_neighbours_new_mac_reaches_every_worker_that_uses_it(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
	hear_arp(w, 2, ARP_REQUEST, 2, SN_SAMPLE_INSIDE);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 1);
	who_had_it_is_silent(w);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 2);
	let_pass(w->engine, 2 * SECOND);
	hear_arp(w, 0, ARP_REQUEST, 3, NEIGHBOR + 1); /* it asks for another */
	who_had_it_is_silent(w);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), 3);
	/* The one to which the device gives ARP does not use the neighbour, and has forgotten it. */
	let_pass(w->engine, 50 * SECOND);
	for (uint32_t i = 1; i < WORKERS; i++)
		use(w, i);
	let_pass(w->engine, 50 * SECOND);
	tick_all(w);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), i == 0 ? 0 : 3);
	hear_arp(w, 0, ARP_REQUEST, 4, NEIGHBOR);
	who_had_it_is_silent(w);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known_mac(w, i), i == 0 ? 0 : 4);
}

/* Each worker asks for itself, unless another's answer has told it. */
static void an_answer_to_one_workers_probe_confirms_the_neighbour_for_all(void **state)
{
	struct world *w = *state;

	open_workers(w, WORKERS);
	load_message(w);
	hear_arp(w, 1, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
	let_pass(w->engine, 46 * SECOND); /* reachable no longer */
	for (uint32_t i = 0; i < WORKERS; i++)
		use(w, i);
	tick_all(w);
	let_pass(w->engine, 5 * SECOND);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(known(w, i).state, i < 2 ? SN_NEIGH_DELAY : SN_NEIGH_REACHABLE);
		w->n_out = 0;
		sn_worker_tick(worker_of(w->engine, i), now_of(w->engine));
		if (i == 1) {
			assert_int_equal(w->n_out, 1);
			hear_arp(w, 2, ARP_REPLY, 1, SN_SAMPLE_INSIDE);
		} else {
			assert_int_equal(w->n_out, i == 0 ? 1 : 0);
		}
	}
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(known(w, i).state, SN_NEIGH_REACHABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(an_arp_reply_reaches_every_worker),
		WITH_WORLD(a_question_for_us_teaches_every_worker_and_one_answers),
		WITH_WORLD(a_neighbours_new_mac_reaches_every_worker_that_uses_it),
		WITH_WORLD(an_answer_to_one_workers_probe_confirms_the_neighbour_for_all),
	};

	return cmocka_run_group_tests(tests, start_threadless, stop_eal);
}
