/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_PORT_H
#define SN_PORT_H

/*
 * An EAL device bound to a chain interface. Any device will do: a PCI address,
 * a virtual device with its arguments, or the bare name of a kernel interface,
 * which is opened by net_af_packet. Kernel interfaces are set up, be it by net_af_packet or net_af_xdp.
 */

#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mempool.h>

#include "sn_error.h"
#include "sn_kernel.h"
#include "sn_pace.h"

#define SN_PORT_NAME_MAX   64
#define SN_PORT_DEVICE_MAX 512
#define SN_PORT_QUEUES_MAX 64 /* that are looked at */

enum sn_port_kind {
	SN_PORT_PCI,
	SN_PORT_VDEV,
	SN_PORT_KERNEL, /* a bare interface name */
};

/* A binding as the user wrote it: "inside=net_af_packet0,iface=veth0". */
struct sn_bind {
	char interface[SN_PORT_NAME_MAX];
	char device[SN_PORT_DEVICE_MAX];
	enum sn_port_kind kind;
	uint64_t pace; /* frames per second; 0: as the device has them */
};

/* The common part of an engine's ports. */
struct sn_port_config {
	bool hash;	 /* packets go to queues by our hash (see sn_rss.h) and the map of sn_port_map() */
	uint16_t queues; /* of each direction: one per worker */
	uint16_t rx_desc;
	uint16_t tx_desc;
	struct rte_mempool *pool;
};

struct sn_port {
	struct sn_bind bind;
	struct sn_port_config config;		    /* it was started with */
	char devargs[2 * SN_PORT_DEVICE_MAX + 128]; /* what EAL is given */
	char driver[SN_PORT_NAME_MAX];
	uint16_t id; /* ethdev port */
	int socket;
	uint16_t mtu; /* largest IP packet that the port carries */
	bool kernel;  /* frames come from the kernel, not from hardware: an idle worker may nap */
	bool started;
	/* Written by the control thread while the workers are held: */
	bool watched;			  /* the device has flow rules */
	bool believed;			  /* and the marks that they put on packets are */
	_Atomic bool wants_reset;	  /* its driver says so, on a thread of its own */
	_Atomic bool down;		  /* nothing is sent: see sn_link.h */
	uint16_t rx_desc;		  /* that a receive queue holds */
	uint16_t buckets;		  /* of a device that hashes as configured; 0: it does not */
	struct rte_ether_addr device_mac; /* as it came */
	struct rte_ether_addr mac;	  /* in use */
	struct sn_pace *paces;		  /* by queue; NULL: frames come when the device has them */
	char link[IF_NAMESIZE];		  /* the kernel interface of a packet or XDP socket; else "" */
	struct sn_kernel uses;		  /* what the kernel did with that interface before */
	int sockets[SN_PORT_QUEUES_MAX];  /* of AF_XDP */
	unsigned int n_sockets;
	uint64_t missed_before; /* by the device as it was opened before */
	int claim;		/* descriptor of an interface by AF_XDP, see sn_xdp_claim(); else -1 */
};

/* The ports of an engine. */
struct sn_ports {
	struct sn_port *all;
	unsigned int n;
};

/* The port of a chain's interface; NULL: none of them. */
struct sn_port *sn_port_of(const struct sn_ports *ports, const char *interface);

/* Fields that a device has to hash for --shards rss, and the bytes of its key. */
#define SN_PORT_HASHED (RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP)
uint8_t sn_port_key_len(const struct rte_eth_dev_info *info);

/*
 * The functions below return 0, or -1 with a message in err that names the
 * interface, the device and what would be right.
 */

/* Reads "<interface>=<device>". */
int sn_bind_parse(const char *arg, struct sn_bind *bind, struct sn_error *err);

/* Reads "<interface>=<frames per second>" into the interface's binding. */
int sn_bind_pace(const char *arg, struct sn_bind *binds, unsigned int n, struct sn_error *err);

/*
 * Finds or attaches the device. mtu is what the chain wants to send; the port's
 * own (port->mtu) may be larger when the kernel interface carries more.
 */
int sn_port_attach(struct sn_port *port, const struct sn_bind *bind, uint16_t queues, uint16_t mtu,
		   struct sn_error *err);

/* Bytes that a packet buffer needs to hold any frame of the port, headroom included. */
uint16_t sn_port_data_room(const struct sn_port *port);

/* Configures queues and offloads, starts. */
int sn_port_start(struct sn_port *port, const struct sn_port_config *config, struct sn_error *err);

/* Whether the device says that it can hash as config.hash wants it; what it then does, starting tells. */
int sn_port_can_hash(const struct sn_port *port, struct sn_error *err);

/* A device's part in dispatch by hash, asked for: key (into `key`, of SN_RSS_KEY_MAX bytes), hashed fields,
 * table. */
int sn_port_want_hash(struct sn_port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf,
		      uint8_t *key, struct sn_error *err);

/* Drivers may take a key and use another: whether a device that was started so hashes as it was asked to. */
int sn_port_check_hash(const struct sn_port *port, struct rte_eth_conf *conf, struct sn_error *err);

/*
 * Restarts it, to hash or not, otherwise as before. No worker polls it; on error it may be left stopped,
 * and can be restarted otherwise.
 */
int sn_port_restart(struct sn_port *port, bool hash, struct sn_error *err);

/* Whether the device has to be reset: its other half (a VF's PF) was. */
static inline bool sn_port_wants_reset(const struct sn_port *port)
{
	return atomic_load_explicit(&port->wants_reset, memory_order_acquire);
}

/* Whether frames for it are dropped, as its kernel interface is down. */
static inline bool sn_port_is_down(const struct sn_port *port)
{
	return atomic_load_explicit(&port->down, memory_order_relaxed);
}

/*
 * Gives the device of a kernel interface back, with all that waits in its rings; and opens it again, as it
 * was. Between the two the port is down. No worker polls it meanwhile.
 */
void sn_port_shut(struct sn_port *port);
int sn_port_reopen(struct sn_port *port, struct sn_error *err);

/* Resets and starts the device as it was; its flow rules are gone. No worker polls it meanwhile. After an
 * error it still wants to be reset. */
int sn_port_reset(struct sn_port *port, struct sn_error *err);

/*
 * Sends the packets of each of SN_RSS_BUCKETS buckets to a queue, and reads back whether the device took it.
 * The port was started with config.hash.
 */
int sn_port_map(struct sn_port *port, const uint8_t *queues, struct sn_error *err);

/* Uses mac (NULL: the device's own again); a device that cannot change it receives all frames instead. */
int sn_port_use_mac(struct sn_port *port, const struct rte_ether_addr *mac, struct sn_error *err);

/* Frames for which a port had no room. */
struct sn_port_missed {
	uint64_t all;
	uint64_t queue[SN_PORT_QUEUES_MAX]; /* of these, as far as it is told by queue */
};

void sn_port_missed(const struct sn_port *port, unsigned int queues, struct sn_port_missed *missed);

/* The part of it that a device tells. */
void sn_port_device_missed(const struct rte_eth_stats *device, unsigned int queues,
			   struct sn_port_missed *missed);

void sn_port_close(struct sn_port *port);

#endif /* SN_PORT_H */
