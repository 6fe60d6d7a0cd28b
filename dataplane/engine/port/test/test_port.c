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
	struct sn_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(sn_bind_parse(cases[i].arg, &bind, &err), 0);
		assert_string_equal(bind.interface, cases[i].interface);
		assert_string_equal(bind.device, cases[i].device);
		assert_int_equal(bind.kind, cases[i].kind);
	}
}

static void a_binding_that_cannot_be_read_is_refused_with_an_example(void **state)
{
	static const char *const args[] = {"", "inside", "inside=", "=veth0"};
	struct sn_bind bind;
	struct sn_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		assert_int_equal(sn_bind_parse(args[i], &bind, &err), -1);
		assert_non_null(strstr(err.text, "<interface>=<device>"));
	}
}

static void arguments_behind_a_kernel_interface_are_refused_with_what_to_write(void **state)
{
	struct sn_bind bind;
	struct sn_error err;

	(void)state;
	assert_int_equal(sn_bind_parse("inside=veth0,framecnt=4096", &bind, &err), -1);
	assert_non_null(strstr(err.text, "interface inside"));
	assert_non_null(strstr(err.text, "net_af_packet_inside,iface="));
}

static void a_pace_is_of_an_interface_that_is_bound(void **state)
{
	static const char *const bad[] = {"inside",    "inside=",    "inside=0",	 "inside=x",
					  "inside=-1", "inside=1 2", "inside=1000000001"};
	struct sn_bind binds[2];
	struct sn_error err;

	(void)state;
	assert_int_equal(sn_bind_parse("inside=net_null0", &binds[0], &err), 0);
	assert_int_equal(sn_bind_parse("inside2=net_null1", &binds[1], &err), 0);
	assert_int_equal(sn_bind_pace("inside2=1000000", binds, 2, &err), 0);
	assert_int_equal(binds[0].pace, 0);
	assert_int_equal(binds[1].pace, 1000000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(sn_bind_pace(bad[i], binds, 2, &err), -1);
		assert_non_null(strstr(err.text, "<interface>=<frames per second>"));
	}
	assert_int_equal(sn_bind_pace("outside=5", binds, 2, &err), -1);
	assert_non_null(strstr(err.text, "outside"));
}

static void paced_frames_come_at_their_rate_and_wait_in_a_ring_or_are_missed(void **state)
{
	struct sn_pace pace;
	uint64_t now = 1000;

	(void)state;
	sn_pace_init(&pace, 250, 1000, 64); /* one frame every four cycles */
	assert_int_equal(sn_pace_take(&pace, now, 32), 0);
	assert_int_equal(sn_pace_take(&pace, now += 41, 32), 10);
	assert_int_equal(sn_pace_take(&pace, now, 32), 0);
	assert_int_equal(sn_pace_take(&pace, now += 200, 32), 32);
	assert_int_equal(sn_pace_take(&pace, now, 32), 18);
	assert_int_equal(pace.missed, 0);
	now += 400; /* 100 come, 64 find room */
	assert_int_equal(sn_pace_take(&pace, now, 32), 32);
	assert_int_equal(pace.missed, 36);
	assert_int_equal(sn_pace_take(&pace, now, 32), 32);
	sn_pace_miss(&pace, 2);
	assert_int_equal(sn_pace_take(&pace, now, 32), 0);
	assert_int_equal(pace.missed, 38);
	assert_int_equal(sn_pace_take(&pace, now += 400, 64), 64);
}

static void what_is_missed_is_told_by_queue_where_the_device_or_the_pace_tells_it(void **state)
{
	static const struct {
		struct rte_eth_stats device;
		uint64_t all, queue[2];
	} cases[] = {
		{{.imissed = 10, .q_errors = {7, 3}}, 10, {7, 3}},
		{{.imissed = 10, .rx_nombuf = 2, .q_errors = {0, 12}}, 12, {0, 12}},
		{{.imissed = 10}, 10, {0, 0}},
		{{.imissed = 10, .q_errors = {4}}, 10, {4, 0}},
		{{.imissed = 10, .q_errors = {8, 3}}, 10, {0, 0}}, /* of something else */
		{{.imissed = 10, .q_errors = {5, 2, 9}}, 10, {5, 2}},
	};
	struct sn_pace paces[2] = {{.missed = 5}, {.missed = 6}};
	struct sn_port port = {.id = RTE_MAX_ETHPORTS, .paces = paces};
	struct sn_port_missed missed;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&missed, 0, sizeof(missed));
		sn_port_device_missed(&cases[i].device, 2, &missed);
		assert_int_equal(missed.all, cases[i].all);
		assert_int_equal(missed.queue[0], cases[i].queue[0]);
		assert_int_equal(missed.queue[1], cases[i].queue[1]);
	}
	sn_port_missed(&port, 2, &missed);
	assert_int_equal(missed.all, 11);
	assert_int_equal(missed.queue[0], 5);
	assert_int_equal(missed.queue[1], 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bindings_tell_pci_devices_virtual_devices_and_kernel_interfaces_apart),
		cmocka_unit_test(a_binding_that_cannot_be_read_is_refused_with_an_example),
		cmocka_unit_test(arguments_behind_a_kernel_interface_are_refused_with_what_to_write),
		cmocka_unit_test(a_pace_is_of_an_interface_that_is_bound),
		cmocka_unit_test(paced_frames_come_at_their_rate_and_wait_in_a_ring_or_are_missed),
		cmocka_unit_test(what_is_missed_is_told_by_queue_where_the_device_or_the_pace_tells_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
