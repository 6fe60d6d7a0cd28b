/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <rte_eal.h>
#include <rte_mempool.h>

#include "sn_parse.h"
#include "sn_rewrite.h"
#include "sn_watch.h"
#include "sn_wires.h"

static struct rte_mempool *pool;

uint32_t dice(uint32_t sides)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % sides;
}

int start_eal(void **state)
{
	char *args[] = {(char *)"test",
			(char *)"--no-huge",
			(char *)"--no-shconf",
			(char *)"--no-pci",
			(char *)"--no-telemetry",
			(char *)"-m",
			(char *)"256",
			(char *)"--lcores",
			(char *)"0@0",
			(char *)"--log-level=*:error"};

	(void)state;
	if (rte_eal_init(10, args) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("test", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE + 8192, SOCKET_ID_ANY);
	return pool ? 0 : -1;
}

int stop_eal(void **state)
{
	(void)state;
	return rte_eal_cleanup();
}

static uint16_t tx(void *ctx, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct fixture *f = ctx;

	if (n > f->tx_limit)
		n = f->tx_limit;
	for (uint16_t i = 0; i < n; i++) {
		struct sent *s = &f->out[f->n_out++];

		assert_true(f->n_out < EVENTS_MAX);
		s->iface = iface;
		s->source = sn_source(pkts[i]);
		s->len = pkts[i]->pkt_len;
		assert_true(s->len <= FRAME_MAX);
		memcpy(s->data, rte_pktmbuf_mtod(pkts[i], uint8_t *), s->len);
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

static void drop(void *ctx, const struct rte_mbuf *m, uint32_t source, uint32_t reason)
{
	struct fixture *f = ctx;

	(void)m;
	assert_true(f->n_drops < EVENTS_MAX);
	f->drops[f->n_drops++] = (struct dropped){source, reason};
}

int open_fixture(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sn_worker_config config = {
		.pool = pool, .tx = tx, .drop = drop, .cache_entries = 1024, .neighbors = 64, .waiting = 256};

	f->state = sn_state_create(1, 1, (struct sn_partitioning){0});
	f->tx_limit = UINT16_MAX;
	f->now = 1000 * SECOND;
	f->wires = sn_wires_create();
	f->watches = sn_watches_create();
	assert_non_null(f->wires);
	assert_non_null(f->watches);
	config.state = f->state;
	config.wires = f->wires;
	config.watches = f->watches;
	config.tx_ctx = config.drop_ctx = f;
	f->worker = sn_worker_create(&config, &f->err);
	assert_non_null(f->worker);
	for (uint8_t i = 0; i < 4; i++) {
		const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0, 0, i};

		sn_worker_set_mac(f->worker, i, mac);
	}
	sn_arena_init(&f->arena);
	f->msg = sn_sample_napt(&f->arena);
	*state = f;
	return 0;
}

int close_fixture(void **state)
{
	struct fixture *f = *state;

	sn_counts_free(sn_worker_set_program(f->worker, NULL, NULL));
	sn_worker_free(f->worker);
	sn_wires_free(f->wires);
	sn_watches_free(f->watches);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	sn_program_free(f->program);
	sn_state_free(f->state);
	sn_arena_free(&f->arena);
	free(f);
	return 0;
}

static struct sn_program *program(struct fixture *f)
{
	struct sn_program *next = sn_program_create(f->msg, f->program, &f->err);

	if (!next)
		fail_msg("%s", f->err.text);
	return next;
}

static void run(struct fixture *f, struct sn_program *next, struct sn_counts *counts)
{
	sn_counts_free(sn_worker_set_program(f->worker, next, counts));
	sn_program_free(f->program);
	f->program = next;
}

void load(struct fixture *f)
{
	struct sn_program *next = program(f);

	assert_int_equal(sn_state_apply(f->state, next, &f->kept, &f->lost), 0);
	run(f, next, sn_counts_create(next));
}

void load_warmed_up(struct fixture *f)
{
	struct sn_program *next = program(f);
	struct sn_counts *counts = sn_counts_create(next);

	while (!sn_worker_warm_up(f->worker, next, counts, f->now))
		;
	run(f, next, counts);
}

static uint32_t sum(const uint8_t *p, uint32_t len)
{
	return (uint16_t)~sn_sum_afresh(p, len);
}

static uint16_t l4_sum(const uint8_t *ip, uint32_t len)
{
	const uint8_t *l4 = ip + (ip[0] & 15) * 4;

	if (ip[9] == SN_ICMP)
		return sum(l4, len);
	return sn_fold(sum(ip + 12, 8) + ip[9] + len + sum(l4, len));
}

uint32_t write_frame(const struct packet *p, uint8_t *f)
{
	static const uint32_t header[] = {[SN_ICMP] = 8, [SN_TCP] = 20, [SN_UDP] = 8};
	uint32_t l3 = p->tag ? 18 : 14, ihl = 20 + p->options * 4u,
		 h = p->proto <= SN_UDP ? header[p->proto] : 0;
	uint32_t l4_len = h + p->payload_len;
	uint8_t *ip = f + l3, *l4 = ip + ihl;
	uint16_t check;

	memset(f, 0, l3 + ihl + l4_len);
	memcpy(f, (const uint8_t[]){0x02, 0x73, 0x6e, 0, 0, p->iface, 2}, 7);
	if (p->tag) {
		sn_store16(f + 12, 0x8100);
		sn_store16(f + 14, p->tag);
	}
	sn_store16(f + l3 - 2, 0x0800);
	ip[0] = 0x40 | ihl / 4;
	ip[1] = p->dscp << 2;
	sn_store16(ip + 2, ihl + l4_len);
	sn_store16(ip + 6, p->frag);
	ip[8] = p->ttl ? p->ttl : 64;
	ip[9] = p->proto;
	sn_store32(ip + 12, p->src);
	sn_store32(ip + 16, p->dst);
	memset(ip + 20, 1, p->options * 4u); /* no operation */
	sn_store16(ip + 10, sn_sum_afresh(ip, ihl));
	if (p->payload)
		memcpy(l4 + h, p->payload, p->payload_len);
	switch (p->proto) {
	case SN_TCP:
		sn_store32(l4 + 4, p->seq);
		l4[12] = 0x50;
		l4[13] = p->flags;
		break;
	case SN_UDP:
		sn_store16(l4 + 4, l4_len);
		break;
	case SN_ICMP:
		l4[0] = p->type;
		l4[1] = p->code;
		sn_store16(l4 + 4, p->sport);
		sn_store16(l4 + 2, ~l4_sum(ip, l4_len));
		return l3 + ihl + l4_len;
	default:
		return l3 + ihl + l4_len;
	}
	sn_store16(l4, p->sport);
	sn_store16(l4 + 2, p->dport);
	check = ~l4_sum(ip, l4_len);
	if (p->proto == SN_UDP && check == 0)
		check = 0xffff; /* 0 is none */
	sn_store16(l4 + (p->proto == SN_TCP ? 16 : 6), check);
	return l3 + ihl + l4_len;
}

uint8_t *ip_of(const uint8_t *f)
{
	return (uint8_t *)(uintptr_t)f + (sn_load16(f + 12) == 0x8100 ? 18 : 14);
}

uint8_t *l4_of(const uint8_t *f)
{
	uint8_t *ip = ip_of(f);

	return ip + (ip[0] & 15) * 4;
}

uint32_t src_of(const uint8_t *f)
{
	return sn_load32(ip_of(f) + 12);
}

uint32_t dst_of(const uint8_t *f)
{
	return sn_load32(ip_of(f) + 16);
}

uint16_t sport_of(const uint8_t *f)
{
	return sn_load16(l4_of(f) + (ip_of(f)[9] == SN_ICMP ? 4 : 0));
}

uint16_t dport_of(const uint8_t *f)
{
	return sn_load16(l4_of(f) + (ip_of(f)[9] == SN_ICMP ? 4 : 2));
}

void assert_checksums(const uint8_t *f, uint32_t len)
{
	const uint8_t *ip = ip_of(f);
	uint32_t ihl = (ip[0] & 15) * 4, total = sn_load16(ip + 2);

	assert_true(f + len >= ip + total);
	assert_int_equal(sum(ip, ihl), 0xffff);
	if (!(sn_load16(ip + 6) & 0x3fff) && (ip[9] == SN_TCP || ip[9] == SN_UDP || ip[9] == SN_ICMP))
		assert_int_equal(l4_sum(ip, total - ihl), 0xffff);
}

static struct rte_mbuf *buffer(struct fixture *f, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	sn_source_set(m, f->n_in++);
	return m;
}

void forget(struct fixture *f)
{
	f->n_in = f->n_out = f->n_drops = 0;
}

void send_frame(struct fixture *f, uint16_t iface, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m;

	forget(f);
	m = buffer(f, frame, len);
	sn_worker_burst(f->worker, iface, &m, 1, f->now);
}

void send_burst(struct fixture *f, const struct packet *p, uint32_t n)
{
	struct rte_mbuf *m[EVENTS_MAX];
	uint8_t frame[FRAME_MAX];

	forget(f);
	for (uint32_t i = 0; i < n; i++)
		m[i] = buffer(f, frame, write_frame(&p[i], frame));
	sn_worker_burst(f->worker, p->iface, m, n, f->now);
}

void send_packet(struct fixture *f, const struct packet *p)
{
	send_burst(f, p, 1);
}

void send_back(struct fixture *f, uint16_t iface)
{
	uint32_t n = f->n_out;
	struct rte_mbuf *m[EVENTS_MAX];

	forget(f);
	for (uint32_t i = 0; i < n; i++)
		m[i] = buffer(f, f->out[i].data, f->out[i].len);
	sn_worker_burst(f->worker, iface, m, (uint16_t)n, f->now);
}

void tick(struct fixture *f, uint64_t by)
{
	forget(f);
	f->now += by;
	sn_worker_tick(f->worker, f->now);
}

const uint8_t *assert_sent(struct fixture *f, uint16_t iface)
{
	if (f->n_drops)
		fail_msg("dropped as %s", sn_program_reason(f->program, f->drops[0].reason));
	assert_int_equal(f->n_out, 1);
	assert_int_equal(f->out[0].iface, iface);
	assert_int_equal(f->out[0].source, 0);
	assert_checksums(f->out[0].data, f->out[0].len);
	return f->out[0].data;
}

void assert_dropped(struct fixture *f, uint32_t reason)
{
	assert_int_equal(f->n_out, 0);
	assert_int_equal(f->n_drops, 1);
	assert_string_equal(sn_program_reason(f->program, f->drops[0].reason),
			    sn_program_reason(f->program, reason));
	assert_int_equal(f->drops[0].source, 0);
}

struct packet outward(uint8_t proto, uint16_t port)
{
	return (struct packet){
		.iface = 0,
		.proto = proto,
		.src = SN_SAMPLE_HOST,
		.dst = SN_SAMPLE_REMOTE,
		.sport = port,
		.dport = proto == SN_ICMP ? 0 : 80,
		.type = SN_ICMP_ECHO_REQUEST,
		.flags = 0x10,
		.payload_len = 11,
	};
}

struct packet inward(uint8_t proto, uint16_t port)
{
	return (struct packet){
		.iface = 1,
		.proto = proto,
		.src = SN_SAMPLE_REMOTE,
		.dst = SN_SAMPLE_POOL,
		.sport = proto == SN_ICMP ? port : 80,
		.dport = port,
		.type = SN_ICMP_ECHO_REPLY,
		.flags = 0x10,
		.payload_len = 11,
	};
}

uint64_t sessions(const struct fixture *f)
{
	struct sn_state_stats stats;

	sn_state_stats(f->state, 0, &stats);
	return stats.sessions;
}

void add_leg(struct fixture *f, uint32_t segment, uint32_t class)
{
	Sinter__Program__V1__Class *c = f->msg->segments[segment]->classes[class];
	Sinter__Program__V1__Leg **legs = sn_arena_alloc(&f->arena, (c->n_legs + 1) * sizeof(*legs));

	memcpy(legs, c->legs, c->n_legs * sizeof(*legs));
	legs[c->n_legs] = sn_arena_alloc(&f->arena, sizeof(**legs));
	*legs[c->n_legs] = *legs[0];
	c->legs = legs;
	c->n_legs++;
}
