package conformance

// pending are differences that changes under way take away.
var pending = []*difference{
	{name: "full TTL of errors", explains: func(_ *evidence, m *mismatch) bool { return m.role == icmpError && m.field == "TTL" }},
	{name: "own sources", explains: func(e *evidence, m *mismatch) bool { return e.ownAddress(e.ip.Src) }},
	{name: "own addresses", explains: func(e *evidence, m *mismatch) bool { return e.ownAddress(e.ip.Dst) }},
	{name: "source routes", explains: func(e *evidence, m *mismatch) bool { return e.option(131, 137) }},
	{name: "transport headers", explains: func(e *evidence, m *mismatch) bool { return e.badTransport() && len(e.outs[sinter]) == 0 }},
	{name: "broadcast sources", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "broadcast source" }},
	{name: "VLAN", explains: func(e *evidence, m *mismatch) bool { return e.p.kind == "VLAN" }},
}
