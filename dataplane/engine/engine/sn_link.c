/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sn_log.h"

#define LOOK_MS 100
#define MS	UINT64_C(1000000) /* ns */

struct sn_link {
	struct sn_ports ports;
	struct sn_threads *threads;
	uint64_t seen_ns; /* when they were looked at last */
};

struct sn_link *sn_link_create(struct sn_ports ports, struct sn_threads *threads)
{
	struct sn_link *link = malloc(sizeof(*link));

	if (link != NULL)
		*link = (struct sn_link){.ports = ports, .threads = threads};
	return link;
}

void sn_link_free(struct sn_link *link)
{
	free(link);
}

/* One that is gone is down. */
static bool is_up(int fd, const char *link)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, link, sizeof(request.ifr_name));
	return ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

static void shut(struct sn_threads *threads, struct sn_port *port)
{
	sn_threads_hold(threads);
	sn_port_shut(port);
	sn_threads_release(threads);
	sn_log(SN_LOG_WARN, "port=%s link=%s is down", port->bind.interface, port->link);
}

static void reopen(struct sn_threads *threads, struct sn_port *port)
{
	struct sn_error err;
	int rc;

	sn_threads_hold(threads);
	rc = sn_port_reopen(port, &err);
	sn_threads_release(threads);
	if (rc == 0)
		sn_log(SN_LOG_WARN, "port=%s link=%s is up again", port->bind.interface, port->link);
	else
		sn_log(SN_LOG_ERROR, "%s; tried again", err.text);
}

static void look(struct sn_threads *threads, int fd, struct sn_port *port)
{
	bool up = is_up(fd, port->link);

	if (up && sn_port_is_down(port))
		reopen(threads, port);
	else if (!up && !sn_port_is_down(port))
		shut(threads, port);
}

int sn_link_watch(struct sn_link *link)
{
	bool any = false;
	int fd = -1;

	for (unsigned int i = 0; i < link->ports.n; i++)
		any |= link->ports.all[i].link[0] != '\0';
	if (!any)
		return -1;
	if (sn_threads_now(link->threads) - link->seen_ns < LOOK_MS * MS)
		return LOOK_MS;
	link->seen_ns = sn_threads_now(link->threads);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return LOOK_MS;
	for (unsigned int i = 0; i < link->ports.n; i++)
		if (link->ports.all[i].link[0] != '\0')
			look(link->threads, fd, &link->ports.all[i]);
	close(fd);
	return LOOK_MS;
}
