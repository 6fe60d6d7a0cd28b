/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames through the whole engine on a fixed program. The input is a list of
 * frames: a byte of choices, a byte of length, the bytes. The choices are the interface
 * and what to repair, since few random frames have our address and a right checksum.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "sn_harness.h"
#include "sn_log.h"
#include "test/sample.h"

#define FRAMES_MAX 64
#define FRAME_MAX  512

enum choice {
	CHOICE_INTERFACE = 1,
	CHOICE_OUR_MAC = 2,
	CHOICE_IPV4 = 4,  /* EtherType, version, lengths, checksum */
	CHOICE_LATER = 8, /* much later: timers expire */
	CHOICE_LONG = 16, /* longer than said */
};

static struct sn_harness harness;

static void check(int rc, const char *err)
{
	if (rc != 0) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sn_engine_loaded loaded;
	struct sn_arena arena;
	struct sn_error err;

	(void)argc;
	sn_log_limit(SN_LOG_ERROR);
	check(sn_harness_eal((*argv)[0], &err), err.text);
	check(sn_harness_open(&harness, &(struct sn_harness_config){.n_workers = 2, .cache_entries = 8},
			      &err),
	      err.text);
	sn_arena_init(&arena);
	check(sn_engine_load(harness.engine, sn_sample_napt(&arena), NULL, 0, &loaded, &err), err.text);
	sn_arena_free(&arena);
	return 0;
}

static void repair(uint8_t *frame, size_t len, uint8_t choices)
{
	const uint8_t mac[6] = {0x02, 0x73, 0x6e, 0x00, 0x00, choices & CHOICE_INTERFACE};
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + RTE_ETHER_HDR_LEN);

	if (choices & CHOICE_OUR_MAC && len >= sizeof(mac))
		memcpy(frame, mac, sizeof(mac));
	if (choices & CHOICE_IPV4 && len >= RTE_ETHER_HDR_LEN + sizeof(*ip)) {
		frame[12] = 0x08;
		frame[13] = 0x00;
		ip->version_ihl = (uint8_t)(0x40 | RTE_MAX(ip->version_ihl & 15, 5));
		if ((size_t)RTE_ETHER_HDR_LEN + rte_ipv4_hdr_len(ip) > len)
			ip->version_ihl = RTE_IPV4_VHL_DEF;
		ip->total_length = rte_cpu_to_be_16((uint16_t)(len - RTE_ETHER_HDR_LEN));
		ip->hdr_checksum = 0;
		ip->hdr_checksum = (uint16_t)~rte_raw_cksum(ip, rte_ipv4_hdr_len(ip));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t frames[FRAMES_MAX][FRAME_MAX];
	static Sinter__Control__V1__InjectedPacket packets[FRAMES_MAX], *list[FRAMES_MAX];
	uint64_t step = 1000;
	size_t n = 0;
	struct sn_error err;

	while (n < FRAMES_MAX && size >= 2) {
		uint8_t choices = data[0];
		size_t len = data[1], given;

		data += 2;
		size -= 2;
		given = len < size ? len : size;
		len += choices & CHOICE_LONG ? 256 : 0;
		memset(frames[n], 0, sizeof(frames[n]));
		memcpy(frames[n], data, given);
		data += given;
		size -= given;
		repair(frames[n], len, choices);
		sinter__control__v1__injected_packet__init(&packets[n]);
		packets[n].interface = choices & CHOICE_INTERFACE;
		packets[n].data.data = frames[n];
		packets[n].data.len = len;
		list[n] = &packets[n];
		if (choices & CHOICE_LATER)
			step = 100000000000u;
		n++;
	}
	check(sn_harness_round(&harness, now_of(harness.engine) + step, list, n, &err), err.text);
	return 0;
}
