package differential

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestStatefulFirewallsDoWhatTheUnmergedChainDoes runs random chains, each with a stateful firewall at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestStateful.*/^17$' -v
func TestStatefulFirewallsDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared, states := 0, map[string]int{}
	for seed := range seeds(t, "SINTER_STATEFUL", scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "stateful firewalls", draw: (*drawer).statefuls}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
			for _, f := range r.oracle.Flows(0) {
				states[f.State]++
			}
		})
	}
	t.Logf("%d packets; flows at the end: %v", compared, states)
}

// statefuls is a line with one to three stateful firewalls among other functions.
func (d *drawer) statefuls() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("stateful firewalls", 1, 3) {
		left, right := drawStateful(d, ends)
		d.link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.link(a, b)
}
