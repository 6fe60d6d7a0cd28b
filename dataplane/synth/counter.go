package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(element.Counter) meaning { return counter{} }) }

type counter struct{}

func (counter) counters(node string) []string { return []string{node} }

func (counter) walk(w *walker, t *tcu, at arrival) error {
	w.count(t, at.node, 0)
	return w.follow(t, at.node, 0, -1)
}

var opCount = newOperation(operation{
	write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		says.Counters = append(says.Counters, e.w.counters.names[o.arg])
		return &programpb.Op{Op: &programpb.Op_Count{Count: uint32(o.arg)}}
	},
})

// count passes a counter of a node. Where the packet's way may have ended before, it is an operation.
func (w *walker) count(t *tcu, node, rule int) {
	of := w.counters.of[node]
	if of == nil || of[rule] == notCounted {
		return
	}
	if t.judged {
		t.do(op{kind: opCount, arg: int64(of[rule])})
		return
	}
	t.counters = &counted{t.counters, of[rule]}
}

func init() { register(func(e element.Tee) meaning { return tee{e} }) }

type tee struct{ element.Tee }

func (tee) walk(w *walker, t *tcu, at arrival) error {
	if t.judged { // judged once, then copied
		return w.cut(t, at.node, at.port, cutting{})
	}
	return w.tee(t, at.node)
}

func (e tee) leads(h hopTo, _ int, on func(hopTo, int)) {
	for port := range e.Outs {
		on(h, port)
	}
}

// tee sets the copies aside; each is walked when the one before it has ended,
// within the filter that then holds.
func (w *walker) tee(t *tcu, node int) error {
	t.settle()
	outs := w.g.Nodes[node].Out
	rest := t.values
	// Counted and observed once, by the first copy.
	rest.counters = nil
	rest.ops = slices.DeleteFunc(slices.Clone(rest.ops), func(o op) bool { return operations[o.kind].lasting })
	todo := make([]branch, 0, len(outs)-1+len(t.todo))
	for _, e := range outs[1:] {
		todo = append(todo, branch{e.To, e.Port, rest})
	}
	t.todo = append(todo, t.todo...)
	return w.follow(t, node, 0, -1)
}
