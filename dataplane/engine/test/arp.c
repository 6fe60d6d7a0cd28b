/* SPDX-License-Identifier: Apache-2.0 */
#include "arp.h"

#include "sn_parse.h"

uint32_t write_arp(uint8_t *f, const uint8_t *to, const uint8_t *from, uint16_t tag, uint16_t op,
		   uint32_t sender, uint32_t target)
{
	uint32_t l3 = tag ? 18 : 14;
	uint8_t *a = f + l3;

	memset(f, 0, l3 + 28);
	memcpy(f, to, 6);
	memcpy(f + 6, from, 6);
	if (tag) {
		sn_store16(f + 12, 0x8100);
		sn_store16(f + 14, tag);
	}
	sn_store16(f + l3 - 2, 0x0806);
	sn_store16(a, 1);
	sn_store16(a + 2, 0x0800);
	a[4] = 6;
	a[5] = 4;
	sn_store16(a + 6, op);
	memcpy(a + 8, from, 6);
	sn_store32(a + 14, sender);
	sn_store32(a + 24, target);
	return l3 + 28;
}

void send_arp(struct fixture *f, const uint8_t *to, uint16_t tag, uint16_t op, uint32_t sender,
	      uint32_t target)
{
	uint8_t frame[ARP_FRAME];

	send_frame(f, 1, frame, write_arp(frame, to, HOST_MAC, tag, op, sender, target));
	assert_int_equal(f->n_drops, 1);
	assert_int_equal(f->drops[0].reason, SN_REASON_ARP);
}

void unknown_gateway(struct fixture *f)
{
	f->msg->interfaces[1]->gateway = GATEWAY2;
	load(f);
}

void gateway_answers(struct fixture *f)
{
	send_arp(f, OUTSIDE_MAC, 0, ARP_REPLY, GATEWAY2, SN_SAMPLE_OUTSIDE);
}

void answer_of(struct fixture *f, uint32_t host)
{
	uint8_t frame[ARP_FRAME];

	send_frame(f, 1, frame,
		   write_arp(frame, OUTSIDE_MAC, HOST_MAC, 0, ARP_REPLY, SN_SAMPLE_OUTSIDE + host,
			     SN_SAMPLE_OUTSIDE));
}

struct sn_neigh_info entry_of(const struct fixture *f, uint32_t address)
{
	struct sn_neigh_info list[64];
	size_t n = sn_worker_neighbors(f->worker, list, 64);

	for (size_t i = 0; i < n; i++)
		if (list[i].address == address)
			return list[i];
	return (struct sn_neigh_info){.state = SN_NEIGH_FREE};
}

bool knows(const struct fixture *f, uint32_t address)
{
	return entry_of(f, address).state != SN_NEIGH_FREE;
}

const uint8_t *asked(const struct sent *s)
{
	return sn_load16(s->data + 12) == 0x0806 && sn_load16(s->data + 14 + 6) == ARP_REQUEST ? s->data
											       : NULL;
}

void assert_asks(const struct sent *s, const uint8_t *to, uint16_t vlan)
{
	const uint8_t *arp = s->data + (vlan ? 18 : 14);

	assert_int_equal(sn_load16(arp - 2), 0x0806);
	assert_int_equal(sn_load16(arp + 6), ARP_REQUEST);
	if (vlan)
		assert_int_equal(sn_load16(s->data + 14), vlan);
	assert_memory_equal(s->data, to, 6);
	assert_int_equal(sn_load32(arp + 14), SN_SAMPLE_OUTSIDE);
	assert_int_equal(sn_load32(arp + 24), GATEWAY2);
}
