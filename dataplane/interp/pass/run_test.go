package pass

import (
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func TestWhatADroppedPacketLeavesBehind(t *testing.T) {
	var left []string
	change := func(what string) func() {
		left = append(left, what)
		return func() { left = slices.DeleteFunc(left, func(s string) bool { return s == what }) }
	}
	r := &Run{}
	r.Undoable(change("before"))
	mark := len(r.undo)
	r.Undoable(change("session"))
	r.Lasting(change("tokens"))
	r.Undoable(change("port"))
	r.rollback(mark)
	if want := []string{"before", "tokens"}; !slices.Equal(left, want) {
		t.Errorf("the drop leaves %q, want %q", left, want)
	}
	r.Abandon()
	if len(left) > 0 {
		t.Errorf("the abandoned run leaves %q, want nothing", left)
	}
}

// fork sends copies on. The first of its changes waits for the packet to leave.
type fork struct {
	made   *bool
	copies int
}

func (f fork) Pass(r *Run, _ *graph.Node, p *Packet, _ int) (out int, left bool) {
	r.Leaving(func() {
		*f.made = true
		r.Undoable(func() { *f.made = false })
	})
	for n := range f.copies {
		left = r.Walk(p, graph.Edge{To: 1 + n}) || left
	}
	return Ended, left
}

// end is where a copy leaves, or is dropped.
type end struct {
	leaves bool
	sees   func()
}

func (e end) Pass(*Run, *graph.Node, *Packet, int) (out int, left bool) {
	e.sees()
	return Ended, e.leaves
}

func TestAChangeThatWaitsIsMadeWhenACopyLeaves(t *testing.T) {
	for want, copies := range map[string][]bool{
		"no, at last no": {false}, "no, at last made": {true},
		"no, no, at last no": {false, false}, "no, no, at last made": {false, true}, "no, made, at last made": {true, false},
	} {
		made, told := false, ""
		tell := func() { told += map[bool]string{true: "made, ", false: "no, "}[made] }
		c := &Chain{Graph: &graph.Graph{Nodes: make([]graph.Node, 1+len(copies))}, elements: []Element{fork{&made, len(copies)}}, maxSteps: 10}
		for _, leaves := range copies {
			c.elements = append(c.elements, end{leaves, tell})
		}
		r := &Run{Chain: c}
		r.Walk(&Packet{}, graph.Edge{})
		told += "at last "
		if tell(); strings.TrimSuffix(told, ", ") != want {
			t.Errorf("copies leave: %v: seen was %q, want %q", copies, told, want)
		}
		r.Left() // of another packet
		if r.Abandon(); made {
			t.Errorf("copies leave: %v: what the abandoned run did, or dropped, stays", copies)
		}
	}
}
