package dispatch

import (
	"fmt"
	"math"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// How says in which way a device matches a field.
type How uint8

// Ways of matching; each can do what those before it can.
const (
	Never  How = iota // not at all
	Exact             // one value
	Prefix            // leading bits
	Masked            // any bits
	Ranged            // from … to
)

// Fragments says what a device makes of fragments where a rule asks for ports, flags or ICMP types.
type Fragments uint8

// Ways in which devices treat fragments.
const (
	FragmentsUnknown  Fragments = iota // such a rule may match them, by whatever lies there
	FragmentsPortless                  // such a rule matches no fragment
	FragmentsTold                      // and any rule can ask for packets that are none
)

// Unlimited is room for any number of rules.
const Unlimited = math.MaxInt

// Capabilities are what a port's device was seen to do: what it says of itself counts only after it was tried.
type Capabilities struct {
	Rules      int // flow rules that it has room for
	Priorities int // levels of priority; 0 or 1: rules that overlap have no order
	// Fields is how it matches; Frag is in Fragments. TCP, UDP and ICMP fields come with an exact protocol.
	Fields    [hs.NumFields]How
	Untagged  bool // tells frames with a VLAN tag from those without
	DstMAC    bool // matches whole destination MAC addresses
	Fragments Fragments

	Drop     bool // action: the packet ends here
	Count    bool // a rule counts packets and bytes
	Queue    bool // action: a receive queue
	MarkBits int  // width of the number that a rule may put on a packet; 0: none
	Jump     bool // rules may go on to a second table of rules

	Queues int // receive queues
	RSS    RSSCapabilities
	// Refused is why the device takes no rules, in its driver's words; empty if it does, or says nothing.
	Refused string
	// Distrusted is what was seen of a device that takes rules and does otherwise; then Rules is 0.
	Distrusted string
}

// RSSCapabilities are what receive-side scaling can do.
type RSSCapabilities struct {
	Key     bool // its key can be set
	Buckets int  // entries of its indirection table
	Ports   bool // hashes ports of TCP and UDP, not only addresses
	// Refused is why it does not hash as it has to, whatever it says of itself; empty otherwise.
	Refused string
}

// validate checks what later arithmetic relies on.
func (c *Capabilities) validate() error {
	switch {
	case c.Rules < 0:
		return fmt.Errorf("capabilities: Rules is %d, want 0 or more", c.Rules)
	case c.MarkBits < 0 || c.MarkBits > 32:
		return fmt.Errorf("capabilities: MarkBits is %d, want 0..32", c.MarkBits)
	}
	return nil
}

// ordered tells whether overlapping rules have an order that an update can rely on: it takes two levels of the
// device for one of a plan (see Update).
func (c *Capabilities) ordered() bool { return c.Priorities >= 2*minLevels }

// minLevels are a plan's levels below which priorities are of no use.
const minLevels = 2
