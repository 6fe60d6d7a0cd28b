package element

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Sides of ConnLimit: what comes in by one leaves by the other.
const (
	ConnLimitInside = iota
	ConnLimitOutside
)

// ConnLimit bounds the connections that each host inside has at the same time. A host is all inside addresses that share a prefix. A packet
// from inside that would begin one too many is dropped; packets of known connections, and those that begin none, pass. docs/elements.md,
// "connlimit".
type ConnLimit struct {
	Table    string   // of connections
	Timeouts Timeouts // UDP's is also that of protocols without ports
	Max      int      // connections of all hosts
	// PerHost is what one host may have, and the reason under which packets are dropped that would begin more. It has no ports.
	PerHost SubscriberLimits
	Full    string // the reason, if there is no room for a connection
}

// Kind implements Element.
func (ConnLimit) Kind() string { return "connlimit" }

// Ports implements Element.
func (ConnLimit) Ports() (in, out int) { return 2, 2 }

// Leaves is the output by which packets leave that came in by an input.
func (ConnLimit) Leaves(in int) int { return 1 - in }

// Traits implements Element.
func (ConnLimit) Traits() Traits {
	return Traits{
		Reads: []headerspace.Field{
			headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
			headerspace.SPort, headerspace.DPort, headerspace.TCPFlags, headerspace.ICMPType,
		},
		Stateful: true, TwoSided: true,
	}
}

// PortNames implements Named.
func (ConnLimit) PortNames() []string { return []string{"inside", "outside"} }

// String is the element as a dump shows it.
func (c ConnLimit) String() string {
	return fmt.Sprintf("%s %s at most %d, tcp %s/%s/%s udp %s icmp %s, per /%d at most %d, else drop %s", c.Kind(), c.Table, c.Max,
		c.Timeouts.TCP, c.Timeouts.TCPTransitory, c.Timeouts.TCPClosing, c.Timeouts.UDP, c.Timeouts.ICMP, c.PerHost.PrefixLen, c.PerHost.MaxSessions, c.PerHost.Reason)
}
