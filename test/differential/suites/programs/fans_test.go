package programs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestRoutesWalkedTogetherGiveTheProgramOfRoutesWalkedOneByOne needs no engine: it compares what the compiler says both ways.
func TestRoutesWalkedTogetherGiveTheProgramOfRoutesWalkedOneByOne(t *testing.T) {
	for _, shape := range draw.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				for _, joined := range []int{1, 1 << 30} {
					if err := sameFanned(g, joined); err != nil {
						rt.Fatalf("joined from %d routes on: %v\n%s", joined, err, rig.Dump(g))
					}
				}
			})
		})
	}
	for seed := range rig.Seeds(t, "SINTER_NETWORKS", rig.Scale(20, 8)) {
		t.Run("network "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			g := draw.NewNetwork(seed).Graph(t)
			for _, joined := range []int{1, 1 << 30} {
				if err := sameFanned(g, joined); err != nil {
					t.Fatalf("joined from %d routes on: %v", joined, err)
				}
			}
		})
	}
}

// sameFanned compares the program of a chain whose lookups are all walked for routes together with that of routes one by one. From so many routes on
// those with one output are joined, both ways.
func sameFanned(g *graph.Graph, joined int) error {
	together, err := synth.Synthesize(g, synth.Options{Fanned: 1, Joined: joined})
	alone, err2 := synth.Synthesize(g, synth.Options{Fanned: 1 << 30, Joined: joined})
	if err != nil || err2 != nil {
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			return fmt.Errorf("together: %w, one by one: %w", err, err2)
		}
		return nil
	}
	one, err := program.Encode(together.Program)
	if err != nil {
		return err
	}
	other, err := program.Encode(alone.Program)
	if err != nil {
		return err
	}
	for i, s := range together.Segments {
		if err := sameLeaves(together, alone, i); err != nil {
			return fmt.Errorf("segment %s: %w", s.Name, err)
		}
	}
	if one, other := warned(together), warned(alone); !slices.Equal(one, other) {
		return fmt.Errorf("together, there are warnings of %v\none by one: %v", one, other)
	}
	if !bytes.Equal(one, other) {
		return fmt.Errorf("together: %v\none by one: %v", together.Program, alone.Program)
	}
	return nil
}

// sameLeaves compares the leaves of a segment, and the ways that they tell.
func sameLeaves(together, alone *synth.Result, segment int) error {
	say := func(r *synth.Result) (out []string) {
		for l := range r.Segments[segment].Leaves() {
			out = append(out, fmt.Sprintf("%s → %d by %v", l.Filter, l.Class, r.Trace(&l)))
		}
		return out
	}
	one, other := say(together), say(alone)
	for i := range max(len(one), len(other)) {
		if i >= len(one) || i >= len(other) || one[i] != other[i] {
			return fmt.Errorf("leaf %d differs\ntogether: %q\none by one: %q", i, one[min(i, len(one)):min(i+1, len(one))], other[min(i, len(other)):min(i+1, len(other))])
		}
	}
	return nil
}

// warned is what the warnings are of. Which of several rules took all packets of another one, may differ.
func warned(r *synth.Result) (out []string) {
	for _, w := range r.Warnings {
		out = append(out, w.Node+" "+w.Rule)
	}
	return out
}
