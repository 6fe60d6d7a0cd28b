package element

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Bounds of an observation's lists; the engine has the same (program/sn_program_observation.c).
const (
	LeastEntries = 16
	MostEntries  = 16384
)

// Observe notes the flows of the packets that pass, as they are where it stands: the heaviest, and records for a
// collector. Nodes of one observation have one name in common.
type Observe struct {
	Name     string
	Tops     []ObserveBy
	Entries  int           // of each list
	Interval time.Duration // in which is counted
	Export   *FlowExport   // nil: nothing is exported
}

// ObserveBy is by what packets are counted together: by their flow if PrefixLen is 0, else by a prefix of an address.
type ObserveBy struct {
	Destination bool // else source
	PrefixLen   int
}

// FlowExport is where records go.
type FlowExport struct {
	Collector    netip.AddrPort
	Sampling     int // one in so many packets
	Active, Idle time.Duration
}

// Kind implements Element.
func (Observe) Kind() string { return "observe" }

// Ports implements Element.
func (Observe) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (Observe) Traits() Traits {
	return Traits{Reads: []headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort}}
}

// String is the element as a dump shows it.
func (o Observe) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", o.Kind(), o.Name)
	if len(o.Tops) > 0 {
		fmt.Fprintf(&b, ", top %d of %s in %s", o.Entries, o.Lists(), o.Interval)
	}
	if e := o.Export; e != nil {
		fmt.Fprintf(&b, ", export to %s one in %d, active %s, idle %s", e.Collector, e.Sampling, e.Active, e.Idle)
	}
	return b.String()
}

// Lists says what is listed.
func (o Observe) Lists() string {
	names := make([]string, len(o.Tops))
	for i, by := range o.Tops {
		names[i] = by.String()
	}
	return strings.Join(names, ", ")
}

// String says by what is counted.
func (b ObserveBy) String() string {
	field := headerspace.Src
	if b.Destination {
		field = headerspace.Dst
	}
	switch b.PrefixLen {
	case 0:
		return "flow"
	case 32:
		return field.String()
	}
	return fmt.Sprintf("%s/%d", field, b.PrefixLen)
}
