/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_port.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "sn_af_packet.h"
#include "sn_log.h"
#include "sn_memif.h"
#include "sn_rss.h"
#include "sn_xdp.h"

#define SN_SOCKETS_MAX 1024 /* AF_XDP sockets of a process that are looked at */

/* The part of a device string before its arguments: the name that EAL knows the device by. */
static void device_name(const char *device, char *name, size_t len)
{
	snprintf(name, len, "%.*s", (int)strcspn(device, ","), device);
}

/* The ethdev port of a device that EAL has probed, RTE_MAX_ETHPORTS if none. */
static uint16_t find_port(const char *name)
{
	struct rte_eth_dev_info info;
	uint16_t id;

	if (rte_eth_dev_get_port_by_name(name, &id) == 0)
		return id;
	RTE_ETH_FOREACH_DEV(id)
	{
		if (rte_eth_dev_info_get(id, &info) == 0 && info.device != NULL) {
			const char *seen = rte_dev_name(info.device);

			/* "03:00.1" is short for "0000:03:00.1". */
			if (strcmp(seen, name) == 0 ||
			    (strncmp(seen, "0000:", 5) == 0 && strcmp(seen + 5, name) == 0))
				return id;
		}
	}
	return RTE_MAX_ETHPORTS;
}

struct sn_port *sn_port_of(const struct sn_ports *ports, const char *interface)
{
	for (unsigned int i = 0; i < ports->n; i++)
		if (strcmp(ports->all[i].bind.interface, interface) == 0)
			return &ports->all[i];
	return NULL;
}

static bool has_kernel_address(const char *name)
{
	struct ifaddrs *list, *entry;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (entry = list; entry != NULL; entry = entry->ifa_next)
		if (entry->ifa_addr != NULL && entry->ifa_addr->sa_family == AF_INET &&
		    strcmp(entry->ifa_name, name) == 0)
			found = true;
	freeifaddrs(list);
	return found;
}

/* Brings a kernel interface up, and reads its MTU, which must hold the chain's. */
static int kernel_interface_prepare(const struct sn_bind *bind, const char *link, uint16_t chain_mtu,
				    uint16_t *mtu, struct sn_error *err)
{
	struct ifreq request = {0};
	int fd, result = 0;

	if (strlen(link) >= sizeof(request.ifr_name) || if_nametoindex(link) == 0)
		return sn_fail(
			err,
			"interface %s: there is no network interface \"%s\" (and it is no PCI address "
			"such as "
			"0000:03:00.1 and no device such as net_tap0); \"ip link\" lists what there is",
			bind->interface, link);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return sn_fail(err, "interface %s: socket: %s", bind->interface, strerror(errno));
	strcpy(request.ifr_name, link);
	*mtu = chain_mtu;
	if (ioctl(fd, SIOCGIFMTU, &request) == 0)
		*mtu = (uint16_t)RTE_MIN(request.ifr_mtu, UINT16_MAX);
	if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) == 0) {
		request.ifr_flags |= IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
			result = sn_fail(
				err,
				"interface %s: %s is down and cannot be set up: %s (needs CAP_NET_ADMIN)",
				bind->interface, link, strerror(errno));
	}
	close(fd);
	if (result == 0 && *mtu < chain_mtu)
		result = sn_fail(err,
				 "interface %s: MTU of %s is %u, the chain wants %u: raise it (ip link "
				 "set %s mtu %u) or "
				 "lower the chain's",
				 bind->interface, link, *mtu, chain_mtu, link, chain_mtu);
	if (result == 0 && has_kernel_address(link))
		sn_log(SN_LOG_WARN,
		       "port=%s device=%s the kernel has an IPv4 address on this interface and will answer "
		       "beside the chain: "
		       "remove it (ip addr flush dev %s)",
		       bind->interface, link, link);
	return result;
}

static bool is_kernel_driver(const char *driver)
{
	static const char *const drivers[] = {"net_af_packet", "net_af_xdp", "net_tap", "net_virtio_user"};

	for (size_t i = 0; i < RTE_DIM(drivers); i++)
		if (strcmp(driver, drivers[i]) == 0)
			return true;
	return false;
}

static bool is_xdp(const struct sn_port *port)
{
	return strcmp(port->driver, "net_af_xdp") == 0;
}

/* A kernel interface that net_af_xdp opens: claimed, up, and with what the driver needs among its arguments.
 */
static int prepare_xdp(struct sn_port *port, uint16_t queues, struct sn_error *err)
{
	const struct sn_bind *bind = &port->bind;
	char link[IF_NAMESIZE];
	uint16_t kernel_mtu;

	if (sn_xdp_link(bind->device, link, err) != 0)
		return sn_fail_in(err, "interface %s", bind->interface);
	if (kernel_interface_prepare(bind, link, port->mtu, &kernel_mtu, err) != 0)
		return -1;
	if (sn_xdp_devargs(bind->device, queues, port->devargs, sizeof(port->devargs), err) == 0)
		port->claim = sn_xdp_claim(bind->device, queues, err);
	if (port->claim < 0)
		return sn_fail_in(err, "interface %s", bind->interface);
	return 0;
}

/* The kernel interface whose frames wait in a socket's ring. */
static void find_link(struct sn_port *port)
{
	if (port->bind.kind == SN_PORT_KERNEL)
		strcpy(port->link, port->bind.device); /* whose length was checked */
	else if (is_xdp(port) || strcmp(port->driver, "net_af_packet") == 0)
		(void)sn_xdp_link(port->bind.device, port->link, NULL);
}

/* Has the kernel leave alone what comes in by an interface that is the chain's. */
static int keep_kernel_off(struct sn_port *port, struct sn_error *err)
{
	if (port->link[0] == '\0' || sn_kernel_quiet(port->link, &port->uses, err) == 0)
		return 0;
	return sn_fail_in(err, "interface %s", port->bind.interface);
}

/* Finds the EAL device, which is attached if it is not yet. */
static int probe(struct sn_port *port, struct sn_error *err)
{
	const struct sn_bind *bind = &port->bind;
	char name[SN_PORT_DEVICE_MAX];
	int rc;

	device_name(port->devargs, name, sizeof(name));
	port->id = find_port(name);
	if (port->id != RTE_MAX_ETHPORTS)
		return 0;
	rc = rte_dev_probe(port->devargs);
	if (rc == 0)
		port->id = find_port(name);
	if (port->id != RTE_MAX_ETHPORTS)
		return 0;
	if (bind->kind == SN_PORT_PCI)
		return sn_fail(err,
			       "interface %s: no Ethernet device at %s (%s): bind it to vfio-pci "
			       "(dpdk-devbind.py -b vfio-pci %s) and see that its driver is installed",
			       bind->interface, bind->device, rc != 0 ? strerror(-rc) : "not probed",
			       bind->device);
	return sn_fail(
		err,
		"interface %s: device \"%s\" cannot be opened: %s (the lines above say why; privileges "
		"and the "
		"device's arguments are the usual reasons)",
		bind->interface, port->devargs, rc != 0 ? strerror(-rc) : "not probed");
}

int sn_port_attach(struct sn_port *port, const struct sn_bind *bind, uint16_t queues, uint16_t mtu,
		   struct sn_error *err)
{
	struct rte_eth_dev_info info;
	int rc;

	memset(port, 0, sizeof(*port));
	port->bind = *bind;
	port->mtu = mtu;
	port->claim = -1;
	if (bind->kind == SN_PORT_KERNEL) {
		if (kernel_interface_prepare(bind, bind->device, mtu, &port->mtu, err) != 0)
			return -1;
		sn_af_packet_devargs(bind->device, port->mtu, queues, port->devargs, sizeof(port->devargs));
	} else if (sn_xdp_drives(bind->device)) {
		if (prepare_xdp(port, queues, err) != 0)
			return -1;
	} else {
		snprintf(port->devargs, sizeof(port->devargs), "%s", bind->device);
		sn_memif_take_over(bind->device);
	}

	if (probe(port, err) != 0)
		return -1;
	rc = rte_eth_dev_info_get(port->id, &info);
	if (rc != 0)
		return sn_fail(err, "interface %s: device \"%s\": %s", bind->interface, bind->device,
			       strerror(-rc));
	snprintf(port->driver, sizeof(port->driver), "%s", info.driver_name);
	port->kernel = is_kernel_driver(port->driver);
	port->socket = RTE_MAX(rte_eth_dev_socket_id(port->id), 0);
	if (queues > info.max_rx_queues || queues > info.max_tx_queues)
		return sn_fail(
			err,
			"interface %s: device \"%s\" has %u receive and %u transmit queues, %u workers "
			"need as many: "
			"use --workers %u",
			bind->interface, bind->device, info.max_rx_queues, info.max_tx_queues, queues,
			RTE_MIN(info.max_rx_queues, info.max_tx_queues));
	/* The other process says how many queues there are, and DPDK writes to a further one as if it were
	 * the first: two workers would write to one ring. */
	if (queues > 1 && !strcmp(port->driver, "net_memif"))
		return sn_fail(err,
			       "interface %s: device \"%s\" is memory shared with another process, which may "
			       "have one queue, and %u workers need as many: use --workers 1",
			       bind->interface, bind->device, queues);
	rc = rte_eth_macaddr_get(port->id, &port->device_mac);
	if (rc != 0)
		return sn_fail(err, "interface %s: device \"%s\": MAC address: %s", bind->interface,
			       bind->device, strerror(-rc));
	port->mac = port->device_mac;
	find_link(port);
	return keep_kernel_off(port, err);
}

uint16_t sn_port_data_room(const struct sn_port *port)
{
	uint32_t frame = (uint32_t)port->mtu + SN_FRAME_OVERHEAD;

	/* net_af_packet wants room for a whole slot; net_af_xdp has room for what fits a page. */
	if (port->kernel && !is_xdp(port))
		frame = sn_af_packet_slot(port->mtu);
	return (uint16_t)RTE_MIN(RTE_MAX(frame, 2048u) + RTE_PKTMBUF_HEADROOM, UINT16_MAX);
}

/* The device's own limit for frames may not hold the chain's MTU. */
static int check_mtu(const struct sn_port *port, const struct rte_eth_dev_info *info, struct sn_error *err)
{
	if ((port->kernel && !is_xdp(port)) || info->max_mtu == 0 || port->mtu <= info->max_mtu)
		return 0;
	return sn_fail(err, "interface %s: MTU %u is more than device \"%s\" carries (%u)",
		       port->bind.interface, port->mtu, port->bind.device, info->max_mtu);
}

static int setup_queues(struct sn_port *port, const struct sn_port_config *config,
			const struct rte_eth_dev_info *info, const struct rte_eth_conf *conf)
{
	struct rte_eth_rxconf rxconf = info->default_rxconf;
	struct rte_eth_txconf txconf = info->default_txconf;
	uint16_t rx_desc = config->rx_desc, tx_desc = config->tx_desc;
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx_desc, &tx_desc);

	port->rx_desc = rx_desc;

	rxconf.offloads = conf->rxmode.offloads;
	txconf.offloads = conf->txmode.offloads;
	for (uint16_t queue = 0; rc == 0 && queue < config->queues; queue++)
		rc = rte_eth_rx_queue_setup(port->id, queue, rx_desc, (unsigned int)port->socket, &rxconf,
					    config->pool);
	for (uint16_t queue = 0; rc == 0 && queue < config->queues; queue++)
		rc = rte_eth_tx_queue_setup(port->id, queue, tx_desc, (unsigned int)port->socket, &txconf);
	return rc;
}

static int set_pace(struct sn_port *port, const struct sn_port_config *config)
{
	size_t size = config->queues * sizeof(*port->paces);

	if (port->bind.pace == 0)
		return 0;
	port->paces = aligned_alloc(64, size);
	if (port->paces == NULL)
		return -ENOMEM;
	for (uint16_t queue = 0; queue < config->queues; queue++)
		sn_pace_init(&port->paces[queue], port->bind.pace, rte_get_tsc_hz(), config->rx_desc);
	return 0;
}

void sn_port_device_missed(const struct rte_eth_stats *device, unsigned int queues,
			   struct sn_port_missed *missed)
{
	unsigned int told = RTE_MIN(queues, (unsigned int)RTE_ETHDEV_QUEUE_STAT_CNTRS);
	uint64_t sum = 0;

	missed->all = device->imissed + device->rx_nombuf;
	for (unsigned int queue = 0; queue < told; queue++)
		sum += device->q_errors[queue];
	/* Drivers that count other errors by queue do not tell it. */
	for (unsigned int queue = 0; sum <= missed->all && queue < told; queue++)
		missed->queue[queue] = device->q_errors[queue];
}

void sn_port_missed(const struct sn_port *port, unsigned int queues, struct sn_port_missed *missed)
{
	struct rte_eth_stats device;

	memset(missed, 0, sizeof(*missed));
	if (rte_eth_stats_get(port->id, &device) == 0)
		sn_port_device_missed(&device, queues, missed);
	missed->all += port->missed_before;
	for (unsigned int queue = 0; port->paces != NULL && queue < queues; queue++) {
		uint64_t n = __atomic_load_n(&port->paces[queue].missed, __ATOMIC_RELAXED);

		missed->all += n;
		missed->queue[queue] += n;
	}
}

/* Called by the driver, on a thread of its own. */
static int note_reset(uint16_t id, enum rte_eth_event_type event, void *context, void *more)
{
	struct sn_port *port = context;

	(void)id;
	(void)event;
	(void)more;
	atomic_store_explicit(&port->wants_reset, true, memory_order_release);
	return 0;
}

/* The AF_XDP sockets that there were not before are the port's. */
static void note_sockets(struct sn_port *port, const int *before, unsigned int n_before)
{
	int now[SN_SOCKETS_MAX];
	unsigned int n = is_xdp(port) ? sn_xdp_sockets(now, RTE_DIM(now)) : 0;

	for (unsigned int i = 0; i < n && port->n_sockets < RTE_DIM(port->sockets); i++) {
		bool had = false;

		for (unsigned int j = 0; j < n_before; j++)
			had |= before[j] == now[i];
		if (!had)
			port->sockets[port->n_sockets++] = now[i];
	}
}

int sn_port_start(struct sn_port *port, const struct sn_port_config *config, struct sn_error *err)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint8_t key[SN_RSS_KEY_MAX];
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	int before[SN_SOCKETS_MAX];
	unsigned int n_before;
	int rc;

	port->config = *config;
	n_before = is_xdp(port) ? sn_xdp_sockets(before, RTE_DIM(before)) : 0;
	rc = rte_eth_dev_info_get(port->id, &info);
	if (rc != 0)
		return sn_fail(err, "interface %s: device \"%s\": %s", port->bind.interface,
			       port->bind.device, strerror(-rc));
	if (check_mtu(port, &info, err) != 0)
		return -1;
	/* Devices that have no say in the frame's size (virtual ones) refuse to be told one. */
	if (!port->kernel && port->mtu != RTE_ETHER_MTU)
		conf.rxmode.mtu = port->mtu;
	if (config->hash) {
		if (sn_port_want_hash(port, &info, &conf, key, err) != 0)
			return -1;
	} else if (config->queues > 1 && info.flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP);
	}
	/* Every buffer comes from one pool and leaves with one reference: the driver need not look. */
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;

	rc = rte_eth_dev_configure(port->id, config->queues, config->queues, &conf);
	if (rc == 0)
		rc = setup_queues(port, config, &info, &conf);
	note_sockets(port, before, n_before);
	if (rc == 0)
		rc = set_pace(port, config);
	if (rc != 0)
		return sn_fail(err,
			       "interface %s: device \"%s\" does not take %u queues of %u/%u descriptors and "
			       "MTU %u: %s",
			       port->bind.interface, port->bind.device, config->queues, config->rx_desc,
			       config->tx_desc, port->mtu, strerror(-rc));
	rc = rte_eth_dev_start(port->id);
	if (rc != 0)
		return sn_fail(err, "interface %s: device \"%s\" does not start: %s", port->bind.interface,
			       port->bind.device, strerror(-rc));
	if (!port->started)
		rte_eth_dev_callback_register(port->id, RTE_ETH_EVENT_INTR_RESET, note_reset, port);
	port->started = true;
	if (config->hash && sn_port_check_hash(port, &conf, err) != 0)
		return -1;
	rte_ether_format_addr(mac, sizeof(mac), &port->mac);
	sn_log(SN_LOG_INFO, "port=%s device=%s driver=%s mac=%s mtu=%u queues=%u started",
	       port->bind.interface, port->bind.device, port->driver, mac, port->mtu, config->queues);
	return 0;
}

int sn_port_restart(struct sn_port *port, bool hash, struct sn_error *err)
{
	struct sn_port_config config = port->config;
	int rc = rte_eth_dev_stop(port->id);

	if (rc != 0)
		return sn_fail(err, "interface %s: device \"%s\" does not stop: %s", port->bind.interface,
			       port->bind.device, strerror(-rc));
	free(port->paces);
	port->paces = NULL;
	port->buckets = 0;
	config.hash = hash;
	return sn_port_start(port, &config, err);
}

static void stop(struct sn_port *port)
{
	rte_eth_dev_callback_unregister(port->id, RTE_ETH_EVENT_INTR_RESET, note_reset, port);
	/* A kernel interface lives on, with the address that it had. */
	if (!rte_is_same_ether_addr(&port->mac, &port->device_mac))
		rte_eth_dev_default_mac_addr_set(port->id, &port->device_mac);
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
	port->started = false;
}

static void set_down(struct sn_port *port, bool down)
{
	atomic_store_explicit(&port->down, down, memory_order_relaxed);
}

void sn_port_shut(struct sn_port *port)
{
	const struct rte_ether_addr mac = port->mac;
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;

	set_down(port, true);
	if (rte_eth_dev_info_get(port->id, &info) != 0)
		return;
	if (rte_eth_stats_get(port->id, &stats) == 0)
		port->missed_before += stats.imissed + stats.rx_nombuf;
	stop(port);
	port->mac = mac;	     /* wanted when it is opened again */
	rte_dev_remove(info.device); /* what is left of it */
	sn_xdp_close_sockets(port->sockets, port->n_sockets);
	port->n_sockets = 0;
	free(port->paces);
	port->paces = NULL;
	port->buckets = 0;
}

int sn_port_reopen(struct sn_port *port, struct sn_error *err)
{
	const struct sn_port_config config = port->config;
	const struct rte_ether_addr mac = port->mac;
	char name[SN_PORT_DEVICE_MAX];
	int rc = rte_dev_probe(port->devargs);

	device_name(port->devargs, name, sizeof(name));
	if (rc != 0 || find_port(name) != port->id)
		return sn_fail(err, "interface %s: device \"%s\" cannot be opened again: %s",
			       port->bind.interface, port->devargs,
			       rc != 0 ? strerror(-rc) : "it has another number");
	set_down(port, false);
	port->mac = port->device_mac;
	rc = keep_kernel_off(port, err);
	if (rc == 0)
		rc = sn_port_start(port, &config, err);
	if (rc == 0)
		rc = sn_port_use_mac(port, &mac, err);
	if (rc == 0)
		return 0;
	set_down(port, true);
	port->mac = mac;
	sn_port_shut(port);
	return -1;
}

int sn_port_reset(struct sn_port *port, struct sn_error *err)
{
	const struct sn_port_config config = port->config;
	const struct rte_ether_addr mac = port->mac;
	int rc;

	atomic_store_explicit(&port->wants_reset, false, memory_order_relaxed);
	rc = rte_eth_dev_reset(port->id);
	if (rc != 0) {
		sn_fail(err, "interface %s: device \"%s\" cannot be reset: %s", port->bind.interface,
			port->bind.device, strerror(-rc));
	} else {
		free(port->paces);
		port->paces = NULL;
		port->buckets = 0;
		port->mac = port->device_mac;
		rc = sn_port_start(port, &config, err);
	}
	if (rc == 0)
		rc = sn_port_use_mac(port, &mac, err);
	if (rc == 0)
		return 0;
	port->mac = mac; /* still wanted */
	atomic_store_explicit(&port->wants_reset, true, memory_order_relaxed);
	return -1;
}

int sn_port_use_mac(struct sn_port *port, const struct rte_ether_addr *mac, struct sn_error *err)
{
	struct rte_ether_addr wanted = mac != NULL ? *mac : port->device_mac;
	bool own = rte_is_same_ether_addr(&wanted, &port->device_mac);
	int rc;

	if (rte_is_same_ether_addr(&wanted, &port->mac))
		return 0;
	if (sn_port_is_down(port)) {
		port->mac = wanted; /* when it is opened again */
		return 0;
	}
	rc = rte_eth_dev_default_mac_addr_set(port->id, &wanted);
	if (rc != 0 && !own) {
		rc = rte_eth_promiscuous_enable(port->id);
		if (rc != 0 && rc != -ENOTSUP) {
			char text[RTE_ETHER_ADDR_FMT_SIZE];

			rte_ether_format_addr(text, sizeof(text), &wanted);
			return sn_fail(err,
				       "interface %s: device \"%s\" can neither take the MAC address %s nor "
				       "receive all "
				       "frames: %s; leave out the interface's mac",
				       port->bind.interface, port->bind.device, text, strerror(-rc));
		}
	}
	port->mac = wanted;
	return 0;
}

void sn_port_close(struct sn_port *port)
{
	free(port->paces);
	port->paces = NULL;
	if (port->started)
		stop(port);
	sn_kernel_restore(&port->uses);
	/* Last: until its program is gone the interface is not free for another engine. */
	if (port->claim >= 0)
		close(port->claim);
	port->claim = -1;
}
