package limits

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	limiter "github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestLimitersDoWhatTheUnmergedChainDoes runs random chains, each with a limiter at least, while time goes on between packets. A seed
// by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/limits -run 'TestLimiters.*/^17$' -v
func TestLimitersDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	var sum limiter.Colours
	compared := 0
	for seed := range rig.Seeds(t, "SINTER_LIMITS", rig.Scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Shape{Name: "limits", Draw: (*draw.Drawer).Limits}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			compared += r.Stats.Packets
			for _, c := range limiter.ColoursOf(r.Oracle.Chain) {
				add := func(to *interp.Count, n interp.Count) { to.Packets, to.Bytes = to.Packets+n.Packets, to.Bytes+n.Bytes }
				add(&sum.Green, c.Green)
				add(&sum.Yellow, c.Yellow)
				add(&sum.Red, c.Red)
			}
		})
	}
	t.Logf("%d packets; measured as green %d, yellow %d, red %d", compared, sum.Green.Packets, sum.Yellow.Packets, sum.Red.Packets)
	all := sum.Green.Packets + sum.Yellow.Packets + sum.Red.Packets
	if least := all / 100; !t.Failed() && (sum.Green.Packets < least || sum.Yellow.Packets < least || sum.Red.Packets < least || all == 0) {
		t.Errorf("%+v: the chains want some packets of each colour", sum)
	}
}

// TestSubscribersHaveTheirRates has 300 hosts send more than their rate for ten seconds, through the engine and the oracle: they agree packet by packet,
// and each subscriber gets what it may.
func TestSubscribersHaveTheirRates(t *testing.T) {
	rig.NeedHarness(t)
	const (
		hosts  = 300
		rate   = 80_000 // bit/s
		burst  = 3000   // bytes
		length = 500    // of IP
	)
	limit := element.Meter{
		Rate: rate, Burst: burst * 8, Red: element.MeterAction{Drop: "exceeded"},
		Subscribers: element.Subscribers{PrefixLen: 32, Max: 1 << 16},
	}
	g := draw.InARow(t.Name(), 1, func(b *draw.Builder, _ int) (left, right draw.Side) {
		return b.Through("lim", []element.Element{limit}, []element.Element{element.Counter{}})
	})
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	passed := make([]int, hosts)
	now := time.Second
	for ; now < 11*time.Second; now += 40 * time.Millisecond { // 100 kbit/s each
		s := rig.Step{Now: now}
		for h := range hosts {
			ip := packets.IPv4{
				Src: 0x0a000000 + uint32(h), Dst: 0x08080808, Proto: packets.ProtoUDP, TTL: 64,
				Payload: packets.UDP(0x0a000000+uint32(h), 0x08080808, 1, 2, make([]byte, length-28)),
			}
			frame := packets.Ethernet(packets.MAC(g.Interfaces[0].MAC), packets.MAC{2}, nil, packets.EtherIPv4, ip.Bytes(), nil)
			s.Packets = append(s.Packets, draw.Sent{Iface: 0, Frame: frame})
		}
		left, err := r.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for h := range hosts {
			passed[h] += len(left[h])
		}
	}
	want := (rate*10/8 + burst) / length
	for h, n := range passed {
		if n < want-1 || n > want {
			t.Errorf("host %d sent %d packets through, want %d", h, n, want)
		}
	}
	if err := r.Finish(context.Background(), now); err != nil {
		t.Error(err)
	}
	if err := r.Engine.Stop(); err != nil {
		t.Error(fmt.Errorf("engine: %w", err))
	}
	r.Count(nil)
}
