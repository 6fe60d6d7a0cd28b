/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_kernel.h"

#include <errno.h>
#include <linux/ip.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sn_log.h"

static const struct {
	const char *name;
	uint16_t id; /* as netlink numbers it */
	int wanted;
} settings[SN_KERNEL_SETTINGS] = {
	{"forwarding", IPV4_DEVCONF_FORWARDING, 0},
	{"rp_filter", IPV4_DEVCONF_RP_FILTER, 1},
	{"arp_ignore", IPV4_DEVCONF_ARP_IGNORE, 1},
};

/* A setting of an interface in this network namespace; -1: it is not there. */
static int read_setting(const char *family, const char *link, const char *name)
{
	char path[128];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, link, name);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* A request of rtnetlink with room for all settings. */
struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
	uint8_t attributes[128];
};

/* Puts an attribute behind those that a request has. */
static struct nlattr *put(struct request *r, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = (struct nlattr *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->nla_type = type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + len);
	if (len > 0)
		memcpy((uint8_t *)a + NLA_HDRLEN, data, len);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void close_nest(const struct request *r, struct nlattr *nest)
{
	nest->nla_len = (uint16_t)((const uint8_t *)r + r->head.nlmsg_len - (uint8_t *)nest);
}

/* Sends a request, and returns the kernel's answer: 0 or an error number. */
static int ask(const struct request *r)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		uint8_t more[512];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), result = EPROTO;
	ssize_t n;

	if (fd < 0)
		return errno;
	if (sendto(fd, r, r->head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0 ||
	    (n = recv(fd, &answer, sizeof(answer), 0)) < 0)
		result = errno;
	else if ((size_t)n >= NLMSG_LENGTH(sizeof(answer.error)) && answer.head.nlmsg_type == NLMSG_ERROR)
		result = -answer.error.error;
	close(fd);
	return result;
}

/* Sets those of an interface's settings that are there. */
static int set(unsigned int index, const int values[static SN_KERNEL_SETTINGS])
{
	struct request r = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(r.link)),
			 .nlmsg_type = RTM_SETLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.link = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index},
	};
	struct nlattr *families = put(&r, IFLA_AF_SPEC | NLA_F_NESTED, NULL, 0);
	struct nlattr *family = put(&r, AF_INET | NLA_F_NESTED, NULL, 0);
	struct nlattr *list = put(&r, IFLA_INET_CONF | NLA_F_NESTED, NULL, 0);

	for (unsigned int i = 0; i < SN_KERNEL_SETTINGS; i++)
		if (values[i] >= 0)
			put(&r, settings[i].id, &values[i], sizeof(uint32_t));
	close_nest(&r, list);
	close_nest(&r, family);
	close_nest(&r, families);
	return ask(&r);
}

int sn_kernel_quiet(const char *link, struct sn_kernel *kernel, struct sn_error *err)
{
	int wanted[SN_KERNEL_SETTINGS];
	bool changes = false;
	int rc = 0;

	if (kernel->index != 0 && kernel->index == if_nametoindex(link))
		return 0; /* done */
	for (unsigned int i = 0; i < SN_KERNEL_SETTINGS; i++) {
		kernel->before[i] = read_setting("ipv4", link, settings[i].name);
		wanted[i] = kernel->before[i] < 0 ? -1 : settings[i].wanted;
		changes |= kernel->before[i] != wanted[i];
	}
	kernel->index = changes ? if_nametoindex(link) : 0;
	if (kernel->index != 0)
		rc = set(kernel->index, wanted);
	if (rc != 0) {
		kernel->index = 0;
		return sn_fail(err,
			       "the kernel forwards what comes in by %s, past the chain, or answers for it, "
			       "and cannot be kept from it: "
			       "%s; give the engine CAP_NET_ADMIN, or set net.ipv4.conf.%s.forwarding=0, "
			       ".rp_filter=1 and .arp_ignore=1",
			       link, strerror(rc), link);
	}
	if (read_setting("ipv6", "all", "forwarding") == 1 && read_setting("ipv6", link, "disable_ipv6") == 0)
		sn_log(SN_LOG_WARN,
		       "link=%s the kernel forwards IPv6 packets from there, past the chain; "
		       "sysctl -w net.ipv6.conf.%s.disable_ipv6=1",
		       link, link);
	return 0;
}

void sn_kernel_restore(struct sn_kernel *kernel)
{
	if (kernel->index != 0)
		(void)set(kernel->index, kernel->before); /* an interface that is gone has no settings */
	kernel->index = 0;
}
