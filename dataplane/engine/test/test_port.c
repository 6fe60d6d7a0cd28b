/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sn_port.h"

static void bindings_tell_pci_devices_virtual_devices_and_kernel_interfaces_apart(void **state)
{
	static const struct {
		const char *arg, *interface, *device;
		enum sn_port_kind kind;
	} cases[] = {
		{"inside=veth0", "inside", "veth0", SN_PORT_KERNEL},
		{"outside=0000:03:00.1", "outside", "0000:03:00.1", SN_PORT_PCI},
		{"outside=03:00.1", "outside", "03:00.1", SN_PORT_PCI},
		{"a=0000:03:00.1,mprq_en=1", "a", "0000:03:00.1,mprq_en=1", SN_PORT_PCI},
		{"a=net_pcap0,rx_pcap=a=b.pcap", "a", "net_pcap0,rx_pcap=a=b.pcap", SN_PORT_VDEV},
		{"a=net_null1", "a", "net_null1", SN_PORT_VDEV},
		{"a=03:00.x", "a", "03:00.x", SN_PORT_KERNEL},
	};
	struct sn_bind bind;
	char err[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(sn_bind_parse(cases[i].arg, &bind, err, sizeof(err)), 0);
		assert_string_equal(bind.interface, cases[i].interface);
		assert_string_equal(bind.device, cases[i].device);
		assert_int_equal(bind.kind, cases[i].kind);
	}
}

static void a_binding_that_cannot_be_read_is_refused_with_an_example(void **state)
{
	static const char *const args[] = {"", "inside", "inside=", "=veth0"};
	struct sn_bind bind;
	char err[256];

	(void)state;
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		assert_int_equal(sn_bind_parse(args[i], &bind, err, sizeof(err)), -1);
		assert_non_null(strstr(err, "<interface>=<device>"));
	}
}

static void arguments_behind_a_kernel_interface_are_refused_with_what_to_write(void **state)
{
	struct sn_bind bind;
	char err[256];

	(void)state;
	assert_int_equal(sn_bind_parse("inside=veth0,framecnt=4096", &bind, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "interface inside"));
	assert_non_null(strstr(err, "net_af_packet_inside,iface="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bindings_tell_pci_devices_virtual_devices_and_kernel_interfaces_apart),
		cmocka_unit_test(a_binding_that_cannot_be_read_is_refused_with_an_example),
		cmocka_unit_test(arguments_behind_a_kernel_interface_are_refused_with_what_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
