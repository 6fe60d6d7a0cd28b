package element

import (
	"fmt"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Inspect matches payloads with rules: of each packet by itself, or the first bytes of TCP streams. A packet that some rule matches is dropped, marked or counted. It gets
// whole TCP and UDP packets with ports; others have no payload to it. docs/elements.md, "inspect".
type Inspect struct {
	Rules []InspectRule
	// Streams, of an inspector of TCP streams; absent: each packet by itself.
	Streams *InspectStreams
	// TwoSided inspectors have two inputs: what comes in by one side leaves by the other.
	TwoSided bool
}

// InspectStreams says how far TCP streams are looked at. A stream is a direction of a connection.
type InspectStreams struct {
	Depth   int           // bytes of each
	Max     int           // of which bytes are kept at a time
	Known   int           // that are known at a time
	Timeout time.Duration // after which an idle one is forgotten
	Full    string        // the reason under which packets are dropped for whose bytes there is no room
	// FromOutside: the source of what comes in by the first input is outside of the function.
	FromOutside bool
}

// InspectRule matches a packet in which all of its parts match.
type InspectRule struct {
	Name   string
	Parts  []InspectPart
	Action InspectAction
}

// InspectAction is what becomes of a packet that a rule matches; the zero value counts it alone.
type InspectAction struct {
	Drop string // reason
	Mark bool   // it gets the DSCP
	DSCP uint8
}

// Buffer is what of a packet a part is looked for in.
type Buffer int

// Buffers.
const (
	BufferPayload  Buffer = iota // what is behind the TCP or UDP header
	BufferDNSQuery               // the name that a DNS query asks for, with dots between labels
	BufferTLSSNI                 // the name of the server in a TLS ClientHello, of a stream
	BufferHTTPHost               // the host of an HTTP request, of a stream
)

// String is the buffer's name.
func (b Buffer) String() string {
	return [...]string{"payload", "dns.query", "tls.sni", "http.host"}[b]
}

// InspectPart is a text or a regular expression. A text lies within the bytes from Offset to before Offset + Depth.
type InspectPart struct {
	Buffer Buffer
	Text   []byte // absent: Regex is given
	NoCase bool   // letters A to Z and a to z are the same
	Offset int
	Depth  int  // 0: up to the end
	AtEnd  bool // the text ends where the buffer ends
	// Regex is in the syntax of Go's package regexp; a character is a byte.
	Regex string
}

// Kind implements Element.
func (Inspect) Kind() string { return "inspect" }

// Ports implements Element.
func (i Inspect) Ports() (in, out int) {
	if i.TwoSided {
		return 2, 2
	}
	return 1, 1
}

// Leaves is the output by which packets leave that came in by an input.
func (i Inspect) Leaves(in int) int {
	if i.TwoSided {
		return 1 - in
	}
	return in
}

// Traits implements Element.
func (i Inspect) Traits() Traits {
	t := Traits{Stateful: true, TwoSided: i.TwoSided}
	if i.Streams != nil {
		t.Reads = []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort}
	}
	if !i.Marks().IsEmpty() {
		t.Writes = append(t.Writes, headerspace.DSCP)
	}
	return t
}

// PortNames implements Named.
func (i Inspect) PortNames() []string {
	if i.TwoSided {
		return []string{"inside", "outside"}
	}
	return []string{"0"}
}

// Marks are the DSCPs that it may give to packets.
func (i Inspect) Marks() headerspace.Set {
	var marks headerspace.Set
	for _, r := range i.Rules {
		if r.Action.Mark {
			marks = marks.Union(headerspace.Of(uint64(r.Action.DSCP)))
		}
	}
	return marks
}

// String is the element as a dump shows it.
func (i Inspect) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d rules", i.Kind(), len(i.Rules))
	if s := i.Streams; s != nil {
		fmt.Fprintf(&b, ", %d bytes of %d streams, %d known for %s", s.Depth, s.Max, s.Known, s.Timeout)
	}
	for _, r := range i.Rules {
		fmt.Fprintf(&b, "; %s: %s →", r.Name, r.Action)
		for _, p := range r.Parts {
			fmt.Fprintf(&b, " %s", p)
		}
	}
	return b.String()
}

// String says what is done.
func (a InspectAction) String() string {
	switch {
	case a.Drop != "":
		return "drop " + a.Drop
	case a.Mark:
		return fmt.Sprintf("dscp %d", a.DSCP)
	}
	return "count"
}

// String is the part as a dump shows it.
func (p InspectPart) String() string {
	if p.Text == nil {
		return fmt.Sprintf("%s ~ %s", p.Buffer, p.Regex)
	}
	s := fmt.Sprintf("%s %q", p.Buffer, p.Text)
	if p.NoCase {
		s += " nocase"
	}
	if p.Offset > 0 || p.Depth > 0 {
		s += fmt.Sprintf(" offset %d depth %d", p.Offset, p.Depth)
	}
	if p.AtEnd {
		s += " endswith"
	}
	return s
}
