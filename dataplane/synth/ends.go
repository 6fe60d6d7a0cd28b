package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// The elements that end a packet's way without an answer, and the check that entry has made already.

func init() {
	register(func(e element.Discard) meaning { return discard{e} })
	register(func(element.Output) meaning { return output{} })
	register(func(element.CheckIPHeader) meaning { return checkIPHeader{} })
}

type discard struct{ element.Discard }

func (d discard) walk(w *walker, t *tcu, at arrival) error {
	return w.leaf(t, at.node, outcome{kind: toDrop, reason: d.Reason})
}

func (discard) leads(hopTo, int, func(hopTo, int)) {}

type output struct{}

func (output) walk(w *walker, t *tcu, at arrival) error {
	is := func(i graph.Interface) bool { return i.Out == at.node }
	return w.leaf(t, at.node, outcome{kind: toOutput, arg: slices.IndexFunc(w.g.Interfaces, is)})
}

func (output) leads(hopTo, int, func(hopTo, int)) {}

type checkIPHeader struct{}

func (checkIPHeader) walk(w *walker, t *tcu, at arrival) error {
	return w.follow(t, at.node, element.CheckGood, -1)
}

// The elements that answer.

func init() {
	register(func(e element.ICMPError) meaning { return icmpError{answer{element.ReasonICMPSuppressed}, e} })
	register(func(element.EchoResponder) meaning { return echoResponder{answer{element.ReasonLocal}} })
	register(func(element.LocalHost) meaning { return localHost{answer{element.ReasonLocal}} })
	register(func(element.Reject) meaning { return reject{answer{element.ReasonICMPSuppressed}} })
}

// answer is what elements that answer have in common: the packet ends here, and nothing of it goes on.
type answer struct {
	silence string // the reason under which ICMP errors are dropped: no error answers another (RFC 1122 section 3.2.2)
}

// icmpErrors are unreachable, source quench, redirect, time exceeded and parameter problem.
var icmpErrors = headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 4, 5, 11, 12))

// walk: behind a NAPT, ICMP errors end as drops. Else the engine would look for their flow's session by the run that ends here, and the flow,
// which went on, may have another one.
func (a answer) walk(w *walker, t *tcu, at arrival) error {
	if len(t.runs) > 0 {
		errors, decided := t.match(icmpErrors)
		if !decided {
			return errUnread
		}
		if err := w.drop(t, at.node, &errors, a.silence); err != nil {
			return err
		}
	}
	return w.leaf(t, at.node, outcome{kind: toGenerator, arg: at.node})
}

func (answer) leads(hopTo, int, func(hopTo, int)) {}

func (answer) shows(headerspace.Filter) bool { return true }

var (
	made      = everything.With(headerspace.TTL, headerspace.Of(64))
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
	g.Kind, g.Type, g.Code, g.Source = programpb.Generator_ICMP_ERROR, uint32(e.Type), uint32(e.Code), v4(e.Source)
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
