package element

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Rule is one line of a Classifier: packets that pass one of the filters leave
// by the port.
type Rule struct {
	// Name identifies the rule in counters, warnings and explanations.
	Name    string
	Filters []headerspace.Filter
	Out     int
	// Count asks for a packet and byte counter of the rule's own.
	Count bool
}

// Classifier sends a packet out of the port of the first rule that matches,
// else out of Default.
type Classifier struct {
	Rules   []Rule
	Default int
	Outs    int
}

// Kind implements Element.
func (Classifier) Kind() string { return "classifier" }

// Ports implements Element.
func (c Classifier) Ports() (in, out int) { return 1, c.Outs }

// Traits implements Element.
func (c Classifier) Traits() Traits {
	var reads [headerspace.NumFields]bool
	n := 0
	for i := range c.Rules {
		for k := range c.Rules[i].Filters {
			p := &c.Rules[i].Filters[k]
			for f := range reads {
				if !reads[f] && !p.Any(headerspace.Field(f)) {
					reads[f] = true
					n++
				}
			}
		}
		if n == len(reads) {
			break
		}
	}
	var t Traits
	for f, read := range reads {
		if read {
			t.Reads = append(t.Reads, headerspace.Field(f))
		}
	}
	return t
}

// String is the element as a dump shows it.
func (c Classifier) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, else [%d]", c.Kind(), c.Default)
	for _, r := range c.Rules {
		var filters []string
		for _, f := range r.Filters {
			filters = append(filters, f.String())
		}
		fmt.Fprintf(&b, "\n  %s: %s [%d]", r.Name, strings.Join(filters, " | "), r.Out)
		if r.Count {
			b.WriteString(" counted")
		}
	}
	return b.String()
}
