// Package lifecycle is how a pod's containers begin, are probed and end, beside the agent.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// Drain is the end of a pod in order: others are told, peers get the shards, and packets are forwarded until none come any more.
type Drain struct {
	Socket string        // the engine's
	Marker string        // file by which the agent learns of it
	Quiet  time.Duration // without a packet that leaves, or sessions that a peer is to get: done
	Limit  time.Duration // done in any case
	Clock  clock.Clock
}

// Undrain takes a Drain's word back. A container that is started is not of a pod that ends: kubelet runs the hook as well before it restarts one
// whose liveness has failed.
func Undrain(marker string) error {
	if err := os.Remove(marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}

// Draining tells whether the pod is being drained.
func Draining(marker string) bool {
	_, err := os.Stat(marker)
	return marker != "" && err == nil
}

const drainPause = 250 * time.Millisecond

// Run returns, with how it went, when the pod may end. An engine that does not answer has nothing to drain.
func (d *Drain) Run(ctx context.Context) (string, error) {
	if err := os.WriteFile(d.Marker, nil, 0o600); err != nil {
		return "", fmt.Errorf("drain: %w", err)
	}
	dial, cancel := context.WithTimeout(ctx, engine.AnswerTimeout)
	client, err := control.Dial(dial, d.Socket)
	cancel()
	if err != nil {
		return "no engine answers: " + err.Error(), nil
	}
	defer client.Close()

	begin := d.Clock.Now()
	quietSince, last := begin, uint64(0)
	for first := true; ; first = false {
		stats, err := client.Stats(ctx)
		if err != nil {
			return "the engine ended: " + err.Error(), nil
		}
		now := d.Clock.Now()
		n, holds := sent(stats), holds(stats)
		if n != last || first || holds {
			quietSince, last = now, n
		}
		switch {
		case now.Sub(quietSince) >= d.Quiet:
			return fmt.Sprintf("no packet left for %s", d.Quiet), nil
		case now.Sub(begin) >= d.Limit && holds:
			return fmt.Sprintf("sessions are still here after %s", d.Limit), nil
		case now.Sub(begin) >= d.Limit:
			return fmt.Sprintf("packets still come after %s", d.Limit), nil
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-d.Clock.After(drainPause):
		}
	}
}

// holds tells whether sessions are here that a peer may still get.
func holds(s *controlpb.Stats) bool {
	return s.GetPeers() > 0 && slices.ContainsFunc(s.GetShards(), func(shard *controlpb.ShardStats) bool {
		return engine.IsHere(shard) && shard.GetSessions() > 0
	})
}

// sent is the packets that left.
func sent(s *controlpb.Stats) uint64 {
	var sum uint64
	for _, p := range s.GetPorts() {
		sum += p.GetTxPackets()
	}
	return sum
}
