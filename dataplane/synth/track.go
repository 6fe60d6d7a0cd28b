package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() {
	register(func(e element.Track) meaning { return track{e} })
	register(func(e element.Admit) meaning { return admit{e} })
}

type track struct{ element.Track }

type admit struct{ element.Admit }

// tracked is a leg's end at a Track, with what the packets' headers say: they may begin a flow; they are a SYN.
type tracked struct {
	node       int
	opens, syn bool
}

// sharing is an element whose state table is that of all elements which give it the same name.
type sharing interface{ tableName() string }

func (k track) tableName() string { return k.Table }
func (a admit) tableName() string { return a.Table }

// tcpFlags are whole TCP segments whose SYN, ACK, RST and FIN are one of some sets.
func tcpFlags(sets ...uint64) headerspace.Filter {
	const judged = fin | syn | rst | ack
	var flags headerspace.Set
	for _, s := range sets {
		flags = flags.Union(headerspace.Masked(headerspace.TCPFlags, s, judged))
	}
	return unfragmented.With(headerspace.Proto, headerspace.Of(6)).With(headerspace.TCPFlags, flags)
}

const (
	fin = 1 << iota
	syn
	rst
	_
	ack
)

func icmpTypes(types ...uint64) headerspace.Filter {
	return unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(types...))
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
		{unfragmented.With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(1, 6))), begin},
		{icmpTypes(8, 13), begin},
		{icmpTypes(0, 14, 3, 11, 12), goOn},
	}
}

// walk: which state a packet has is known at run time. Each state's packets go on in a segment of their own.
func (k track) walk(w *walker, t *tcu, at arrival) error {
	if len(t.unwind) > 0 {
		return w.setApart(t.unwind[0])
	}
	if n := len(t.runs); n > 0 && !w.apart[w.runs.last(t.runs[n-1])] {
		return w.setApart(w.runs.last(t.runs[n-1]))
	}
	for _, f := range k.followed() {
		f.node = at.node
		found, ok := t.match(f.packets)
		if !ok {
			return errUnread
		}
		for i := range found.n {
			if err := w.leaf(w.branch(t, *found.at(i)), at.node, outcome{kind: toTracked, arg: f.arg()}); err != nil {
				return err
			}
		}
	}
	return w.follow(w.branch(t, t.filter), at.node, element.TrackInvalid, -1)
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

// trackedTo notes where a tracked packet may go on, and in which table it is looked up.
func (w *walker) trackedTo(t tracked) (segments [element.TrackStates]uint32) {
	w.table(t.node)
	for state := range segments {
		segments[state] = uint32(w.segmentOf(start{kind: startTracked, node: t.node, port: state}))
	}
	return segments
}

func (e *emitter) track(t tracked) *programpb.Track {
	to := e.w.trackedTo(t)
	return &programpb.Track{
		Table: uint32(e.w.table(t.node)), Opens: t.opens, Syn: t.syn, FromOutside: e.w.means[t.node].(track).FromOutside,
		New: to[element.TrackNew], Established: to[element.TrackEstablished], Related: to[element.TrackRelated], Invalid: to[element.TrackInvalid],
	}
}

func (track) leads(h hopTo, _ int, on func(hopTo, int)) {
	for state := range element.TrackStates {
		on(h, state)
	}
}

// keep implements keeping.
func (k track) keep(e *emitter, t *programpb.StateTable) { e.tracking(k.Tracking, t) }
func (a admit) keep(e *emitter, t *programpb.StateTable) { e.tracking(a.Tracking, t) }

func (*emitter) tracking(k element.Tracking, t *programpb.StateTable) {
	t.MaxSessions = uint32(k.Max)
	t.Tracking = &programpb.Tracking{
		TcpMs: ms(k.Timeouts.TCP), TcpTransitoryMs: ms(k.Timeouts.TCPTransitory), UdpMs: ms(k.Timeouts.UDP), IcmpMs: ms(k.Timeouts.ICMP),
		Strict: k.Strict, MaxHalfOpen: uint32(k.HalfOpen),
	}
}

func (a admit) walk(w *walker, t *tcu, at arrival) error {
	if err := w.act(t, at.node, op{kind: opAdmit, arg: int64(at.node)}, a.Traits().Reads, nil); err != nil {
		return err
	}
	w.table(at.node)
	return w.follow(t, at.node, 0, -1)
}

var opAdmit = newOperation(operation{
	write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		a := e.w.means[o.arg].(admit)
		says.Ops = append(says.Ops, "begin a flow ("+a.Table+")")
		return &programpb.Op{Op: &programpb.Op_Admit{Admit: &programpb.Admit{Table: uint32(e.w.table(int(o.arg))), Full: e.drop(a.Full).GetChain(), FromOutside: a.FromOutside}}}
	},
	key: func(e *emitter, _ *leg, o op) int64 {
		n := int64(e.w.table(int(o.arg))) << 1
		if e.w.means[o.arg].(admit).FromOutside {
			n |= 1
		}
		return n
	},
	verdict: true,
})
