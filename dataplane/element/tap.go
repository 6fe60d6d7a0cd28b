package element

import "fmt"

// Tap sends packets to a function outside of the chain, which gives nothing back: they are copies of those that go on.
type Tap struct {
	// Interface is a wire of the graph.
	Interface string
}

// TapDestination is the destination MAC address of frames that leave by a Tap. No station has it: what forwards frames floods it, and the kernel of the
// host that gets it takes the packet for another host's. It is a local address, and neither a tag nor one of packets that are checked.
var TapDestination = [6]byte{0x0a, 's', 'i', 'n', 't', 'r'}

// Kind implements Element.
func (Tap) Kind() string { return "tap" }

// Ports implements Element.
func (Tap) Ports() (in, out int) { return 1, 0 }

// Traits implements Element.
func (Tap) Traits() Traits { return Traits{Terminal: true} }

// String is the element as a dump shows it.
func (t Tap) String() string { return fmt.Sprintf("%s by %s", t.Kind(), t.Interface) }
