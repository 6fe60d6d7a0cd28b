package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(e element.Observe) meaning { return observe{e} }) }

type observe struct{ element.Observe }

// walk: the packet is counted as it is here, whatever becomes of it later.
func (o observe) walk(w *walker, t *tcu, at arrival) error {
	if err := w.act(t, at.node, op{kind: opObserve, arg: int64(at.node)}, o.Traits().Reads, nil); err != nil {
		return err
	}
	return w.follow(t, at.node, 0, -1)
}

var opObserve = newOperation(operation{
	write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		i := e.observation(o)
		says.Ops = append(says.Ops, "observe flow ("+e.p.Observations[i].GetName()+")")
		return &programpb.Op{Op: &programpb.Op_Observe{Observe: uint32(i)}}
	},
	key:     func(e *emitter, _ *leg, o op) int64 { return int64(e.observation(o)) },
	lasting: true,
})

// observation is the place in the program of what a node notes.
func (e *emitter) observation(o op) int {
	name := e.w.g.Nodes[o.arg].Element.(element.Observe).Name
	return slices.IndexFunc(e.p.Observations, func(p *programpb.Observation) bool { return p.GetName() == name })
}

// observations are those of the chain, also of nodes to which no packet comes: what was counted is kept over a swap.
func (e *emitter) observations() {
	for _, n := range e.w.g.Nodes {
		o, ok := n.Element.(element.Observe)
		if ok && !slices.ContainsFunc(e.p.Observations, func(p *programpb.Observation) bool { return p.GetName() == o.Name }) {
			e.p.Observations = append(e.p.Observations, observationOf(o))
		}
	}
}

func observationOf(o element.Observe) *programpb.Observation {
	p := &programpb.Observation{Name: o.Name, Entries: uint32(o.Entries), IntervalMs: uint32(o.Interval.Milliseconds())}
	for _, by := range o.Tops {
		p.Tops = append(p.Tops, observeBy(by))
	}
	if x := o.Export; x != nil {
		p.Export = &programpb.FlowExport{
			Collector: v4(x.Collector.Addr()), Port: uint32(x.Collector.Port()), Sampling: uint32(x.Sampling),
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
