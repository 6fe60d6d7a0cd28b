/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets by which memory is shared, which an engine before has left. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "sn_memif.h"

struct place {
	char folder[32], path[48];
};

static int open_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->folder, "/tmp/sinter-memif-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->path, sizeof(p->path), "%s/s", p->folder);
	*state = p;
	return 0;
}

static int close_place(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	rmdir(p->folder);
	free(p);
	return 0;
}

/* A socket on which somebody waits. */
static int wait_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_true(fd >= 0);
	strcpy(at.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Whether the file is there after a device has taken it over. */
static int stays(const struct place *p, const char *before, const char *after)
{
	char device[256];

	snprintf(device, sizeof(device), "%s,socket=%s%s", before, p->path, after);
	sn_memif_take_over(device);
	return access(p->path, F_OK) == 0;
}

static void a_socket_that_was_left_is_taken_over(void **state)
{
	static const char *const devices[][2] = {
		{"net_memif0,role=server,id=0", ",socket-abstract=no"},
		{"net_memif_ips,socket-abstract=no,role=master", ",bsize=2048"}};

	for (unsigned int i = 0; i < 2; i++) {
		close(wait_at(((struct place *)*state)->path));
		assert_false(stays(*state, devices[i][0], devices[i][1]));
	}
}

static void who_does_not_wait_there_takes_nothing(void **state)
{
	close(wait_at(((struct place *)*state)->path));
	assert_true(stays(*state, "net_memif0,role=client", ",socket-abstract=no"));
	assert_true(stays(*state, "net_memif0", ",socket-abstract=no"));
	assert_true(stays(*state, "net_memif0,role=server", ""));
	assert_true(stays(*state, "net_memif0,role=server", ",socket-abstract=yes"));
	assert_true(stays(*state, "net_null0,role=server", ",socket-abstract=no"));
	assert_true(stays(*state, "net_memif0,role=server", "x,socket-abstract=no"));
	assert_true(stays(*state, "net_memif0,role=server,socket-abstract=no,a",
			  "0123456789012345678901234567890123456789012345678901234567890123456789"));
}

static void a_socket_on_which_somebody_waits_stays(void **state)
{
	int fd = wait_at(((struct place *)*state)->path);

	assert_true(stays(*state, "net_memif0,role=server", ",socket-abstract=no"));
	close(fd);
}

static void a_file_that_is_no_socket_stays(void **state)
{
	FILE *f = fopen(((struct place *)*state)->path, "w");

	assert_non_null(f);
	fclose(f);
	assert_true(stays(*state, "net_memif0,role=server", ",socket-abstract=no"));
}

#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, open_place, close_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(a_socket_that_was_left_is_taken_over),
		PLACE_TEST(who_does_not_wait_there_takes_nothing),
		PLACE_TEST(a_socket_on_which_somebody_waits_stays),
		PLACE_TEST(a_file_that_is_no_socket_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
