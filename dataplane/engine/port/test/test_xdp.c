/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sn_xdp.h"

static void the_kernel_interface_is_found_among_the_arguments(void **state)
{
	static const struct {
		const char *device, *link; /* NULL: refused */
	} cases[] = {
		{"net_af_xdp0,iface=eth1", "eth1"},
		{"net_af_xdp_eth1,force_copy=1,iface=eth1,queue_count=2", "eth1"},
		{"net_af_xdp0,iface=fifteen-letters", "fifteen-letters"},
		{"net_af_xdp0,iface=sixteen--letters", NULL},
		{"net_af_xdp0,iface=", NULL},
		{"net_af_xdp0,xiface=eth1", NULL},
		{"net_af_xdp0", NULL},
	};
	char link[IF_NAMESIZE];
	struct sn_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int rc = sn_xdp_link(cases[i].device, link, &err);

		assert_int_equal(rc, cases[i].link != NULL ? 0 : -1);
		if (rc == 0)
			assert_string_equal(link, cases[i].link);
		else
			assert_non_null(strstr(err.text, "iface=eth1"));
	}
	assert_true(sn_xdp_drives("net_af_xdp0,iface=eth1"));
	assert_false(sn_xdp_drives("net_af_packet0,iface=eth1"));
}

/* A folder with a file of the program's name, in place of libxdp's. */
static void in_folder(char folder[static 32], bool with_program)
{
	char path[64];
	FILE *file;

	strcpy(folder, "/tmp/test_xdp_XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("LIBXDP_OBJECT_PATH", folder, 1), 0);
	if (!with_program)
		return;
	snprintf(path, sizeof(path), "%s/xsk_def_xdp_prog.o", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
}

static void out_of_folder(const char *folder)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/xsk_def_xdp_prog.o", folder);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	unsetenv("LIBXDP_OBJECT_PATH");
}

static void the_driver_is_told_queues_and_program_unless_the_user_has_told_it(void **state)
{
	char folder[32], devargs[256], want[256];
	struct sn_error err;

	(void)state;
	in_folder(folder, true);
	assert_int_equal(sn_xdp_devargs("net_af_xdp0,iface=eth1", 2, devargs, sizeof(devargs), &err), 0);
	snprintf(want, sizeof(want), "net_af_xdp0,iface=eth1,queue_count=2,xdp_prog=%s/xsk_def_xdp_prog.o",
		 folder);
	assert_string_equal(devargs, want);

	assert_int_equal(sn_xdp_devargs("net_af_xdp0,xdp_prog=/a.o,iface=eth1,start_queue=4,queue_count=3", 2,
					devargs, sizeof(devargs), &err),
			 0);
	assert_string_equal(devargs, "net_af_xdp0,xdp_prog=/a.o,iface=eth1,start_queue=4,queue_count=3");

	assert_int_equal(sn_xdp_devargs("net_af_xdp0,iface=eth1", 2, devargs, 40, &err), -1);
	assert_non_null(strstr(err.text, "longer than 39 characters"));
	out_of_folder(folder);
}

static void without_libxdps_program_it_is_said_what_to_install(void **state)
{
	char folder[32], devargs[256];
	struct sn_error err;

	(void)state;
	in_folder(folder, false);
	assert_int_equal(sn_xdp_devargs("net_af_xdp0,iface=eth1", 1, devargs, sizeof(devargs), &err), -1);
	assert_non_null(strstr(err.text, folder));
	assert_non_null(strstr(err.text, "libxdp1"));
	out_of_folder(folder);
	/* Where it is installed, as DPDK's driver wants it. */
	assert_int_equal(sn_xdp_devargs("net_af_xdp0,iface=eth1", 1, devargs, sizeof(devargs), &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_interface_is_found_among_the_arguments),
		cmocka_unit_test(the_driver_is_told_queues_and_program_unless_the_user_has_told_it),
		cmocka_unit_test(without_libxdps_program_it_is_said_what_to_install),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
