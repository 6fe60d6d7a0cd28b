package netns

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// traces keeps what an engine traced.
type traces struct {
	mu      sync.Mutex
	begun   chan struct{}
	started *controlpb.TraceStarted
	packets []*controlpb.TracedPacket
}

func (s *traces) Started(started *controlpb.TraceStarted) error {
	s.started = started
	close(s.begun)
	return nil
}

func (s *traces) Traced(traced *controlpb.Traced) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packets = append(s.packets, traced.GetPackets()...)
	return nil
}

// quiet waits until no packet is on its way: those that are when a trace begins or ends are seen in part.
func quiet(t *testing.T, engine *lab.Engine) {
	t.Helper()
	received := func() (n uint64) {
		for _, p := range engine.Counters(t).GetPorts() {
			n += p.GetRxPackets()
		}
		return n
	}
	before := received()
	lab.Until(t, 10*time.Second, func() error {
		time.Sleep(200 * time.Millisecond) // longer than a TCP waits with an ACK
		now := received()
		if now == before {
			return nil
		}
		came := now - before
		before = now
		return fmt.Errorf("%d packets came within 200 ms", came)
	})
}

// traced is what an engine traces, one in so many, while something happens.
func traced(t *testing.T, engine *lab.Engine, oneIn uint32, happens func()) *traces {
	t.Helper()
	quiet(t, engine)
	s := &traces{begun: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- engine.Trace(ctx, &controlpb.StartTrace{OneIn: oneIn, MaxPackets: 100_000, DurationNs: uint64(time.Minute)}, s)
	}()
	select {
	case <-s.begun:
	case err := <-ended:
		t.Fatalf("the trace ends at once: %v", err)
	}
	happens()
	quiet(t, engine)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return s
}

// ways are those of TCP packets of a trace by interfaces, "inside in", "outside out" and so on: of each packet all, in the order of time.
func (s *traces) ways() map[[2]uint64][]string {
	slices.SortStableFunc(s.packets, func(a, b *controlpb.TracedPacket) int { return int(int64(a.GetTimeNs()) - int64(b.GetTimeNs())) })
	all := map[[2]uint64][]string{}
	for _, p := range s.packets {
		id := [2]uint64{uint64(p.GetWorker()), p.GetNumber()}
		if p.GetFirstNumber() > 0 {
			id = [2]uint64{uint64(p.GetFirstWorker()), p.GetFirstNumber()}
		}
		for _, f := range p.GetFrames() {
			if d := f.GetData(); len(d) < 34 || binary.BigEndian.Uint16(d[12:]) != 0x0800 || d[23] != 6 {
				continue
			}
			way := map[controlpb.TracedFrame_Kind]string{controlpb.TracedFrame_RECEIVED: " in", controlpb.TracedFrame_SENT: " out"}[f.GetKind()]
			all[id] = append(all[id], s.started.GetInterfaces()[f.GetInterface()]+way)
		}
	}
	return all
}

var (
	outwards = []string{"inside in", "ips-inside out", "ips-outside in", "outside out"}
	inwards  = []string{"outside in", "ips-outside out", "ips-inside in", "inside out"}
)

// TestATraceFollowsPacketsThroughAFunction has the kernel's bridge as the function, and two workers, of which either may get a packet back.
func TestATraceFollowsPacketsThroughAFunction(t *testing.T) {
	b := startBridged(t, watched)
	clients := connect(t, b.lan, "10.1.0.2", 20)
	exchange(t, clients, "before the trace")
	for _, oneIn := range []uint32{1, 5} {
		whole := 0
		s := traced(t, b.engine, oneIn, func() {
			for range 5 {
				exchange(t, clients, "while it is on")
			}
		})
		for id, way := range s.ways() {
			if slices.Equal(way, outwards) || slices.Equal(way, inwards) {
				whole++
			} else if oneIn == 1 {
				t.Errorf("packet %d of worker %d was seen at %q, want %q or %q", id[1], id[0], way, outwards, inwards)
			}
		}
		if least := 5 * len(clients) * 2 / int(oneIn) / 2; whole < least {
			t.Errorf("one in %d: %d packets were followed through the function, want %d at least", oneIn, whole, least)
		}
	}
}
