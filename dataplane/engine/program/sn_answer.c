/* SPDX-License-Identifier: Apache-2.0 */
#include "sn_answer.h"
#include "sn_icmp.h"
#include "sn_reset.h"

#include <rte_ip.h>

static struct sn_answer none(enum sn_reason reason)
{
	return (struct sn_answer){.kind = SN_ANSWER_NONE, .reason = reason};
}

static struct sn_answer error(const struct sn_pkt *p, uint8_t type, uint8_t code, uint32_t source)
{
	if (sn_icmp_suppressed(p))
		return none(SN_REASON_ICMP_SUPPRESSED);
	return (struct sn_answer){.kind = SN_ANSWER_ERROR, .type = type, .code = code, .source = source};
}

static struct sn_answer echo_reply(const struct sn_pkt *p)
{
	if (p->frag != SN_FRAG_WHOLE || p->icmp_type != SN_ICMP_ECHO_REQUEST)
		return none(SN_REASON_LOCAL);
	return (struct sn_answer){.kind = SN_ANSWER_ECHO};
}

static bool resets(const struct sn_pkt *p)
{
	return p->frag == SN_FRAG_WHOLE && !(p->tcp_flags & (SN_TCP_RST | SN_BYTE_ABSENT));
}

/* A host without services (RFC 1122, sections 3.2.2.1 and 3.2.2.6; RFC 9293, section 3.10.7.1). */
static struct sn_answer local_host(const struct sn_pkt *p)
{
	if (p->proto == SN_ICMP &&
	    (p->frag == SN_FRAG_LATER || (p->frag == SN_FRAG_FIRST && p->icmp_type == SN_ICMP_ECHO_REQUEST)))
		return (struct sn_answer){.kind = SN_ANSWER_FRAGMENT};
	if (p->frag == SN_FRAG_LATER)
		return none(SN_REASON_LOCAL);
	switch (p->proto) {
	case SN_ICMP:
		return echo_reply(p);
	case SN_TCP:
		return resets(p) ? (struct sn_answer){.kind = SN_ANSWER_RESET} : none(SN_REASON_LOCAL);
	case SN_UDP:
		if (p->dport == SN_PORT_ABSENT)
			return none(SN_REASON_LOCAL);
		return error(p, SN_ICMP_UNREACHABLE, SN_ICMP_PORT, p->dst);
	}
	return error(p, SN_ICMP_UNREACHABLE, SN_ICMP_PROTOCOL, p->dst);
}

static struct sn_answer reject(const struct sn_generator *g, const struct sn_pkt *p, uint32_t source)
{
	if (p->proto != SN_TCP || p->frag != SN_FRAG_WHOLE || p->tcp_flags == SN_BYTE_ABSENT)
		return error(p, g->type, g->code, source);
	return resets(p) ? (struct sn_answer){.kind = SN_ANSWER_RESET} : none(SN_REASON_ICMP_SUPPRESSED);
}

struct sn_answer sn_answer_of(const struct sn_generator *g, const struct sn_pkt *p, uint32_t address)
{
	uint32_t source = g->source ? g->source : address;

	switch ((int)g->kind) {
	case SINTER__PROGRAM__V1__GENERATOR__KIND__ECHO_REPLY:
		return echo_reply(p);
	case SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST:
		return local_host(p);
	case SINTER__PROGRAM__V1__GENERATOR__KIND__REJECT:
		return reject(g, p, source);
	}
	return error(p, g->type, g->code, source);
}

static bool is_host(const struct sn_generator *g)
{
	return g->kind == SINTER__PROGRAM__V1__GENERATOR__KIND__ECHO_REPLY ||
	       g->kind == SINTER__PROGRAM__V1__GENERATOR__KIND__LOCAL_HOST;
}

bool sn_answer_sum_ok(const struct sn_generator *g, const struct sn_pkt *p)
{
	/* As the packet came in: moving a checksum keeps it right, or wrong. */
	const uint8_t *f = rte_pktmbuf_mtod(p->m, const uint8_t *), *l4 = f + p->l4;
	uint32_t len = p->ip_len - (uint32_t)(p->l4 - p->l3), sum = 0;

	if (!is_host(g) || p->frag != SN_FRAG_WHOLE || !sn_has_l4(p))
		return true;
	if (p->proto == SN_UDP) {
		if (sn_load16(l4 + 6) == 0) /* none: RFC 768 */
			return true;
		len = sn_load16(l4 + 4);
	}
	if (p->proto != SN_ICMP) {
		const uint8_t more[] = {0, p->proto, (uint8_t)(len >> 8), (uint8_t)len};

		sum = rte_raw_cksum(f + p->l3 + 12, 8) + (uint32_t)rte_raw_cksum(more, sizeof(more));
	}
	sum += rte_raw_cksum(l4, len);
	return sum % 0xffff == 0;
}

enum sn_reason sn_answer_make(struct sn_pkt *p, const struct sn_answer *a)
{
	switch ((enum sn_answer_kind)a->kind) {
	case SN_ANSWER_ECHO:
	case SN_ANSWER_FRAGMENT:
		sn_icmp_echo(p);
		return SN_REASON_NONE;
	case SN_ANSWER_RESET:
		sn_reset(p);
		return SN_REASON_NONE;
	case SN_ANSWER_ERROR:
		return sn_icmp_error(p, a->type, a->code, 0, a->source, SN_ANSWER_TTL);
	case SN_ANSWER_NONE:
		break;
	}
	return SN_REASON_NONE;
}

void sn_answer_foresee(struct sn_pkt *p, const struct sn_answer *a)
{
	switch ((enum sn_answer_kind)a->kind) {
	case SN_ANSWER_ECHO:
	case SN_ANSWER_FRAGMENT:
		sn_icmp_echo(p);
		return;
	case SN_ANSWER_RESET:
		sn_reset_foresee(p);
		return;
	case SN_ANSWER_ERROR:
		sn_icmp_foresee_error(p, a->type, a->code, a->source);
		break;
	case SN_ANSWER_NONE:
		break;
	}
}
