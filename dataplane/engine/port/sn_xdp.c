/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_xdp.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "sn_log.h"

/* libxdp's program that hands all frames of a queue to its socket, and those of queues without one to the
 * kernel. */
#define SN_XDP_PROGRAM "xsk_def_prog"
#define SN_XDP_FILE    "xsk_def_xdp_prog.o"

bool sn_xdp_drives(const char *device)
{
	return strncmp(device, "net_af_xdp", 10) == 0;
}

/* The value of an argument in "net_af_xdp0,iface=eth1,…", and its length; NULL if it is not there. */
static const char *argument(const char *device, const char *key, size_t *len)
{
	size_t key_len = strlen(key);

	while ((device = strchr(device, ',')) != NULL) {
		device++;
		if (strncmp(device, key, key_len) != 0 || device[key_len] != '=')
			continue;
		device += key_len + 1;
		*len = strcspn(device, ",");
		return device;
	}
	return NULL;
}

static bool has(const char *device, const char *key)
{
	size_t len;

	return argument(device, key, &len) != NULL;
}

int sn_xdp_link(const char *device, char link[static IF_NAMESIZE], struct sn_error *err)
{
	size_t len = 0;
	const char *value = argument(device, "iface", &len);

	if (value == NULL || len == 0 || len >= IF_NAMESIZE)
		return sn_fail(err,
			       "device \"%s\": want the kernel interface that it opens, as in "
			       "net_af_xdp0,iface=eth1",
			       device);
	snprintf(link, IF_NAMESIZE, "%.*s", (int)len, value);
	return 0;
}

int sn_xdp_devargs(const char *device, uint16_t queues, char *devargs, size_t len, struct sn_error *err)
{
	const char *folder = getenv("LIBXDP_OBJECT_PATH");
	size_t used = (size_t)snprintf(devargs, len, "%s", device);

	if (used < len && !has(device, "queue_count"))
		used += (size_t)snprintf(devargs + used, len - used, ",queue_count=%u", queues);
	if (used < len && !has(device, "xdp_prog")) {
		size_t start = used + strlen(",xdp_prog=");

		used += (size_t)snprintf(devargs + used, len - used, ",xdp_prog=%s/%s",
					 folder != NULL ? folder : SN_XDP_FOLDER, SN_XDP_FILE);
		if (used < len && access(devargs + start, R_OK) != 0)
			return sn_fail(err,
				       "device \"%s\": AF_XDP's program %s: %s; install libxdp (Debian: "
				       "libxdp1), or set LIBXDP_OBJECT_PATH to the folder that has %s",
				       device, devargs + start, strerror(errno), SN_XDP_FILE);
	}
	if (used >= len)
		return sn_fail(err, "device \"%s\": arguments longer than %zu characters", device, len - 1);
	return 0;
}

/* Abstract sockets belong to a network namespace, as interfaces do, and end with their process. */
static int claim(const char *link, unsigned int index, struct sn_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int name = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "sinter-xdp-%u", index);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return sn_fail(err, "%s: socket: %s", link, strerror(errno));
	if (bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name)) == 0)
		return fd;
	close(fd);
	return sn_fail(err, "%s: another engine has it by AF_XDP: end that one first", link);
}

/*
 * Whether a program may be one that an engine left: without CAP_SYS_ADMIN (in a pod, whose interfaces are the
 * engine's alone) the kernel does not tell, and it is taken for one.
 */
static bool may_be_ours(uint32_t id, char *name, size_t len)
{
	struct bpf_prog_info info = {0};
	uint32_t info_len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);
	bool told = fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &info_len) == 0;

	if (fd >= 0)
		close(fd);
	snprintf(name, len, "%s", told ? info.name : "");
	return !told || strcmp(info.name, SN_XDP_PROGRAM) == 0;
}

static int take_away_program(const char *link, unsigned int index, struct sn_error *err)
{
	char name[BPF_OBJ_NAME_LEN];
	uint32_t id = 0;
	int rc = bpf_xdp_query_id((int)index, 0, &id);

	if (rc != 0)
		return sn_fail(err, "%s: XDP program: %s", link, strerror(-rc));
	if (id == 0)
		return 0;
	if (!may_be_ours(id, name, sizeof(name)))
		return sn_fail(err,
			       "%s: it has an XDP program \"%s\" of another's already: take it away (ip link "
			       "set %s xdp off), or bind the interface by its bare name",
			       link, name, link);
	rc = bpf_xdp_detach((int)index, 0, NULL);
	if (rc != 0)
		return sn_fail(err, "%s: XDP program %u cannot be taken away: %s", link, id, strerror(-rc));
	sn_log(SN_LOG_INFO, "link=%s program=%u left by an engine that was killed, taken away", link, id);
	return 0;
}

static int ethtool(int fd, const char *link, struct ethtool_channels *channels, uint32_t command)
{
	struct ifreq request = {.ifr_data = (char *)channels};

	channels->cmd = command;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", link);
	return ioctl(fd, SIOCETHTOOL, &request);
}

/* Frames on queues that nobody reads would pass the chain by, into the kernel. */
static int use_queues(int fd, const char *link, uint16_t queues, struct sn_error *err)
{
	struct ethtool_channels c = {0};
	uint32_t most, *count;

	/* A device that does not tell has one; of those that receive only, the driver uses one. */
	if (ethtool(fd, link, &c, ETHTOOL_GCHANNELS) != 0)
		memset(&c, 0, sizeof(c));
	most = c.max_combined > 0 ? c.max_combined : 1;
	if (queues > most)
		return sn_fail(err,
			       "%s: AF_XDP has %u queues of it at most, and %u workers need one each: use "
			       "--workers %u, or bind the interface by its bare name",
			       link, most, queues, most);
	count = c.max_combined > 0 ? &c.combined_count : &c.rx_count;
	if (*count == 0 || *count == queues)
		return 0;
	sn_log(SN_LOG_INFO, "link=%s receive-queues=%u set to %u, one per worker", link, *count, queues);
	*count = queues;
	if (ethtool(fd, link, &c, ETHTOOL_SCHANNELS) != 0)
		return sn_fail(
			err,
			"%s: it cannot be set to %u receive queues, one per worker: %s; see ethtool -l "
			"%s, or bind the interface by its bare name",
			link, queues, strerror(errno), link);
	return 0;
}

/* Print libbpf's warnings as lines of ours. */
static int __attribute__((format(printf, 2, 0)))
print(enum libbpf_print_level level, const char *format, va_list args)
{
	char text[256];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	sn_log(SN_LOG_WARN, "%s", text);
	return 0;
}

int sn_xdp_claim(const char *device, uint16_t queues, struct sn_error *err)
{
	bool chooses = has(device, "queue_count") || has(device, "start_queue");
	char link[IF_NAMESIZE];
	unsigned int index;
	int fd;

	if (sn_xdp_link(device, link, err) != 0)
		return -1;
	index = if_nametoindex(link);
	if (index == 0)
		return sn_fail(err, "%s: %s", link, strerror(errno));
	libbpf_set_print(print);
	fd = claim(link, index, err);
	if (fd < 0)
		return -1;
	if (take_away_program(link, index, err) == 0 && (chooses || use_queues(fd, link, queues, err) == 0))
		return fd;
	close(fd);
	return -1;
}

static bool is_xdp_socket(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_XDP;
}

unsigned int sn_xdp_sockets(int *fds, unsigned int max)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned int n = 0;

	while (dir != NULL && n < max && (entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_xdp_socket(fd))
			fds[n++] = fd;
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

void sn_xdp_close_sockets(const int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (is_xdp_socket(fds[i]))
			close(fds[i]);
}
