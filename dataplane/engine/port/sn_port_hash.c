/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "sn_port.h"
#include "sn_rss.h"

uint8_t sn_port_key_len(const struct rte_eth_dev_info *info)
{
	return info->hash_key_size != 0 ? info->hash_key_size : 40;
}

static int check_can_hash(const struct sn_port *port, const struct rte_eth_dev_info *info,
			  struct sn_error *err)
{
	uint8_t len = sn_port_key_len(info);

	if ((info->flow_type_rss_offloads & SN_PORT_HASHED) != SN_PORT_HASHED ||
	    info->reta_size < SN_RSS_BUCKETS || info->reta_size > RTE_ETH_RSS_RETA_SIZE_512 ||
	    (info->reta_size & (info->reta_size - 1)) != 0 || len > SN_RSS_KEY_MAX)
		return sn_fail(
			err,
			"interface %s: device \"%s\" cannot spread flows by hash as --shards rss needs it "
			"(TCP and UDP ports hashed: %s; table of %u entries, want 128, 256 or 512; key "
			"of %u bytes, at most %d): use --shards host",
			port->bind.interface, port->bind.device,
			(info->flow_type_rss_offloads & SN_PORT_HASHED) == SN_PORT_HASHED ? "yes" : "no",
			info->reta_size, len, SN_RSS_KEY_MAX);
	return 0;
}

int sn_port_can_hash(const struct sn_port *port, struct sn_error *err)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(port->id, &info);

	if (rc != 0)
		return sn_fail(err, "interface %s: device \"%s\": %s", port->bind.interface,
			       port->bind.device, strerror(-rc));
	return check_can_hash(port, &info, err);
}

int sn_port_want_hash(struct sn_port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf,
		      uint8_t *key, struct sn_error *err)
{
	struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	uint8_t len = sn_port_key_len(info);

	if (check_can_hash(port, info, err) != 0)
		return -1;
	sn_rss_key(key, len);
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	rss->rss_key = key;
	rss->rss_key_len = len;
	rss->rss_hf = info->flow_type_rss_offloads & (SN_PORT_HASHED | RTE_ETH_RSS_IP);
	port->buckets = info->reta_size;
	return 0;
}

int sn_port_check_hash(const struct sn_port *port, struct rte_eth_conf *conf, struct sn_error *err)
{
	struct rte_eth_rss_conf *want = &conf->rx_adv_conf.rss_conf;
	uint8_t key[SN_RSS_KEY_MAX] = {0};
	struct rte_eth_rss_conf seen = {.rss_key = key, .rss_key_len = want->rss_key_len};
	int rc;

	/* Some drivers take it with the configuration, some afterwards; what it is now tells. */
	(void)rte_eth_dev_rss_hash_update(port->id, want);
	rc = rte_eth_dev_rss_hash_conf_get(port->id, &seen);
	if (rc != 0)
		return sn_fail(
			err, "interface %s: device \"%s\" does not tell its hash key: %s; use --shards host",
			port->bind.interface, port->bind.device, strerror(-rc));
	if ((seen.rss_hf & SN_PORT_HASHED) != SN_PORT_HASHED ||
	    memcmp(key, want->rss_key, want->rss_key_len) != 0)
		return sn_fail(
			err,
			"interface %s: device \"%s\" hashes with a key or fields of its own; use --shards "
			"host",
			port->bind.interface, port->bind.device);
	return 0;
}

int sn_port_map(struct sn_port *port, const uint8_t *queues, struct sn_error *err)
{
	struct rte_eth_rss_reta_entry64 want[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE] = {0};
	struct rte_eth_rss_reta_entry64 seen[RTE_DIM(want)] = {0};
	int rc;

	for (uint32_t i = 0; i < port->buckets; i++) {
		want[i / RTE_ETH_RETA_GROUP_SIZE].mask = seen[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
		want[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			queues[i % SN_RSS_BUCKETS];
	}
	rc = rte_eth_dev_rss_reta_update(port->id, want, port->buckets);
	if (rc == 0)
		rc = rte_eth_dev_rss_reta_query(port->id, seen, port->buckets);
	if (rc == 0 && memcmp(want, seen, sizeof(want)) != 0)
		rc = -EIO;
	if (rc != 0)
		return sn_fail(
			err,
			"interface %s: device \"%s\" does not take a table of %u hash buckets: %s; use "
			"--shards host",
			port->bind.interface, port->bind.device, port->buckets, strerror(-rc));
	return 0;
}
