package stateful

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestFlowsBeyondTheCacheAreKnown has a NAPT with many more flows than a worker keeps whole decisions: they are kept short.
func TestFlowsBeyondTheCacheAreKnown(t *testing.T) {
	const whole, flows = 8, 400
	rig.NeedHarness(t)
	g := draw.Pools(t.Name(), true, 4)
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	r.Workers, r.Cache = 1, whole
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	now := time.Second
	round := func() uint64 {
		before := hits(t, r)
		for i := range flows {
			now += 10 * time.Microsecond
			r.Must(t, now, draw.UDP(g, 0, netip.AddrPortFrom(draw.Addr4(10, 0, 0, 9), uint16(2000+i)), netip.MustParseAddrPort("8.8.8.8:53")))
		}
		return hits(t, r) - before
	}
	for range 5 { // their room grows as it is found to be short
		round()
	}
	if n := round(); n < flows*9/10 {
		t.Errorf("%d of %d packets met a decision that was kept", n, flows)
	}
	now += draw.Timeouts.UDP
	if n := round(); n != 0 {
		t.Errorf("%d packets met a decision whose session had ended", n)
	}
	if err := r.Finish(t.Context(), now); err != nil {
		t.Error(err)
	}
}

func hits(t *testing.T, r *rig.Rig) uint64 {
	t.Helper()
	stats, err := r.Engine.Stats(t.Context())
	if err != nil {
		t.Fatal(r.Engine.Died(err))
	}
	n := uint64(0)
	for _, w := range stats.GetWorkers() {
		n += w.GetCacheHits()
	}
	return n
}
