package pass

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Step is a packet's passage through one element.
type Step struct {
	Node string
	// Port is the output port that the packet left by; -1: it ended here.
	Port int
	// Packet is the packet as it left the element.
	Packet headerspace.Packet
	// Note says why, in words: the rule, the route, the binding.
	Note string
}

// Result is the fate of one frame: every copy of the packet and every answer
// to it is in exactly one of the lists, except packets that an answer replaced.
type Result struct {
	Out   []Out
	Drops []Drop
}

// Out is a frame that leaves.
type Out struct {
	Interface int
	Frame     []byte
	// Unresolved frames wait for NextHop to answer ARP; their destination MAC is zero.
	Unresolved bool
	NextHop    netip.Addr
	// Tagged frames leave for a stop: their source address marks them (dataplane/tag), as each engine likes.
	Tagged bool
}

// Drop is a packet that ended, and why.
type Drop struct{ Reason string }

// Count is a counter's value.
type Count struct{ Packets, Bytes uint64 }

// Binding names a flow that an element keeps state for.
type Binding struct {
	Node   string
	Proto  uint8
	Inside netip.AddrPort // source; for ICMP echo the port is the identifier
	Remote netip.AddrPort // destination; port 0 for ICMP echo
	// FromOutside says of a flow that may begin on either side that its first packet came from there.
	FromOutside bool
}

// Session is a live session of an element that writes addresses: of a flow between Inside and Remote, whose inside end is seen as
// Outside.
type Session struct {
	Binding
	Outside netip.AddrPort // invalid if it is loose and there was no free one
	Idle    time.Duration
	Loose   bool // an engine has not chosen the end that is chosen
}

func (s Session) String() string {
	return fmt.Sprintf("%s: proto %d %v → %v for %v", s.Node, s.Proto, s.Inside, s.Outside, s.Remote)
}
