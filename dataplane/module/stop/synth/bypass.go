package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() {
	walk.Register(func(e element.Bypass) walk.Meaning { return bypass{e} })
	walk.Register(func(e element.Passed) walk.Meaning { return passed{e} })
}

type bypass struct{ element.Bypass }

type passed struct{ element.Passed }

func (b bypass) TableName() string { return b.Table }
func (p passed) TableName() string { return p.Table }

// flags are whole TCP segments of which SYN and ACK are one of some sets.
func flags(sets ...uint64) headerspace.Filter {
	var f headerspace.Set
	for _, s := range sets {
		f = f.Union(headerspace.Masked(headerspace.TCPFlags, s, syn|ack))
	}
	return walk.Unfragmented.With(headerspace.Proto, headerspace.Of(6)).With(headerspace.TCPFlags, f)
}

const (
	syn = 1 << 1
	ack = 1 << 4
)

// followed are the packets of which a flow may be told, and which do not begin one again.
func followed() []headerspace.Filter {
	return []headerspace.Filter{
		flags(0, ack, syn|ack),
		walk.Unfragmented.With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(1, 6))),
		walk.Unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(0, 8, 13, 14)),
	}
}

// Walk: whether a flow goes past is known at run time. Packets that tell none, and those that begin a TCP connection, go through.
func (b bypass) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.EndRuns(t); err != nil {
		return err
	}
	for _, f := range followed() {
		found, err := t.Sort(f)
		if err != nil {
			return err
		}
		for i := range found.N {
			if err := w.Leaf(w.Branch(t, *found.At(i)), at.Node, walk.Outcome{Kind: toBypass, Arg: at.Node}); err != nil {
				return err
			}
		}
	}
	return w.Follow(t, at.Node, element.BypassThrough, -1)
}

// Forks implements walk.Forking.
func (bypass) Forks() int { return element.BypassWays }

var toBypass = walk.NewOutcome(walk.Ending{Forks: true, Write: func(e *walk.Emitter, o walk.Outcome, leg *programpb.Leg) string {
	at := e.Node(o.Arg)
	leg.Outcome = &programpb.Leg_Bypass{Bypass: &programpb.Bypass{
		Table: e.Table(o.Arg), FromOutside: at.Element.(element.Bypass).FromOutside,
		Through: e.Behind(o.Arg, element.BypassThrough), Past: e.Behind(o.Arg, element.BypassPast),
	}}
	return "past the function or through it (" + at.Name + ")"
}})

// Leads: either way.
func (bypass) Leads(h walk.HopTo, _ int, on func(walk.HopTo, int)) {
	on(h, element.BypassThrough)
	on(h, element.BypassPast)
}

// Walk: whether the packet begins a flow, or counts for one, is known at run time.
func (p passed) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.Act(t, at.Node, walk.Op{Kind: opPassed, Arg: int64(at.Node)}, p.Traits().Reads, nil); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, 0, -1)
}

var opPassed = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		p := e.Node(int(o.Arg)).Element.(element.Passed)
		says.Ops = append(says.Ops, "count for the flow ("+p.Table+")")
		return &programpb.Op{Op: &programpb.Op_Passed{Passed: &programpb.Passed{Table: e.Table(int(o.Arg)), FromOutside: p.FromOutside}}}
	},
	Key: func(e *walk.Emitter, o walk.Op) int64 {
		n := int64(e.Table(int(o.Arg))) << 1
		if e.Node(int(o.Arg)).Element.(element.Passed).FromOutside {
			n |= 1
		}
		return n
	},
	Verdict: true,
	Lasting: true, // a SYN ends its flow, whatever becomes of it
})

// Keep implements walk.Keeping.
func (b bypass) Keep(_ *walk.Emitter, t *programpb.StateTable) { keepPassing(b.Passing, t) }
func (p passed) Keep(_ *walk.Emitter, t *programpb.StateTable) { keepPassing(p.Passing, t) }

func keepPassing(p element.Passing, t *programpb.StateTable) {
	t.MaxSessions = uint32(p.Max)
	t.Passing = &programpb.Passing{
		TcpMs: walk.Milliseconds(p.Timeouts.TCP), TcpTransitoryMs: walk.Milliseconds(p.Timeouts.TCPTransitory),
		TcpClosingMs: walk.Milliseconds(p.Timeouts.TCPClosing), UdpMs: walk.Milliseconds(p.Timeouts.UDP), IcmpMs: walk.Milliseconds(p.Timeouts.ICMP),
		Packets: uint32(p.Packets),
	}
}
