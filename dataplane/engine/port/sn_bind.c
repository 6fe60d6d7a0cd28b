/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sn_port.h"

/* "0000:03:00.1" or "03:00.1", arguments may follow behind a comma. */
static bool is_pci(const char *device)
{
	unsigned int domain, bus, dev, function;
	int end = 0;

	if (sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &dev, &function, &end) != 4) {
		end = 0;
		if (sscanf(device, "%2x:%2x.%1x%n", &bus, &dev, &function, &end) != 3)
			return false;
	}
	return device[end] == '\0' || device[end] == ',';
}

int sn_bind_parse(const char *arg, struct sn_bind *bind, struct sn_error *err)
{
	const char *equals = strchr(arg, '=');
	size_t name_len = equals != NULL ? (size_t)(equals - arg) : 0;
	const char *device = equals != NULL ? equals + 1 : "";

	memset(bind, 0, sizeof(*bind));
	if (name_len == 0 || *device == '\0')
		return sn_fail(err,
			       "binding \"%s\": want <interface>=<device>, as in inside=veth0, "
			       "inside=0000:03:00.1 or "
			       "inside=net_pcap0,rx_pcap=in.pcap",
			       arg);
	if (name_len >= sizeof(bind->interface))
		return sn_fail(err, "binding \"%s\": interface name longer than %zu characters", arg,
			       sizeof(bind->interface) - 1);
	if (strlen(device) >= sizeof(bind->device))
		return sn_fail(err, "binding \"%s\": device longer than %zu characters", arg,
			       sizeof(bind->device) - 1);
	memcpy(bind->interface, arg, name_len);
	strcpy(bind->device, device);

	if (is_pci(device))
		bind->kind = SN_PORT_PCI;
	else if (strncmp(device, "net_", 4) == 0 || strncmp(device, "virtio_user", 11) == 0)
		bind->kind = SN_PORT_VDEV;
	else if (strchr(device, ',') != NULL)
		return sn_fail(err,
			       "interface %s: device \"%s\" is no PCI address and no net_* device, and a "
			       "kernel interface "
			       "takes no arguments here: write net_af_packet_%s,iface=...",
			       bind->interface, device, bind->interface);
	else
		bind->kind = SN_PORT_KERNEL;
	return 0;
}

int sn_bind_pace(const char *arg, struct sn_bind *binds, unsigned int n, struct sn_error *err)
{
	const char *equals = strchr(arg, '=');
	char *end = NULL;
	unsigned long long rate;

	errno = 0;
	rate = equals != NULL ? strtoull(equals + 1, &end, 10) : 0;
	if (equals == NULL || !isdigit((unsigned char)equals[1]) || *end != '\0' || errno != 0 || rate == 0 ||
	    rate > SN_PACE_RATE_MAX)
		return sn_fail(
			err,
			"pace \"%s\": want <interface>=<frames per second>, 1 to %u, as in inside=1000000",
			arg, SN_PACE_RATE_MAX);
	for (unsigned int i = 0; i < n; i++) {
		if (strncmp(binds[i].interface, arg, (size_t)(equals - arg)) != 0 ||
		    binds[i].interface[equals - arg] != '\0')
			continue;
		binds[i].pace = rate;
		return 0;
	}
	return sn_fail(err, "pace \"%s\": no interface of this name is bound before it", arg);
}
