/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinter-bench: cycles per packet of one program, or of several that run one after
 * the other in this process (the unmerged chain), on one core and packets from memory.
 *
 * Packets come from EAL's first port and leave by its second (or the first, if there
 * is one only): net_pcap with infinite_rx=1 replays a file without end. A burst's time
 * runs from receive to send, both included; only full bursts count. What a program sends
 * by a wire comes back by the other one at once, within that time; or never, if the program says what becomes
 * of packets while the function there is down: then it is.
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "sn_file.h"
#include "sn_helper.h"
#include "sn_log.h"
#include "sn_quiet.h"
#include "sn_thread.h"
#include "sn_wires.h"

#define SN_UNIQUE_PORT_FIRST 1024
#define SN_UNIQUE_PORTS	     (65536 - SN_UNIQUE_PORT_FIRST)

static const char usage[] =
	"usage: sinter-bench [flags] PROGRAM... [-- EAL arguments]\n"
	"\n"
	"Measures TSC cycles per packet; JSON on standard output. Several programs run one\n"
	"after the other: what leaves one enters the first interface of the next.\n"
	"Interfaces whose program gives no MAC address have 02:73:6e:00:00:<index>.\n"
	"\n"
	"  --rounds N          measured bursts (default 20000)\n"
	"  --warmup N          bursts before them (default 5000)\n"
	"  --profile N         bursts after them with a clock around each stage (default 5000)\n"
	"  --quiet N           profiled bursts count between two probes of the core that take at most N\n"
	"                      TSC cycles, if there are any: nobody else uses it then (default 0: all)\n"
	"  --entry NAME        interface of the first program (default: its first)\n"
	"  --unique-flows N    every packet opens a flow: the source port grows after each N packets,\n"
	"                      which is how many different ones the file holds (off the clock)\n"
	"  --buffers N         packet buffers (default 65535)\n"
	"  --no-huge           run without hugepages\n"
	"  --help\n";

static const struct option long_options[] = {
	{"rounds", required_argument, NULL, 'r'},  {"warmup", required_argument, NULL, 'w'},
	{"profile", required_argument, NULL, 'p'}, {"quiet", required_argument, NULL, 'q'},
	{"entry", required_argument, NULL, 'e'},   {"unique-flows", required_argument, NULL, 'u'},
	{"buffers", required_argument, NULL, 'b'}, {"no-huge", no_argument, NULL, 'n'},
	{"help", no_argument, NULL, 'h'},	   {NULL, 0, NULL, 0},
};

static int parse_number(const char *text, unsigned int min, unsigned int *value, struct sn_error *err)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || *text == '-' || number < min || number > 100000000)
		return sn_fail(err, "\"%s\": want a number from %u to 100000000", text, min);
	*value = (unsigned int)number;
	return 0;
}

/* 0: go on, 1: done, -1: error. */
static int parse_flags(int argc, char **argv, struct options *options, struct sn_error *err)
{
	int opt, rc = 0;

	while (rc == 0 && (opt = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
		switch (opt) {
		case 'r':
			rc = parse_number(optarg, 1, &options->rounds, err);
			break;
		case 'w':
			rc = parse_number(optarg, 0, &options->warmup, err);
			break;
		case 'p':
			rc = parse_number(optarg, 0, &options->profile, err);
			break;
		case 'q':
			rc = parse_number(optarg, 0, &options->quiet, err);
			break;
		case 'e':
			options->entry = optarg;
			break;
		case 'u':
			rc = parse_number(optarg, 1, &options->unique_flows, err);
			break;
		case 'b':
			rc = parse_number(optarg, 1024, &options->buffers, err);
			break;
		case 'n':
			options->no_huge = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			return sn_fail(err, "see --help");
		}
	}
	for (; rc == 0 && optind < argc && strcmp(argv[optind], "--") != 0; optind++) {
		if (options->n_programs == SN_BENCH_PROGRAMS)
			return sn_fail(err, "more than %d programs", SN_BENCH_PROGRAMS);
		options->programs[options->n_programs++] = argv[optind];
	}
	if (rc == 0 && options->n_programs == 0)
		return sn_fail(err, "no program given; see --help");
	for (optind++; rc == 0 && optind < argc; optind++)
		rc = sn_eal_add(&options->eal, argv[optind], err);
	return rc;
}

/* But for wires, there is one way on, whatever the interface. */
static uint16_t hand_on(void *context, uint16_t iface, struct rte_mbuf **pkts, uint16_t n)
{
	struct mailbox *mailbox = context, *next = mailbox->next;
	uint16_t taken;

	if (mailbox->wires >> iface & 1)
		return wires_take(mailbox, iface, pkts, n);
	if (next == NULL) {
		taken = rte_eth_tx_burst(mailbox->bench->tx_port, 0, pkts, n);
		mailbox->bench->sent += taken;
		return taken;
	}
	taken = RTE_MIN(n, SN_BENCH_HANDED - next->handed);
	memcpy(next->pkts + next->handed, pkts, taken * sizeof(*pkts));
	next->handed += taken;
	return taken;
}

/* The MAC address that a program sends to by an interface, if it has one static neighbour for all. */
static const uint8_t *neighbor_mac(const struct sn_program *program)
{
	const struct sn_interface *last = &program->interfaces[program->n_interfaces - 1];

	return last->n_neighbors == 1 ? last->neighbors[0].mac : NULL;
}

static int open_mailbox(struct mailbox *mailbox, const char *path, const char *entry, struct sn_error *err)
{
	Sinter__Program__V1__Program *message;
	const struct sn_interface *interface;
	uint64_t kept, dropped;
	uint8_t *data;
	size_t len;

	if (sn_file_read(path, &data, &len, err) != 0)
		return -1;
	message = sinter__program__v1__program__unpack(NULL, len, data);
	free(data);
	if (message == NULL)
		return sn_fail(err, "%s: %zu bytes are no encoded program", path, len);
	mailbox->plan = sn_plan_create(message, NULL, NULL, NULL, 1, err);
	sinter__program__v1__program__free_unpacked(message, NULL);
	if (mailbox->plan == NULL)
		return -1;
	if (mailbox->plan->program->n_interfaces == 0)
		return sn_fail(err, "%s: the program has no interfaces", path);
	while (entry != NULL && strcmp(mailbox->plan->program->interfaces[mailbox->entry].name, entry) != 0)
		if (++mailbox->entry == mailbox->plan->program->n_interfaces)
			return sn_fail(err, "%s: the program has no interface %s", path, entry);
	if (wires_find(mailbox, err) != 0)
		return -1;
	interface = &mailbox->plan->program->interfaces[mailbox->entry];
	memcpy(mailbox->mac, interface->has_mac ? interface->mac : mailbox->plan->macs[mailbox->entry],
	       sizeof(mailbox->mac));

	mailbox->state = sn_state_create(1, 1, (struct sn_partitioning){0});
	if (mailbox->state == NULL ||
	    sn_state_apply(mailbox->state, mailbox->plan->program, &kept, &dropped) < 0)
		return sn_fail(err, "%s: no memory for the program's state", path);
	return 0;
}

static int open_worker(struct mailbox *mailbox, struct sn_error *err)
{
	struct sn_worker_config config = {
		.pool = mailbox->bench->pool,
		.state = mailbox->state,
		.tx = hand_on,
		.tx_ctx = mailbox,
		.wires = mailbox->functions,
	};

	mailbox->worker = sn_worker_create(&config, err);
	if (mailbox->worker == NULL)
		return -1;
	for (uint32_t i = 0; i < mailbox->plan->program->n_interfaces; i++) {
		sn_worker_set_mac(mailbox->worker, (uint16_t)i, mailbox->plan->macs[i]);
		sn_worker_set_port(mailbox->worker, (uint16_t)i, (uint16_t)i);
	}
	sn_worker_set_program(mailbox->worker, mailbox->plan->program, mailbox->plan->counts[0]);
	return 0;
}

static int open_line(struct bench *bench, struct sn_error *err)
{
	for (unsigned int i = 0; i < bench->options->n_programs; i++) {
		struct mailbox *mailbox = &bench->mailboxes[i], *before = i > 0 ? mailbox - 1 : NULL;

		mailbox->bench = bench;
		if (open_mailbox(mailbox, bench->options->programs[i],
				 before == NULL ? bench->options->entry : NULL, err) != 0)
			return -1;
		if (before != NULL) {
			const uint8_t *to = neighbor_mac(before->plan->program);

			before->next = mailbox;
			mailbox->readdress =
				to == NULL || memcmp(to, mailbox->mac, sizeof(mailbox->mac)) != 0;
		}
		if (open_worker(mailbox, err) != 0)
			return -1;
	}
	return 0;
}

static void close_line(struct bench *bench)
{
	for (unsigned int i = 0; i < bench->options->n_programs; i++) {
		struct mailbox *mailbox = &bench->mailboxes[i];

		if (mailbox->worker != NULL) {
			sn_worker_set_program(mailbox->worker, NULL, NULL);
			sn_worker_free(mailbox->worker);
		}
		if (mailbox->state != NULL)
			sn_state_free(mailbox->state);
		sn_wires_free(mailbox->functions);
		sn_plan_free(mailbox->plan);
	}
}

static int open_ports(struct bench *bench, struct sn_error *err)
{
	uint16_t ids[2], port;
	unsigned int n = 0;

	RTE_ETH_FOREACH_DEV(port)
	{
		if (n < RTE_DIM(ids))
			ids[n++] = port;
	}
	if (n == 0)
		return sn_fail(err, "no port: give EAL one, as in -- --vdev "
				    "net_pcap0,rx_pcap=traffic.pcap,infinite_rx=1");
	for (unsigned int i = 0; i < n; i++) {
		struct rte_eth_conf conf = {0};
		struct rte_eth_dev_info info;
		int rc = rte_eth_dev_info_get(ids[i], &info);

		if (rc == 0) {
			conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
			rc = rte_eth_dev_configure(ids[i], 1, 1, &conf);
		}
		if (rc == 0)
			rc = rte_eth_rx_queue_setup(ids[i], 0, 512, 0, NULL, bench->pool);
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(ids[i], 0, 512, 0, NULL);
		if (rc == 0)
			rc = rte_eth_dev_start(ids[i]);
		if (rc != 0)
			return sn_fail(
				err,
				"port %u does not start: %s (are there enough --buffers for its packets?)",
				ids[i], strerror(-rc));
	}
	bench->rx_port = ids[0];
	bench->tx_port = ids[n - 1];
	return 0;
}

/* RFC 1624, equation 3. */
static rte_be16_t fixed_checksum(rte_be16_t sum, uint32_t before, uint32_t after)
{
	uint32_t value = (uint16_t)~sum;

	value += (uint16_t) ~(before & 0xffff) + (uint32_t)(uint16_t) ~(before >> 16);
	value += (after & 0xffff) + (after >> 16);
	while (value >> 16)
		value = (value & 0xffff) + (value >> 16);
	return (rte_be16_t)~value;
}

/* Untagged TCP and UDP over IPv4 gets the source port of its turn. */
static void make_unique(struct bench *bench, struct rte_mbuf *pkt)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(pkt, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
	uint64_t turn = bench->unique++ / bench->options->unique_flows;
	rte_be16_t *port, *sum, before;

	if (pkt->data_len < sizeof(*ether) + sizeof(*ip) + 20 ||
	    ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ||
	    (ip->next_proto_id != IPPROTO_TCP && ip->next_proto_id != IPPROTO_UDP))
		return;
	port = (rte_be16_t *)((uint8_t *)ip + rte_ipv4_hdr_len(ip));
	sum = ip->next_proto_id == IPPROTO_TCP ? port + 8 : port + 3;
	before = *port;
	*port = rte_cpu_to_be_16((uint16_t)(SN_UNIQUE_PORT_FIRST + turn % SN_UNIQUE_PORTS));
	if (*sum != 0)
		*sum = fixed_checksum(*sum, before, *port);
}

/* Run what the mailbox before handed over; packets that it did not address to us are readdressed. */
static void run_mailbox(struct mailbox *mailbox, uint64_t now)
{
	uint16_t n = mailbox->handed;

	mailbox->handed = 0;
	for (uint16_t i = 0; mailbox->readdress && i < n; i++)
		memcpy(rte_pktmbuf_mtod(mailbox->pkts[i], uint8_t *), mailbox->mac, sizeof(mailbox->mac));
	if (n > 0)
		sn_worker_burst(mailbox->worker, mailbox->entry, mailbox->pkts, n, now);
	wires_return(mailbox, now);
}

static void tick(struct bench *bench)
{
	uint64_t start = rte_rdtsc();

	if (start - bench->last_tick < rte_get_tsc_hz() / 1000)
		return;
	for (unsigned int i = 0; i < bench->options->n_programs; i++)
		sn_worker_tick(bench->mailboxes[i].worker, sn_now_ns());
	bench->last_tick = rte_rdtsc();
	bench->timer_cycles += bench->last_tick - start;
}

static void run_round(struct bench *bench, bool measured)
{
	struct mailbox *first = &bench->mailboxes[0];
	struct sn_worker_stats *stats = sn_worker_stats(first->worker);
	uint64_t start = rte_rdtsc(), received, resumed, now;
	uint16_t n = rte_eth_rx_burst(bench->rx_port, 0, first->pkts, SN_BENCH_BURST);

	received = resumed = rte_rdtsc();
	if (bench->options->unique_flows > 0) {
		for (uint16_t i = 0; i < n; i++)
			make_unique(bench, first->pkts[i]);
		resumed = rte_rdtsc();
	}
	now = sn_now_ns();
	stats->stage_cycles[SN_STAGE_RECEIVE] += received - start;
	if (n > 0)
		sn_worker_burst(first->worker, first->entry, first->pkts, n, now);
	wires_return(first, now);
	for (unsigned int i = 1; i < bench->options->n_programs; i++)
		run_mailbox(&bench->mailboxes[i], now);
	if (measured && n == SN_BENCH_BURST)
		bench->samples[bench->n_samples++] = (uint32_t)(received - start + rte_rdtsc() - resumed);
	tick(bench);
}

/* Cycles of a stage, all programs together. */
static uint64_t stage_cycles(const struct bench *bench, enum sn_stage stage)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < bench->options->n_programs; i++)
		sum += sn_worker_stats(bench->mailboxes[i].worker)->stage_cycles[stage];
	return sum;
}

/* Cycles of profiled bursts, those of a stage in a row. */
struct profile {
	uint32_t *samples;
	size_t room;	   /* of a stage */
	size_t n;	   /* bursts */
	size_t slice;	   /* the first of those since the last probe */
	size_t kept;	   /* bursts of quiet slices, which come first */
	bool quick;	   /* the last probe */
	uint64_t patience; /* TSC cycles */
};

/* Ends a slice: it is kept if the probes before and after it are quick. */
static void end_slice(struct profile *profile, unsigned int limit)
{
	bool quick = sn_quiet_probe() <= limit;
	size_t n = profile->n - profile->slice;

	if (quick && profile->quick) {
		for (unsigned int stage = 0; stage < SN_STAGES; stage++) {
			uint32_t *samples = profile->samples + stage * profile->room;

			memmove(samples + profile->kept, samples + profile->slice, n * sizeof(*samples));
		}
		profile->kept += n;
	}
	profile->quick = quick;
	profile->slice = profile->n;
	if (!quick)
		profile->patience -= RTE_MIN(profile->patience, sn_quiet_wait(limit, profile->patience));
}

static void profile_round(struct bench *bench, struct profile *profile)
{
	const struct sn_worker_stats *stats = sn_worker_stats(bench->mailboxes[0].worker);
	uint64_t before[SN_STAGES], packets = stats->packets;

	for (unsigned int stage = 0; stage < SN_STAGES; stage++)
		before[stage] = stage_cycles(bench, stage);
	run_round(bench, false);
	if (stats->packets - packets < SN_BENCH_BURST) /* those that come back count again */
		return;
	for (unsigned int stage = 0; stage < SN_STAGES; stage++)
		profile->samples[stage * profile->room + profile->n] =
			(uint32_t)(stage_cycles(bench, stage) - before[stage]);
	profile->n++;
	if (bench->options->quiet > 0 && profile->n - profile->slice == SN_QUIET_VALUES)
		end_slice(profile, bench->options->quiet);
}

/* Rounds with a clock around each stage; of each stage the median burst, as one interruption would hide the
 * rest. */
static int profile(struct bench *bench, struct sn_error *err)
{
	static const char *const names[SN_STAGES] = {"receive",	 "parse",   "lookup",
						     "classify", "rewrite", "send"};
	const struct options *options = bench->options;
	struct profile profile = {.room = options->profile, .patience = rte_get_tsc_hz()};

	profile.samples = calloc(SN_STAGES * profile.room + 1, sizeof(*profile.samples));
	if (profile.samples == NULL)
		return sn_fail(err, "no memory for %u profiled bursts", options->profile);
	for (unsigned int i = 0; i < options->n_programs; i++)
		sn_worker_set_profile(bench->mailboxes[i].worker, true);
	for (unsigned int i = 0; i < options->profile; i++)
		profile_round(bench, &profile);
	if (profile.kept > 0)
		profile.n = profile.kept;
	printf("\"stages\":{");
	for (unsigned int stage = 0; stage < SN_STAGES; stage++) {
		uint32_t *samples = profile.samples + stage * profile.room;

		qsort(samples, profile.n, sizeof(*samples), bench_compare);
		printf("%s\"%s\":%.2f", stage == 0 ? "" : ",", names[stage],
		       bench_per_packet(samples, profile.n, 50));
	}
	printf("}");
	free(profile.samples);
	return 0;
}

static int measure(struct bench *bench, struct sn_error *err)
{
	const struct options *options = bench->options;
	const struct sn_worker_stats *stats = sn_worker_stats(bench->mailboxes[0].worker);
	uint64_t packets;

	for (unsigned int i = 0; i < options->warmup; i++)
		run_round(bench, false);
	bench->timer_cycles = 0;
	packets = stats->packets;
	for (unsigned int i = 0; i < options->rounds; i++)
		run_round(bench, true);
	packets = stats->packets - packets;
	if (bench->n_samples == 0)
		return sn_fail(err, "not one burst of %d packets came from port %u in %u rounds",
			       SN_BENCH_BURST, bench->rx_port, options->rounds);
	printf("{\"burst\":%d,\"full_bursts\":%zu,\"tsc_hz\":%" PRIu64
	       ",\"unique_flows\":%s,\"programs\":%u,",
	       SN_BENCH_BURST, bench->n_samples, rte_get_tsc_hz(),
	       options->unique_flows > 0 ? "true" : "false", options->n_programs);
	bench_print_cycles(bench);
	printf(",\"timer_cycles_per_packet\":%.2f,\"instructions_per_packet\":null,",
	       (double)bench->timer_cycles / (double)packets);
	if (profile(bench, err) != 0)
		return -1;
	printf(",\"packets\":%" PRIu64 ",\"sent\":%" PRIu64 ",", stats->packets, bench->sent);
	bench_print_drops(bench);
	printf(",");
	bench_print_state(bench);
	printf(",");
	bench_print_classifiers(bench);
	printf("}\n");
	return 0;
}

static int run(struct options *options, struct sn_error *err)
{
	static struct bench bench;
	struct sn_helper helper;
	int rc = 0;

	bench.options = options;
	bench.samples = malloc(options->rounds * sizeof(*bench.samples));
	if (bench.samples == NULL || sn_source_register() != 0)
		rc = sn_fail(err, "no memory for %u samples", options->rounds);
	if (rc == 0) {
		bench.pool = rte_pktmbuf_pool_create("packets", options->buffers, 256, 0,
						     RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
		if (bench.pool == NULL)
			rc = sn_fail(
				err,
				"no memory for %u packet buffers: more EAL memory (-m) or fewer --buffers",
				options->buffers);
	}
	if (rc == 0)
		rc = open_ports(&bench, err);
	if (rc == 0)
		rc = open_line(&bench, err);
	sn_helper_start(&helper);
	if (rc == 0)
		rc = measure(&bench, err);
	sn_helper_stop(&helper);
	close_line(&bench);
	free(bench.samples);
	return rc;
}

int main(int argc, char **argv)
{
	static struct options options = {.rounds = 20000, .warmup = 5000, .profile = 5000, .buffers = 65535};
	struct sn_eal *eal = &options.eal;
	struct sn_error err = {0};
	int rc = sn_eal_add(eal, argv[0], &err);

	if (rc == 0)
		rc = parse_flags(argc, argv, &options, &err);
	if (rc > 0) {
		sn_eal_free(eal);
		return EXIT_SUCCESS;
	}
	if (rc == 0 && options.no_huge)
		rc = sn_eal_add_no_huge(eal, 1024, &err);
	if (rc == 0 && !sn_eal_has(eal, "-l") && !sn_eal_has(eal, "--lcores"))
		rc = sn_eal_add_words(eal, "-l 0", &err);
	if (rc == 0 && !sn_eal_has(eal, "--log-level"))
		rc = sn_eal_add(eal, "--log-level=*:warning", &err);
	if (rc == 0 && !sn_eal_has(eal, "-a") && !sn_eal_has(eal, "--allow") && !sn_eal_has(eal, "--no-pci"))
		rc = sn_eal_add(eal, "--no-pci", &err);
	if (rc == 0 && !sn_eal_has(eal, "--no-telemetry"))
		rc = sn_eal_add(eal, "--no-telemetry", &err);
	if (rc == 0)
		rc = sn_eal_init(eal, &err);
	if (rc == 0) {
		rc = run(&options, &err);
		rte_eal_cleanup();
	}
	if (rc != 0)
		sn_log(SN_LOG_ERROR, "%s", err.text);
	sn_eal_free(eal);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
