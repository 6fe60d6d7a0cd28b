/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "sn_control.h"
#include "sn_frame.h"

struct server {
	char folder[64];
	char path[96];
	struct sn_control *control;
	unsigned int answered;
};

/* Answers with what was asked. */
static int echo(void *context, const uint8_t *message, size_t len, uint8_t **reply, size_t *reply_len)
{
	struct server *server = context;

	server->answered++;
	*reply = malloc(SN_FRAME_HEADER + len);
	assert_non_null(*reply);
	sn_frame_put_length(*reply, len);
	memcpy(*reply + SN_FRAME_HEADER, message, len);
	*reply_len = SN_FRAME_HEADER + len;
	return 0;
}

static int open_server(void **state)
{
	struct server *server = calloc(1, sizeof(*server));
	struct sn_error err;

	strcpy(server->folder, "/tmp/sinter-test-XXXXXX");
	assert_non_null(mkdtemp(server->folder));
	snprintf(server->path, sizeof(server->path), "%s/engine.sock", server->folder);
	server->control = sn_control_open(server->path, echo, server, &err);
	assert_non_null(server->control);
	*state = server;
	return 0;
}

static int close_server(void **state)
{
	struct server *server = *state;

	sn_control_close(server->control);
	assert_int_not_equal(access(server->path, F_OK), 0);
	rmdir(server->folder);
	free(server);
	return 0;
}

static int dial(const struct server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(address.sun_path, server->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void poll_until_quiet(struct server *server)
{
	for (int i = 0; i < 20; i++)
		assert_int_equal(sn_control_poll(server->control, 0), 0);
}

static void several_clients_are_answered_each_on_its_own(void **state)
{
	struct server *server = *state;
	int a = dial(server), b = dial(server);
	char seen[16];

	assert_int_equal(write(a, "\0\0\0\3abc\0\0\0\1", 11), 11); /* one and a half */
	assert_int_equal(write(b, "\0\0\0\2xy", 6), 6);
	poll_until_quiet(server);
	assert_int_equal(read(a, seen, sizeof(seen)), 7);
	assert_memory_equal(seen, "\0\0\0\3abc", 7);
	assert_int_equal(read(b, seen, sizeof(seen)), 6);
	assert_memory_equal(seen, "\0\0\0\2xy", 6);
	assert_int_equal(write(a, "d", 1), 1);
	poll_until_quiet(server);
	assert_int_equal(read(a, seen, sizeof(seen)), 5);
	assert_memory_equal(seen, "\0\0\0\1d", 5);
	close(a);
	close(b);
}

static void a_client_that_announces_too_much_is_let_go_and_others_stay(void **state)
{
	struct server *server = *state;
	int bad = dial(server), good = dial(server);
	char seen[16];

	assert_int_equal(write(bad, "\xff\xff\xff\xffgarbage", 11), 11);
	poll_until_quiet(server);
	/* Closed; as a reset if it had not read all of it. */
	assert_true(read(bad, seen, sizeof(seen)) <= 0);
	assert_int_equal(write(good, "\0\0\0\1z", 5), 5);
	poll_until_quiet(server);
	assert_int_equal(read(good, seen, sizeof(seen)), 5);
	close(bad);
	close(good);
}

static void a_client_that_does_not_read_its_answers_is_not_asked_for_more(void **state)
{
	struct server *server = *state;
	static uint8_t frame[SN_FRAME_HEADER + 100000];
	static uint8_t seen[1 << 16];
	size_t total = 0;
	int fd = dial(server);
	unsigned int sent = 0;
	ssize_t n;

	sn_frame_put_length(frame, sizeof(frame) - SN_FRAME_HEADER);
	/* Whole frames only: a blocking client would send on where it stopped. */
	for (int i = 0; i < 50; i++) {
		size_t done = 0;

		while (done < sizeof(frame)) {
			n = write(fd, frame + done, sizeof(frame) - done);
			if (n < 0)
				break;
			done += (size_t)n;
			poll_until_quiet(server);
		}
		if (done < sizeof(frame))
			break;
		sent++;
	}
	assert_true(sent > 0);
	assert_true(sent < 50);
	for (int i = 0; i < 10000 && total < sent * sizeof(frame); i++) {
		n = read(fd, seen, sizeof(seen));
		if (n > 0)
			total += (size_t)n;
		sn_control_poll(server->control, 0);
	}
	assert_int_equal(total, sent * sizeof(frame));
	close(fd);
}

static void a_socket_in_use_is_not_taken_and_a_stale_one_is(void **state)
{
	struct server *server = *state;
	struct sn_control *second;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sn_error err = {0};
	char path[128];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_null(sn_control_open(server->path, echo, server, &err));
	assert_non_null(strstr(err.text, "another engine listens there"));
	assert_int_equal(access(server->path, F_OK), 0);

	snprintf(path, sizeof(path), "%s/stale.sock", server->folder);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	second = sn_control_open(path, echo, server, &err);
	assert_non_null(second);
	sn_control_close(second);
}

static void the_socket_is_for_the_engines_user_only(void **state)
{
	const struct server *server = *state;
	struct stat status;

	assert_int_equal(stat(server->path, &status), 0);
	assert_int_equal(status.st_mode & 0077, 0);
}

static void a_path_that_no_socket_can_have_is_refused(void **state)
{
	char path[200];
	struct sn_error err = {0};

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_null(sn_control_open(path, echo, NULL, &err));
	assert_non_null(strstr(err.text, "longer than 107"));
}

int main(void)
{
#define SERVER_TEST(test) cmocka_unit_test_setup_teardown(test, open_server, close_server)
	const struct CMUnitTest tests[] = {
		SERVER_TEST(several_clients_are_answered_each_on_its_own),
		SERVER_TEST(a_client_that_announces_too_much_is_let_go_and_others_stay),
		SERVER_TEST(a_client_that_does_not_read_its_answers_is_not_asked_for_more),
		SERVER_TEST(a_socket_in_use_is_not_taken_and_a_stale_one_is),
		SERVER_TEST(the_socket_is_for_the_engines_user_only),
		cmocka_unit_test(a_path_that_no_socket_can_have_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
