package pass

import "github.com/sinter-nfv/sinter/dataplane/interp/flow"

// Origin is what an element chose for a field of packets. It is loose as long as an engine has not made the choice: then what
// depends on it moves with it.
type Origin interface {
	Loose() bool
	// Depend notes what depends on a loose origin.
	Depend(r *Run, d Dependent)
}

// Dependent is what another element knows a flow by whose source is loose.
type Dependent interface {
	Origin() Origin
	Take()                // from its table
	Put(at flow.Endpoint) // into it again, as what it would be with that source
}

// Origins are what was chosen, if anything, for the packet's source, its destination, and what it quotes.
type Origins struct{ Src, Sport, Dst, Dport, QuotedSrc, QuotedSport, QuotedDst, QuotedDport Origin }

// From is what was chosen for the packet's source; nil: nothing, or its address and its port are of two choices.
func (o Origins) From() Origin {
	if o.Src != o.Sport {
		return nil
	}
	return o.Src
}

// Depend notes that a flow which begins comes from a loose origin, which it gives; nil: it does not.
func (r *Run) Depend(by Origins, d Dependent) Origin {
	o := by.From()
	if o == nil || !o.Loose() {
		return nil
	}
	o.Depend(r, d)
	return o
}
