package walk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// A walk through few rules tells that a product is far too large, before a walk through all of them has spent the allowance on it.
func TestAProductThatIsFarTooLargeTakesNoWalkInVain(t *testing.T) {
	rules := func(field string) string {
		var b strings.Builder
		for i := range 600 {
			fmt.Fprintf(&b, "{action: Accept, %s: [20.%d.%d.0/24]}, ", field, i/200, i%200)
		}
		return "firewall: {default: Drop, rules: [" + strings.TrimSuffix(b.String(), ", ") + "]}"
	}
	row := fmt.Sprintf("  - name: f0\n    %s\n  - name: f1\n    %s\n", rules("source"), rules("destination"))
	for name, g := range map[string]*graph.Graph{
		"each rule with each": parsed(t, rowOf(row, ", f0, f1")),
		"rules as they are":   chainOf(t, "acl1_8550", "fw1_713", "router", "acl1_8550"),
	} {
		t.Run(name, func(t *testing.T) {
			opts := synth.Options{MaxBoxes: 1 << 14}
			for _, c := range []struct {
				opts synth.Options
				want int
			}{{opts, 0}, {walk.StartingOver(opts), 1}} {
				if got, err := walk.WalksInVain(g, c.opts); err != nil || got != c.want {
					t.Errorf("%d walks are in vain, want %d (%v)", got, c.want, err)
				}
			}
			if string(encoded(t, g, opts).text) != string(encoded(t, g, walk.StartingOver(opts)).text) {
				t.Error("the program is another one than with walks in vain")
			}
		})
	}
}

// Few rules tell the size of a product roughly. One that just fits is not taken for one that does not.
func TestAProductThatJustFitsIsNotKeptApart(t *testing.T) {
	for _, chain := range []string{
		"acl1_8550 fw1_713", "acl1_713 fw1_713", "fw1_713 acl1_713", "acl1_8550 acl1_713 acl1_251", "acl1_713 router acl1_8550",
	} {
		t.Run(chain, func(t *testing.T) {
			t.Parallel()
			g := chainOf(t, strings.Fields(chain)...)
			opts := synth.Options{MaxBoxes: 1 << 10}
			for ; len(synthesized(t, g, walk.StartingOver(opts)).Cuts) > 0; opts.MaxBoxes += opts.MaxBoxes / 4 {
				if opts.MaxBoxes > 1<<19 {
					t.Fatal("it fits no segment")
				}
			}
			if cuts := synthesized(t, g, opts).Cuts; len(cuts) > 0 {
				t.Errorf("with %d boxes, which suffice: %v", opts.MaxBoxes, cuts)
			}
		})
	}
}
