package differential

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
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestLimitersDoWhatTheUnmergedChainDoes runs random chains, each with a limiter at least, while time goes on between packets. A seed
// by itself:
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestLimiters.*/^17$' -v
func TestLimitersDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	var sum limiter.Colours
	compared := 0
	for seed := range seeds(t, "SINTER_LIMITS", scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "limits", draw: (*drawer).limits}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
			for _, c := range limiter.ColoursOf(r.oracle.Chain) {
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

// limits is a line with one to three limiters among other functions.
func (d *drawer) limits() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("limiters", 1, 3) {
		left, right := drawLimiter(d, ends)
		d.link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.link(a, b)
}

// TestSubscribersHaveTheirRates has 300 hosts send more than their rate for ten seconds, through the engine and the oracle: they agree packet by packet,
// and each subscriber gets what it may.
func TestSubscribersHaveTheirRates(t *testing.T) {
	needHarness(t)
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
	g := inARow(t.Name(), 1, func(b *builder, _ int) (left, right side) {
		return b.through("lim", []element.Element{limit}, []element.Element{element.Counter{}})
	})
	r, err := newRig(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.engine.kill()
	passed := make([]int, hosts)
	now := time.Second
	for ; now < 11*time.Second; now += 40 * time.Millisecond { // 100 kbit/s each
		s := step{now: now}
		for h := range hosts {
			s.packets = append(s.packets, sent{0, packets.Ethernet(packets.MAC(g.Interfaces[0].MAC), packets.MAC{2}, nil, packets.EtherIPv4, packets.IPv4{
				Src: 0x0a000000 + uint32(h), Dst: 0x08080808, Proto: packets.ProtoUDP, TTL: 64,
				Payload: packets.UDP(0x0a000000+uint32(h), 0x08080808, 1, 2, make([]byte, length-28)),
			}.Bytes(), nil)})
		}
		left, err := r.run(t.Context(), s)
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
	if err := r.finish(context.Background(), now); err != nil {
		t.Error(err)
	}
	if err := r.engine.stop(); err != nil {
		t.Error(fmt.Errorf("engine: %w", err))
	}
	r.count(nil)
}
