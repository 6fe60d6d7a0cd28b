package stateful

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/flows"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	monitor "github.com/sinter-nfv/sinter/dataplane/module/monitor/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestTheHeaviestFlowsAreThoseOfTheUnmergedChain has Zipf traffic, in both directions of a NAPT behind a monitor, on three workers. With room for all, the
// engine's lists are the oracle's counts; without, they keep the bounds.
func TestTheHeaviestFlowsAreThoseOfTheUnmergedChain(t *testing.T) {
	rig.NeedHarness(t)
	for _, entries := range []int{element.MostEntries, 64} {
		t.Run(fmt.Sprint(entries, " entries"), func(t *testing.T) {
			mon := draw.Observation("mon", entries)
			g := draw.InARow(t.Name(), 2, func(b *draw.Builder, i int) (left, right draw.Side) {
				if i == 0 {
					return b.Through("mon", []element.Element{mon}, []element.Element{mon})
				}
				return draw.OneNAPT(b, i)
			})
			r, err := rig.New(g)
			if err != nil {
				t.Fatal(err)
			}
			r.Workers, r.Cache = 3, rig.ManyDecisions
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.Engine.Kill()
			now := zipf(t, r, rig.Scale(30_000, 6_000))
			if err := r.Finish(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			compareTops(t, r, "mon", entries == element.MostEntries)
		})
	}
}

// zipf sends packets of flows of which few have most, and each as often back.
func zipf(t *testing.T, r *rig.Rig, n int) time.Duration {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	law := rand.NewZipf(random, 1.1, 1, 3000)
	remotes := []string{"8.8.8.8:53", "8.8.4.4:443", "9.9.9.9:53"}
	now := time.Second
	for sent := 0; sent < n; sent += 32 {
		now += time.Millisecond
		s := rig.Step{Now: now, Moves: r.DrawMoves(random)}
		for range 32 {
			k := int(law.Uint64())
			src := netip.AddrPortFrom(draw.Addr4(10, 0, k%7, k/7%200), uint16(2000+k/1400))
			s.Packets = append(s.Packets, draw.UDP(r.Graph, 0, src, netip.MustParseAddrPort(remotes[k%len(remotes)])))
		}
		left, err := r.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		now += time.Millisecond
		back := rig.Step{Now: now, Moves: r.DrawMoves(random)}
		for _, out := range left {
			for _, f := range out {
				e := rig.EndsOf(t, f)
				back.Packets = append(back.Packets, draw.UDP(r.Graph, 1, e[1], e[0]))
			}
		}
		if _, err := r.Run(t.Context(), back); err != nil {
			t.Fatal(err)
		}
	}
	return now
}

// compareTops compares the lists of an observation with what the oracle counted.
func compareTops(t *testing.T, r *rig.Rig, name string, exact bool) {
	t.Helper()
	list, err := r.Engine.Top(t.Context(), &programpb.GetTop{Limit: element.MostEntries, Running: true})
	if err != nil {
		t.Fatal(r.Engine.Died(err))
	}
	tops, err := flows.Merge([]*programpb.TopList{list}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range []func(monitor.Observed) flows.Row{
		func(o monitor.Observed) flows.Row {
			return flows.Row{Source: host(o.Src), Destination: host(o.Dst), Protocol: o.Proto, SourcePort: o.Src.Port(), DestinationPort: o.Dst.Port()}
		},
		func(o monitor.Observed) flows.Row { return flows.Row{Source: host(o.Src)} },
		func(o monitor.Observed) flows.Row {
			return flows.Row{Destination: netip.PrefixFrom(o.Dst.Addr(), 24).Masked()}
		},
	} {
		want := map[flows.Row]interp.Count{}
		for o, n := range monitor.ObservedBy(r.Oracle.Chain, name) {
			k := by(o)
			want[k] = interp.Count{Packets: want[k].Packets + n.Packets, Bytes: want[k].Bytes + n.Bytes}
		}
		got := tops.Lists[i]
		if exact && len(got.Rows) != len(want) {
			t.Errorf("list %d has %d rows, want %d", i, len(got.Rows), len(want))
		}
		for _, row := range got.Rows {
			k := row
			k.Bytes, k.Error, k.Packets = 0, 0, 0
			n, ok := want[k]
			if !ok || row.Bytes < n.Bytes || row.Bytes-row.Error > n.Bytes || row.Packets > n.Packets || exact && (row.Error > 0 || row.Packets != n.Packets) {
				t.Errorf("list %d: the engine has %+v, the oracle %+v", i, row, n)
			}
			delete(want, k)
		}
		for k, n := range want {
			if n.Bytes > got.Unlisted {
				t.Errorf("list %d: %+v has %d bytes and is not listed; told is that no such has more than %d", i, k, n.Bytes, got.Unlisted)
			}
		}
		if !slices.IsSortedFunc(got.Rows, func(a, b flows.Row) int { return cmp.Compare(b.Bytes, a.Bytes) }) {
			t.Errorf("list %d is not sorted", i)
		}
	}
}

func host(a netip.AddrPort) netip.Prefix { return netip.PrefixFrom(a.Addr(), 32) }

// observes compares what engine and oracle observed at the end, and wants so many packets.
func observes(p *rig.Pair, want uint64) {
	p.Helper()
	if err := p.Rig.Finish(p.Context(), p.Now); err != nil {
		p.Error(err)
	}
	var all uint64
	for _, n := range monitor.ObservedBy(p.Rig.Oracle.Chain, "mon") {
		all += n.Packets
	}
	if all != want {
		p.Errorf("%d packets were observed, want %d", all, want)
	}
}

// TestAPacketThatIsCopiedIsObservedOnce mirrors a class of a monitor that notes flows.
func TestAPacketThatIsCopiedIsObservedOnce(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  - {name: tap, address: 198.51.100.1/30, gateway: 198.51.100.2}
  functions:
  - name: mon
    monitor:
      classes: [{name: dns, protocol: udp, mirror: {to: tap}}]
      top: {by: [Flow]}
  path: [inside, mon, outside]
  links:
  - {from: mon.tap, to: tap, direction: Forward}
`)
	for range 3 {
		p.Send("inside", draw.UDPTo("10.0.0.9", "8.8.8.8", 53))
	}
	observes(p, 3)
}

// TestAFlowThatComesByTwiceIsObservedTwice has a router behind the monitor send packets back.
func TestAFlowThatComesByTwiceIsObservedTwice(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: mon, monitor: {top: {by: [Flow]}}}
  - name: rt
    router: {routes: [{prefix: 0.0.0.0/0, port: outside}, {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}]}
  path: [inside, mon, rt, outside]
`)
	for range 5 {
		p.Wants("inside", draw.UDPTo("10.0.0.9", "10.5.0.7", 53), "inside: 10.0.0.9 > 10.5.0.7 ttl 63 udp 40000 > 53")
	}
	observes(p, 10)
}
