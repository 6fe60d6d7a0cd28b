package differential

import (
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// chainsOfBalancers is how many chains with load balancers run: SINTER_BALANCERS, or the usual number. make balancers runs 32.
func chainsOfBalancers(t *testing.T, usual int) int {
	t.Helper()
	s := os.Getenv("SINTER_BALANCERS")
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("SINTER_BALANCERS is %q, want a number of chains, such as 32", s)
	}
	return n
}

// TestBalancersDoWhatTheUnmergedChainDoes runs random chains, each with a load balancer at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_BALANCERS=17 go test ./test/differential -run 'TestBalancers.*/^17$' -v
func TestBalancersDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared, sessions := 0, 0
	for seed := 1; seed <= chainsOfBalancers(t, scale(6, 3)); seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "balancers", draw: (*drawer).serving}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(seed)
			if err := r.drive(t.Context(), uint64(seed), scale(45_000, 8_000), true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
			sessions += len(r.oracle.Sessions(0))
		})
	}
	t.Logf("%d packets, %d sessions at the end", compared, sessions)
	if !t.Failed() && sessions == 0 {
		t.Error("no session was made")
	}
}
