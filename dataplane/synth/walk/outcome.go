package walk

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// Outcome is how a leg ends; Arg is the interface, segment, generator, table, or what else its kind has, reason a drop's.
type Outcome struct {
	Kind   OutcomeKind
	Arg    int
	reason string
}

// OutcomeKind is an outcome's place in the table of outcomes.
type OutcomeKind uint8

// The outcomes that every chain has.
const (
	toOutput OutcomeKind = iota
	toDrop
	toGenerator
	toSegment
)

// Ending is a row of the table of outcomes: how a leg may end.
type Ending struct {
	// Write writes the outcome to a leg of the program, and says it in words.
	Write func(e *Emitter, o Outcome, leg *programpb.Leg) (says string)
	// Forks tells that packets go on behind outputs of the element where the leg ends (see Forking).
	Forks bool
	// traced tells that the packets' way has its last step already.
	traced bool
}

// endings are all of them, by their kinds.
var endings = []Ending{
	toOutput: {Write: func(e *Emitter, o Outcome, leg *programpb.Leg) string {
		leg.Outcome = &programpb.Leg_Output{Output: uint32(o.Arg)}
		return "output " + e.w.g.Interfaces[o.Arg].Name
	}},
	toDrop: {Write: func(e *Emitter, o Outcome, leg *programpb.Leg) string {
		leg.Outcome = &programpb.Leg_Drop{Drop: e.Drop(o.reason)}
		return "drop " + o.reason
	}},
	toGenerator: {Write: func(e *Emitter, o Outcome, leg *programpb.Leg) string {
		leg.Outcome = &programpb.Leg_Generator{Generator: e.generator(o.Arg)}
		return "answer " + e.w.g.Nodes[o.Arg].Name
	}},
	toSegment: {traced: true, Write: func(e *Emitter, o Outcome, leg *programpb.Leg) string {
		leg.Outcome = &programpb.Leg_Segment{Segment: uint32(o.Arg)}
		return "classify again " + e.w.segments[o.Arg].name
	}},
}

// NewOutcome adds an outcome of an element's own. It is called once for each, when the program starts.
func NewOutcome(e Ending) OutcomeKind {
	endings = append(endings, e)
	return OutcomeKind(len(endings) - 1)
}

// fork notes the segments in which packets may go on behind a node, and the table in which it looks them up, if it keeps one.
func (w *Walker) fork(node int) {
	if _, keeps := w.means[node].(Keeping); keeps {
		w.Table(node)
	}
	for out := range w.means[node].(Forking).Forks() {
		w.segmentOf(behind(node, out))
	}
}

// Behind is where the segment begins of packets that leave a node by an output.
func behind(node, out int) start { return start{kind: startFork, node: node, port: out} }
