package lab

import "testing"

// End is where a cable ends.
type End struct {
	Space   *Space
	Device  string
	Address string // with its prefix length; empty: none, as the engine wants its devices
}

// Cable joins two namespaces by a veth pair, with checksums computed and segments cut before the
// wire, as on a real one: a raw socket on the other end sees frames as they are sent.
func Cable(t testing.TB, a, b End) {
	t.Helper()
	a.Space.Run(t, "ip", "link", "add", a.Device, "netns", a.Space.path, "type", "veth",
		"peer", "name", b.Device, "netns", b.Space.path)
	for _, e := range []End{a, b} {
		e.Space.Run(t, "ethtool", "-K", e.Device, "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off")
		e.Space.Run(t, "ip", "link", "set", e.Device, "up")
		if e.Address != "" {
			e.Space.Run(t, "ip", "address", "add", e.Address, "dev", e.Device)
		}
	}
}
