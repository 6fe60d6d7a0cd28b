package element

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Outputs of Track: the state of the packet that leaves.
const (
	TrackNew = iota
	TrackEstablished
	TrackRelated
	TrackInvalid
	TrackStates
)

// Tracking is a table of the flows that a stateful firewall follows. Elements with one name share it.
type Tracking struct {
	Table    string
	Timeouts Timeouts // UDP's is also that of protocols without ports
	Max      int      // flows at the same time
	// PickUp lets a TCP segment with ACK, and without SYN and RST, begin a flow: of a connection whose opening nobody saw.
	PickUp bool
	// HalfOpen bounds the TCP flows that are opening, about; 0: nothing does.
	HalfOpen int
	// Strict has the segments of TCP flows that began with a SYN checked by their numbers and windows.
	Strict bool
	// Full is the reason under which a packet is dropped that would begin a flow for which there is no room.
	Full string
}

func (t Tracking) String() string {
	s := fmt.Sprintf("%s at most %d, tcp %s/%s udp %s icmp %s", t.Table, t.Max, t.Timeouts.TCP, t.Timeouts.TCPTransitory, t.Timeouts.UDP, t.Timeouts.ICMP)
	if t.PickUp {
		s += ", picks up"
	}
	if t.HalfOpen > 0 {
		s += fmt.Sprintf(", %d half open", t.HalfOpen)
	}
	if t.Strict {
		s += ", strict"
	}
	return s
}

// reads are the fields by which a flow, and the state of its packet, is told.
func (Tracking) reads() []headerspace.Field {
	return []headerspace.Field{
		headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
		headerspace.SPort, headerspace.DPort, headerspace.TCPFlags, headerspace.ICMPType,
	}
}

// Track finds the flow of a packet: its outputs are the states New, Established, Related and Invalid. A packet of an
// established flow refreshes it. docs/elements.md, "track".
type Track struct {
	Tracking
	// FromOutside tells from which side of the firewall packets come here. It makes no difference to them: who shares a table agrees by it
	// which end of a flow is inside.
	FromOutside bool
}

// Kind implements Element.
func (Track) Kind() string { return "track" }

// Ports implements Element.
func (Track) Ports() (in, out int) { return 1, TrackStates }

// Traits implements Element.
func (t Track) Traits() Traits { return Traits{Reads: t.reads(), Stateful: true} }

// PortNames implements Named.
func (Track) PortNames() []string { return []string{"new", "established", "related", "invalid"} }

// String is the element as a dump shows it.
func (t Track) String() string { return t.Kind() + " " + t.Tracking.String() }

// Admit begins a flow with the packet, which Track said to be New. It drops the packet if there is no room.
type Admit struct {
	Tracking
	FromOutside bool // as Track's
}

// Kind implements Element.
func (Admit) Kind() string { return "admit" }

// Ports implements Element.
func (Admit) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (a Admit) Traits() Traits { return Traits{Reads: a.reads(), Stateful: true} }

// String is the element as a dump shows it.
func (a Admit) String() string { return a.Kind() + " " + a.Table }
