package synth

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
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
