package synth

import (
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
