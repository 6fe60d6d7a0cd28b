package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() {
	walk.Register(func(e element.Assign) walk.Meaning { return assign{e} })
	walk.Register(func(e element.Assigned) walk.Meaning { return assigned{e} })
}

type assign struct{ element.Assign }

type assigned struct{ element.Assigned }

func (a assigned) TableName() string { return a.Flows.Table }

// Walk: to which replica a packet goes is known at run time.
func (a assign) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.EndRuns(t); err != nil {
		return err
	}
	return w.Leaf(t, at.Node, walk.Outcome{Kind: toAssign, Arg: at.Node})
}

// Forks implements walk.Forking.
func (a assign) Forks() int { return len(a.Replicas) }

var toAssign = walk.NewOutcome(walk.Ending{Forks: true, Write: func(e *walk.Emitter, o walk.Outcome, leg *programpb.Leg) string {
	node := e.Node(o.Arg)
	a := node.Element.(element.Assign)
	out := &programpb.Assign{FromOutside: a.FromOutside}
	for i, r := range a.Replicas {
		out.Replicas = append(out.Replicas, &programpb.Replica{
			Table: e.Table(node.Out[i].To), Segment: e.Behind(o.Arg, i), Key: r.Key(), Draining: r.Draining,
			Inside: place(e, r.Interfaces[element.StopInside]), Outside: place(e, r.Interfaces[element.StopOutside]),
		})
	}
	leg.Outcome = &programpb.Leg_Assign{Assign: out}
	return "to the flow's replica (" + node.Name + ")"
}})

// Leads: to any of them.
func (a assign) Leads(h walk.HopTo, _ int, on func(walk.HopTo, int)) {
	for i := range a.Replicas {
		on(h, i)
	}
}

// Walk: whether the packet begins a flow is known at run time.
func (a assigned) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.Act(t, at.Node, walk.Op{Kind: opAssigned, Arg: int64(at.Node)}, a.Traits().Reads, nil); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, 0, -1)
}

var opAssigned = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		a := e.Node(int(o.Arg)).Element.(element.Assigned)
		says.Ops = append(says.Ops, "its flow is one of "+a.Flows.Table)
		return &programpb.Op{Op: &programpb.Op_Assigned{Assigned: &programpb.Assigned{Table: e.Table(int(o.Arg)), FromOutside: a.FromOutside}}}
	},
	Key: func(e *walk.Emitter, o walk.Op) int64 {
		n := int64(e.Table(int(o.Arg))) << 1
		if e.Node(int(o.Arg)).Element.(element.Assigned).FromOutside {
			n |= 1
		}
		return n
	},
	Verdict: true,
})

// Keep implements walk.Keeping.
func (a assigned) Keep(_ *walk.Emitter, t *programpb.StateTable) {
	t.MaxSessions = uint32(a.Flows.Max)
	t.Assignment = &programpb.Assignment{
		TcpMs: walk.Milliseconds(a.Flows.Timeouts.TCP), TcpTransitoryMs: walk.Milliseconds(a.Flows.Timeouts.TCPTransitory),
		TcpClosingMs: walk.Milliseconds(a.Flows.Timeouts.TCPClosing), UdpMs: walk.Milliseconds(a.Flows.Timeouts.UDP), IcmpMs: walk.Milliseconds(a.Flows.Timeouts.ICMP),
	}
}
