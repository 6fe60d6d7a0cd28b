package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// translateBack is a NAPT's outside → inside: where it is a part of the run that the packet was just
// translated back through, it is passed; else the packet is looked up, and goes on in a segment per origin.
func (n *napt) translateBack(w *walk.Walker, t *walk.Unit, node int) error {
	good, whole, frags, err := sides(t, returnable)
	if err != nil {
		return err
	}
	if err := t.ByDst(); err != nil { // is it the pool's?
		return err
	}
	addrs, _ := n.Choices()
	own := headerspace.Filter{}.With(headerspace.Dst, *addrs)
	for i := range good.N {
		p := *good.At(i)
		u := w.Branch(t, p)
		passed, err := w.Unwind(u, node)
		if err != nil {
			return err
		}
		if passed {
			if err := w.Follow(u, node, element.NAPTInside, -1); err != nil {
				return err
			}
			continue
		}
		found, decided := u.Match(own)
		if !decided {
			return w.Undecided(t, node, element.NAPTOutside)
		}
		for k := range found.N {
			v := w.Branch(t, *found.At(k))
			if !v.Reaches() {
				continue
			}
			w.Table(node)
			if err := w.Leaf(v, node, walk.Outcome{Kind: toReturn, Arg: node}); err != nil {
				return err
			}
		}
		if found.N != 1 || !p.SubsetOf(*found.At(0)) {
			whole.Add(p) // to an address that is not the pool's
		}
	}
	if err := w.Drop(t, node, &whole, element.ReasonNATNoBinding); err != nil {
		return err
	}
	return w.Drop(t, node, &frags, element.ReasonNATFragment)
}

var toReturn = walk.NewOutcome(walk.Ending{Write: func(e *walk.Emitter, o walk.Outcome, leg *programpb.Leg) string {
	leg.Outcome = &programpb.Leg_StateReturn{StateReturn: e.Table(o.Arg)}
	return "translate back (" + e.Node(o.Arg).Name + ")"
}})
