package walk

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Operation is a row of the table of operations: what a leg has done to a packet when it is run.
type Operation struct {
	// Write gives the operation as the program has it, and says it in words where people look for it.
	Write func(e *Emitter, o Op, says *Leg) *programpb.Op
	// Key tells one from others of its kind that differ; nil: the argument does, with the field.
	Key func(e *Emitter, o Op) int64
	// Verdict operations may end the packet's way when they are run, by what no filter says: no port is free.
	// Packets behind them are counted by an operation, and copies are made behind them in a segment of their own.
	Verdict bool
	// Lasting operations have an effect that stays when the packet is dropped later: they are done for that packet, too.
	Lasting bool
}

// OpKind is an operation's place in the table of operations.
type OpKind uint8

// operations are all of them.
var operations []Operation

// NewOperation adds an operation. It is called once for each, when the program starts.
func NewOperation(o Operation) OpKind {
	operations = append(operations, o)
	return OpKind(len(operations) - 1)
}

// Op is one operation of a leg; Arg is the value, delta, address, counter, or the index of the leg's run.
type Op struct {
	Kind  OpKind
	field headerspace.Field
	Arg   int64
}

// do appends an operation, which finds the packet as it was when the writes so far were settled.
func (v *values) do(o Op) {
	v.ops = append(v.ops[:len(v.ops):len(v.ops)], o)
	v.judged = v.judged || operations[o.Kind].Verdict
}

// Act has an operation of a node done at run time, on the packet as it is here. reads are the fields that it looks at; writes are those
// that it may change, with all that they can be then: a later function that reads one reads a run-time choice.
func (w *Walker) Act(t *Unit, node int, o Op, reads []headerspace.Field, writes map[headerspace.Field]headerspace.Set) error {
	for _, f := range reads {
		switch e := t.val[f]; {
		case e.kind == virtual:
			return w.setApart(t.unwind[0])
		case e.kind == choice && w.joinable(int(e.node)):
			return w.setApart(int(e.node))
		}
	}
	if operations[o.Kind].Lasting { // an element behind that finds no choice must not end the packet's way before this is done
		if err := w.endRun(t); err != nil {
			return err
		}
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

// Lasting are the operations and counters of a packet that is dropped here: what nobody sees is not done.
func (v *values) lasting() ([]Op, []int) {
	done := 0
	for i, o := range v.ops {
		if operations[o.Kind].Lasting {
			done = i + 1
		}
	}
	counters := v.counters.list()
	ops := v.ops[:done:done]
	for _, o := range v.ops[done:] {
		switch {
		case o.Kind != opCount:
		case done > 0: // it may have ended before
			ops = append(ops, o)
		default:
			counters = append(counters, int(o.Arg))
		}
	}
	return ops, counters
}

// Table is the index of the state table of a node: an element that keeps state, or shares the table of another one.
func (w *Walker) Table(node int) int {
	if s, ok := w.means[node].(Sharing); ok {
		node = slices.IndexFunc(w.means, func(m Meaning) bool {
			other, ok := m.(Sharing)
			return ok && other.TableName() == s.TableName()
		})
	}
	if i := slices.Index(w.tables, node); i >= 0 {
		return i
	}
	w.tables = append(w.tables, node)
	return len(w.tables) - 1
}
