package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.Tap) walk.Meaning { return tap{e} }) }

type tap struct{ element.Tap }

// Walk: the packet leaves as it is here, and nothing comes of it.
func (tap) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.EndRuns(t); err != nil {
		return err
	}
	return w.Leaf(t, at.Node, walk.Outcome{Kind: toTap, Arg: at.Node})
}

// Leads: nowhere.
func (tap) Leads(walk.HopTo, int, func(walk.HopTo, int)) {}

var toTap = walk.NewOutcome(walk.Ending{Write: func(e *walk.Emitter, o walk.Outcome, leg *programpb.Leg) string {
	of := e.Node(o.Arg)
	leg.Outcome = &programpb.Leg_Tap{Tap: &programpb.Tap{Out: place(e, of.Element.(element.Tap).Interface)}}
	return "copy to " + of.Name
}})
