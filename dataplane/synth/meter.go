package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(e element.Meter) meaning { return meter{e} }) }

type meter struct{ element.Meter }

// walk: which colour a packet gets is known at run time. The DSCP behind is then that of before, or one of the marks.
func (m meter) walk(w *walker, t *tcu, at arrival) error {
	traits := m.Traits()
	writes := map[headerspace.Field]headerspace.Set{}
	for _, f := range traits.Writes { // the DSCP
		writes[f] = m.Marks().Union(t.present(f))
	}
	if err := w.act(t, at.node, op{kind: opMeter, arg: int64(w.table(at.node))}, traits.Reads, writes); err != nil {
		return err
	}
	return w.follow(t, at.node, m.Leaves(at.port), -1)
}

func (m meter) leads(h hopTo, in int, on func(hopTo, int)) { on(h, m.Leaves(in)) }

// present is all that a field can be here.
func (t *tcu) present(f headerspace.Field) headerspace.Set {
	switch e := t.val[f]; e.kind {
	case ident:
		return t.filter.Get(f)
	case add:
		return t.filter.Get(f).PullBack(f, -e.delta)
	default:
		return *e.set
	}
}

var opMeter = newOperation(operation{
	write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, "measure ("+e.w.g.Nodes[e.w.tables[o.arg]].Name+")")
		return &programpb.Op{Op: &programpb.Op_Meter{Meter: uint32(o.arg)}}
	},
	verdict: true, lasting: true,
})

// keep implements keeping.
func (m meter) keep(e *emitter, t *programpb.StateTable) {
	t.Meter = &programpb.Meter{
		Rate: m.Rate, Burst: m.Burst, PeakRate: m.PeakRate, ExcessBurst: m.ExcessBurst,
		ComesYellow: m.ComesYellow, ComesRed: m.ComesRed, Yellow: e.meterAction(m.Yellow), Red: e.meterAction(m.Red),
	}
	if m.Packets {
		t.Meter.Unit = programpb.Meter_PACKETS
	}
	if s := m.Subscribers; s.PrefixLen > 0 {
		t.MaxSessions = uint32(s.Max)
		t.Meter.Subscribers = &programpb.Subscribers{Destination: s.Destination, PrefixLen: uint32(s.PrefixLen)}
	}
}

func (e *emitter) meterAction(a element.MeterAction) *programpb.MeterAction {
	switch {
	case a.Drop != "":
		return &programpb.MeterAction{Action: &programpb.MeterAction_Drop{Drop: e.drop(a.Drop).GetChain()}}
	case a.Mark:
		return &programpb.MeterAction{Action: &programpb.MeterAction_Dscp{Dscp: uint32(a.DSCP)}}
	}
	return nil
}
