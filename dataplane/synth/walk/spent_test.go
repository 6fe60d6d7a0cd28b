package walk_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// drawnRow is firewalls and routers in a row, of few rules and routes that divide alike fields.
func drawnRow(rng *rand.Rand) (functions, path string) {
	var b strings.Builder
	for i := range 3 + rng.IntN(5) {
		path += fmt.Sprintf(", f%d", i)
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "  - name: f%d\n    router:\n      routes:\n      - {prefix: 0.0.0.0/0, port: outside}\n", i)
			for n := range 1 + rng.IntN(7) {
				fmt.Fprintf(&b, "      - {prefix: 20.%d.%d.0/24, port: %s}\n", rng.IntN(4), n, []string{"inside", "outside"}[rng.IntN(2)])
			}
			continue
		}
		fmt.Fprintf(&b, "  - name: f%d\n    firewall:\n      default: %s\n      rules:\n", i, []string{"Accept", "Drop"}[rng.IntN(2)])
		for range 1 + rng.IntN(12) {
			fmt.Fprintf(&b, "      - {action: %s", []string{"Accept", "Accept", "Drop"}[rng.IntN(3)])
			if rng.IntN(2) == 0 {
				fmt.Fprintf(&b, ", source: [10.%d.0.0/16]", rng.IntN(6))
			}
			if rng.IntN(2) == 0 {
				fmt.Fprintf(&b, ", destination: [20.%d.0.0/%d]", rng.IntN(4), 16+rng.IntN(2)*8)
			}
			if rng.IntN(2) == 0 {
				fmt.Fprintf(&b, ", protocol: tcp, destinationPorts: [%d-%d]", 80+rng.IntN(4), 90+rng.IntN(4))
			}
			b.WriteString("}\n")
		}
	}
	return b.String(), path
}

// A walk that goes on behind a look-up that does not fit keeps the same ones apart as one that starts over each time.
func TestAWalkInVainFindsWhatWalksFromTheBeginningFind(outer *testing.T) {
	const seeds = 5
	chains, cut := sampleChains(outer), 0
	for seed := range uint64(seeds) { // what rapid draws may fit
		r := synthesized(outer, parsed(outer, rowOf(drawnRow(rand.New(rand.NewPCG(seed, 0))))), synth.Options{MaxBoxes: 12})
		cut += len(r.Cuts)
	}
	if cut == 0 {
		outer.Error("all look-ups fit")
	}
	rapid.Check(outer, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		opts := synth.Options{MaxBoxes: rapid.SampledFrom([]int{12, 40, 100, 300}).Draw(t, "boxes"), Joined: rapid.SampledFrom([]int{0, 1}).Draw(t, "joined")}
		var g *graph.Graph
		if i := rapid.IntRange(0, 2*len(chains)-1).Draw(t, "chain"); i < len(chains) {
			g = (&changer{rng, chains[i]}).change(chains[i])
		} else {
			g = parsed(outer, rowOf(drawnRow(rng)))
		}
		want, err := synth.Synthesize(g, walk.StartingOver(opts))
		got, failed := synth.Synthesize(g, opts)
		if (err == nil) != (failed == nil) {
			t.Fatalf("%v; from the beginning: %v", failed, err)
		}
		if err == nil {
			same(t, got, want)
		}
	})
}

// Few of many lists one after the other fit together. Finding out which takes one walk in vain per segment, not one for each list.
func TestListsThatDoNotFitAreFoundInOneWalk(t *testing.T) {
	const most = 0.9 // of the memory that walks from the beginning take: measured, 0.73 and 0.85
	for _, chain := range []string{
		"acl1_8550 fw1_713 acl1_713 acl1_8550 fw1_713",
		"fw1_713 router acl1_8550 fw1_713 router acl1_713 acl1_8550 fw1_713",
	} {
		t.Run(chain, func(t *testing.T) {
			g := chainOf(t, strings.Fields(chain)...)
			once, begun := encoded(t, g, synth.Options{}), encoded(t, g, walk.StartingOver(synth.Options{}))
			if string(once.text) != string(begun.text) {
				t.Error("the program is another one than with walks from the beginning")
			}
			t.Logf("%d of %d MB", once.allocated>>20, begun.allocated>>20)
			if float64(once.allocated) > most*float64(begun.allocated) {
				t.Errorf("synthesis takes %d bytes, with walks from the beginning %d", once.allocated, begun.allocated)
			}
		})
	}
}

type encoding struct {
	text      []byte
	allocated int
}

func encoded(t *testing.T, g *graph.Graph, opts synth.Options) (e encoding) {
	t.Helper()
	var r *synth.Result
	e.allocated = allocated(func() { r = synthesized(t, g, opts) })
	text, err := program.Encode(r.Program)
	if err != nil {
		t.Fatal(err)
	}
	e.text = text
	return e
}
