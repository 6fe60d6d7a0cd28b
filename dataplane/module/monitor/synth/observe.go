// Package synth has the meaning of monitors on sets of packets: operations that show packets to observations.
package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.Observe) walk.Meaning { return observe{e} }) }

type observe struct{ element.Observe }

// Walk: the packet is counted as it is here, whatever becomes of it later.
func (o observe) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.Act(t, at.Node, walk.Op{Kind: opObserve, Arg: int64(at.Node)}, o.Traits().Reads, nil); err != nil {
		return err
	}
	return w.Follow(t, at.Node, 0, -1)
}

var opObserve = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		name := e.Node(int(o.Arg)).Element.(element.Observe).Name
		says.Ops = append(says.Ops, "observe flow ("+name+")")
		return &programpb.Op{Op: &programpb.Op_Observe{Observe: uint32(indexOf(e.Program(), name))}}
	},
	Key: func(e *walk.Emitter, o walk.Op) int64 {
		return int64(indexOf(e.Program(), e.Node(int(o.Arg)).Element.(element.Observe).Name))
	},
	Lasting: true,
})

// indexOf is the place of an observation in the program; -1: it is not there.
func indexOf(p *programpb.Program, name string) int {
	return slices.IndexFunc(p.Observations, func(o *programpb.Observation) bool { return o.GetName() == name })
}

// Declare implements Declaring: what was counted is kept over a swap to a chain in which no packet comes here.
func (o observe) Declare(p *programpb.Program) {
	if indexOf(p, o.Name) < 0 {
		p.Observations = append(p.Observations, observationOf(o.Observe))
	}
}

func observationOf(o element.Observe) *programpb.Observation {
	p := &programpb.Observation{Name: o.Name, Entries: uint32(o.Entries), IntervalMs: uint32(o.Interval.Milliseconds())}
	for _, by := range o.Tops {
		p.Tops = append(p.Tops, observeBy(by))
	}
	if x := o.Export; x != nil {
		p.Export = &programpb.FlowExport{
			Collector: walk.IPv4(x.Collector.Addr()), Port: uint32(x.Collector.Port()), Sampling: uint32(x.Sampling),
			ActiveMs: uint32(x.Active.Milliseconds()), IdleMs: uint32(x.Idle.Milliseconds()),
		}
	}
	return p
}

func observeBy(by element.ObserveBy) *programpb.ObserveBy {
	p := &programpb.ObserveBy{PrefixLen: uint32(by.PrefixLen)}
	switch {
	case by.PrefixLen == 0:
		p.What = programpb.ObserveBy_FLOW
	case by.Destination:
		p.What = programpb.ObserveBy_DESTINATION
	default:
		p.What = programpb.ObserveBy_SOURCE
	}
	return p
}
