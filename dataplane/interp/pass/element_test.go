package pass

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// silent is an element of the test's own, without a meaning.
type silent struct{ element.Discard }

func TestAnElementIsRegisteredOnce(t *testing.T) {
	of := func(*Chain, string, silent) Element { return nil }
	Register(of)
	defer func() {
		if recover() == nil {
			t.Error("the second is accepted")
		}
	}()
	Register(of)
}

func TestAnElementWithoutAMeaningIsRefused(t *testing.T) {
	type unknown struct{ element.Discard }
	defer func() {
		if got, want := recover(), "interp: no semantics for element pass.unknown of node f/e"; got != want {
			t.Errorf("got %v, want %q", got, want)
		}
	}()
	New(&graph.Graph{Nodes: []graph.Node{{Name: "f/e", Element: unknown{}}}}, nil, Options{})
}

func TestStateOfOneNameIsShared(t *testing.T) {
	c := New(&graph.Graph{}, nil, Options{})
	made := 0
	state := func(name string) *int {
		return Shared(c, name, func() *int { made++; return new(int) })
	}
	if a, b, other := state("a"), state("a"), state("b"); a != b || a == other || made != 2 {
		t.Errorf("two of one name are the same: %t, of two names: %t; %d were made, want 2", a == b, a == other, made)
	}
}

// choice is one of an engine's.
type choice string

func (c choice) Unasked() string { return string(c) }

func TestAChoiceIsTakenOnce(t *testing.T) {
	told := []Told{choice("a"), choice("b")}
	r := &Run{Told: told}
	is := func(c choice) bool { return c == "a" }
	if c, ok := Take(r, is); !ok || c != "a" {
		t.Errorf("got %q, %t", c, ok)
	}
	if c, ok := Take(r, is); ok {
		t.Errorf("%q is taken twice", c)
	}
	if len(r.Told) != 1 || told[0] != choice("a") || told[1] != choice("b") {
		t.Errorf("left %q of %q; the caller's list must stay, as the frame may run again", r.Told, told)
	}
}
