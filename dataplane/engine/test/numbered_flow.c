/* SPDX-License-Identifier: Apache-2.0 */
#include "numbered_flow.h"

#include "sn_napt.h"
#include "sn_parse.h"

static uint16_t inside_port(uint32_t index)
{
	return (uint16_t)(FIRST_PORT + index % PORTS);
}

static uint16_t remote_port(uint32_t index)
{
	return (uint16_t)(80 + index / PORTS);
}

struct packet flow_out(uint32_t index)
{
	struct packet p = outward(SN_UDP, inside_port(index));

	p.dport = remote_port(index);
	return p;
}

struct packet flow_back(const struct flow *f, uint32_t index)
{
	struct packet p = inward(SN_UDP, f->outside_port);

	p.dst = f->outside_addr;
	p.sport = remote_port(index);
	return p;
}

struct rte_mbuf *number_packet(struct flow *f, uint32_t index, bool back, struct packet p,
			       struct rte_mempool *pool)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t payload[8], frame[FRAME_MAX];
	uint32_t len;

	assert_non_null(m);
	sn_store32(payload, index);
	sn_store32(payload + 4, f->sent[back]++);
	p.payload = payload;
	p.payload_len = sizeof(payload);
	len = write_frame(&p, frame);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	sn_source_set(m, 0);
	return m;
}

uint32_t flow_of(const uint8_t *frame)
{
	return sn_load32(l4_of(frame) + 8);
}

void see_packet(struct flow *f, const uint8_t *frame, bool back, bool gaps)
{
	uint32_t index = flow_of(frame), number = sn_load32(l4_of(frame) + 12);

	if (number < f->next[back] || (!gaps && number != f->next[back]))
		fail_msg("flow %u, direction %u: packet %u came, want %u", index, back, number,
			 f->next[back]);
	f->next[back] = number + 1;
	f->seen[back]++;
	if (back) {
		assert_int_equal(dport_of(frame), inside_port(index));
		return;
	}
	if (f->outside_port == 0) {
		f->outside_addr = src_of(frame);
		f->outside_port = sport_of(frame);
	}
	if (f->outside_addr != src_of(frame) || f->outside_port != sport_of(frame))
		fail_msg("flow %u: its binding changed from port %u to %u", index, f->outside_port,
			 sport_of(frame));
}

uint32_t flow_shard(const struct sn_state *state, const struct flow *f, uint32_t index)
{
	const struct sn_flow back = {SN_SAMPLE_REMOTE, f->outside_addr, remote_port(index), f->outside_port,
				     SN_UDP};

	return sn_napt_return_shard(state, 0, &back);
}
