package differential

import (
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// chainsThatFollow is how many chains with stateful firewalls run: SINTER_STATEFUL, or the usual number. make stateful runs 32.
func chainsThatFollow(t *testing.T, usual int) int {
	t.Helper()
	s := os.Getenv("SINTER_STATEFUL")
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("SINTER_STATEFUL is %q, want a number of chains, such as 32", s)
	}
	return n
}

// TestStatefulFirewallsDoWhatTheUnmergedChainDoes runs random chains, each with a stateful firewall at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_STATEFUL=17 go test ./test/differential -run 'TestStateful.*/^17$' -v
func TestStatefulFirewallsDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared, states := 0, map[string]int{}
	for seed := 1; seed <= chainsThatFollow(t, scale(6, 3)); seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "stateful firewalls", draw: (*drawer).statefuls}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(seed)
			if err := r.drive(t.Context(), uint64(seed), scale(45_000, 8_000), true); err != nil {
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
	d.follows = true
	a = d.join(a, 0, 1, ends)
	for range d.int("stateful firewalls", 1, 3) {
		left, right := drawStateful(d, ends)
		d.link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.link(a, b)
}
