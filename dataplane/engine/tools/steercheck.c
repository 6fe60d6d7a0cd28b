/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sinter-steercheck: what a device does with flow rules, found out by trying. Each kind of rule is installed
 * for one queue, then for another; probes are sent to the device by a kernel interface on the same wire,
 * and the queues where they come out tell whether the rule is executed.
 */

#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "sn_eal.h"
#include "sn_log.h"
#include "sn_port.h"
#include "sn_probe.h"

#define PROBES	   16	/* per rule */
#define WAIT_MS	   1000 /* for the last of them */
#define QUEUES_MAX 64

#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* Conditions, as a table of them is best read. */
#define IS(field, number)	    [field] = {.value = (number), .mask = SN_ALL_##field}
#define UNDER(field, number, under) [field] = {.value = (number), .mask = (under)}
#define SN_ALL_SN_VLAN		    (SN_VLAN_ABSENT | 0xfff)
#define SN_ALL_SN_SRC		    UINT32_MAX
#define SN_ALL_SN_DST		    UINT32_MAX
#define SN_ALL_SN_PROTO		    UINT8_MAX
#define SN_ALL_SN_SPORT		    UINT16_MAX
#define SN_ALL_SN_DPORT		    UINT16_MAX

/* Features of a device that dispatch asks for. */
static const struct {
	const char *name;
	struct sn_steer_match match;
} kinds[] = {
	{"destination MAC address", {.mac = {{0x02, 0x53, 0x6e, 0, 0, 0xb1}}}},
	{"VLAN", {.conds = {IS(SN_VLAN, 100)}}},
	{"VLAN and destination prefix",
	 {.conds = {IS(SN_VLAN, 101), UNDER(SN_DST, IP(10, 101, 0, 0), 0xffff0000)}}},
	{"source address", {.conds = {IS(SN_SRC, IP(10, 99, 7, 7))}}},
	{"source prefix", {.conds = {UNDER(SN_SRC, IP(10, 102, 0, 0), 0xffff0000)}}},
	{"masked source address", {.conds = {UNDER(SN_SRC, IP(0, 0, 0, 2), 0x00000003)}}},
	{"destination address", {.conds = {IS(SN_DST, IP(10, 99, 8, 8))}}},
	{"destination port, UDP", {.conds = {IS(SN_PROTO, IPPROTO_UDP), IS(SN_DPORT, 4789)}}},
	{"destination port, TCP", {.conds = {IS(SN_PROTO, IPPROTO_TCP), IS(SN_DPORT, 443)}}},
	{"source port, UDP", {.conds = {IS(SN_PROTO, IPPROTO_UDP), IS(SN_SPORT, 4789)}}},
	{"five-tuple",
	 {.conds = {IS(SN_SRC, IP(10, 99, 9, 9)), IS(SN_DST, IP(10, 99, 9, 8)), IS(SN_PROTO, IPPROTO_TCP),
		    IS(SN_SPORT, 1024), IS(SN_DPORT, 80)}}},
};

/* Where the probes of one trial came out. */
struct seen {
	unsigned int queue[QUEUES_MAX];
	unsigned int total;
};

struct check {
	struct sn_port port;
	uint16_t queues;
	int socket; /* the probes' way in */
	struct rte_mempool *pool;
	uint32_t series;
};

static int open_probe_socket(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface)};
	int fd;

	if (address.sll_ifindex == 0) {
		sn_log(SN_LOG_ERROR, "--probe %s: there is no such network interface", interface);
		return -1;
	}
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		sn_log(SN_LOG_ERROR, "--probe %s: packet socket: %s (needs CAP_NET_RAW)", interface,
		       strerror(errno));
		return -1;
	}
	return fd;
}

static void collect(struct check *c, struct seen *seen, unsigned int wanted)
{
	uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() * WAIT_MS / 1000;

	while (seen->total < wanted && rte_get_timer_cycles() < end) {
		for (uint16_t queue = 0; queue < c->queues; queue++) {
			struct rte_mbuf *pkts[32];
			uint16_t n = rte_eth_rx_burst(c->port.id, queue, pkts, RTE_DIM(pkts));

			for (uint16_t i = 0; i < n; i++) {
				const uint8_t *frame = rte_pktmbuf_mtod(pkts[i], const uint8_t *);

				if (sn_probe_series(frame, rte_pktmbuf_data_len(pkts[i])) == c->series) {
					seen->queue[queue]++;
					seen->total++;
				}
			}
			rte_pktmbuf_free_bulk(pkts, n);
		}
	}
}

/* Send the probes of a match and see where they come out. */
static struct seen probe(struct check *c, const struct sn_steer_match *match)
{
	uint8_t frame[SN_PROBE_LEN];
	struct seen seen = {0};

	c->series++;
	for (uint32_t i = 0; i < PROBES; i++) {
		size_t len = sn_probe_write(match, c->series, i, frame);

		if (send(c->socket, frame, len, 0) < 0)
			sn_log(SN_LOG_WARN, "probe: %s", strerror(errno));
	}
	collect(c, &seen, PROBES);
	return seen;
}

/* Drivers' words as a JSON string. */
static void print_text(const char *text)
{
	putchar('"');
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if (*c < 0x20)
			printf("\\u%04x", *c);
		else
			putchar(*c < 0x80 ? *c : '?');
	}
	putchar('"');
}

static void print_verdict(const char *verdict, const char *why)
{
	printf("[]],\"verdict\":\"%s\",\"why\":", verdict);
	print_text(why);
	printf("}");
}

static void print_seen(const struct check *c, const struct seen *seen)
{
	for (uint16_t queue = 0; queue < c->queues; queue++)
		printf("%s%u", queue == 0 ? "" : ",", seen->queue[queue]);
}

/* Whether the rule is taken, and the probes obey it. Prints where they were seen. */
static bool obeyed(struct check *c, const struct sn_steer_rule *rule, struct sn_error *err)
{
	struct sn_steer_device device = sn_steer_device(c->port.id, c->port.driver, c->queues);
	struct rte_flow *flow = sn_steer_install(&device, rule, err);
	struct seen seen;

	if (flow == NULL)
		return false;
	seen = probe(c, &rule->match);
	sn_steer_remove(&device, flow, NULL); /* else it is in the way of nothing */
	printf("[");
	print_seen(c, &seen);
	printf("],");
	return rule->action == SN_STEER_DROP ? seen.total == 0 : seen.queue[rule->queue] == PROBES;
}

/* A queue is proved by two of them: the first might be where the probes go anyway. */
static void try_queues(struct check *c, const struct sn_steer_match *match)
{
	uint16_t queues[] = {1 % c->queues, (uint16_t)(c->queues - 1)};
	struct sn_error err = {0};
	bool all = c->queues >= 3;

	printf("\"queue\":{\"seen\":[");
	for (size_t i = 0; i < RTE_DIM(queues) && err.text[0] == '\0'; i++)
		all &= obeyed(c,
			      &(struct sn_steer_rule){
				      .match = *match, .action = SN_STEER_QUEUE, .queue = queues[i]},
			      &err);
	print_verdict(err.text[0] != '\0' ? "refused" : all ? "executed" : "ignored", err.text);
}

/* A drop is proved by what arrives without the rule. */
static void try_drop(struct check *c, const struct sn_steer_match *match)
{
	struct sn_error err = {0};
	struct seen before = probe(c, match);
	bool dropped;

	printf("\"drop\":{\"before\":[");
	print_seen(c, &before);
	printf("],\"seen\":[");
	dropped = obeyed(c, &(struct sn_steer_rule){.match = *match, .action = SN_STEER_DROP}, &err);
	print_verdict(err.text[0] != '\0'     ? "refused"
		      : before.total < PROBES ? "unseen"
		      : dropped		      ? "executed"
					      : "ignored",
		      err.text);
}

static int try_all(struct check *c)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(c->port.id, &info);

	if (rc != 0) {
		sn_log(SN_LOG_ERROR, "device %s: %s", c->port.bind.device, strerror(-rc));
		return -1;
	}
	printf("{\"device\":");
	print_text(c->port.bind.device);
	printf(",\"driver\":");
	print_text(c->port.driver);
	printf(",\"queues\":%u,", info.max_rx_queues);
	printf("\"rss\":{\"hashes\":%s,\"buckets\":%u,\"keyBytes\":%u},\"rules\":[",
	       info.flow_type_rss_offloads != 0 ? "true" : "false", info.reta_size, info.hash_key_size);
	for (size_t i = 0; i < RTE_DIM(kinds); i++) {
		printf("%s\n{\"match\":\"%s\",", i == 0 ? "" : ",", kinds[i].name);
		try_queues(c, &kinds[i].match);
		printf(",");
		try_drop(c, &kinds[i].match);
		printf("}");
		fflush(stdout);
	}
	printf("]}\n");
	return 0;
}

static int open_device(struct check *c, const char *device, unsigned int queues)
{
	char bind[SN_PORT_DEVICE_MAX + 8];
	struct sn_error err = {0};
	struct rte_eth_dev_info info;
	struct sn_port_config config = {.rx_desc = 256, .tx_desc = 256};
	struct sn_bind parsed;

	snprintf(bind, sizeof(bind), "device=%s", device);
	if (sn_bind_parse(bind, &parsed, &err) != 0 ||
	    sn_port_attach(&c->port, &parsed, 1, RTE_ETHER_MTU, &err) != 0)
		goto failed;
	/* As many as there are: a VF may have one only, and then no rule has anything to do. */
	if (rte_eth_dev_info_get(c->port.id, &info) == 0) {
		queues = queues < info.max_rx_queues ? queues : info.max_rx_queues;
		queues = queues < info.max_tx_queues ? queues : info.max_tx_queues;
	}
	c->queues = config.queues = (uint16_t)queues;
	config.pool = c->pool =
		rte_pktmbuf_pool_create("packets", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (c->pool == NULL) {
		sn_fail(&err, "no memory for packet buffers");
		goto failed;
	}
	if (sn_port_start(&c->port, &config, &err) != 0)
		goto failed;
	rte_eth_promiscuous_enable(c->port.id); /* probes go to other addresses, too */
	return 0;
failed:
	sn_log(SN_LOG_ERROR, "%s", err.text);
	return -1;
}

static int usage(void)
{
	fputs("usage: sinter-steercheck --device DEVICE --probe INTERFACE [--queues N] -- EAL arguments\n"
	      "\n"
	      "Tries which flow rules a device executes, and prints what it saw as JSON.\n"
	      "\n"
	      "  --device DEVICE    PCI address or EAL device (net_tap0,iface=tap0)\n"
	      "  --probe INTERFACE  kernel interface whose frames come to the device\n"
	      "  --queues N         receive queues to use, 3 or more (default 4)\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option flags[] = {
		{"device", required_argument, NULL, 'd'},
		{"probe", required_argument, NULL, 'p'},
		{"queues", required_argument, NULL, 'q'},
		{NULL, 0, NULL, 0},
	};
	const char *device = NULL, *interface = NULL;
	unsigned int queues = 4;
	struct check check = {0};
	struct sn_error err = {0};
	struct sn_eal eal = {0};
	int opt, rc;

	rc = sn_eal_add(&eal, argv[0], &err);
	while ((opt = getopt_long(argc, argv, "+", flags, NULL)) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'p')
			interface = optarg;
		else if (opt == 'q')
			queues = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (device == NULL || interface == NULL || queues < 3 || queues > QUEUES_MAX)
		return usage();
	for (; rc == 0 && optind < argc; optind++)
		rc = sn_eal_add(&eal, argv[optind], &err);
	if (rc == 0)
		rc = sn_eal_init(&eal, &err);
	if (rc != 0) {
		sn_log(SN_LOG_ERROR, "%s", err.text);
		return EXIT_FAILURE;
	}
	rc = open_device(&check, device, queues);
	if (rc == 0) {
		/* A TAP's kernel side is there only now. */
		check.socket = open_probe_socket(interface);
		rc = check.socket < 0 ? -1 : try_all(&check);
		sn_port_close(&check.port);
	}
	rte_eal_cleanup();
	sn_eal_free(&eal);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
