package conformance

import "github.com/sinter-nfv/sinter/test/packets"

// pending are differences that changes under way take away.
var pending = []*difference{
	{name: "protocols of a NAPT", explains: func(e *evidence, m *mismatch) bool {
		return e.nat != nil && m.only == linux && m.role == forwarded && e.ip.Proto != packets.ProtoTCP && e.ip.Proto != packets.ProtoUDP
	}},
}
