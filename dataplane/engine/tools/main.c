/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinter-engine: flags and wiring. One control thread, which sleeps, and one
 * worker per further lcore, which polls.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "sn_control.h"
#include "sn_eal.h"
#include "sn_engine.h"
#include "sn_file.h"
#include "sn_log.h"
#include "sn_port.h"
#include "sn_request.h"

#define SN_BINDS_MAX	    RTE_MAX_ETHPORTS
#define SN_SOCKET_FOLDER    "/run/sinter"
#define SN_SOCKET	    SN_SOCKET_FOLDER "/engine.sock"
#define SN_BUFFERS_PER_PORT 16384 /* more than the rings of a port hold */

struct options {
	const char *socket;
	const char *program;
	struct sn_bind binds[SN_BINDS_MAX];
	unsigned int n_binds;
	unsigned int workers;
	unsigned int mtu;
	unsigned int rx_desc;
	unsigned int tx_desc;
	unsigned int buffers;
	unsigned int memory;
	int idle_sleep_us;
	struct sn_partitioning partitioning;
	bool no_shards;
	bool no_huge;
	struct sn_eal eal;
};

static const char usage[] =
	"usage: sinter-engine [flags] [-- EAL arguments]\n"
	"\n"
	"Runs a synthesized packet program on network devices.\n"
	"\n"
	"  --socket PATH       control socket (default /run/sinter/engine.sock)\n"
	"  --program FILE      program to start with (else it comes by the control socket)\n"
	"  --bind IF=DEVICE    device of a chain interface; once per interface. DEVICE is\n"
	"                        veth0                        a kernel interface\n"
	"                        0000:03:00.1                 a PCI device bound to vfio-pci\n"
	"                        net_af_xdp0,iface=eth1       any EAL device string\n"
	"  --pace IF=RATE      frames per second of a device that always has some (a replayed capture),\n"
	"                        as through a ring of --rx-desc: those that find it full are missed\n"
	"  --workers N         worker threads, one CPU each (default 1)\n"
	"  --shards HOW        how the workers share a chain's state: by the inside host (default), by\n"
	"                      address:BIT, the seven bits of its address from BIT on, or by rss, the hash\n"
	"                      by which devices choose a queue\n"
	"  --no-shards         begin with no shard of the state, and do not answer ARP: both are said by\n"
	"                      the control socket\n"
	"  --idle-sleep US     microseconds that an idle worker sleeps; 0: never; auto (default):\n"
	"                      only when all devices are kernel interfaces\n"
	"  --mtu BYTES         largest IP packet that the devices must carry (default 1500)\n"
	"  --rx-desc N         receive descriptors per queue (default 2048)\n"
	"  --tx-desc N         transmit descriptors per queue (default 1024)\n"
	"  --buffers N         packet buffers in all (default by ports)\n"
	"  --no-huge           run without hugepages\n"
	"  --memory MIB        memory with --no-huge (default 1024)\n"
	"  --eal WORDS         EAL arguments in one string; those behind -- follow\n"
	"  --version, --help\n"
	"\n"
	"With a single CPU the worker and the control thread share it.\n";

enum {
	OPT_SOCKET = 256,
	OPT_PROGRAM,
	OPT_BIND,
	OPT_PACE,
	OPT_WORKERS,
	OPT_SHARDS,
	OPT_NO_SHARDS,
	OPT_IDLE_SLEEP,
	OPT_MTU,
	OPT_RX_DESC,
	OPT_TX_DESC,
	OPT_BUFFERS,
	OPT_NO_HUGE,
	OPT_MEMORY,
	OPT_EAL,
	OPT_VERSION,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"program", required_argument, NULL, OPT_PROGRAM},
	{"bind", required_argument, NULL, OPT_BIND},
	{"pace", required_argument, NULL, OPT_PACE},
	{"workers", required_argument, NULL, OPT_WORKERS},
	{"shards", required_argument, NULL, OPT_SHARDS},
	{"no-shards", no_argument, NULL, OPT_NO_SHARDS},
	{"idle-sleep", required_argument, NULL, OPT_IDLE_SLEEP},
	{"mtu", required_argument, NULL, OPT_MTU},
	{"rx-desc", required_argument, NULL, OPT_RX_DESC},
	{"tx-desc", required_argument, NULL, OPT_TX_DESC},
	{"buffers", required_argument, NULL, OPT_BUFFERS},
	{"no-huge", no_argument, NULL, OPT_NO_HUGE},
	{"memory", required_argument, NULL, OPT_MEMORY},
	{"eal", required_argument, NULL, OPT_EAL},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static int parse_number(const char *flag, const char *text, unsigned int min, unsigned int max,
			unsigned int *value)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *text == '-' || number < min || number > max) {
		sn_log(SN_LOG_ERROR, "--%s %s: want a number from %u to %u", flag, text, min, max);
		return -1;
	}
	*value = (unsigned int)number;
	return 0;
}

static int parse_partitioning(const char *text, struct sn_partitioning *partitioning)
{
	struct sn_error err;

	if (sn_partitioning_parse(text, partitioning, &err) == 0)
		return 0;
	sn_log(SN_LOG_ERROR, "--%s", err.text);
	return -1;
}

static int add_bind(struct options *options, const char *arg)
{
	struct sn_bind *bind = &options->binds[options->n_binds];
	struct sn_error err;

	if (options->n_binds == SN_BINDS_MAX) {
		sn_log(SN_LOG_ERROR, "--bind %s: at most %d interfaces", arg, SN_BINDS_MAX);
		return -1;
	}
	if (sn_bind_parse(arg, bind, &err) != 0) {
		sn_log(SN_LOG_ERROR, "--bind: %s", err.text);
		return -1;
	}
	for (unsigned int i = 0; i < options->n_binds; i++) {
		if (strcmp(options->binds[i].interface, bind->interface) == 0) {
			sn_log(SN_LOG_ERROR, "--bind %s: interface %s is bound to %s already", arg,
			       bind->interface, options->binds[i].device);
			return -1;
		}
	}
	options->n_binds++;
	return 0;
}

static int add_pace(struct options *options, const char *arg)
{
	struct sn_error err;

	if (sn_bind_pace(arg, options->binds, options->n_binds, &err) != 0) {
		sn_log(SN_LOG_ERROR, "--pace: %s", err.text);
		return -1;
	}
	return 0;
}

/* 0: go on, 1: done, -1: error. */
/* Flags that want a number. */
static const struct {
	int opt;
	const char *flag;
	unsigned int min, max;
	size_t at; /* in the options */
} numbers[] = {
	{OPT_WORKERS, "workers", 1, SN_WORKERS_MAX, offsetof(struct options, workers)},
	{OPT_MTU, "mtu", 68, 16000, offsetof(struct options, mtu)},
	{OPT_RX_DESC, "rx-desc", 64, 32768, offsetof(struct options, rx_desc)},
	{OPT_TX_DESC, "tx-desc", 64, 32768, offsetof(struct options, tx_desc)},
	{OPT_BUFFERS, "buffers", 1024, 1u << 24, offsetof(struct options, buffers)},
	{OPT_MEMORY, "memory", 64, 1u << 20, offsetof(struct options, memory)},
};

static int parse_number_flag(int opt, const char *text, struct options *options)
{
	for (size_t i = 0; i < RTE_DIM(numbers); i++)
		if (numbers[i].opt == opt)
			return parse_number(numbers[i].flag, text, numbers[i].min, numbers[i].max,
					    (unsigned int *)((char *)options + numbers[i].at));
	fputs(usage, stderr);
	return -1;
}

static int parse_idle_sleep(const char *text, int *us)
{
	unsigned int number = 0;

	*us = SN_IDLE_AUTO;
	if (strcmp(text, "auto") == 0)
		return 0;
	if (parse_number("idle-sleep", text, 0, 100000, &number) != 0)
		return -1;
	*us = (int)number;
	return 0;
}

/* Parse the arguments behind the flags. */
static int parse_eal_arguments(int argc, char **argv, struct options *options)
{
	struct sn_error err;

	if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
		sn_log(SN_LOG_ERROR, "unexpected argument \"%s\"; EAL's arguments stand behind --",
		       argv[optind]);
		return -1;
	}
	for (; optind < argc; optind++) {
		if (sn_eal_add(&options->eal, argv[optind], &err) != 0) {
			sn_log(SN_LOG_ERROR, "%s", err.text);
			return -1;
		}
	}
	return 0;
}

static int parse_flags(int argc, char **argv, struct options *options)
{
	struct sn_error err;
	int opt, rc = 0;

	while (rc == 0 && (opt = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
		switch (opt) {
		case OPT_SOCKET:
			options->socket = optarg;
			break;
		case OPT_PROGRAM:
			options->program = optarg;
			break;
		case OPT_BIND:
			rc = add_bind(options, optarg);
			break;
		case OPT_PACE:
			rc = add_pace(options, optarg);
			break;
		case OPT_SHARDS:
			rc = parse_partitioning(optarg, &options->partitioning);
			break;
		case OPT_NO_SHARDS:
			options->no_shards = true;
			break;
		case OPT_IDLE_SLEEP:
			rc = parse_idle_sleep(optarg, &options->idle_sleep_us);
			break;
		case OPT_NO_HUGE:
			options->no_huge = true;
			break;
		case OPT_EAL:
			rc = sn_eal_add_words(&options->eal, optarg, &err);
			if (rc != 0)
				sn_log(SN_LOG_ERROR, "--eal: %s", err.text);
			break;
		case OPT_VERSION:
			printf("sinter-engine %s, program schema %u, %s\n", SN_VERSION, SN_SCHEMA,
			       rte_version());
			return 1;
		case OPT_HELP:
			fputs(usage, stdout);
			return 1;
		default:
			rc = parse_number_flag(opt, optarg, options);
		}
	}
	return rc == 0 ? parse_eal_arguments(argc, argv, options) : rc;
}

/* Add what EAL needs and the user did not say. */
static int complete_eal(struct options *options, struct sn_error *err)
{
	struct sn_eal *eal = &options->eal;
	bool devices_chosen = sn_eal_has(eal, "-a") || sn_eal_has(eal, "--allow") || sn_eal_has(eal, "-b") ||
			      sn_eal_has(eal, "--block") || sn_eal_has(eal, "--no-pci");
	bool pci = false;

	if (!sn_eal_has(eal, "-l") && !sn_eal_has(eal, "-c") && !sn_eal_has(eal, "--lcores") &&
	    sn_eal_add_lcores(eal, options->workers, err) != 0)
		return -1;
	if (options->no_huge && !sn_eal_has(eal, "--no-huge") &&
	    sn_eal_add_no_huge(eal, options->memory, err) != 0)
		return -1;
	if (!sn_eal_has(eal, "--no-huge") && !sn_eal_has(eal, "--in-memory") &&
	    !sn_eal_has(eal, "--file-prefix") && !sn_eal_has(eal, "--proc-type") &&
	    sn_eal_add(eal, "--in-memory", err) != 0)
		return -1;
	if (!sn_eal_has(eal, "--log-level") &&
	    sn_eal_add_words(eal, "--log-level=*:warning --log-level=lib.telemetry:error", err) != 0)
		return -1;
	/* EAL takes every device it can drive unless it is told which: we want the bound ones. */
	for (unsigned int i = 0; i < options->n_binds && !devices_chosen; i++) {
		if (options->binds[i].kind != SN_PORT_PCI)
			continue;
		pci = true;
		if (sn_eal_add(eal, "-a", err) != 0 || sn_eal_add(eal, options->binds[i].device, err) != 0)
			return -1;
	}
	if (!devices_chosen && !pci && sn_eal_add(eal, "--no-pci", err) != 0)
		return -1;
	return 0;
}

static int check_lcores(const struct options *options, struct sn_error *err)
{
	if (rte_lcore_count() > options->workers)
		return 0;
	return sn_fail(
		err,
		"EAL has %u lcores; %u workers and the control thread need %u (on one CPU: --lcores 0@0,1@0)",
		rte_lcore_count(), options->workers, options->workers + 1);
}

struct ports {
	struct sn_port port[SN_BINDS_MAX];
	unsigned int n;
	struct rte_mempool *pool;
};

static int open_ports(struct ports *ports, const struct options *options, struct sn_error *err)
{
	unsigned int buffers = options->buffers;
	uint16_t data_room = RTE_MBUF_DEFAULT_BUF_SIZE;
	struct sn_port_config config = {
		.hash = options->partitioning.by == SN_PARTITION_BY_RSS && options->workers > 1,
		.queues = (uint16_t)options->workers,
		.rx_desc = (uint16_t)options->rx_desc,
		.tx_desc = (uint16_t)options->tx_desc,
	};

	for (unsigned int i = 0; i < options->n_binds; i++) {
		if (sn_port_attach(&ports->port[i], &options->binds[i], config.queues, (uint16_t)options->mtu,
				   err) != 0)
			return -1;
		ports->n++;
		data_room = RTE_MAX(data_room, sn_port_data_room(&ports->port[i]));
	}
	if (buffers == 0)
		buffers = RTE_MAX(ports->n, 1u) * (SN_BUFFERS_PER_PORT +
						   options->workers * (options->rx_desc + options->tx_desc)) -
			  1;
	ports->pool = rte_pktmbuf_pool_create("packets", buffers, 256, 0, data_room, SOCKET_ID_ANY);
	if (ports->pool == NULL) {
		sn_fail(err,
			"no memory for %u packet buffers of %u bytes: reserve more hugepages (with "
			"--no-huge: more "
			"--memory), or lower --buffers",
			buffers, data_room);
		return -1;
	}
	config.pool = ports->pool;
	for (unsigned int i = 0; i < ports->n; i++)
		if (sn_port_start(&ports->port[i], &config, err) != 0)
			return -1;
	return 0;
}

static void close_ports(struct ports *ports)
{
	for (unsigned int i = 0; i < ports->n; i++)
		sn_port_close(&ports->port[i]);
}

static int load_file(struct sn_engine *engine, const char *path, struct sn_error *err)
{
	struct sn_engine_loaded loaded;
	struct sn_engine_bytes bytes = {0};
	uint8_t *data;
	size_t len;
	int rc;

	if (sn_file_read(path, &data, &len, err) != 0)
		return -1;
	bytes.data = data;
	bytes.len = len;
	rc = sn_engine_load_bytes(engine, &bytes, &loaded, err);
	if (rc != 0)
		sn_fail_in(err, "program %s", path);
	free(data);
	return rc;
}

/* Serves the control socket until a signal or a client ends it. */
static int serve(struct sn_engine *engine, const char *path, int signals, struct sn_error *err)
{
	struct sn_requests requests;
	struct sn_control *control;
	struct signalfd_siginfo info;
	int rc = 0;

	if (strcmp(path, SN_SOCKET) == 0)
		mkdir(SN_SOCKET_FOLDER, 0755); /* else the next step says what is wrong with it */
	sn_requests_init(&requests, engine, NULL, NULL);
	control = sn_control_open(path, sn_requests_answer, &requests, err);
	if (control == NULL)
		return -1;
	if (sn_control_watch(control, signals) != 0) {
		sn_fail(err, "signals: %s", strerror(errno));
		rc = -1;
	}
	if (rc == 0)
		sn_log(SN_LOG_INFO, "engine version=%s socket=%s ready", SN_VERSION, path);
	while (rc == 0 && !requests.shutdown) {
		rc = sn_control_poll(control, sn_requests_tick(&requests));
		if (rc < 0)
			sn_fail(err, "control socket: %s", strerror(errno));
		if (rc == 1) {
			rc = 0;
			/* SIGHUP is the command line's: it loads the new program by the socket. */
			if (read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGHUP) {
				sn_log(SN_LOG_INFO, "engine signal=%s stopping",
				       strsignal((int)info.ssi_signo));
				break;
			}
		}
	}
	sn_control_close(control);
	sn_requests_free(&requests);
	return rc;
}

static int run(struct options *options, int signals, struct sn_error *err)
{
	struct ports ports = {0};
	struct sn_engine *engine = NULL;
	struct sn_engine_config config;
	int rc = open_ports(&ports, options, err);

	if (rc == 0) {
		config = (struct sn_engine_config){
			.ports = {.all = ports.port, .n = ports.n},
			.n_workers = options->workers,
			.partitioning = options->partitioning,
			.bare = options->no_shards,
			.pool = ports.pool,
			.idle_sleep_us = options->idle_sleep_us,
		};
		engine = sn_engine_create(&config, err);
		rc = engine != NULL ? 0 : -1;
	}
	if (rc == 0 && options->program != NULL)
		rc = load_file(engine, options->program, err);
	if (rc == 0)
		rc = sn_engine_start(engine, err);
	if (rc == 0)
		rc = serve(engine, options->socket, signals, err);
	/* Workers finish their burst, which sends it; then the ports close, which flushes them. */
	if (engine != NULL)
		sn_engine_stop(engine);
	close_ports(&ports);
	if (engine != NULL)
		sn_engine_free(engine);
	rte_mempool_free(ports.pool);
	return rc;
}

int main(int argc, char **argv)
{
	static struct options options = {
		.socket = SN_SOCKET,
		.workers = 1,
		.mtu = RTE_ETHER_MTU,
		.rx_desc = 2048,
		.tx_desc = 1024,
		.memory = 1024,
		.idle_sleep_us = SN_IDLE_AUTO,
	};
	struct sn_error err = {0};
	sigset_t set;
	int signals, rc;

	if (sn_eal_add(&options.eal, argv[0], &err) != 0)
		return EXIT_FAILURE;
	rc = parse_flags(argc, argv, &options);
	if (rc != 0) {
		sn_eal_free(&options.eal);
		return rc > 0 ? EXIT_SUCCESS : 2;
	}
	/* Before EAL starts its threads, so that all of them leave the signals to us. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	rc = complete_eal(&options, &err);
	if (rc == 0)
		rc = sn_eal_init(&options.eal, &err);
	if (rc == 0) {
		rc = check_lcores(&options, &err);
		if (rc == 0)
			rc = run(&options, signals, &err);
		rte_eal_cleanup();
	}
	if (rc != 0)
		sn_log(SN_LOG_ERROR, "%s", err.text);
	else
		sn_log(SN_LOG_INFO, "engine stopped");
	close(signals);
	sn_eal_free(&options.eal);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
