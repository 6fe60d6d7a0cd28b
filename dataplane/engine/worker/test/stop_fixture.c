/* SPDX-License-Identifier: Apache-2.0 */
#include "stop_fixture.h"

const uint8_t gateway_mac[6] = {0x02, 0xaa, 0, 0, 0, 1}, other_mac[6] = {0x02, 0xaa, 0, 0, 0, 2};

leg_msg *leg_of(struct fixture *f, uint32_t segment)
{
	return f->msg->segments[segment]->classes[0]->legs[0];
}

Sinter__Program__V1__Op *add_op(struct fixture *f, uint32_t segment, Sinter__Program__V1__Op__OpCase op_case)
{
	return sn_sample_op(&f->arena, leg_of(f, segment), op_case);
}

void lower_ttl(struct fixture *f, uint32_t segment)
{
	add_op(f, segment, SINTER__PROGRAM__V1__OP__OP_ADD_TTL)->add_ttl = -1;
}

void note_hop(struct fixture *f, uint32_t segment, uint32_t hop)
{
	add_op(f, segment, SINTER__PROGRAM__V1__OP__OP_NEXT_HOP)->next_hop = hop;
}

Sinter__Program__V1__Stop *add_stop(struct fixture *f, uint32_t segment)
{
	return sn_sample_stop(&f->arena, f->msg, leg_of(f, segment));
}

void add_other(struct sn_arena *arena, Sinter__Program__V1__Interface *outside)
{
	Sinter__Program__V1__Neighbor **two = sn_arena_alloc(arena, 2 * sizeof(*two));

	two[0] = outside->neighbors[0];
	two[1] = sn_arena_alloc(arena, sizeof(**two));
	*two[1] = *two[0];
	two[1]->address = OTHER;
	two[1]->mac.data = (uint8_t *)(uintptr_t)other_mac;
	outside->neighbors = two;
	outside->n_neighbors = 2;
}

int open_stop(void **state)
{
	struct fixture *f;

	open_fixture(state);
	f = *state;
	f->msg = sn_sample_wire(&f->arena);
	add_other(&f->arena, f->msg->interfaces[1]);
	add_stop(f, 0);
	return 0;
}

void send_out(struct fixture *f, uint16_t port)
{
	struct packet out = outward(SN_UDP, port);

	send_packet(f, &out);
	assert_sent(f, OUT);
}

bool take_record(struct sn_trace *trace, struct sn_trace_packet *head)
{
	uint32_t len = sn_trace_ring_next(sn_trace_ring(trace));
	uint8_t record[16384];

	if (!len)
		return false;
	assert_in_range(len, sizeof(*head), sizeof(record));
	sn_trace_ring_take(sn_trace_ring(trace), record, len);
	memcpy(head, record, sizeof(*head));
	return true;
}
