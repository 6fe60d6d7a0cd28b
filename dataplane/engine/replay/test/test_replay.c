/* SPDX-License-Identifier: Apache-2.0 */
/* The replay device: its queues, and, where the driver is built, the device as a DPDK program sees it. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>

#include "sn_replay_report.h"

#define FRAMES	7
#define BURST	32
#define BUFFERS 511

struct world {
	struct rte_mempool *pool;
	struct sn_capture capture;
	struct sn_replay_rx rx;
	struct sn_replay_tx tx;
	char path[64];
};

static struct world world;

/* Frame i is of 60 + i bytes, UDP for an even i and TCP for an odd one. Its last byte is i. */
static size_t build(uint8_t *frame, unsigned int i)
{
	struct rte_ether_hdr *ether = (void *)frame;
	struct rte_ipv4_hdr *ip = (void *)(ether + 1);
	uint8_t *payload = (uint8_t *)(ip + 1);
	bool tcp = i % 2 == 1;
	uint16_t sum;

	memset(frame, 0, 60 + i);
	ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(46 + i)),
		.time_to_live = 64,
		.next_proto_id = tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.src_addr = rte_cpu_to_be_32(0x0a000001 + i),
		.dst_addr = rte_cpu_to_be_32(0x17000001),
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	frame[60 + i - 1] = (uint8_t)i;
	sum = rte_ipv4_udptcp_cksum(ip, payload);
	memcpy(payload + (tcp ? 16 : 6), &sum, sizeof(sum));
	return 60 + i;
}

static void write_head(FILE *file, uint32_t magic, uint32_t linktype)
{
	const uint32_t head[] = {magic, 4u << 16 | 2, 0, 0, 65535, linktype};

	assert_int_equal(fwrite(head, sizeof(head), 1, file), 1);
}

static void write_frame(FILE *file, const uint8_t *frame, size_t len, uint32_t told)
{
	const uint32_t record[] = {0, 0, told, told};

	assert_int_equal(fwrite(record, sizeof(record), 1, file), 1);
	assert_int_equal(fwrite(frame, len, 1, file), 1);
}

static FILE *open_capture(void)
{
	FILE *file = fopen(world.path, "w");

	assert_non_null(file);
	return file;
}

/* As many frames; the header checksum of the one with number wrong_ip is wrong, and the protocol's of
 * wrong_layer4. */
static void write_capture(unsigned int n, unsigned int wrong_ip, unsigned int wrong_layer4)
{
	FILE *file = open_capture();
	uint8_t frame[256];

	write_head(file, 0xa1b2c3d4, 1);
	for (unsigned int i = 0; i < n; i++) {
		size_t len = build(frame, i);

		frame[14 + 10] ^= i == wrong_ip;
		frame[14 + 20] ^= i == wrong_layer4;
		write_frame(file, frame, len, (uint32_t)len);
	}
	assert_int_equal(fclose(file), 0);
}

static int open_queue(const struct sn_replay_config *config)
{
	struct sn_error err;

	write_capture(FRAMES, FRAMES, FRAMES);
	if (sn_capture_read(&world.capture, world.path, &err) != 0)
		fail_msg("%s", err.text);
	memset(&world.rx, 0, sizeof(world.rx));
	memset(&world.tx, 0, sizeof(world.tx));
	world.rx.capture = &world.capture;
	world.rx.pool = world.pool;
	world.rx.port = 3;
	world.rx.arrival = world.tx.arrival = sn_replay_arrival();
	world.tx.paced = config->rate > 0;
	return sn_replay_rx_start(&world.rx, config, 0, &err);
}

static int close_queue(void **state)
{
	(void)state;
	sn_replay_rx_stop(&world.rx);
	sn_capture_free(&world.capture);
	assert_int_equal(rte_mempool_avail_count(world.pool), BUFFERS);
	unlink(world.path);
	return 0;
}

/* The number of the frame that a packet has, whose bytes and fields are as they should be. */
static unsigned int number(const struct rte_mbuf *pkt)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(pkt, const uint8_t *);
	uint8_t frame[256];
	unsigned int i = bytes[pkt->data_len - 1];

	assert_true(i < FRAMES);
	assert_int_equal(pkt->data_len, build(frame, i));
	assert_int_equal(pkt->pkt_len, pkt->data_len);
	assert_int_equal(pkt->port, 3);
	assert_memory_equal(bytes, frame, pkt->data_len);
	return i;
}

static void frames_come_in_turn_and_without_end(void **state)
{
	static const uint32_t depths[] = {0, 1, 50, 64};
	struct rte_mbuf *pkts[BURST];

	(void)state;
	for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		unsigned int expected = 0;

		assert_int_equal(open_queue(&(struct sn_replay_config){.depth = depths[d]}), 0);
		for (unsigned int round = 0; round < 20; round++) {
			uint16_t n = sn_replay_receive(&world.rx, pkts, BURST);

			assert_true(n > 0);
			for (uint16_t i = 0; i < n; i++)
				assert_int_equal(number(pkts[i]), expected++ % FRAMES);
			assert_int_equal(sn_replay_send(&world.tx, pkts, n), n);
		}
		assert_int_equal(world.rx.packets, expected);
		assert_int_equal(world.tx.packets, expected);
		close_queue(NULL);
	}
}

static void a_frame_is_told_with_its_protocols_and_whether_its_checksums_are_right(void **state)
{
	static const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	const uint64_t expected[] = {good, good, RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_GOOD,
				     good, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD};
	struct sn_error err;

	(void)state;
	write_capture(5, 2, 4);
	assert_int_equal(sn_capture_read(&world.capture, world.path, &err), 0);
	assert_int_equal(world.capture.n, 5);
	assert_int_equal(world.capture.slot, 64);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(world.capture.frames[i].ol_flags, expected[i]);
		assert_int_equal(world.capture.frames[i].packet_type,
				 RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 |
					 (i % 2 == 1 ? RTE_PTYPE_L4_TCP : RTE_PTYPE_L4_UDP));
	}
}

static void checksums_are_told_only_to_programs_that_ask(void **state)
{
	struct rte_mbuf *pkt;

	(void)state;
	for (int asked = 0; asked < 2; asked++) {
		assert_int_equal(open_queue(&(struct sn_replay_config){.checksums = asked}), 0);
		assert_int_equal(sn_replay_receive(&world.rx, &pkt, 1), 1);
		assert_int_equal(pkt->ol_flags,
				 asked ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0);
		sn_replay_send(&world.tx, &pkt, 1);
		close_queue(NULL);
	}
}

static void only_what_comes_between_warm_up_and_end_is_measured(void **state)
{
	struct rte_mbuf *pkts[BURST];

	(void)state;
	assert_int_equal(open_queue(&(struct sn_replay_config){.warmup = 3 * BURST, .count = 5 * BURST}), 0);
	for (unsigned int round = 0; round < 12; round++) {
		/* The poll that finds all of them received is the ninth; it has the time of the burst before.
		 */
		assert_int_equal(sn_replay_done(&world.rx), round > 8);
		assert_int_equal(sn_replay_receive(&world.rx, pkts, BURST), BURST);
		sn_replay_send(&world.tx, pkts, BURST);
	}
	assert_int_equal(world.rx.cycles.values, 5);
	assert_true(world.rx.ended > world.rx.began);
}

static void probes_are_no_part_of_the_time_of_bursts(void **state)
{
	const uint64_t bursts = 10 * SN_QUIET_VALUES;
	struct rte_mbuf *pkts[BURST];

	(void)state;
	for (uint64_t limit = 0; limit < 2; limit++) {
		uint64_t began;

		assert_int_equal(open_queue(&(struct sn_replay_config){.quiet = limit * UINT32_MAX}), 0);
		began = rte_rdtsc();
		for (uint64_t i = 0; i <= bursts; i++) {
			assert_int_equal(sn_replay_receive(&world.rx, pkts, BURST), BURST);
			sn_replay_send(&world.tx, pkts, BURST);
		}
		assert_int_equal(world.rx.cycles.values, bursts);
		assert_int_equal(world.rx.quiet.probes.values, limit * 10);
		/* All but the first slice, before which there is no probe. */
		assert_int_equal(world.rx.quiet.values.values, limit * 9 * SN_QUIET_VALUES);
		assert_true(world.rx.cycles.sum * BURST / SN_REPLAY_PARTS + world.rx.quiet.probes.sum <=
			    rte_rdtsc() - began);
		close_queue(NULL);
	}
}

static void a_burst_that_is_not_full_is_not_measured(void **state)
{
	struct rte_mbuf *pkts[BURST];

	(void)state;
	assert_int_equal(open_queue(&(struct sn_replay_config){0}), 0);
	for (unsigned int round = 0; round < 10; round++) {
		assert_int_equal(sn_replay_receive(&world.rx, pkts, SN_REPLAY_FULL - 1), SN_REPLAY_FULL - 1);
		sn_replay_send(&world.tx, pkts, SN_REPLAY_FULL - 1);
	}
	assert_int_equal(world.rx.cycles.values, 0);
}

static void frames_that_find_no_buffer_come_later(void **state)
{
	struct rte_mbuf *taken[BUFFERS], *pkt;

	(void)state;
	assert_int_equal(open_queue(&(struct sn_replay_config){0}), 0);
	assert_int_equal(rte_pktmbuf_alloc_bulk(world.pool, taken, BUFFERS), 0);
	assert_int_equal(sn_replay_receive(&world.rx, &pkt, 1), 0);
	assert_int_equal(world.rx.nobuffer, 1);
	rte_pktmbuf_free_bulk(taken, BUFFERS);
	assert_int_equal(sn_replay_receive(&world.rx, &pkt, 1), 1);
	assert_int_equal(number(pkt), 0);
	sn_replay_send(&world.tx, &pkt, 1);
}

static void frames_at_a_rate_have_the_latency_since_they_came(void **state)
{
	const struct sn_replay_config config = {.rate = 100000, .hz = rte_get_tsc_hz(), .ring = 64};
	uint64_t began = rte_rdtsc(), hold = rte_get_tsc_hz() / 1000;
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	(void)state;
	assert_int_equal(open_queue(&config), 0);
	assert_int_equal(sn_replay_receive(&world.rx, pkts, BURST), 0); /* the clock starts */
	while (world.tx.packets < 200) {
		n = sn_replay_receive(&world.rx, pkts, BURST);
		for (uint64_t held = rte_rdtsc(); n > 0 && rte_rdtsc() - held < hold;)
			;
		sn_replay_send(&world.tx, pkts, n);
	}
	assert_true(rte_rdtsc() - began >= rte_get_tsc_hz() / 1000 * 2); /* 200 frames at 100,000 a second */
	assert_int_equal(world.tx.latency.values, world.tx.packets);
	assert_true(sn_histogram_quantile(&world.tx.latency, 0) >= (double)hold * 0.99);
}

static void frames_that_find_the_ring_full_are_missed(void **state)
{
	const struct sn_replay_config config = {.rate = 1000000, .hz = rte_get_tsc_hz(), .ring = 8};
	struct rte_mbuf *pkts[BURST];

	(void)state;
	assert_int_equal(open_queue(&config), 0);
	assert_int_equal(sn_replay_receive(&world.rx, pkts, BURST), 0);
	rte_delay_us_block(1000);
	assert_int_equal(sn_replay_receive(&world.rx, pkts, BURST), 8);
	assert_true(world.rx.pace.missed > 900);
	sn_replay_send(&world.tx, pkts, 8);
}

static void more_frames_ahead_than_buffers_are_refused(void **state)
{
	(void)state;
	assert_int_equal(open_queue(&(struct sn_replay_config){.depth = BUFFERS + 1}), -1);
}

static void a_capture_that_cannot_be_read_is_refused_with_why(void **state)
{
	static const struct {
		const char *why;
		uint32_t magic, linktype, told;
		bool empty, missing;
	} cases[] = {
		{.why = "No such file", .missing = true},
		{.why = "not a file with bytes", .empty = true},
		{.why = "not a pcap file of Ethernet frames", .magic = 0x0a0d0d0a, .linktype = 1, .told = 60},
		{.why = "not a pcap file of Ethernet frames",
		 .magic = 0xa1b2c3d4,
		 .linktype = 101,
		 .told = 60},
		{.why = "frame 1 is cut off", .magic = 0xa1b2c3d4, .linktype = 1, .told = 61},
		{.why = "frame 1 is cut off", .magic = 0xa1b2c3d4, .linktype = 1, .told = 13},
		{.why = "no frames", .magic = 0xa1b23c4d, .linktype = 1, .told = 0},
	};
	struct sn_error err;
	uint8_t frame[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *file = open_capture();

		if (!cases[i].empty)
			write_head(file, cases[i].magic, cases[i].linktype);
		if (cases[i].told > 0)
			write_frame(file, frame, build(frame, 0), cases[i].told);
		assert_int_equal(fclose(file), 0);
		if (cases[i].missing)
			unlink(world.path);
		assert_int_equal(sn_capture_read(&world.capture, world.path, &err), -1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("\"%s\": want it to say \"%s\"", err.text, cases[i].why);
	}
}

#ifdef REPLAY_PLUGIN
static void start_port(uint16_t port, uint16_t queues)
{
	const struct rte_eth_conf conf = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM};

	assert_int_equal(rte_eth_dev_configure(port, queues, queues, &conf), 0);
	for (uint16_t q = 0; q < queues; q++) {
		assert_int_equal(rte_eth_rx_queue_setup(port, q, 64, 0, NULL, world.pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port, q, 64, 0, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(port), 0);
}

static void read_report(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(line, (int)size, file));
	fclose(file);
	unlink(path);
}

static void close_port(uint16_t port, const char *name)
{
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eth_dev_close(port), 0);
	assert_int_equal(rte_vdev_uninit(name), 0);
}

static void a_device_writes_its_report_once_all_queues_have_measured(void **state)
{
	struct rte_eth_stats stats;
	struct rte_mbuf *pkts[BURST];
	char args[256], report[80], line[2048], end;
	double told[3];
	uint16_t port;

	(void)state;
	write_capture(FRAMES, FRAMES, FRAMES);
	snprintf(report, sizeof(report), "%s.json", world.path);
	snprintf(args, sizeof(args), "pcap=%s,warmup=64,count=320,quiet=1000000,bursts=3,report=%s",
		 world.path, report);
	assert_int_equal(rte_vdev_init("net_replay0", args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_replay0", &port), 0);
	start_port(port, 2);
	for (unsigned int round = 0; round < 40; round++) {
		uint16_t queue = round < 20;

		if (access(report, F_OK) == 0)
			assert_true(round > 20 + 64 / BURST + 320 / BURST);
		assert_int_equal(rte_eth_rx_burst(port, queue, pkts, BURST), BURST);
		assert_int_equal(pkts[0]->port, port);
		assert_int_equal(rte_eth_tx_burst(port, queue, pkts, BURST), BURST);
	}
	read_report(report, line, sizeof(line));
	assert_non_null(strstr(line, "{\"device\":\"net_replay0\""));
	assert_non_null(strstr(line, "\"queues\":2"));
	assert_non_null(strstr(line, "\"cycles_per_packet\":{\"values\":20,"));
	assert_non_null(strstr(line, "\"quiet_cycles_per_packet\":{\"values\":0,"));
	assert_non_null(
		strstr(line, "\"probe_cycles\":{\"values\":0,")); /* 10 bursts of a queue are no slice */
	assert_non_null(strstr(line, "\"bursts\":["));
	assert_int_equal(sscanf(strstr(line, "\"bursts\":["), "\"bursts\":[%lf,%lf,%lf]%c", &told[0],
				&told[1], &told[2], &end),
			 4);
	assert_int_equal(end, '}');
	for (unsigned int i = 0; i < 3; i++)
		assert_true(told[i] > 0);
	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	assert_int_equal(stats.ipackets, 40 * BURST);
	assert_int_equal(stats.opackets, 40 * BURST);
	close_port(port, "net_replay0");
}

static void a_device_without_a_capture_receives_nothing_and_sends(void **state)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(world.pool);
	uint16_t port;

	(void)state;
	assert_int_equal(rte_vdev_init("net_replay1", ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_replay1", &port), 0);
	start_port(port, 1);
	assert_int_equal(rte_eth_tx_burst(port, 0, &pkt, 1), 1);
	assert_int_equal(rte_eth_rx_burst(port, 0, &pkt, 1), 0);
	close_port(port, "net_replay1");
}

/* One device that frames come by, and one that they leave by. */
struct pair {
	const char *in_name, *out_name;
	uint16_t in, out;
	char report[80];
};

static void start_pair(struct pair *p, const char *in_args, const char *out_args)
{
	char args[256];

	write_capture(FRAMES, FRAMES, FRAMES);
	snprintf(p->report, sizeof(p->report), "%s.json", world.path);
	snprintf(args, sizeof(args), "pcap=%s,%s", world.path, in_args);
	assert_int_equal(rte_vdev_init(p->in_name, args), 0);
	snprintf(args, sizeof(args), "%s,report=%s", out_args, p->report);
	assert_int_equal(rte_vdev_init(p->out_name, args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(p->in_name, &p->in), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(p->out_name, &p->out), 0);
	start_port(p->in, 1);
	start_port(p->out, 1);
}

/* The second one's report has these words. */
static void end_pair(struct pair *p, const char *words)
{
	char line[2048];

	close_port(p->in, p->in_name);
	close_port(p->out, p->out_name);
	read_report(p->report, line, sizeof(line));
	assert_non_null(strstr(line, words));
}

static void a_device_tells_the_latency_of_frames_that_came_by_another(void **state)
{
	struct pair p = {.in_name = "net_replay3", .out_name = "net_replay4"};
	struct rte_mbuf *pkts[BURST];
	uint16_t sent = 0;

	(void)state;
	start_pair(&p, "rate=1000000", "latency=1");
	while (sent < 100)
		sent += rte_eth_tx_burst(p.out, 0, pkts, rte_eth_rx_burst(p.in, 0, pkts, 1));
	end_pair(&p, "\"latency_ns\":{\"values\":100,");
}

/* Three of the numbers from 4 on do not leave, and one leaves behind a later one of its flow. */
static void a_device_tells_which_numbered_frames_are_lost_or_late(void **state)
{
	static const unsigned int order[] = {0, 1, 2, 3, 8, 5, 7, 4, 9, 11, 13, 15, 12, 16};
	struct pair p = {.in_name = "net_replay6", .out_name = "net_replay7"};
	struct rte_mbuf *pkts[17];

	(void)state;
	start_pair(&p, "number=1", "order=4,warmup=4,count=12");
	assert_int_equal(rte_eth_rx_burst(p.in, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	for (size_t i = 0; i < RTE_DIM(order); i++)
		assert_int_equal(rte_eth_tx_burst(p.out, 0, &pkts[order[i]], 1), 1);
	rte_pktmbuf_free_bulk((struct rte_mbuf *[]){pkts[6], pkts[10], pkts[14]}, 3);
	end_pair(&p, "\"seen\":9,\"lost\":3,\"late\":1,"); /* 4 behind 8 */
}

static void a_device_that_nobody_closed_is_removed_with_its_report(void **state)
{
	struct rte_mbuf *pkts[BURST];
	char args[256], report[80];
	uint16_t port;

	(void)state;
	write_capture(FRAMES, FRAMES, FRAMES);
	snprintf(report, sizeof(report), "%s.json", world.path);
	snprintf(args, sizeof(args), "pcap=%s,depth=40,report=%s", world.path, report);
	assert_int_equal(rte_vdev_init("net_replay5", args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_replay5", &port), 0);
	start_port(port, 1);
	assert_int_equal(rte_eth_rx_burst(port, 0, pkts, BURST), BURST);
	assert_int_equal(rte_eth_tx_burst(port, 0, pkts, BURST), BURST);
	assert_int_equal(rte_vdev_uninit("net_replay5"), 0);
	assert_int_equal(rte_eth_dev_is_valid_port(port), 0);
	assert_int_equal(unlink(report), 0);
}

static void wrong_arguments_are_refused(void **state)
{
	static const char *const cases[] = {"pcap=/nonexistent.pcap",
					    "rate=fast",
					    "rate=2000000000",
					    "count=-1",
					    "ring=0",
					    "depth=9999999",
					    "quiet=soon",
					    "patience=60001",
					    "bursts=1048577",
					    "speed=1",
					    "order=6",
					    "order=33554432"};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(rte_vdev_init("net_replay2", cases[i]) < 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_in_turn_and_without_end),
		cmocka_unit_test_teardown(
			a_frame_is_told_with_its_protocols_and_whether_its_checksums_are_right, close_queue),
		cmocka_unit_test(checksums_are_told_only_to_programs_that_ask),
		cmocka_unit_test_teardown(only_what_comes_between_warm_up_and_end_is_measured, close_queue),
		cmocka_unit_test(probes_are_no_part_of_the_time_of_bursts),
		cmocka_unit_test_teardown(a_burst_that_is_not_full_is_not_measured, close_queue),
		cmocka_unit_test_teardown(frames_that_find_no_buffer_come_later, close_queue),
		cmocka_unit_test_teardown(frames_at_a_rate_have_the_latency_since_they_came, close_queue),
		cmocka_unit_test_teardown(frames_that_find_the_ring_full_are_missed, close_queue),
		cmocka_unit_test_teardown(more_frames_ahead_than_buffers_are_refused, close_queue),
		cmocka_unit_test_teardown(a_capture_that_cannot_be_read_is_refused_with_why, close_queue),
#ifdef REPLAY_PLUGIN
		cmocka_unit_test_teardown(a_device_writes_its_report_once_all_queues_have_measured,
					  close_queue),
		cmocka_unit_test_teardown(a_device_without_a_capture_receives_nothing_and_sends, close_queue),
		cmocka_unit_test_teardown(a_device_tells_the_latency_of_frames_that_came_by_another,
					  close_queue),
		cmocka_unit_test_teardown(a_device_tells_which_numbered_frames_are_lost_or_late, close_queue),
		cmocka_unit_test_teardown(a_device_that_nobody_closed_is_removed_with_its_report,
					  close_queue),
		cmocka_unit_test(wrong_arguments_are_refused),
#endif
	};
	char *eal[] = {"test_replay", "--no-huge", "--no-pci",	     "--no-shconf",
		       "-m",	      "64",	   "--no-telemetry", NULL};

#ifdef REPLAY_PLUGIN
	/* As EAL's -d does, but from a folder below one that others may write to, too, such as /tmp. */
	if (dlopen(REPLAY_PLUGIN, RTLD_NOW) == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
#endif
	if (rte_eal_init((int)(sizeof(eal) / sizeof(eal[0])) - 1, eal) < 0)
		return 1;
	snprintf(world.path, sizeof(world.path), "/tmp/test_replay.%d.pcap", (int)getpid());
	world.pool =
		rte_pktmbuf_pool_create("packets", BUFFERS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (world.pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
