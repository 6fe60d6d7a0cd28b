package conformance

import "github.com/sinter-nfv/sinter/test/packets"

// pending are differences that changes under way take away.
var pending = []*difference{
	{name: "full TTL of errors", explains: func(_ *evidence, m *mismatch) bool { return m.role == icmpError && m.field == "TTL" }},
	{name: "own sources", explains: func(e *evidence, m *mismatch) bool { return e.ownAddress(e.ip.Src) }},
	{name: "own addresses", explains: func(e *evidence, m *mismatch) bool { return e.ownAddress(e.ip.Dst) }},
	{name: "source routes", explains: func(e *evidence, m *mismatch) bool { return e.option(131, 137) }},
	{name: "transport headers", explains: func(e *evidence, m *mismatch) bool { return e.badTransport() && len(e.outs[sinter]) == 0 }},
	{name: "broadcast sources", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "broadcast source" }},
	{name: "protocols of a NAPT", explains: func(e *evidence, m *mismatch) bool {
		return e.nat != nil && m.only == linux && m.role == forwarded && e.ip.Proto != packets.ProtoTCP && e.ip.Proto != packets.ProtoUDP
	}},
	{name: "VLAN", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "VLAN" }},
}
