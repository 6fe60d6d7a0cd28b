/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_link.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sn_log.h"

#define LOOK_MS 100
#define MS	UINT64_C(1000000) /* ns */

/* One that is gone is down. */
static bool is_up(int fd, const char *link)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, link, sizeof(request.ifr_name));
	return ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

static void shut(struct sn_engine *engine, struct sn_port *port)
{
	sn_engine_hold(engine);
	sn_port_shut(port);
	sn_engine_release(engine);
	sn_log(SN_LOG_WARN, "port=%s link=%s is down", port->bind.interface, port->link);
}

static void reopen(struct sn_engine *engine, struct sn_port *port)
{
	char err[512];
	int rc;

	sn_engine_hold(engine);
	rc = sn_port_reopen(port, err, sizeof(err));
	sn_engine_release(engine);
	if (rc == 0)
		sn_log(SN_LOG_WARN, "port=%s link=%s is up again", port->bind.interface, port->link);
	else
		sn_log(SN_LOG_ERROR, "%s; tried again", err);
}

static void look(struct sn_engine *engine, int fd, struct sn_port *port)
{
	bool up = is_up(fd, port->link);

	if (up && sn_port_is_down(port))
		reopen(engine, port);
	else if (!up && !sn_port_is_down(port))
		shut(engine, port);
}

int sn_link_watch(struct sn_engine *engine)
{
	bool any = false;
	int fd = -1;

	for (unsigned int i = 0; i < engine->config.n_ports; i++)
		any |= engine->config.ports[i].link[0] != '\0';
	if (!any)
		return -1;
	if (sn_engine_now(engine) - engine->links_seen_ns < LOOK_MS * MS)
		return LOOK_MS;
	engine->links_seen_ns = sn_engine_now(engine);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return LOOK_MS;
	for (unsigned int i = 0; i < engine->config.n_ports; i++)
		if (engine->config.ports[i].link[0] != '\0')
			look(engine, fd, &engine->config.ports[i]);
	close(fd);
	return LOOK_MS;
}
