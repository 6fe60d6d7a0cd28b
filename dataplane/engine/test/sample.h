/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SN_TEST_SAMPLE_H
#define SN_TEST_SAMPLE_H

/* Programs and frames that tests and fuzz targets start from, and what they ask of an engine. */

#include <stddef.h>
#include <stdint.h>

#include "program.pb-c.h"
#include "sn_arena.h"
#include "sn_engine.h"
#include "sn_offload.h"
#include "sn_peering.h"
#include "sn_threads.h"
#include "sn_tracing.h"
#include "sn_transfer.h"

#define SN_SAMPLE_HOST	  0x0a000002u /* 10.0.0.2, a static neighbour of "inside" */
#define SN_SAMPLE_INSIDE  0x0a000001u /* 10.0.0.1/24 */
#define SN_SAMPLE_OUTSIDE 0xc0000201u /* 192.0.2.1/24 */
#define SN_SAMPLE_GATEWAY 0xc0000202u /* a static neighbour of "outside" */
#define SN_SAMPLE_POOL	  0xc000020au
#define SN_SAMPLE_REMOTE  0xc6336401u /* 198.51.100.1 */
#define SN_SAMPLE_OUT	  0x0a010001u /* 10.1.0.1/24, of a wire */
#define SN_SAMPLE_BACK	  0x0a020001u /* 10.2.0.1/24, of the other */

/*
 * inside - router - NAPT - outside, as the synthesizer would write it: the TTL
 * falls by one, packets that die are answered, packets to port 9 are dropped as "discard".
 */
Sinter__Program__V1__Program *sn_sample_napt(struct sn_arena *arena);

/* The sample NAPT's inside has so many hosts, from SN_SAMPLE_HOST on, all static neighbours. */
void sn_sample_hosts(struct sn_arena *arena, Sinter__Program__V1__Program *napt, uint32_t n);

/* Stateless: what comes in by one interface leaves by the other. Interfaces "a" and "b". */
Sinter__Program__V1__Program *sn_sample_wire(struct sn_arena *arena);

/*
 * A program's leg gets a stop before its outcome, which is that of a new segment's only class then: the
 * message of the stop is returned. The first one adds the wires: the next two interfaces, "out" and "back",
 * and a segment that drops as "local" what comes in by them.
 */
Sinter__Program__V1__Stop *sn_sample_stop(struct sn_arena *arena, Sinter__Program__V1__Program *program,
					  Sinter__Program__V1__Leg *leg);

/* An operation more at the end of a leg's. */
Sinter__Program__V1__Op *sn_sample_op(struct sn_arena *arena, Sinter__Program__V1__Leg *leg,
				      Sinter__Program__V1__Op__OpCase op_case);

/* A new message of a protobuf-c type. */
void *sn_sample_message(struct sn_arena *arena, const ProtobufCMessageDescriptor *descriptor);

/* A program as it is sent. */
ProtobufCBinaryData sn_sample_encode(struct sn_arena *arena, const Sinter__Program__V1__Program *program);

/* All interfaces have a further VLAN, above those before, and their static neighbours are there, too. */
void sn_sample_vlan(struct sn_arena *arena, Sinter__Program__V1__Program *program, uint16_t vlan);

struct sn_sample_packet {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t ttl;
	uint8_t interface; /* whose MAC address it is sent to: 02:73:6e:00:00:<interface> */
};

#define SN_SAMPLE_FRAME 60

/* A UDP packet; returns its length. */
size_t sn_sample_udp(const struct sn_sample_packet *packet, uint8_t frame[SN_SAMPLE_FRAME]);

/* ---- of an engine ---- */

static inline struct sn_worker *worker_of(const struct sn_engine *engine, unsigned int worker)
{
	return sn_threads_worker(sn_engine_threads(engine), worker);
}

static inline struct sn_mailbox *mailbox_of(const struct sn_engine *engine, unsigned int worker)
{
	return sn_threads_mailbox(sn_engine_threads(engine), worker);
}

static inline const struct sn_program *program_of(const struct sn_engine *engine)
{
	return sn_threads_plan(sn_engine_threads(engine))->program;
}

static inline uint64_t now_of(const struct sn_engine *engine)
{
	return sn_threads_now(sn_engine_threads(engine));
}

/* The clock of a harness goes on. */
static inline void let_pass(const struct sn_engine *engine, uint64_t ns)
{
	sn_threads_set_now(sn_engine_threads(engine), now_of(engine) + ns);
}

static inline bool is_moving(const struct sn_engine *engine)
{
	return sn_shards_moving(sn_engine_shards(engine)) != SN_NO_SHARD;
}

#endif /* SN_TEST_SAMPLE_H */
