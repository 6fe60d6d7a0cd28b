// Package synth has the meaning of rate limiters on sets of packets: meters, which are operations of the program.
package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.Meter) walk.Meaning { return meter{e} }) }

type meter struct{ element.Meter }

// Walk: which colour a packet gets is known at run time. The DSCP behind is then that of before, or one of the marks.
func (m meter) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	traits := m.Traits()
	writes := map[headerspace.Field]headerspace.Set{}
	for _, f := range traits.Writes { // the DSCP
		writes[f] = m.Marks().Union(t.Present(f))
	}
	if err := w.Act(t, at.Node, walk.Op{Kind: opMeter, Arg: int64(at.Node)}, traits.Reads, writes); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, m.Leaves(at.Port), -1)
}

func (m meter) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) { on(h, m.Leaves(in)) }

var opMeter = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		says.Ops = append(says.Ops, "measure ("+e.Node(int(o.Arg)).Name+")")
		return &programpb.Op{Op: &programpb.Op_Meter{Meter: e.Table(int(o.Arg))}}
	},
	Verdict: true, Lasting: true,
})

// Keep implements Keeping.
func (m meter) Keep(e *walk.Emitter, t *programpb.StateTable) {
	t.Meter = &programpb.Meter{
		Rate: m.Rate, Burst: m.Burst, PeakRate: m.PeakRate, ExcessBurst: m.ExcessBurst,
		ComesYellow: m.ComesYellow, ComesRed: m.ComesRed, Yellow: actionOf(e, m.Yellow), Red: actionOf(e, m.Red),
	}
	if m.Packets {
		t.Meter.Unit = programpb.Meter_PACKETS
	}
	if s := m.Subscribers; s.PrefixLen > 0 {
		t.MaxSessions = uint32(s.Max)
		t.Meter.Subscribers = &programpb.Subscribers{Destination: s.Destination, PrefixLen: uint32(s.PrefixLen)}
	}
}

func actionOf(e *walk.Emitter, a element.MeterAction) *programpb.MeterAction {
	switch {
	case a.Drop != "":
		return &programpb.MeterAction{Action: &programpb.MeterAction_Drop{Drop: e.Drop(a.Drop).GetChain()}}
	case a.Mark:
		return &programpb.MeterAction{Action: &programpb.MeterAction_Dscp{Dscp: uint32(a.DSCP)}}
	}
	return nil
}
