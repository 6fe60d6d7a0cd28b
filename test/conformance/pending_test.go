package conformance

import "github.com/sinter-nfv/sinter/test/packets"

// pending are differences that changes under way take away.
var pending = []*difference{
	{name: "transport headers", explains: func(e *evidence, _ *mismatch) bool {
		return e.badTransport() && len(e.outs[sinter]) == 0
	}},
	{name: "fragmented pings", explains: func(e *evidence, _ *mismatch) bool {
		return e.p.kind == "whole in fragments" && e.ownAddress(e.ip.Dst)
	}},
	{name: "protocols of a NAPT", explains: func(e *evidence, m *mismatch) bool {
		return e.nat != nil && m.only == linux && m.role == forwarded && e.ip.Proto != packets.ProtoTCP && e.ip.Proto != packets.ProtoUDP
	}},
	{name: "TTL of interfaces' errors", explains: func(_ *evidence, m *mismatch) bool {
		t, c := errorCode(m.frame[sinter])
		return m.only == sides && m.field == "TTL" && t == 3 && (c == 4 || c == 1)
	}},
}
