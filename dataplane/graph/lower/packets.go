package lower

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Packets that several functions tell apart.
var (
	// WholePackets are those that are no fragments.
	WholePackets = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	// Fragments are the others.
	Fragments = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragFirst, headerspace.FragLater))
	// ICMPErrors quote the packet that they are about.
	ICMPErrors = WholePackets.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12))
	// EchoRequests are pings.
	EchoRequests = headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(8))
)

// SentTo is the packets to some addresses.
func SentTo(addrs []netip.Addr) headerspace.Filter {
	return headerspace.Filter{}.With(headerspace.Dst, AddressSet(addrs))
}

// AddressSet is some addresses as a set.
func AddressSet(addrs []netip.Addr) headerspace.Set {
	iv := make([]headerspace.Interval, len(addrs))
	for n, a := range addrs {
		iv[n] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	return headerspace.NewSet(iv...)
}
