package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// operation is a row of the table of operations: what a leg has done to a packet when it is run.
type operation struct {
	// write gives the operation as the program has it, and says it in words where people look for it.
	write func(e *emitter, l *leg, o op, says *Leg) *programpb.Op
	// key tells one from others of its kind that differ; nil: the argument does, with the field.
	key func(e *emitter, l *leg, o op) int64
	// verdict operations may end the packet's way when they are run, by what no filter says: a NAPT without a free
	// port. What is counted behind them is counted by an operation, and copies are made behind them in a segment of their own.
	verdict bool
	// lasting operations have an effect that stays when the packet is dropped later: they are done for that packet, too.
	lasting bool
}

type opKind uint8

// operations are all of them. The file of an element has those that it needs.
var operations []operation

func newOperation(o operation) opKind {
	operations = append(operations, o)
	return opKind(len(operations) - 1)
}

// op is one operation of a leg; arg is the value, delta, address, counter, or the index of the leg's run.
type op struct {
	kind  opKind
	field headerspace.Field
	arg   int64
}

// do appends an operation, which finds the packet as it was when the writes so far were settled.
func (v *values) do(o op) {
	v.ops = append(v.ops[:len(v.ops):len(v.ops)], o)
	v.judged = v.judged || operations[o.kind].verdict
}

// act has an operation of a node done at run time, on the packet as it is here. reads are the fields that it looks at; writes are those
// that it may change, with all that they can be then: a later function that reads one reads a run-time choice.
func (w *walker) act(t *tcu, node int, o op, reads []headerspace.Field, writes map[headerspace.Field]headerspace.Set) error {
	for _, f := range reads {
		switch e := t.val[f]; {
		case e.kind == virtual:
			return w.setApart(t.unwind[0])
		case e.kind == choice && w.joinable(int(e.node)):
			return w.setApart(int(e.node))
		}
	}
	if n := len(t.runs); n > 0 && operations[o.kind].lasting && !w.apart[w.runs.last(t.runs[n-1])] {
		// A NAPT behind that finds no port must not end the packet's way before this is done.
		return w.setApart(w.runs.last(t.runs[n-1]))
	}
	t.settle()
	t.do(o)
	done := *t.settled()
	for f, set := range writes {
		t.val[f] = expr{kind: choice, node: int32(node), set: &set}
		done[f] = t.val[f]
	}
	t.done = t.share(done)
	return nil
}

// lasting are the operations and counters of a packet that is dropped here: what nobody sees is not done.
func (v *values) lasting() ([]op, []int) {
	done := 0
	for i, o := range v.ops {
		if operations[o.kind].lasting {
			done = i + 1
		}
	}
	counters := v.counters.list()
	ops := v.ops[:done:done]
	for _, o := range v.ops[done:] {
		switch {
		case o.kind != opCount:
		case done > 0: // it may have ended before
			ops = append(ops, o)
		default:
			counters = append(counters, int(o.arg))
		}
	}
	return ops, counters
}
