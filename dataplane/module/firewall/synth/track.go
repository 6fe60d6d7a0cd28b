// Package synth has the meaning of stateful firewalls on sets of packets: an outcome by which packets go on as their flow says, and an operation
// that begins a flow.
package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() {
	walk.Register(func(e element.Track) walk.Meaning { return track{e} })
	walk.Register(func(e element.Admit) walk.Meaning { return admit{e} })
}

type track struct{ element.Track }

type admit struct{ element.Admit }

// tracked is a leg's end at a Track, with what the packets' headers say: they may begin a flow; they are a SYN.
type tracked struct {
	node       int
	opens, syn bool
}

func (k track) TableName() string { return k.Table }
func (a admit) TableName() string { return a.Table }

// tcpFlags are whole TCP segments whose SYN, ACK, RST and FIN are one of some sets.
func tcpFlags(sets ...uint64) headerspace.Filter {
	const judged = fin | syn | rst | ack
	var flags headerspace.Set
	for _, s := range sets {
		flags = flags.Union(headerspace.Masked(headerspace.TCPFlags, s, judged))
	}
	return walk.Unfragmented.With(headerspace.Proto, headerspace.Of(6)).With(headerspace.TCPFlags, flags)
}

const (
	fin = 1 << iota
	syn
	rst
	_
	ack
)

func icmpTypes(types ...uint64) headerspace.Filter {
	return walk.Unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(types...))
}

// followed are the packets of which a flow may be told, by what they may do to it. Others are invalid.
func (k track) followed() []struct {
	packets headerspace.Filter
	tracked
} {
	begin, goOn := tracked{opens: true}, tracked{}
	goOnTCP := goOn
	goOnTCP.opens = k.PickUp
	return []struct {
		packets headerspace.Filter
		tracked
	}{
		{tcpFlags(syn), tracked{opens: true, syn: true}},
		{tcpFlags(ack, fin|ack), goOnTCP},
		{tcpFlags(syn|ack, rst, rst|ack), goOn},
		{walk.Unfragmented.With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(1, 6))), begin},
		{icmpTypes(8, 13), begin},
		{icmpTypes(0, 14, 3, 11, 12), goOn},
	}
}

// Walk: which state a packet has is known at run time. Each state's packets go on in a segment of their own.
func (k track) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.EndRuns(t); err != nil {
		return err
	}
	for _, f := range k.followed() {
		f.node = at.Node
		found, err := t.Sort(f.packets)
		if err != nil {
			return err
		}
		for i := range found.N {
			if err := w.Leaf(w.Branch(t, *found.At(i)), at.Node, walk.Outcome{Kind: toTracked, Arg: f.arg()}); err != nil {
				return err
			}
		}
	}
	return w.Follow(t, at.Node, element.TrackInvalid, -1)
}

// arg is it as an outcome has it, and trackedOf the other way round.
func (t tracked) arg() (n int) {
	n = t.node << 2
	if t.opens {
		n |= 2
	}
	if t.syn {
		n |= 1
	}
	return n
}

func trackedOf(arg int) tracked { return tracked{arg >> 2, arg&2 != 0, arg&1 != 0} }

// Forks implements Forking.
func (track) Forks() int { return element.TrackStates }

var toTracked = walk.NewOutcome(walk.Ending{Forks: true, Write: func(e *walk.Emitter, o walk.Outcome, leg *programpb.Leg) string {
	t := trackedOf(o.Arg)
	at, to := e.Node(t.node), func(state int) uint32 { return e.Behind(t.node, state) }
	leg.Outcome = &programpb.Leg_Track{Track: &programpb.Track{
		Table: e.Table(t.node), Opens: t.opens, Syn: t.syn, FromOutside: at.Element.(element.Track).FromOutside,
		New: to(element.TrackNew), Established: to(element.TrackEstablished), Related: to(element.TrackRelated), Invalid: to(element.TrackInvalid),
	}}
	return "follow flow (" + at.Name + ")"
}})

func (track) Leads(h walk.HopTo, _ int, on func(walk.HopTo, int)) {
	for state := range element.TrackStates {
		on(h, state)
	}
}

// Keep implements Keeping.
func (k track) Keep(_ *walk.Emitter, t *programpb.StateTable) { keepTracking(k.Tracking, t) }
func (a admit) Keep(_ *walk.Emitter, t *programpb.StateTable) { keepTracking(a.Tracking, t) }

func keepTracking(k element.Tracking, t *programpb.StateTable) {
	t.MaxSessions = uint32(k.Max)
	t.Tracking = &programpb.Tracking{
		TcpMs: walk.Milliseconds(k.Timeouts.TCP), TcpTransitoryMs: walk.Milliseconds(k.Timeouts.TCPTransitory),
		UdpMs: walk.Milliseconds(k.Timeouts.UDP), IcmpMs: walk.Milliseconds(k.Timeouts.ICMP),
		Strict: k.Strict, MaxHalfOpen: uint32(k.HalfOpen),
	}
}

func (a admit) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.Act(t, at.Node, walk.Op{Kind: opAdmit, Arg: int64(at.Node)}, a.Traits().Reads, nil); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, 0, -1)
}

var opAdmit = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		a := e.Node(int(o.Arg)).Element.(element.Admit)
		says.Ops = append(says.Ops, "begin a flow ("+a.Table+")")
		return &programpb.Op{Op: &programpb.Op_Admit{
			Admit: &programpb.Admit{Table: e.Table(int(o.Arg)), Full: e.Drop(a.Full).GetChain(), FromOutside: a.FromOutside},
		}}
	},
	Key: func(e *walk.Emitter, o walk.Op) int64 {
		n := int64(e.Table(int(o.Arg))) << 1
		if e.Node(int(o.Arg)).Element.(element.Admit).FromOutside {
			n |= 1
		}
		return n
	},
	Verdict: true,
})
