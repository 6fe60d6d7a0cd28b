/* SPDX-License-Identifier: Apache-2.0 */
/* New flows of a NAPT: what their way of their own does is what the slow path would. */

#include "fixture.h"

#include "sn_napt.h"
#include "sn_parse.h"

#define FLOWS  150u
#define BURSTS 300u
#define BURST  24u
#define PORTS  64u

static const uint8_t payload[1500];

/* A packet of one of a few flows, and what may happen to it. */
static struct packet any_packet(void)
{
	static const uint8_t flags[] = {SN_TCP_SYN, SN_TCP_ACK, SN_TCP_ACK, SN_TCP_FIN | SN_TCP_ACK,
					SN_TCP_RST};
	struct packet p = outward(dice(2) ? SN_TCP : SN_UDP, (uint16_t)(5000 + dice(FLOWS)));
	uint32_t fate = dice(40);

	p.flags = p.proto == SN_TCP ? flags[dice(RTE_DIM(flags))] : 0;
	p.payload = payload;
	p.payload_len = 12;
	if (fate == 0)
		p.ttl = 1;
	else if (fate == 1)
		p.dst = SN_SAMPLE_OUTSIDE + 70; /* a neighbour that nobody knows */
	else if (fate == 2)
		p.payload_len = 1480; /* too big */
	else if (fate == 3)
		p.dport = 9; /* dropped by the chain */
	p.frag = dice(2) ? 0x4000 : 0;
	return p;
}

/* A packet to some port of the pool: it may answer, acknowledge or end a connection. */
static struct packet any_reply(void)
{
	static const uint8_t flags[] = {SN_TCP_SYN | SN_TCP_ACK, SN_TCP_ACK, SN_TCP_FIN | SN_TCP_ACK};
	struct packet p = inward(dice(4) ? SN_TCP : SN_UDP, (uint16_t)(2000 + dice(PORTS)));

	p.flags = p.proto == SN_TCP ? flags[dice(RTE_DIM(flags))] : 0;
	p.payload = payload;
	p.payload_len = 12;
	return p;
}

/* Packets of all bursts, the time before each, and what came of them. */
struct script {
	struct packet packets[BURSTS][BURST];
	uint64_t pauses[BURSTS];
};

struct event {
	uint32_t source, reason; /* of a drop */
	uint32_t src, dst;	 /* of a packet that was sent */
	uint16_t sport, dport;
	uint8_t iface, ttl, proto;
};

struct story {
	uint32_t n;
	struct event events[4 * BURSTS * BURST];
	struct sn_count classes[16], counters[1];
	struct sn_state_stats stats;
};

static void note(struct story *s, const struct fixture *f)
{
	for (uint32_t i = 0; i < f->n_out; i++) {
		const struct sent *o = &f->out[i];
		struct event e = {.iface = (uint8_t)o->iface, .source = o->source};

		if (sn_load16(o->data + 12) == 0x0800) {
			e.ttl = ip_of(o->data)[8];
			e.proto = ip_of(o->data)[9];
			e.src = src_of(o->data);
			e.dst = dst_of(o->data);
			if (e.proto != SN_ICMP) {
				assert_checksums(o->data, o->len);
				e.sport = sport_of(o->data);
				e.dport = dport_of(o->data);
			}
		}
		s->events[s->n++] = e;
	}
	for (uint32_t i = 0; i < f->n_drops; i++)
		s->events[s->n++] =
			(struct event){.source = f->drops[i].source, .reason = f->drops[i].reason + 1};
}

/* options: words of IP options; with some no packet is plain, so all take the slow path. */
static void play(const struct script *script, uint8_t options, struct story *story)
{
	static uint32_t zero;
	struct packet burst[BURST];
	struct fixture *f;
	void *state;
	char *name = (char *)"passed";
	Sinter__Program__V1__Leg *leg;

	open_fixture(&state);
	f = state;
	leg = f->msg->segments[0]->classes[0]->legs[0];
	f->msg->n_counters = 1;
	f->msg->counters = &name;
	leg->n_counters = 1;
	leg->counters = &zero;
	f->msg->tables[0]->port_min = 2000;
	f->msg->tables[0]->port_max = 2000 + PORTS - 1;
	load(f);
	memset(story, 0, sizeof(*story));
	for (uint32_t b = 0; b < BURSTS; b++) {
		memcpy(burst, script->packets[b], sizeof(burst));
		for (uint32_t i = 0; i < BURST; i++)
			burst[i].options = options;
		tick(f, script->pauses[b]);
		note(story, f);
		send_burst(f, burst, BURST);
		note(story, f);
	}
	sn_counts_add(sn_worker_counts(f->worker), story->classes, story->counters, NULL);
	sn_state_stats(f->state, 0, &story->stats);
	close_fixture(&state);
}

/* A kind of which workers are told nothing: what new flows need, operations do. */
static void play_untold(const struct script *script, struct story *story)
{
	struct sn_state_kind untold = sn_napt;
	uint8_t row = sn_state_kind_row(&sn_napt);

	untold.shard_of = untold.return_shard = NULL;
	untold.prefetch = NULL;
	untold.open = NULL;
	sn_state_kinds[row] = &untold;
	play(script, 0, story);
	sn_state_kinds[row] = &sn_napt;
}

static void new_flows_fare_as_on_the_slow_path(void **state)
{
	static struct script script;
	static struct story plain, slow, untold;

	(void)state;
	for (uint32_t b = 0; b < BURSTS; b++) {
		/* Mostly within what an opening has to be answered in. */
		script.pauses[b] = dice(8) ? dice(50) * MS : dice(300) * SECOND;
		for (uint32_t i = 0; i < BURST; i++)
			script.packets[b][i] = b % 3 == 2 ? any_reply() : any_packet();
	}
	play(&script, 0, &plain);
	play(&script, 1, &slow);
	play_untold(&script, &untold);
	assert_memory_equal(&plain, &untold, sizeof(plain));
	assert_int_equal(plain.n, slow.n);
	for (uint32_t i = 0; i < plain.n; i++)
		assert_memory_equal(&plain.events[i], &slow.events[i], sizeof(plain.events[i]));
	for (uint32_t c = 0; c < RTE_DIM(plain.classes); c++)
		assert_int_equal(plain.classes[c].packets, slow.classes[c].packets);
	assert_int_equal(plain.classes[0].bytes + 4 * plain.classes[0].packets, slow.classes[0].bytes);
	assert_int_equal(plain.counters[0].packets, slow.counters[0].packets);
	assert_int_equal(plain.counters[0].bytes + 4 * plain.counters[0].packets, slow.counters[0].bytes);
	assert_memory_equal(&plain.stats, &slow.stats, sizeof(plain.stats));
	/* All of it was there. */
	assert_true(plain.stats.created > 400);
	assert_true(plain.stats.exhausted > 20);
	assert_true(plain.stats.evicted > 20);
	assert_true(plain.stats.expired > 20);
}

/* Within a burst the second packet of a flow finds the session that the first has just made. */
static void a_flow_of_several_packets_in_one_burst_has_one_session(void **state)
{
	struct fixture *f = *state;
	struct packet burst[4];

	load(f);
	for (uint32_t i = 0; i < 4; i++) {
		burst[i] = outward(SN_UDP, (uint16_t)(5000 + i % 2));
		burst[i].payload = payload;
		burst[i].payload_len = 12;
	}
	send_burst(f, burst, 4);
	assert_int_equal(f->n_out, 4);
	assert_int_equal(sport_of(f->out[0].data), sport_of(f->out[2].data));
	assert_int_equal(sport_of(f->out[1].data), sport_of(f->out[3].data));
	assert_int_not_equal(sport_of(f->out[0].data), sport_of(f->out[1].data));
	assert_int_equal(sessions(f), 2);
	send_burst(f, burst, 4); /* kept by the second packets */
	assert_int_equal(sn_worker_stats(f->worker)->cache_hits, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_flows_fare_as_on_the_slow_path),
		cmocka_unit_test_setup_teardown(a_flow_of_several_packets_in_one_burst_has_one_session,
						open_fixture, close_fixture),
	};

	return cmocka_run_group_tests_name("new flows", tests, start_eal, stop_eal);
}
