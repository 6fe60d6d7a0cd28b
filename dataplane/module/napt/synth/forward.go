package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// translate is a NAPT's inside → outside.
func (n *napt) translate(w *walk.Walker, t *walk.Unit, node int) error {
	good, whole, frags, err := sides(t, forwardable)
	if err != nil {
		return err
	}
	for i := range good.N {
		for _, p := range parts(*good.At(i), w.Joins(t, node)) {
			u := w.Branch(t, p.packets)
			if err := w.Choose(u, node, opForward, p.joins); err != nil {
				return err
			}
			if err := w.Follow(u, node, element.NAPTOutside, -1); err != nil {
				return err
			}
		}
	}
	if err := w.Drop(t, node, &whole, element.ReasonNATUnsupported); err != nil {
		return err
	}
	return w.Drop(t, node, &frags, element.ReasonNATFragment)
}

// part is some of a unit's packets, and whether they are translated in one with the NAPT before.
type part struct {
	packets headerspace.Filter
	joins   bool
}

// parts are the packets of a filter that NAPTs may translate together, and those without ports, which are bound at each by itself: what one
// makes of their address tells the next one's, and how many a remote can have is told by the pool of each.
func parts(p headerspace.Filter, joins bool) []part {
	if !joins {
		return []part{{p, false}}
	}
	var out []part
	if q := p.And(headerspace.Proto, bound); !q.IsEmpty() {
		out = append(out, part{q, true})
	}
	if q := p.And(headerspace.Proto, unbound); !q.IsEmpty() {
		out = append(out, part{q, false})
	}
	return out
}

var opForward = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		run := e.Run(o)
		says.Ops = append(says.Ops, "translate source ("+e.RunName(run)+")")
		return &programpb.Op{Op: &programpb.Op_StateForward{StateForward: run}}
	},
	Key:     func(e *walk.Emitter, o walk.Op) int64 { return int64(e.Run(o)) },
	Verdict: true,
})
