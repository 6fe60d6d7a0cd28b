package sriov

import (
	"context"
	"testing"
	"time"
)

// TestAChainComesBackByItself says in its log how long each restart took from when it was done to the first answer
// through the chain.
func TestAChainComesBackByItself(t *testing.T) {
	c := newCluster(t)
	c.applyChain(t, "a", "inside-a", "outside-a")
	c.waitReady(t, "a")
	a := newPeers(t, c.cable, 101, 102)
	a.converse(t)

	for _, restart := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"after the engine was killed", func(t *testing.T) {
			c.run(t, "pkill --signal SEGV --exact sinter-engine")
		}},
		{"after kubelet was restarted", func(t *testing.T) { c.run(t, "systemctl restart kubelet") }},
		{"after the node was reset", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.Reset(ctx); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(restart.name, func(t *testing.T) {
			start := time.Now()
			restart.do(t)
			eventually(t, 2*patience, func() error { return a.ask("udp", "is anybody there?") })
			t.Logf("answered after %.1f s", time.Since(start).Seconds())
			c.waitReady(t, "a")
			t.Logf("Ready after %.1f s", time.Since(start).Seconds())
			a.converse(t)
		})
	}
}
