package telemetry

import (
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/sharing"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// newReporter is one of an instance in a cluster, in a time of its own.
func newReporter(c *agenttest.Cluster) (*clocktesting.FakeClock, *Reporter) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	return clock, NewReporter(c, client.ObjectKey{Namespace: "default", Name: "edge-0"}, clock, logr.Discard())
}

func TestReportsAreFewAndAnAPIServerThatIsDownIsSpared(t *testing.T) {
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
	clock, r := newReporter(c)
	seen := testSeen(t)
	run := func(length time.Duration) int64 {
		before := c.Writes.Load()
		for range int(length / time.Second) {
			clock.Step(time.Second)
			seen.At = clock.Now()
			r.Step(t.Context(), seen)
		}
		return c.Writes.Load() - before
	}
	if n := run(time.Hour); n < 11 || n > 16 {
		t.Errorf("%d writes in a quiet hour, want one in about five minutes", n)
	}
	c.Down.Store(true)
	seen.State.Engine = engine.ErrNone // something to say
	if n := run(time.Hour); n < 50 || n > 66 {
		t.Errorf("%d attempts in an hour without an API server, want one a minute", n)
	}
	c.Down.Store(false)
	if n := run(2 * time.Minute); n != 1 {
		t.Errorf("%d writes once it is back, want one", n)
	}
	if reason, _ := agenttest.Programmed(c.Instance(t)); reason != "EngineDown" {
		t.Errorf("status says %s, want EngineDown", reason)
	}
}

func TestAPodThatEndsSaysAtOnceWhatItHasGivenAway(t *testing.T) {
	for _, draining := range []bool{false, true} {
		c := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
		clock, r := newReporter(c)
		seen := testSeen(t)
		seen.Draining, seen.Sharing = draining, &sharing.State{}
		shards := slices.Repeat([]*controlpb.ShardStats{{}}, 7)
		for i := range shards { // one after the other goes to a peer
			shards[i] = &controlpb.ShardStats{Place: controlpb.ShardPlace_SHARD_AWAY}
			seen.Now.Stats.Shards = shards
			clock.Step(time.Second / 2)
			r.Step(t.Context(), seen)
		}
		if left := c.Instance(t).Status.Shards; len(left) == 0 != draining {
			t.Errorf("draining %t: the cluster is told that shards %v are here", draining, left)
		}
	}
}

func TestAPodThatEndsDoesNotPressAnAPIServerThatFails(t *testing.T) {
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
	clock, r := newReporter(c)
	seen := testSeen(t)
	r.Step(t.Context(), seen)
	c.Down.Store(true)
	seen.Draining, seen.State.Engine = true, engine.ErrNone
	const pause = time.Second / 2
	for range time.Minute / pause {
		clock.Step(pause)
		r.Step(t.Context(), seen)
	}
	if n := r.Writes.Failed.Load(); n < 2 || n > 8 {
		t.Errorf("%d attempts in a minute, want some, less and less often", n)
	}
}

func TestAnInstanceThatWasMadeAnewIsToldEverything(t *testing.T) {
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"))
	clock, r := newReporter(c)
	seen := testSeen(t)
	r.Step(t.Context(), seen)
	clock.Step(time.Second)
	r.Step(t.Context(), seen)
	if n := c.Writes.Load(); n != 1 {
		t.Fatalf("%d writes, want one", n)
	}
	recreated := agenttest.Instance("edge-1")
	recreated.UID = types.UID("recreated")
	seen.State.Wanted.Instance = recreated
	r.Step(t.Context(), seen)
	if n := c.Writes.Load(); n != 2 {
		t.Errorf("%d writes, want another one", n)
	}
}
