package conformance

import "github.com/sinter-nfv/sinter/test/packets"

// pending are differences that changes under way take away.
var pending = []*difference{
	{name: "own sources", explains: func(e *evidence, m *mismatch) bool { return e.ownAddress(e.ip.Src) }},
	{name: "source routes", explains: func(e *evidence, m *mismatch) bool { return e.option(131, 137) }},
	{name: "transport headers", explains: func(e *evidence, m *mismatch) bool {
		return e.badTransport() && len(e.outs[sinter]) == 0
	}},
	{name: "broadcast sources", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "broadcast source" }},
	{name: "TTL of too big", explains: func(e *evidence, m *mismatch) bool {
		t, c := errorCode(m.frame[sinter])
		return m.only == sides && m.field == "TTL" && t == 3 && c == 4
	}},
	{name: "own addresses behind a NAPT", explains: func(e *evidence, m *mismatch) bool {
		return e.nat != nil && e.p.in == e.nat.inside && e.interfaces[e.nat.out].prefix().Addr() == packets.Addr(e.ip.Dst)
	}},
	{name: "VLAN", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "VLAN" }},
	{name: "fragmented pings", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "whole in fragments" && e.ownAddress(e.ip.Dst) }},
	{name: "protocols of a NAPT", explains: func(e *evidence, m *mismatch) bool {
		return e.nat != nil && m.only == linux && m.role == forwarded && e.ip.Proto != packets.ProtoTCP && e.ip.Proto != packets.ProtoUDP
	}},
}
