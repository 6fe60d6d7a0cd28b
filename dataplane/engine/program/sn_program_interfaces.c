/* SPDX-License-Identifier: Apache-2.0 */

/* The chain's links to the outside, as a program says them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sn_icmp.h"
#include "sn_program_build.h"

typedef Sinter__Program__V1__Interface interface_msg;

static bool has_vlan(const struct sn_interface *ifc, uint32_t vlan)
{
	return vlan < SN_VLAN_ABSENT && sn_vlans_have(ifc->vlans, (uint16_t)vlan);
}

/* A wire lets all VLANs pass: there are those of the other interfaces. */
static int build_vlans(struct sn_builder *b, struct sn_interface *to, const interface_msg *from)
{
	if (from->n_vlans == 0 && !from->wire)
		return 0;
	to->vlans = sn_build_array(SN_VLAN_ABSENT / 64, sizeof(*to->vlans));
	if (!to->vlans)
		return sn_build_no_memory(b);
	for (uint32_t vlan = 1; vlan < SN_VLAN_ABSENT && from->wire; vlan++)
		to->vlans[vlan / 64] |= 1ull << vlan % 64;
	for (size_t i = 0; i < from->n_vlans; i++) {
		if (from->vlans[i] < 1 || from->vlans[i] > 4094 ||
		    (i && from->vlans[i] <= from->vlans[i - 1]))
			return sn_build_fail(b, "vlans[%zu] is %u, want 1..4094, each above the one before",
					     i, from->vlans[i]);
		to->vlans[from->vlans[i] / 64] |= 1ull << from->vlans[i] % 64;
	}
	return 0;
}

static int check_refused(struct sn_builder *b, const interface_msg *from)
{
	for (size_t i = 0; i < from->n_refused; i++) {
		const Sinter__Program__V1__RefusedSources *r = from->refused[i];

		if (r->first > r->last || (i && r->first <= from->refused[i - 1]->last))
			return sn_build_fail(b, "refused[%zu] is %#x-%#x, want ascending, disjoint ranges", i,
					     r->first, r->last);
		if (!sn_sources_may_say(r->reason))
			return sn_build_fail(b, "refused[%zu].reason is %d, want that of a source", i,
					     (int)r->reason);
	}
	return 0;
}

/* A property of the interface that asks for hosts on it; NULL: none. */
static const char *property_of_hosts(const interface_msg *from)
{
	if (from->gateway)
		return "a gateway";
	if (from->n_neighbors)
		return "neighbors";
	if (from->n_proxy)
		return "proxy";
	if (from->n_refused)
		return "refused";
	if (from->watched)
		return "watched";
	return from->n_vlans ? "vlans" : NULL;
}

static int check_wire(struct sn_builder *b, const interface_msg *from)
{
	const char *has = from->wire ? property_of_hosts(from) : NULL;

	return has ? sn_build_fail(b, "is a wire, and has %s: want none", has) : 0;
}

static int check_watched(struct sn_builder *b, const interface_msg *from)
{
	uint32_t mask = from->prefix_len ? UINT32_MAX << (32 - from->prefix_len) : 0;

	if (!from->watched ||
	    (((from->watched ^ from->address) & mask) == 0 && from->watched != from->address))
		return 0;
	return sn_build_fail(b, "watched is 0x%08x, want another host of the interface's network",
			     from->watched);
}

static int check_full(struct sn_builder *b, const interface_msg *from)
{
	if (from->full > 0 && !from->wire)
		return sn_build_fail(b, "full is %u, want 0, as it is no wire", from->full);
	if (from->full > b->msg->n_reasons)
		return sn_build_fail(b, "full is %u, want at most %zu", from->full, b->msg->n_reasons);
	return 0;
}

static int build_interface(struct sn_builder *b, struct sn_interface *to, const interface_msg *from)
{
	if (!from->name[0])
		return sn_build_fail(b, "has no name");
	if (from->prefix_len > 32)
		return sn_build_fail(b, "prefix_len is %u, want at most 32", from->prefix_len);
	if (from->mtu < 68 || from->mtu > 65535) /* RFC 791: every link carries 68 bytes */
		return sn_build_fail(b, "mtu is %u, want 68..65535", from->mtu);
	if (from->answer_ttl > 255)
		return sn_build_fail(b, "answer_ttl is %u, want 0..255", from->answer_ttl);
	if (from->mac.len != 0 && from->mac.len != sizeof(to->mac))
		return sn_build_fail(b, "mac has %zu bytes, want 6 or none", from->mac.len);
	if (sn_build_index(b, "segment", from->segment, b->msg->n_segments))
		return -EINVAL;
	if (check_refused(b, from) || check_wire(b, from) || check_watched(b, from) || check_full(b, from))
		return -EINVAL;
	to->address = from->address;
	to->mask = from->prefix_len ? UINT32_MAX << (32 - from->prefix_len) : 0;
	to->gateway = from->gateway;
	to->mtu = from->mtu;
	to->tiny_fragments = from->tiny_fragments;
	to->wire = from->wire;
	to->full = from->full ? SN_REASON_CHAIN + from->full - 1 : SN_REASON_TX_FULL;
	to->watched = from->watched;
	to->answer_ttl = from->answer_ttl ? (uint8_t)from->answer_ttl : SN_ANSWER_TTL;
	to->segment = from->segment;
	to->has_mac = from->mac.len != 0;
	if (to->has_mac)
		memcpy(to->mac, from->mac.data, sizeof(to->mac));
	to->sources = sn_sources_create(from->refused, from->n_refused);
	if (build_vlans(b, to, from))
		return -EINVAL;
	to->neighbors = sn_build_array(from->n_neighbors, sizeof(*to->neighbors));
	to->proxy = sn_build_array(from->n_proxy, sizeof(*to->proxy));
	if (!to->sources || !to->neighbors || !to->proxy)
		return sn_build_no_memory(b);
	for (size_t i = 0; i < from->n_neighbors; i++) {
		if (from->neighbors[i]->mac.len != 6)
			return sn_build_fail(b, "neighbors[%zu]: mac has %zu bytes, want 6", i,
					     from->neighbors[i]->mac.len);
		if (from->neighbors[i]->vlan && !has_vlan(to, from->neighbors[i]->vlan))
			return sn_build_fail(b,
					     "neighbors[%zu].vlan is %u, want one of the interface's, or 0",
					     i, from->neighbors[i]->vlan);
		to->neighbors[i].address = from->neighbors[i]->address;
		to->neighbors[i].vlan =
			from->neighbors[i]->vlan ? (uint16_t)from->neighbors[i]->vlan : SN_VLAN_ABSENT;
		memcpy(to->neighbors[i].mac, from->neighbors[i]->mac.data, 6);
	}
	to->n_neighbors = from->n_neighbors;
	to->n_proxy = from->n_proxy;
	for (size_t i = 0; i < from->n_proxy; i++)
		to->proxy[i] = from->proxy[i];
	return sn_build_name(b, &to->name, from->name);
}

int sn_build_interfaces(struct sn_builder *b)
{
	size_t n = b->msg->n_interfaces;

	sn_build_at(b, "interfaces");
	if (n > SN_IFACES_MAX)
		return sn_build_fail(b, "there are %zu, want at most %d", n, SN_IFACES_MAX);
	b->p->interfaces = sn_build_array(n, sizeof(*b->p->interfaces));
	if (!b->p->interfaces)
		return sn_build_no_memory(b);
	b->p->n_interfaces = n;
	for (size_t i = 0; i < n; i++) {
		int rc;

		sn_build_at(b, "interfaces[%zu] (%.64s)", i, b->msg->interfaces[i]->name);
		rc = build_interface(b, &b->p->interfaces[i], b->msg->interfaces[i]);
		if (rc)
			return rc;
		if (b->p->interfaces[i].watched)
			b->p->watched |= 1ull << i;
	}
	return 0;
}

void sn_program_free_interfaces(struct sn_program *p)
{
	for (uint32_t i = 0; i < p->n_interfaces; i++) {
		free(p->interfaces[i].name);
		sn_sources_free(p->interfaces[i].sources);
		free(p->interfaces[i].neighbors);
		free(p->interfaces[i].proxy);
		free(p->interfaces[i].vlans);
	}
	free(p->interfaces);
}
