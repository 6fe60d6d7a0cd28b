/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DPDK driver net_replay, a plugin for any DPDK program: EAL's -d loads it, --vdev makes a device. See
 * README.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_cycles.h>
#include <rte_kvargs.h>
#include <rte_malloc.h>

#include "sn_log.h"
#include "sn_replay_report.h"

#define QUEUES	     16u
#define DEVICES	     8u
#define RING_DEFAULT 4096u
#define DEPTH_MAX    (1u << 20)
#define PATIENCE_MAX 60000u
#define BURSTS_MAX   (1U << 20)
#define FLOWS_MAX    (1U << 24)
#define PACKETS_MAX  1000000000000ull

struct device {
	const char *name;
	struct rte_eth_dev *dev;
	struct rte_ether_addr mac;
	struct sn_replay_config config;
	struct sn_capture captures[QUEUES];
	unsigned int n_captures;
	char *report;	   /* a file, or NULL */
	bool latency;	   /* of frames that another device received */
	unsigned int done; /* queues that have received all that is to be measured */
	bool reported;
};

/* Those whose program ends without closing them report then. */
static struct device *devices[DEVICES];

static const struct rte_eth_link link_up = {
	.link_speed = RTE_ETH_SPEED_NUM_100G,
	.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
	.link_autoneg = RTE_ETH_LINK_FIXED,
	.link_status = RTE_ETH_LINK_UP,
};

static struct device *device_of(const struct rte_eth_dev *dev)
{
	return *(struct device **)dev->data->dev_private;
}

static void write_report(struct device *device)
{
	static struct sn_replay_report report; /* large */
	const struct rte_eth_dev_data *data = device->dev->data;
	struct sn_error err;

	if (device->report == NULL || __atomic_exchange_n(&device->reported, true, __ATOMIC_ACQ_REL))
		return;
	memset(&report, 0, sizeof(report));
	report.device = device->name;
	report.hz = rte_get_tsc_hz();
	for (uint16_t q = 0; q < data->nb_rx_queues; q++)
		if (device->n_captures > 0 && data->rx_queues[q] != NULL)
			sn_replay_report_rx(&report, data->rx_queues[q]);
	for (uint16_t q = 0; q < data->nb_tx_queues; q++)
		if (data->tx_queues[q] != NULL)
			sn_replay_report_tx(&report, data->tx_queues[q]);
	if (sn_replay_report_write(&report, device->report, &err) != 0)
		sn_log(SN_LOG_ERROR, "device=%s report=failed: %s", device->name, err.text);
}

static __attribute__((destructor)) void write_reports(void)
{
	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i] != NULL && devices[i]->dev != NULL)
			write_report(devices[i]);
}

/* The last queue that has all its packets writes the report, before it takes more. */
static uint16_t receive(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct sn_replay_rx *rx = queue;
	bool before = sn_replay_done(rx);
	uint16_t taken = sn_replay_receive(rx, pkts, n);

	if (unlikely(sn_replay_done(rx) != before)) {
		struct device *device = device_of(&rte_eth_devices[rx->port]);

		if (__atomic_add_fetch(&device->done, 1, __ATOMIC_ACQ_REL) == device->dev->data->nb_rx_queues)
			write_report(device);
	}
	return taken;
}

static uint16_t receive_nothing(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)queue;
	(void)pkts;
	(void)n;
	return 0;
}

static int configure(struct rte_eth_dev *dev)
{
	struct device *device = device_of(dev);

	device->config.checksums = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0;
	return 0;
}

/* Queues that share a capture begin at places of their own. */
static uint32_t first_frame(const struct device *device, uint16_t queue, uint16_t queues)
{
	const struct sn_capture *capture = &device->captures[queue % device->n_captures];
	unsigned int share = (queues + device->n_captures - 1) / device->n_captures;

	return (uint32_t)((uint64_t)capture->n * (queue / device->n_captures) / share);
}

static int start(struct rte_eth_dev *dev)
{
	struct device *device = device_of(dev);
	uint16_t queues = dev->data->nb_rx_queues;
	struct sn_error err;

	device->config.hz = rte_get_tsc_hz();
	device->done = 0;
	device->reported = false;
	for (uint16_t q = 0; q < queues && device->n_captures > 0; q++)
		if (sn_replay_rx_start(dev->data->rx_queues[q], &device->config,
				       first_frame(device, q, queues), &err) != 0) {
			sn_log(SN_LOG_ERROR, "device=%s queue=%u: %s", device->name, q, err.text);
			return -EINVAL;
		}
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
		if (sn_replay_tx_start(dev->data->tx_queues[q], &device->config, &err) != 0) {
			sn_log(SN_LOG_ERROR, "device=%s queue=%u: %s", device->name, q, err.text);
			return -ENOMEM;
		}
	dev->data->dev_link = link_up;
	return 0;
}

static int stop(struct rte_eth_dev *dev)
{
	struct device *device = device_of(dev);

	write_report(device);
	for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++)
		if (device->n_captures > 0 && dev->data->rx_queues[q] != NULL)
			sn_replay_rx_stop(dev->data->rx_queues[q]);
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
		if (dev->data->tx_queues[q] != NULL)
			sn_replay_tx_stop(dev->data->tx_queues[q]);
	dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
	return 0;
}

static void free_device(struct device *device)
{
	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i] == device)
			devices[i] = NULL;
	for (unsigned int i = 0; i < device->n_captures; i++)
		sn_capture_free(&device->captures[i]);
	free(device->report);
	free(device);
}

static int close_device(struct rte_eth_dev *dev)
{
	if (rte_eal_process_type() != RTE_PROC_PRIMARY || dev->data->dev_private == NULL)
		return 0;
	free_device(device_of(dev));
	dev->data->mac_addrs = NULL; /* lay in the device */
	return 0;
}

static int set_up_rx(struct rte_eth_dev *dev, uint16_t queue, uint16_t descriptors, unsigned int socket,
		     const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct device *device = device_of(dev);
	struct sn_replay_rx *rx = rte_zmalloc_socket("replay rx", sizeof(*rx), 64, (int)socket);

	(void)descriptors;
	(void)conf;
	if (rx == NULL)
		return -ENOMEM;
	rx->pool = pool;
	rx->port = dev->data->port_id;
	rx->arrival = sn_replay_arrival();
	if (device->n_captures > 0)
		rx->capture = &device->captures[queue % device->n_captures];
	dev->data->rx_queues[queue] = rx;
	return rx->arrival < 0 ? -ENOSPC : 0;
}

static int set_up_tx(struct rte_eth_dev *dev, uint16_t queue, uint16_t descriptors, unsigned int socket,
		     const struct rte_eth_txconf *conf)
{
	struct sn_replay_tx *tx = rte_zmalloc_socket("replay tx", sizeof(*tx), 64, (int)socket);

	(void)descriptors;
	(void)conf;
	if (tx == NULL)
		return -ENOMEM;
	tx->arrival = sn_replay_arrival();
	tx->paced = device_of(dev)->config.rate > 0 || device_of(dev)->latency;
	dev->data->tx_queues[queue] = tx;
	return tx->arrival < 0 ? -ENOSPC : 0;
}

static void release_rx(struct rte_eth_dev *dev, uint16_t queue)
{
	rte_free(dev->data->rx_queues[queue]);
}

static void release_tx(struct rte_eth_dev *dev, uint16_t queue)
{
	rte_free(dev->data->tx_queues[queue]);
}

static int tell(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	(void)dev;
	info->max_mac_addrs = 1;
	info->max_rx_pktlen = SN_CAPTURE_FRAME_MAX;
	info->max_mtu = SN_CAPTURE_FRAME_MAX - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN;
	info->max_rx_queues = QUEUES;
	info->max_tx_queues = QUEUES;
	info->rx_offload_capa = RTE_ETH_RX_OFFLOAD_CHECKSUM;
	info->tx_offload_capa = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	return 0;
}

static int tell_link(struct rte_eth_dev *dev, int wait)
{
	(void)wait;
	dev->data->dev_link = link_up;
	return 0;
}

static int tell_counts(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	const struct device *device = device_of(dev);

	for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++) {
		const struct sn_replay_rx *rx = dev->data->rx_queues[q];

		if (device->n_captures == 0 || rx == NULL)
			continue;
		stats->ipackets += __atomic_load_n(&rx->packets, __ATOMIC_RELAXED);
		stats->imissed += __atomic_load_n(&rx->pace.missed, __ATOMIC_RELAXED);
		stats->rx_nombuf += rx->nobuffer;
	}
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++) {
		const struct sn_replay_tx *tx = dev->data->tx_queues[q];

		if (tx == NULL)
			continue;
		stats->opackets += __atomic_load_n(&tx->packets, __ATOMIC_RELAXED);
		stats->obytes += tx->bytes;
	}
	return 0;
}

/* All that a wire would bring comes anyway. */
static int accept_any(struct rte_eth_dev *dev)
{
	(void)dev;
	return 0;
}

static int accept_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
	(void)dev;
	(void)mtu;
	return 0;
}

static int set_mac(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	(void)dev;
	(void)mac;
	return 0;
}

static const uint32_t *tell_types(struct rte_eth_dev *dev)
{
	static const uint32_t types[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4,	    RTE_PTYPE_L3_IPV4_EXT,
					 RTE_PTYPE_L3_IPV6,  RTE_PTYPE_L3_IPV6_EXT, RTE_PTYPE_L4_TCP,
					 RTE_PTYPE_L4_UDP,   RTE_PTYPE_L4_FRAG,	    RTE_PTYPE_UNKNOWN};

	(void)dev;
	return types;
}

static const struct eth_dev_ops operations = {
	.dev_configure = configure,
	.dev_start = start,
	.dev_stop = stop,
	.dev_close = close_device,
	.dev_infos_get = tell,
	.dev_supported_ptypes_get = tell_types,
	.rx_queue_setup = set_up_rx,
	.tx_queue_setup = set_up_tx,
	.rx_queue_release = release_rx,
	.tx_queue_release = release_tx,
	.link_update = tell_link,
	.stats_get = tell_counts,
	.promiscuous_enable = accept_any,
	.promiscuous_disable = accept_any,
	.allmulticast_enable = accept_any,
	.allmulticast_disable = accept_any,
	.mtu_set = accept_mtu,
	.mac_addr_set = set_mac,
};

static int read_capture(const char *key, const char *value, void *context)
{
	struct device *device = context;
	struct sn_error err;

	(void)key;
	if (device->n_captures == QUEUES)
		sn_fail(&err, "more than %u captures", QUEUES);
	else if (sn_capture_read(&device->captures[device->n_captures], value, &err) == 0) {
		device->n_captures++;
		return 0;
	}
	sn_log(SN_LOG_ERROR, "device=%s pcap: %s", device->name, err.text);
	return -1;
}

static int read_path(const char *key, const char *value, void *context)
{
	char **path = context;

	(void)key;
	free(*path);
	*path = strdup(value);
	return *path != NULL ? 0 : -1;
}

static int read_number(const char *key, const char *value, void *context)
{
	uint64_t *number = context;
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	if (*value >= '0' && *value <= '9' && *end == '\0' && errno == 0 && *number <= PACKETS_MAX)
		return 0;
	sn_log(SN_LOG_ERROR, "%s=%s: want a number from 0 to %llu", key, value, PACKETS_MAX);
	return -1;
}

static int check(const struct device *device, uint64_t depth, uint64_t ring, uint64_t bursts, uint64_t flows)
{
	if (flows > FLOWS_MAX || (flows & (flows - 1)) != 0) {
		sn_log(SN_LOG_ERROR, "device=%s: want order 0 or a power of two up to %u", device->name,
		       FLOWS_MAX);
		return -1;
	}
	if (device->config.rate > SN_PACE_RATE_MAX || depth > DEPTH_MAX || ring == 0 || ring > UINT32_MAX ||
	    device->config.patience > PATIENCE_MAX || bursts > BURSTS_MAX) {
		sn_log(SN_LOG_ERROR,
		       "device=%s: want rate up to %u, depth up to %u, ring from 1 to %u, patience up to %u, "
		       "bursts up to %u",
		       device->name, SN_PACE_RATE_MAX, DEPTH_MAX, UINT32_MAX, PATIENCE_MAX, BURSTS_MAX);
		return -1;
	}
	return 0;
}

static int read_arguments(struct device *device, const char *text)
{
	static const char *const keys[] = {"pcap",   "rate",   "warmup",  "count", "report",
					   "ring",   "depth",  "latency", "quiet", "patience",
					   "bursts", "number", "order",	  NULL};
	uint64_t ring = RING_DEFAULT, depth = 0, latency = 0, bursts = 0, number = 0, flows = 0;
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {
		{"rate", &device->config.rate},
		{"warmup", &device->config.warmup},
		{"count", &device->config.count},
		{"ring", &ring},
		{"depth", &depth},
		{"latency", &latency},
		{"quiet", &device->config.quiet},
		{"patience", &device->config.patience},
		{"bursts", &bursts},
		{"number", &number},
		{"order", &flows},
	};
	struct rte_kvargs *args = rte_kvargs_parse(text != NULL ? text : "", keys);
	int rc = args != NULL ? 0 : -1;

	for (size_t i = 0; i < RTE_DIM(numbers) && rc == 0; i++)
		rc = rte_kvargs_process(args, numbers[i].key, read_number, numbers[i].number);
	if (rc == 0)
		rc = rte_kvargs_process(args, "report", read_path, &device->report);
	if (rc == 0)
		rc = check(device, depth, ring, bursts, flows);
	if (rc == 0)
		rc = rte_kvargs_process(args, "pcap", read_capture, device);
	rte_kvargs_free(args);
	device->config.ring = (uint32_t)ring;
	device->config.depth = (uint32_t)depth;
	device->config.bursts = (uint32_t)bursts;
	device->config.flows = (uint32_t)flows;
	device->config.numbered = number != 0;
	device->latency = latency != 0;
	return rc;
}

static int add(struct rte_vdev_device *vdev, struct device *device)
{
	struct rte_eth_dev *dev = rte_eth_vdev_allocate(vdev, sizeof(struct device *));

	if (dev == NULL)
		return -1;
	*(struct device **)dev->data->dev_private = device;
	device->dev = dev;
	device->mac = (struct rte_ether_addr){{0x02, 0x73, 0x6e, 0x72, 0, (uint8_t)dev->data->port_id}};
	dev->data->mac_addrs = &device->mac;
	dev->data->dev_link = link_up;
	dev->data->promiscuous = 1;
	dev->data->all_multicast = 1;
	dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->dev_ops = &operations;
	dev->rx_pkt_burst = device->n_captures > 0 ? receive : receive_nothing;
	dev->tx_pkt_burst = sn_replay_send;
	rte_eth_dev_probing_finish(dev);
	return 0;
}

static int probe(struct rte_vdev_device *vdev)
{
	struct device *device = calloc(1, sizeof(*device));
	unsigned int i = 0;

	while (i < DEVICES && devices[i] != NULL)
		i++;
	if (device == NULL || i == DEVICES) {
		free(device);
		return -ENOSPC;
	}
	device->name = rte_vdev_device_name(vdev);
	if (vdev->device.numa_node == SOCKET_ID_ANY)
		vdev->device.numa_node = (int)rte_socket_id();
	devices[i] = device;
	if (read_arguments(device, rte_vdev_device_args(vdev)) == 0 && add(vdev, device) == 0)
		return 0;
	free_device(device);
	return -EINVAL;
}

/* Also of a program that ends without closing its ports. */
static int remove_device(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (dev == NULL)
		return 0;
	if (dev->data->dev_started)
		stop(dev);
	close_device(dev);
	return rte_eth_dev_release_port(dev);
}

static struct rte_vdev_driver driver = {.probe = probe, .remove = remove_device};

RTE_PMD_REGISTER_VDEV(net_replay, driver);
RTE_PMD_REGISTER_PARAM_STRING(net_replay, "pcap=<path> rate=<int> warmup=<int> count=<int> ring=<int> "
					  "depth=<int> latency=<int> quiet=<int> patience=<int> bursts=<int> "
					  "number=<int> order=<int> report=<path>");
