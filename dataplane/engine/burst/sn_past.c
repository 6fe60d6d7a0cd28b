/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_past.h"

#include "sn_env.h"
#include "sn_tag.h"
#include "sn_wires.h"

static uint32_t place_of(uint32_t i)
{
	return i % SN_PAST_MAX;
}

const struct sn_stop *sn_past_stop(const struct sn_env *env, const struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct sn_stop *s;
	struct sn_tag tag;

	if (sn_load16(f + 12) == SN_PROBE_TYPE || !sn_tag_read(f + 6, &tag))
		return NULL;
	s = sn_continuation_stop(env->program, tag.continuation);
	return env->down >> s->back & 1 && s->when_down == SN_DOWN_BYPASS ? s : NULL;
}

bool sn_past_put(struct sn_env *env, struct rte_mbuf *m, const struct sn_stop *s)
{
	struct sn_past *past = &env->past;
	uint32_t place = place_of(past->first + past->n);

	sn_count_add(&env->counts->counters[s->down], m->pkt_len);
	if (past->n == SN_PAST_MAX)
		return false;
	/* For another worker, to whom it may be handed. */
	m->port = env->addresses.ports[s->back];
	/* The device said that of the frame as it received it. */
	m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_FDIR_ID);
	past->frames[place] = m;
	past->back[place] = (uint8_t)s->back;
	past->n++;
	return true;
}

uint32_t sn_past_next(struct sn_env *env, struct rte_mbuf **frames, uint32_t *iface)
{
	struct sn_past *past = &env->past;
	uint32_t n = 0;

	*iface = past->back[past->first];
	while (n < SN_BURST_MAX && past->n > 0 && past->back[past->first] == *iface) {
		frames[n++] = past->frames[past->first];
		past->first = place_of(past->first + 1);
		past->n--;
	}
	return n;
}
