package walk

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// choosing is the meaning of a node that chooses.
func (w *Walker) choosing(node int) Choosing { return w.means[node].(Choosing) }

// Joins tells whether a node may choose in the place of the element of which the last choice is: nobody has read that, the flow is exactly as it was
// left there, and the node joins it.
func (w *Walker) Joins(t *Unit, node int) bool {
	if len(t.runs) == 0 {
		return false
	}
	last := w.runs.last(t.runs[len(t.runs)-1])
	if w.apart[last] || !w.choosing(node).Joins(w.choosing(last)) {
		return false
	}
	for _, f := range [...]headerspace.Field{headerspace.Src, headerspace.SPort, headerspace.Dst, headerspace.DPort} {
		if !sameExpr(t.val[f], t.flow[f]) {
			return false
		}
	}
	return true
}

// Choose has a node choose the source by an operation, of which the argument tells Run which run it leads into. If it joins the last run, it is a part of
// that one: only the last choice of a run is ever made (SNF, Property 1).
func (w *Walker) Choose(t *Unit, node int, kind OpKind, joins bool) error {
	if len(t.unwind) > 0 {
		return w.setApart(t.unwind[0])
	}
	if joins {
		last := len(t.runs) - 1
		t.runs = slices.Clone(t.runs)
		t.runs[last] = w.runs.extend(t.runs[last], node)
	} else {
		t.settle()
		t.do(Op{Kind: kind, Arg: int64(len(t.runs))})
		t.runs = append(t.runs[:len(t.runs):len(t.runs)], w.runs.extend(noRun, node))
	}
	addrs, ports := w.choosing(node).Choices()
	t.val[headerspace.Src] = expr{kind: choice, node: int32(node), set: addrs}
	t.val[headerspace.SPort] = expr{kind: choice, node: int32(node), set: ports}
	done := *t.settled()
	done[headerspace.Src], done[headerspace.SPort] = t.val[headerspace.Src], t.val[headerspace.SPort]
	t.done, t.flow = t.share(done), t.share(t.val)
	return nil
}

// Unwind has a packet that came back pass a node, if the node is the next one of the run of which all elements have given it its destination at once.
func (w *Walker) Unwind(t *Unit, node int) (passed bool, err error) {
	if len(t.unwind) == 0 || t.unwind[0] != node || t.val[headerspace.Dst].kind != virtual {
		return false, nil
	}
	if t.val[headerspace.Src].kind != ident || t.val[headerspace.SPort].kind != ident {
		return false, w.setApart(node) // its entry would not know this remote
	}
	t.unwind = t.unwind[1:]
	w.rewind(t)
	return true, nil
}

// rewind sets the destination of a packet that came back to what the next element of the run would see.
func (w *Walker) rewind(t *Unit) {
	d := [2]expr{}
	if len(t.unwind) > 0 {
		n := t.unwind[0]
		addrs, ports := w.choosing(n).Choices()
		d = [2]expr{{kind: virtual, node: int32(n), set: addrs}, {kind: virtual, node: int32(n), set: ports}}
	}
	t.val[headerspace.Dst], t.val[headerspace.DPort] = d[0], d[1]
	done := *t.settled()
	done[headerspace.Dst], done[headerspace.DPort] = d[0], d[1]
	t.done = t.share(done)
}

// joinable tells whether the choice of a node is one that a later element may make in its place.
func (w *Walker) joinable(node int) bool {
	_, ok := w.means[node].(Choosing)
	return ok && !w.apart[node]
}

// setApart has the synthesis start over with an element whose choice is always made.
func (w *Walker) setApart(node int) error {
	w.apart[node] = true
	return errAgain
}

// endRun has the choice of the last element of a run made here.
func (w *Walker) endRun(t *Unit) error {
	if n := len(t.runs); n > 0 && !w.apart[w.runs.last(t.runs[n-1])] {
		return w.setApart(w.runs.last(t.runs[n-1]))
	}
	return nil
}

// EndRuns has all choices made here that wait to be made behind, and those that were made in place of others.
func (w *Walker) EndRuns(t *Unit) error {
	if len(t.unwind) > 0 {
		return w.setApart(t.unwind[0])
	}
	return w.endRun(t)
}
