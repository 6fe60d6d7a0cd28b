/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sn_frame.h"
#include "sn_log.h"

#define SN_CLIENTS_MAX 32
#define SN_EVENTS      16

struct client {
	int fd; /* -1: free */
	struct sn_frame_buffer in;
	uint8_t *out; /* the answer on its way; no further request is read before it is gone */
	size_t out_len;
	size_t out_sent;
};

struct sn_control {
	struct sockaddr_un address;
	int epoll;
	int listener;
	int watched;
	sn_control_handler handler;
	void *context;
	struct client clients[SN_CLIENTS_MAX];
};

static int epoll_set(const struct sn_control *control, int op, int fd, uint32_t events, void *data)
{
	struct epoll_event event = {.events = events, .data.ptr = data};

	return epoll_ctl(control->epoll, op, fd, &event);
}

/* A socket file that nobody listens on is left over from a process that died. */
static int remove_stale(const struct sockaddr_un *address, struct sn_error *err)
{
	struct stat status;
	int fd, rc;

	if (lstat(address->sun_path, &status) != 0)
		return 0;
	if (!S_ISSOCK(status.st_mode))
		return sn_fail(err, "control socket %s: there is a file of that name that is no socket",
			       address->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return sn_fail(err, "control socket %s: %s", address->sun_path, strerror(errno));
	rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	close(fd);
	if (rc == 0)
		return sn_fail(
			err,
			"control socket %s: another engine listens there; stop it or choose another --socket",
			address->sun_path);
	if (unlink(address->sun_path) != 0)
		return sn_fail(err, "control socket %s: remove stale socket: %s", address->sun_path,
			       strerror(errno));
	return 0;
}

static int listen_on(struct sn_control *control, const char *path, struct sn_error *err)
{
	mode_t mask;
	int rc;

	if (strlen(path) >= sizeof(control->address.sun_path))
		return sn_fail(err, "control socket %s: path longer than %zu characters", path,
			       sizeof(control->address.sun_path) - 1);
	control->address.sun_family = AF_UNIX;
	strcpy(control->address.sun_path, path);
	if (remove_stale(&control->address, err) != 0) {
		control->address.sun_path[0] = '\0';
		return -1;
	}
	control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (control->listener < 0)
		return sn_fail(err, "control socket %s: %s", path, strerror(errno));
	mask = umask(0077);
	rc = bind(control->listener, (const struct sockaddr *)&control->address, sizeof(control->address));
	umask(mask);
	if (rc != 0) {
		control->address.sun_path[0] = '\0'; /* not ours to remove */
		return sn_fail(err, "control socket %s: %s", path, strerror(errno));
	}
	if (listen(control->listener, SN_CLIENTS_MAX) != 0 ||
	    epoll_set(control, EPOLL_CTL_ADD, control->listener, EPOLLIN, control) != 0)
		return sn_fail(err, "control socket %s: %s", path, strerror(errno));
	return 0;
}

struct sn_control *sn_control_open(const char *path, sn_control_handler handler, void *context,
				   struct sn_error *err)
{
	struct sn_control *control = calloc(1, sizeof(*control));

	if (control == NULL) {
		sn_fail(err, "control socket %s: no memory", path);
		return NULL;
	}
	control->handler = handler;
	control->context = context;
	control->listener = -1;
	control->watched = -1;
	for (size_t i = 0; i < SN_CLIENTS_MAX; i++)
		control->clients[i].fd = -1;
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (control->epoll < 0)
		sn_fail(err, "control socket %s: %s", path, strerror(errno));
	if (control->epoll < 0 || listen_on(control, path, err) != 0) {
		sn_control_close(control);
		return NULL;
	}
	return control;
}

int sn_control_watch(struct sn_control *control, int fd)
{
	control->watched = fd;
	return epoll_set(control, EPOLL_CTL_ADD, fd, EPOLLIN, &control->watched);
}

static void client_close(struct client *client)
{
	close(client->fd);
	free(client->out);
	sn_frame_free(&client->in);
	memset(client, 0, sizeof(*client));
	client->fd = -1;
}

static void accept_clients(struct sn_control *control)
{
	struct client *client;
	int fd;

	while ((fd = accept4(control->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		client = NULL;
		for (size_t i = 0; i < SN_CLIENTS_MAX && client == NULL; i++)
			if (control->clients[i].fd < 0)
				client = &control->clients[i];
		if (client == NULL || epoll_set(control, EPOLL_CTL_ADD, fd, EPOLLIN, client) != 0) {
			sn_log(SN_LOG_WARN, "control: client refused, at most %d at once", SN_CLIENTS_MAX);
			close(fd);
			continue;
		}
		client->fd = fd;
	}
}

/* Sends as much as the socket takes. False: the client is gone. */
static bool client_send(struct client *client)
{
	while (client->out_sent < client->out_len) {
		ssize_t n = send(client->fd, client->out + client->out_sent,
				 client->out_len - client->out_sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		client->out_sent += (size_t)n;
	}
	free(client->out);
	client->out = NULL;
	client->out_len = client->out_sent = 0;
	return true;
}

/* Answers the requests that are whole, one after the other. False: the client is let go. */
static bool client_answer(struct sn_control *control, struct client *client)
{
	while (client->out == NULL) {
		const uint8_t *message;
		size_t len;

		switch (sn_frame_next(&client->in, &message, &len)) {
		case SN_FRAME_PARTIAL:
			return true;
		case SN_FRAME_TOO_LONG:
			sn_log(SN_LOG_WARN, "control: client let go: message of %zu bytes, at most %u", len,
			       SN_FRAME_MAX);
			return false;
		case SN_FRAME_WHOLE:
			break;
		}
		if (control->handler(control->context, message, len, &client->out, &client->out_len) != 0) {
			sn_log(SN_LOG_WARN, "control: client let go: no memory for an answer");
			return false;
		}
		sn_frame_consume(&client->in, len);
		if (!client_send(client))
			return false;
	}
	return true;
}

static bool client_receive(struct client *client)
{
	size_t room;
	uint8_t *to = sn_frame_room(&client->in, &room);
	ssize_t n;

	if (to == NULL)
		return false;
	n = recv(client->fd, to, room, 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	client->in.len += (size_t)n;
	return n > 0;
}

static void client_serve(struct sn_control *control, struct client *client, uint32_t events)
{
	bool alive = true;

	if (client->fd < 0)
		return;
	if (client->out != NULL)
		alive = (events & (EPOLLERR | EPOLLHUP)) == 0 && client_send(client);
	else
		alive = client_receive(client);
	if (alive)
		alive = client_answer(control, client);
	/* While an answer waits for the client, its requests wait too. */
	if (alive)
		alive = epoll_set(control, EPOLL_CTL_MOD, client->fd,
				  client->out != NULL ? EPOLLOUT : EPOLLIN, client) == 0;
	if (!alive)
		client_close(client);
}

int sn_control_poll(struct sn_control *control, int timeout_ms)
{
	struct epoll_event events[SN_EVENTS];
	int n = epoll_wait(control->epoll, events, SN_EVENTS, timeout_ms);
	int result = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &control->watched)
			result = 1;
		else if (events[i].data.ptr == control)
			accept_clients(control);
		else
			client_serve(control, events[i].data.ptr, events[i].events);
	}
	return result;
}

void sn_control_close(struct sn_control *control)
{
	if (control == NULL)
		return;
	for (size_t i = 0; i < SN_CLIENTS_MAX; i++) {
		if (control->clients[i].fd >= 0) {
			client_send(&control->clients[i]);
			client_close(&control->clients[i]);
		}
	}
	if (control->listener >= 0) {
		close(control->listener);
		if (control->address.sun_path[0] != '\0')
			unlink(control->address.sun_path);
	}
	if (control->epoll >= 0)
		close(control->epoll);
	free(control);
}
