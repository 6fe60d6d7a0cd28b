package pass

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// offer is a choice that several elements look at.
type offer struct{ name, by string }

func (o *offer) Unasked() string {
	if o.by != "" {
		return ""
	}
	return o.name
}

func (o *offer) Fresh() Told { return &offer{name: o.name} }

// chooser is an element of the test's own that follows an engine's choices.
type chooser struct{ seen []string }

func (*chooser) Pass(*Run, *graph.Node, *Packet, int) (int, bool) { return Ended, false }
func (*chooser) Refuses() []string                                { return []string{"full"} }

func (c *chooser) Follow(r *Run) {
	for _, o := range ToldAs[*offer](r) {
		c.seen = append(c.seen, o.name)
	}
}

type choosing struct{ element.Discard }

func choosingChain() (*Chain, *chooser) {
	e := &chooser{}
	c := New(&graph.Graph{}, nil, Options{})
	c.Graph.Nodes, c.elements = []graph.Node{{Name: "f/e", Element: choosing{}}}, []Element{e}
	return c, e
}

func TestAnElementKnowsWhatWasChosenBeforeTheFrameComes(t *testing.T) {
	c, e := choosingChain()
	c.NewRun(0).Follow([]Told{choice("a"), &offer{name: "b"}, &offer{name: "c"}}, nil)
	if want := []string{"b", "c"}; !slices.Equal(e.seen, want) {
		t.Errorf("it was told of %q, want %q", e.seen, want)
	}
}

func TestWhatBecomesOfAChoiceIsOfOneRun(t *testing.T) {
	c, _ := choosingChain()
	told := []Told{&offer{name: "a"}, choice("b"), &offer{name: "c"}}
	first, second := c.NewRun(0), c.NewRun(0)
	first.Follow(told, nil)
	second.Follow(told, nil)
	ToldAs[*offer](first)[0].by = "f/e"
	for name, k := range map[string]struct {
		run  *Run
		want []string
	}{
		"one is taken": {first, []string{"b", "c"}},
		"none is":      {second, []string{"a", "b", "c"}},
	} {
		if got := k.run.Unasked(); !slices.Equal(got, k.want) {
			t.Errorf("%s: nothing asked for %q, want %q", name, got, k.want)
		}
	}
}

func TestOnlyReasonsOfElementsAreRefusals(t *testing.T) {
	c, _ := choosingChain()
	for reason, want := range map[string]bool{"full": true, "deny": false} {
		if got := c.MayRefuse([]Drop{{"other"}, {reason}}); got != want {
			t.Errorf("a drop as %q may be a refusal: %t, want %t", reason, got, want)
		}
	}
}
