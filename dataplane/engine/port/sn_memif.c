/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_memif.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sn_log.h"

/* Whether a device's arguments have a key, and its value is not too long. */
static bool find(const char *device, const char *key, char *value, size_t size)
{
	size_t len = strlen(key);

	for (const char *at = strchr(device, ','); at; at = strchr(at, ',')) {
		size_t n;

		at++;
		if (strncmp(at, key, len) || at[len] != '=')
			continue;
		at += len + 1;
		n = strcspn(at, ",");
		if (n >= size)
			return false;
		memcpy(value, at, n);
		value[n] = '\0';
		return true;
	}
	return false;
}

/* Whether it is a socket on which nobody waits. */
static bool is_left(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct stat file;
	bool refused;
	int fd;

	if (lstat(path, &file) != 0 || !S_ISSOCK(file.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	memcpy(to.sun_path, path, strlen(path) + 1);
	refused = connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

void sn_memif_take_over(const char *device)
{
	char value[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if (strncmp(device, "net_memif", strlen("net_memif")) ||
	    !find(device, "role", value, sizeof(value)) ||
	    (strcmp(value, "server") && strcmp(value, "master")) ||
	    !find(device, "socket-abstract", value, sizeof(value)) || strcmp(value, "no") ||
	    !find(device, "socket", value, sizeof(value)) || !is_left(value))
		return;
	if (unlink(value) == 0)
		sn_log(SN_LOG_INFO, "socket=%s is left by an engine before, and taken over", value);
}
