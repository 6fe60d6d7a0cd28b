// Package element is the library of packet processing elements that every
// network function is lowered to (SNF's processing units). An element here is
// data: what it reads, writes and keeps. Its meaning is written twice and
// independently, in the oracle (dataplane/interp, on bytes) and in dataplane/synth (on sets).
package element

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Element is one processing unit. Each concrete type has a file of its own.
type Element interface {
	// Kind is the element's type as written in an `elements` function.
	Kind() string
	// Ports are the numbers of input and output ports.
	Ports() (in, out int)
	// Traits are what the element does to a packet.
	Traits() Traits
}

// Traits sort elements as SNF's parser does (read and write elements), and say
// which fields are concerned.
type Traits struct {
	Reads  []headerspace.Field
	Writes []headerspace.Field
	// Stateful elements keep entries per flow.
	Stateful bool
	// Generates says that what leaves on the output is a new packet, not the
	// one that came in. A way through a generator is not a loop: nothing is
	// generated about a generated error (RFC 1122 section 3.2.2).
	Generates bool
	// LowersTTL says that what leaves by output 0 has a smaller TTL than it came with: no way through it is endless.
	LowersTTL bool
	// TwoSided elements have two inputs and two outputs of the same names: what comes in by one side leaves by the other.
	TwoSided bool
	// Terminal elements have no output: the packet leaves the chain there.
	Terminal bool
}

// Drop reasons that several elements give. Those of one element stand beside it; Discard gives its own.
const (
	ReasonICMPSuppressed    = "icmp-suppressed"
	ReasonLocal             = "local"
	ReasonDirectedBroadcast = "directed-broadcast"
	ReasonOwnSource         = "own-source"
	ReasonPoolSource        = "pool-source"
	ReasonBroadcastSource   = "broadcast-source"
	ReasonReversePath       = "reverse-path"
)

// Named is implemented by elements whose ports have names; those of the others are numbers.
type Named interface{ PortNames() []string }

// PortName names a port of an element for people.
func PortName(e Element, port int) string {
	if n, ok := e.(Named); ok {
		return n.PortNames()[port]
	}
	return fmt.Sprint(port)
}

// SidedWriter is implemented by elements of which the input decides what they write.
type SidedWriter interface {
	WritesFrom(in int) []headerspace.Field
}

// Writes are the fields that an element may write of packets that come in by an input.
func Writes(e Element, in int) []headerspace.Field {
	if s, ok := e.(SidedWriter); ok {
		return s.WritesFrom(in)
	}
	return e.Traits().Writes
}

// TwoSided tells whether an element is, as Traits say.
func TwoSided(e Element) bool {
	ins, _ := e.Ports() // asked first: a large classifier takes long to tell its traits
	return ins > 1 && e.Traits().TwoSided
}

// Leader is implemented by two-sided elements of which a side has several outputs.
type Leader interface{ LeadsTo(in, out int) bool }

// Leads tells whether packets that come in by an input may leave by an output.
func Leads(e Element, in, out int) bool {
	if l, ok := e.(Leader); ok {
		return l.LeadsTo(in, out)
	}
	return in != out || !TwoSided(e)
}
