package element

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Outputs of Bypass.
const (
	BypassThrough = iota // to the function
	BypassPast           // packets of flows of which it has let enough through
	BypassWays
)

// Passing is a table of the flows of which a function has let packets through. Elements with one name share it.
type Passing struct {
	Table    string
	Timeouts Timeouts // UDP's is also that of protocols without ports
	Max      int      // flows at the same time; of others all packets go to the function
	Packets  int      // of a flow, in both directions together, that the function has to let through: 1 to 65535
}

func (p Passing) String() string {
	return fmt.Sprintf("%s after %d packets, at most %d flows, tcp %s/%s/%s udp %s icmp %s", p.Table, p.Packets, p.Max,
		p.Timeouts.TCP, p.Timeouts.TCPTransitory, p.Timeouts.TCPClosing, p.Timeouts.UDP, p.Timeouts.ICMP)
}

// reads are the fields by which a flow is told, and the packet that begins it.
func (Passing) reads() []headerspace.Field {
	return []headerspace.Field{
		headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
		headerspace.SPort, headerspace.DPort, headerspace.TCPFlags, headerspace.ICMPType,
	}
}

// Bypass stands before a function outside of the chain. Packets of flows that have passed it often enough leave by the second output, past the
// function; all others, and those that begin a TCP connection, by the first. docs/elements.md, "bypass".
type Bypass struct {
	Passing
	// FromOutside tells from which side packets come here: who shares a table agrees by it which end of a flow is inside.
	FromOutside bool
}

// PastCounter counts packets that come in by a side of a function, and go past it.
func PastCounter(function, side string) string { return function + "/past-" + side }

// Kind implements Element.
func (Bypass) Kind() string { return "bypass" }

// Ports implements Element.
func (Bypass) Ports() (in, out int) { return 1, BypassWays }

// Traits implements Element.
func (b Bypass) Traits() Traits { return Traits{Reads: b.reads(), Stateful: true} }

// PortNames implements Named.
func (Bypass) PortNames() []string { return []string{"through", "past"} }

// String is the element as a dump shows it.
func (b Bypass) String() string { return b.Kind() + " " + b.Passing.String() }

// Passed stands behind the function: a packet that comes here counts for its flow.
type Passed struct {
	Passing
	FromOutside bool // as Bypass's
}

// Kind implements Element.
func (Passed) Kind() string { return "passed" }

// Ports implements Element.
func (Passed) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (p Passed) Traits() Traits { return Traits{Reads: p.reads(), Stateful: true} }

// String is the element as a dump shows it.
func (p Passed) String() string { return p.Kind() + " " + p.Table }
