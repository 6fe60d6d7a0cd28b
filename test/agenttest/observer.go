package agenttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// Observer looks at an engine beside its agent.
type Observer struct {
	*control.Client
	t *testing.T
}

// Observe looks at the engine that has a socket.
func Observe(t *testing.T, socket string) *Observer {
	t.Helper()
	c, err := control.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &Observer{c, t}
}

// Counters are the engine's counters.
func (o *Observer) Counters() *controlpb.Stats {
	o.t.Helper()
	s, err := o.Stats(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

// Bindings are the outside address and port of each inside one.
func (o *Observer) Bindings() map[[2]uint32][2]uint32 {
	o.t.Helper()
	list, err := o.Sessions(o.t.Context(), 0, 1000)
	if err != nil {
		o.t.Fatal(err)
	}
	out := map[[2]uint32][2]uint32{}
	for _, s := range list {
		out[[2]uint32{s.GetInsideAddress(), s.GetInsidePort()}] = [2]uint32{s.GetOutsideAddress(), s.GetOutsidePort()}
	}
	return out
}

// Skew gives all shards to the first worker.
func (o *Observer) Skew(shards int) {
	o.t.Helper()
	moves := make([]*controlpb.ShardMove, shards)
	for i := range moves {
		moves[i] = &controlpb.ShardMove{Shard: uint32(i)}
	}
	if _, err := o.MoveShards(o.t.Context(), moves); err != nil {
		o.t.Fatal(err)
	}
}

// share is the part of the packets, by those of before, whose shards the first worker owns now.
func share(before, now *controlpb.Stats) float64 {
	var own, all float64
	for i, s := range now.GetShards() {
		packets := float64(before.GetShards()[i].GetPackets())
		if all += packets; s.GetWorker() == 0 {
			own += packets
		}
	}
	return own / all
}

// Spread waits until each of two workers has a third of the packets at least, and returns how long that took by the engine's clock.
func (o *Observer) Spread(before *controlpb.Stats) (time.Duration, error) {
	for {
		now := o.Counters()
		took := time.Duration(now.GetNowNs() - before.GetNowNs())
		part := share(before, now)
		if part > 1./3 && part < 2./3 {
			return took, nil
		}
		if took > Patience/4 {
			return took, fmt.Errorf("after %s the first worker has %.0f %% of the packets", took, 100*part)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Refused is the packets that the chain would have passed and the engine dropped, by reason.
func Refused(before, now *controlpb.Stats) map[string]uint64 {
	out := map[string]uint64{}
	for _, d := range now.GetDrops() {
		out[d.GetReason()] = d.GetPackets()
	}
	for _, d := range before.GetDrops() {
		if out[d.GetReason()] -= d.GetPackets(); out[d.GetReason()] == 0 {
			delete(out, d.GetReason())
		}
	}
	return out
}
