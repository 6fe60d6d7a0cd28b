package walk

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { Register(func(element.Counter) Meaning { return counter{} }) }

type counter struct{}

func (counter) Counters(node string) []string { return []string{node} }

func (counter) Walk(w *Walker, t *Unit, at Arrival) error {
	w.count(t, at.Node, 0)
	return w.Follow(t, at.Node, 0, -1)
}

var opCount = NewOperation(Operation{
	Write: func(e *Emitter, o Op, says *Leg) *programpb.Op {
		says.Counters = append(says.Counters, e.w.counters.names[o.Arg])
		return &programpb.Op{Op: &programpb.Op_Count{Count: uint32(o.Arg)}}
	},
})

// count passes a counter of a node. Where the packet's way may have ended before, it is an operation.
func (w *Walker) count(t *Unit, node, rule int) {
	of := w.counters.of[node]
	if of == nil || of[rule] == notCounted {
		return
	}
	if t.judged {
		t.do(Op{Kind: opCount, Arg: int64(of[rule])})
		return
	}
	t.counters = &counted{t.counters, of[rule]}
}

func init() { Register(func(e element.Tee) Meaning { return tee{e} }) }

type tee struct{ element.Tee }

func (tee) Walk(w *Walker, t *Unit, at Arrival) error {
	if t.judged { // judged once, then copied
		return w.cut(t, at.Node, at.Port, cutting{})
	}
	return w.tee(t, at.Node)
}

func (e tee) Leads(h HopTo, _ int, on func(HopTo, int)) {
	for port := range e.Outs {
		on(h, port)
	}
}

// tee sets the copies aside; each is walked when the one before it has ended,
// within the filter that then holds.
func (w *Walker) tee(t *Unit, node int) error {
	t.settle()
	outs := w.g.Nodes[node].Out
	rest := t.values
	// Counted once, by the first copy, as is what stays done.
	rest.counters = nil
	rest.ops = slices.DeleteFunc(slices.Clone(rest.ops), func(o Op) bool { return operations[o.Kind].Lasting })
	todo := make([]branch, 0, len(outs)-1+len(t.todo))
	for _, e := range outs[1:] {
		todo = append(todo, branch{e.To, e.Port, rest})
	}
	t.todo = append(todo, t.todo...)
	return w.Follow(t, node, 0, -1)
}
