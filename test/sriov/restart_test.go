package sriov

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestAChainComesBackByItself says in its log how long each restart took until the chain passed packets again.
func TestAChainComesBackByItself(t *testing.T) {
	c := newCluster(t)
	c.applyChain(t, "a", "inside-a", "outside-a")
	c.waitReady(t, "a")
	a := newPeers(t, c.cable, 101, 102)
	a.converse(t)

	for _, restart := range []struct {
		name string
		do   func(t *testing.T)
		life func(t *testing.T) string // another one after the restart
	}{
		{
			"after the engine was killed",
			func(t *testing.T) { c.run(t, "pkill --signal KILL --exact sinter-engine") },
			func(t *testing.T) string { return c.engineID(t, "a") },
		},
		{
			"after kubelet was restarted",
			func(t *testing.T) { c.run(t, "systemctl restart kubelet") },
			func(t *testing.T) string { return c.run(t, "systemctl show --property MainPID kubelet") },
		},
		{
			"after the node was reset",
			func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if err := c.Reset(ctx); err != nil {
					t.Fatal(err)
				}
				if err := c.Wait(ctx); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T) string { return c.run(t, "cat /proc/sys/kernel/random/boot_id") },
		},
	} {
		t.Run(restart.name, func(t *testing.T) {
			before, start := restart.life(t), time.Now()
			restart.do(t)
			eventually(t, 2*patience, func() error { return a.ask("udp", "is anybody there?") })
			t.Logf("packets pass after %.1f s", time.Since(start).Seconds())
			eventually(t, patience, func() error {
				if restart.life(t) == before {
					return fmt.Errorf("still the one of before: %s", before)
				}
				return nil
			})
			c.waitReady(t, "a")
			t.Logf("Ready after %.1f s", time.Since(start).Seconds())
			a.converse(t)
		})
	}
}

// engineID is the container that a chain's engine runs in.
func (c *cluster) engineID(t *testing.T, chain string) string {
	t.Helper()
	var pod corev1.Pod
	c.get(t, &pod, namespace, chain+"-0")
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == "engine" {
			return s.ContainerID
		}
	}
	return ""
}
