package walk

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// The elements that end a packet's way without an answer, and the check that entry has made already.

func init() {
	Register(func(e element.Discard) Meaning { return discard{e} })
	Register(func(element.Output) Meaning { return output{} })
	Register(func(element.CheckIPHeader) Meaning { return checkIPHeader{} })
}

type discard struct{ element.Discard }

func (d discard) Walk(w *Walker, t *Unit, at Arrival) error {
	return w.Leaf(t, at.Node, Outcome{Kind: toDrop, reason: d.Reason})
}

func (discard) Leads(HopTo, int, func(HopTo, int)) {}

type output struct{}

func (output) Walk(w *Walker, t *Unit, at Arrival) error {
	is := func(i graph.Interface) bool { return i.Out == at.Node }
	return w.Leaf(t, at.Node, Outcome{Kind: toOutput, Arg: slices.IndexFunc(w.g.Interfaces, is)})
}

func (output) Leads(HopTo, int, func(HopTo, int)) {}

type checkIPHeader struct{}

func (checkIPHeader) Walk(w *Walker, t *Unit, at Arrival) error {
	return w.Follow(t, at.Node, element.CheckGood, -1)
}

// The elements that answer.

func init() {
	Register(func(e element.ICMPError) Meaning { return icmpError{answer{element.ReasonICMPSuppressed}, e} })
	Register(func(element.EchoResponder) Meaning { return echoResponder{answer{element.ReasonLocal}} })
	Register(func(element.LocalHost) Meaning { return localHost{answer{element.ReasonLocal}} })
	Register(func(element.Reject) Meaning { return reject{answer{element.ReasonICMPSuppressed}} })
}

// answer is what elements that answer have in common: the packet ends here, and nothing of it goes on.
type answer struct {
	silence string // the reason under which ICMP errors are dropped: no error answers another (RFC 1122 section 3.2.2)
}

// icmpErrors are unreachable, source quench, redirect, time exceeded and parameter problem.
var icmpErrors = headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 4, 5, 11, 12))

// Walk: behind an element that chooses, ICMP errors end as drops. Else the engine would look for their flow's session by the run that ends here, and
// the flow, which went on, may have another one.
func (a answer) Walk(w *Walker, t *Unit, at Arrival) error {
	if len(t.runs) > 0 {
		errors, err := t.Sort(icmpErrors)
		if err != nil {
			return err
		}
		if err := w.Drop(t, at.Node, &errors, a.silence); err != nil {
			return err
		}
	}
	return w.Leaf(t, at.Node, Outcome{Kind: toGenerator, Arg: at.Node})
}

// Drop ends parts of a unit.
func (w *Walker) Drop(t *Unit, node int, filters *Ways, reason string) error {
	for i := range filters.N {
		u := w.Branch(t, *filters.At(i))
		if err := w.Leaf(u, node, Outcome{Kind: toDrop, reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

func (answer) Leads(HopTo, int, func(HopTo, int)) {}

func (answer) shows(headerspace.Filter) bool { return true }

var (
	made      = Everything.With(headerspace.TTL, headerspace.Of(64))
	madeWhole = made.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
)

type icmpError struct {
	answer
	element.ICMPError
}

func (e icmpError) answers() headerspace.Filter {
	p := madeWhole.With(headerspace.Proto, headerspace.Of(1)).
		With(headerspace.ICMPType, headerspace.Of(uint64(e.Type))).
		With(headerspace.ICMPCode, headerspace.Of(uint64(e.Code))).
		With(headerspace.DSCP, headerspace.Of(48))
	if e.Source.IsValid() {
		p = p.With(headerspace.Src, headerspace.Single(headerspace.Addr(e.Source)))
	}
	return p
}

func (e icmpError) generator(g *programpb.Generator) {
	g.Kind, g.Type, g.Code, g.Source = programpb.Generator_ICMP_ERROR, uint32(e.Type), uint32(e.Code), IPv4(e.Source)
}

// shows: an error quotes what the session of a run tells.
func (icmpError) shows(headerspace.Filter) bool { return false }

type echoResponder struct{ answer }

func (echoResponder) answers() headerspace.Filter {
	return madeWhole.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(0))
}

func (echoResponder) generator(g *programpb.Generator) { g.Kind = programpb.Generator_ECHO_REPLY }

type localHost struct{ answer }

// answers: an echo reply may be a fragment.
func (localHost) answers() headerspace.Filter {
	return made.With(headerspace.Proto, headerspace.Of(1, 6))
}

func (localHost) generator(g *programpb.Generator) { g.Kind = programpb.Generator_LOCAL_HOST }

type reject struct{ answer }

func (reject) answers() headerspace.Filter {
	return madeWhole.With(headerspace.Proto, headerspace.Of(1, 6))
}

func (reject) generator(g *programpb.Generator) {
	g.Kind, g.Type, g.Code = programpb.Generator_REJECT, 3, 13
}

// shows: a reset has the segment's addresses.
func (reject) shows(p headerspace.Filter) bool {
	return !p.And(headerspace.Proto, headerspace.Of(6)).IsEmpty()
}
