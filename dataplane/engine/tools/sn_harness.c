/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_harness.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "sn_eal.h"
#include "sn_parse.h"
#include "sn_report.h"
#include "sn_rss.h"
#include "sn_shards.h"
#include "sn_threads.h"

#define SN_HARNESS_BURST   32
#define SN_HARNESS_BUFFERS 4095
#define SN_HARNESS_TURN	   3 /* packets that a worker receives before it is the next one's turn */

int sn_harness_eal(const char *name, struct sn_error *err)
{
	static const char words[] = "--no-huge --no-shconf --no-pci --no-telemetry -m 512 --lcores 0@0 "
				    "--log-level=*:warning";
	struct sn_eal eal = {0};
	int rc = sn_eal_add(&eal, name, err);

	if (rc == 0)
		rc = sn_eal_add_words(&eal, words, err);
	if (rc == 0)
		rc = sn_eal_init(&eal, err);
	sn_eal_free(&eal);
	return rc;
}

#if defined(__SANITIZE_ADDRESS__)
#define SN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SN_ASAN 1
#endif
#endif

/*
 * Packet buffers are larger than packets, so AddressSanitizer would not see a read
 * behind a packet's end: the harness tells it where that is.
 */
#ifdef SN_ASAN
#include <sanitizer/asan_interface.h>

static void guard_tail(struct rte_mbuf *pkt)
{
	__asan_poison_memory_region(rte_pktmbuf_mtod_offset(pkt, uint8_t *, pkt->data_len),
				    rte_pktmbuf_tailroom(pkt));
}

static void release_tail(const struct rte_mbuf *pkt)
{
	__asan_unpoison_memory_region(pkt->buf_addr, pkt->buf_len);
}
#else
static void guard_tail(struct rte_mbuf *pkt)
{
	(void)pkt;
}

static void release_tail(const struct rte_mbuf *pkt)
{
	(void)pkt;
}
#endif

/* Room for `more` items behind n; the array doubles. */
static void *grow(void *items, size_t n, size_t more, size_t *cap, size_t size)
{
	size_t wanted = *cap > 0 ? *cap : 4096;
	void *grown;

	if (n + more <= *cap)
		return items;
	while (wanted < n + more)
		wanted *= 2;
	grown = realloc(items, wanted * size);
	if (grown != NULL)
		*cap = wanted;
	return grown;
}

static void keep_out(struct sn_harness *harness, uint16_t iface, const struct rte_mbuf *pkt)
{
	uint32_t len = rte_pktmbuf_pkt_len(pkt);
	uint8_t *bytes = grow(harness->bytes, harness->n_bytes, len, &harness->bytes_cap, 1);
	struct sn_harness_out *out;
	const void *data;

	if (bytes != NULL)
		harness->bytes = bytes;
	out = grow(harness->out, harness->n_out, 1, &harness->out_cap, sizeof(*out));
	if (out != NULL)
		harness->out = out;
	if (bytes == NULL || out == NULL) {
		harness->no_memory = true;
		return;
	}
	data = rte_pktmbuf_read(pkt, 0, len, bytes + harness->n_bytes);
	if (data != bytes + harness->n_bytes)
		memcpy(bytes + harness->n_bytes, data, len);
	out[harness->n_out++] = (struct sn_harness_out){
		.interface = iface,
		.source = sn_source(pkt),
		.offset = (uint32_t)harness->n_bytes,
		.len = len,
	};
	harness->n_bytes += len;
}

static uint16_t harness_tx(void *context, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		keep_out(context, iface, pkts[i]);
		release_tail(pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	return n;
}

static void harness_drop(void *context, const struct rte_mbuf *pkt, uint32_t source, uint32_t reason)
{
	struct sn_harness *harness = context;
	struct sn_harness_drop *drops =
		grow(harness->drops, harness->n_drops, 1, &harness->drops_cap, sizeof(*drops));

	if (pkt != NULL)
		release_tail(pkt);
	if (drops == NULL) {
		harness->no_memory = true;
		return;
	}
	harness->drops = drops;
	drops[harness->n_drops++] = (struct sn_harness_drop){.source = source, .reason = reason};
}

static void harness_tell(void *context, uint32_t source, const struct sn_events *events)
{
	struct sn_harness *harness = context;
	struct sn_harness_event *list =
		grow(harness->events, harness->n_events, events->n, &harness->events_cap, sizeof(*list));

	if (list == NULL) {
		harness->no_memory = true;
		return;
	}
	harness->events = list;
	for (uint32_t i = 0; i < events->n; i++)
		list[harness->n_events++] = (struct sn_harness_event){source, events->of[i]};
}

static void harness_map(void *context, const uint8_t *workers)
{
	struct sn_harness *harness = context;

	memcpy(harness->map, workers, sizeof(harness->map));
}

int sn_harness_open(struct sn_harness *harness, const struct sn_harness_config *of, struct sn_error *err)
{
	bool hashes = of->partitioning.by == SN_PARTITION_BY_RSS && of->n_workers > 1;
	struct sn_engine_config config = {
		.n_workers = of->n_workers,
		.partitioning = of->partitioning,
		.cache_entries = of->cache_entries,
		.harness = true,
		.tx = harness_tx,
		.drop = harness_drop,
		.tell = harness_tell,
		.map = hashes ? harness_map : NULL,
		.harness_context = harness,
	};

	memset(harness, 0, sizeof(*harness));
	harness->hashes = hashes;
	/* Before the pool is made: every buffer must have the field. */
	if (sn_source_register() != 0)
		return sn_fail(err, "packet buffers have no room to note their source");
	harness->pool = rte_pktmbuf_pool_create("harness", SN_HARNESS_BUFFERS, 256, 0,
						SN_HARNESS_PACKET_MAX + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	if (harness->pool == NULL)
		return sn_fail(err, "no memory for %d packet buffers", SN_HARNESS_BUFFERS);
	config.pool = harness->pool;
	harness->engine = sn_engine_create(&config, err);
	return harness->engine != NULL ? 0 : -1;
}

void sn_harness_close(struct sn_harness *harness)
{
	sn_engine_free(harness->engine);
	rte_mempool_free(harness->pool);
	free(harness->out);
	free(harness->drops);
	free(harness->events);
	free(harness->bytes);
	memset(harness, 0, sizeof(*harness));
}

static int check_packets(const struct sn_harness *harness, Sinter__Control__V1__InjectedPacket **packets,
			 size_t n, struct sn_error *err)
{
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(harness->engine));

	if (plan == NULL)
		return sn_fail(err, "inject: no program is loaded");
	for (size_t i = 0; i < n; i++) {
		if (packets[i]->interface >= plan->program->n_interfaces)
			return sn_fail(err, "inject: packet %zu: interface %u, the program has %u", i,
				       packets[i]->interface, plan->program->n_interfaces);
		if (packets[i]->data.len > SN_HARNESS_PACKET_MAX)
			return sn_fail(err, "inject: packet %zu: %zu bytes, at most %d", i,
				       packets[i]->data.len, SN_HARNESS_PACKET_MAX);
	}
	return 0;
}

static struct rte_mbuf *make_packet(struct sn_harness *harness, const ProtobufCBinaryData *data,
				    uint32_t source)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(harness->pool);

	if (pkt == NULL)
		return NULL;
	if (data->len > 0)
		memcpy(rte_pktmbuf_append(pkt, (uint16_t)data->len), data->data, data->len);
	sn_source_set(pkt, source);
	guard_tail(pkt);
	return pkt;
}

/*
 * The hash bucket of a frame, as common devices find it: IPv4 behind at most one tag; TCP and UDP by
 * addresses and ports, the rest, and fragments, by addresses; what is no IPv4 falls into the first.
 */
static uint32_t bucket_of(const uint8_t *frame, size_t len)
{
	size_t l3 = len >= 18 && sn_load16(frame + 12) == RTE_ETHER_TYPE_VLAN ? 18 : 14, l4;
	const uint8_t *ip = frame + l3;
	bool ports;

	if (len < l3 + 20 || sn_load16(ip - 2) != RTE_ETHER_TYPE_IPV4 || ip[0] >> 4 != 4)
		return 0;
	l4 = l3 + (ip[0] & 15u) * 4;
	ports = (ip[9] == SN_TCP || ip[9] == SN_UDP) && (sn_load16(ip + 6) & 0x3fff) == 0 && len >= l4 + 4;
	return sn_rss_bucket(sn_rss_words(sn_load32(ip + 12), sn_load32(ip + 16),
					  ports ? sn_load16(frame + l4) : 0,
					  ports ? sn_load16(frame + l4 + 2) : 0));
}

/* The worker that receives a packet of a round: by its hash, or by turns, three packets each. */
static unsigned int receiver(const struct sn_harness *harness, const ProtobufCBinaryData *data, size_t i)
{
	if (harness->hashes)
		return harness->map[bucket_of(data->data, data->len)];
	return (unsigned int)(i / SN_HARNESS_TURN % sn_threads_count(sn_engine_threads(harness->engine)));
}

static void run_burst(struct sn_harness *harness, unsigned int receiver, uint16_t iface,
		      struct rte_mbuf **burst, uint16_t n)
{
	struct sn_threads *threads = sn_engine_threads(harness->engine);

	sn_worker_burst(sn_threads_worker(threads, receiver), iface, burst, n, sn_threads_now(threads));
	sn_shards_drain(sn_engine_shards(harness->engine));
}

int sn_harness_round(struct sn_harness *harness, uint64_t now_ns,
		     Sinter__Control__V1__InjectedPacket **packets, size_t n, struct sn_error *err)
{
	struct sn_threads *threads = sn_engine_threads(harness->engine);
	struct rte_mbuf *burst[SN_HARNESS_BURST];

	harness->n_out = harness->n_drops = harness->n_events = harness->n_bytes = 0;
	harness->no_memory = false;
	if (check_packets(harness, packets, n, err) != 0)
		return -1;
	if (now_ns < sn_threads_now(threads))
		return sn_fail(err, "inject: the clock goes back from %lu to %lu ns",
			       (unsigned long)sn_threads_now(threads), (unsigned long)now_ns);
	sn_threads_set_now(threads, now_ns);
	sn_shards_level(sn_engine_shards(harness->engine));
	for (unsigned int i = 0; i < sn_threads_count(threads); i++)
		sn_worker_tick(sn_threads_worker(threads, i), now_ns);
	for (size_t first = 0, i = 0; i < n; first = i) {
		unsigned int to = receiver(harness, &packets[first]->data, first);
		uint16_t filled = 0;

		for (; i < n && filled < SN_HARNESS_BURST &&
		       packets[i]->interface == packets[first]->interface &&
		       receiver(harness, &packets[i]->data, i) == to;
		     i++) {
			burst[filled] = make_packet(harness, &packets[i]->data, (uint32_t)i);
			if (burst[filled] == NULL) {
				rte_pktmbuf_free_bulk(burst, filled);
				return sn_fail(err, "inject: packet %zu: no free buffer", i);
			}
			filled++;
		}
		run_burst(harness, to, (uint16_t)packets[first]->interface, burst, filled);
	}
	if (harness->no_memory)
		return sn_fail(err, "inject: no memory for what came out");
	return 0;
}

static int report_events(const struct sn_harness *harness, struct sn_arena *arena,
			 Sinter__Control__V1__Injected *injected)
{
	size_t n = harness->n_events;
	Sinter__Control__V1__StateEvent *list = sn_arena_alloc(arena, (n + 1) * sizeof(*list));
	Sinter__Program__V1__Session *sessions = sn_arena_alloc(arena, (n + 1) * sizeof(*sessions));

	injected->events = sn_arena_alloc(arena, (n + 1) * sizeof(*injected->events));
	if (list == NULL || sessions == NULL || injected->events == NULL)
		return -1;
	for (size_t i = 0; i < n; i++) {
		sinter__control__v1__state_event__init(&list[i]);
		list[i].source = harness->events[i].source;
		list[i].table = harness->events[i].event.table;
		list[i].made = harness->events[i].event.made;
		list[i].session = &sessions[i];
		if (sn_report_session(&harness->events[i].event.entry, arena, &sessions[i]) != 0)
			return -1;
		injected->events[i] = &list[i];
	}
	injected->n_events = n;
	return 0;
}

int sn_harness_inject(void *context, const Sinter__Control__V1__Inject *inject, struct sn_arena *arena,
		      Sinter__Control__V1__Injected *injected, struct sn_error *err)
{
	struct sn_harness *harness = context;
	const struct sn_plan *plan = sn_threads_plan(sn_engine_threads(harness->engine));
	Sinter__Control__V1__OutPacket *outs;
	Sinter__Control__V1__DropOf *drops;

	if (sn_harness_round(harness, inject->now_ns, inject->packets, inject->n_packets, err) != 0)
		return -1;
	outs = sn_arena_alloc(arena, (harness->n_out + 1) * sizeof(*outs));
	injected->out = sn_arena_alloc(arena, (harness->n_out + 1) * sizeof(*injected->out));
	drops = sn_arena_alloc(arena, (harness->n_drops + 1) * sizeof(*drops));
	injected->drops = sn_arena_alloc(arena, (harness->n_drops + 1) * sizeof(*injected->drops));
	if (outs == NULL || injected->out == NULL || drops == NULL || injected->drops == NULL)
		return sn_fail(err, "inject: no memory for the answer");
	for (size_t i = 0; i < harness->n_out; i++) {
		sinter__control__v1__out_packet__init(&outs[i]);
		outs[i].interface = harness->out[i].interface;
		outs[i].source = harness->out[i].source;
		outs[i].data.data = harness->bytes + harness->out[i].offset;
		outs[i].data.len = harness->out[i].len;
		injected->out[i] = &outs[i];
	}
	for (size_t i = 0; i < harness->n_drops; i++) {
		const char *name = sn_program_reason(plan->program, harness->drops[i].reason);

		sinter__control__v1__drop_of__init(&drops[i]);
		drops[i].source = harness->drops[i].source;
		drops[i].reason = (char *)(name != NULL ? name : "");
		injected->drops[i] = &drops[i];
	}
	injected->n_out = harness->n_out;
	injected->n_drops = harness->n_drops;
	if (report_events(harness, arena, injected) != 0)
		return sn_fail(err, "inject: no memory for the answer");
	return 0;
}
