package napt

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// TestFixedTranslationsDoWhatTheUnmergedChainDoes runs random chains, each with a NAPT that has port forwards, addresses of their own for some
// hosts and, mostly, hairpinning, while time goes on between packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/napt -run 'TestFixedTranslations.*/^17$' -v
func TestFixedTranslationsDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	compared := 0
	for seed := range rig.Seeds(t, "SINTER_HOMES", rig.Scale(8, 3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Shape{Name: "homes", Draw: (*draw.Drawer).Homes}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, rig.Scale(45_000, 8_000), true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			compared += r.Stats.Packets
		})
	}
	t.Logf("%d packets", compared)
}

// someMappings are one of each kind.
var someMappings = element.StaticNAT{Mappings: []element.StaticMapping{
	{Inside: netip.PrefixFrom(draw.Addr4(10, 1, 2, 0), 28), Outside: netip.PrefixFrom(draw.Addr4(100, 66, 1, 0), 28)},
	{Inside: netip.PrefixFrom(draw.Addr4(10, 1, 3, 1), 32), Outside: netip.PrefixFrom(draw.Addr4(100, 65, 1, 1), 32)},
	{
		Proto: 6, Inside: netip.PrefixFrom(draw.Addr4(10, 1, 3, 2), 32), Outside: netip.PrefixFrom(draw.Addr4(100, 64, 1, 1), 32),
		InsidePort: 80, OutsidePort: 8080, Ports: 3,
	},
	{
		Proto: 17, Inside: netip.PrefixFrom(draw.Addr4(10, 1, 3, 2), 32), Outside: netip.PrefixFrom(draw.Addr4(100, 64, 1, 1), 32),
		InsidePort: 5000, OutsidePort: 5000, Ports: 1,
	},
}}

// TestANAPTWithFixedTranslationsKeepsItsStateOnOneWorker has three workers. What an ICMP error quotes may be translated otherwise than the packet
// that it is about, and the flow of a protocol without ports then has another shard: the error would be dropped as not-ours.
func TestANAPTWithFixedTranslationsKeepsItsStateOnOneWorker(t *testing.T) {
	rig.NeedHarness(t)
	for name, c := range map[string]struct {
		turn    draw.Hairpinning
		mapping element.Dependence
	}{
		"none":                {draw.Never, element.AddressAndPortDependent},
		"fixed":               {draw.ByFixed, element.AddressAndPortDependent},
		"all":                 {draw.ByAll, element.AddressAndPortDependent},
		"fixed, shared ports": {draw.ByFixed, element.EndpointIndependent}, "all, shared ports": {draw.ByAll, element.EndpointIndependent},
	} {
		t.Run(name, func(t *testing.T) {
			b := new(draw.Builder)
			b.Graph.Chain = "home-" + name
			lan, wan := b.PlainLinks()
			faces := b.Router("rt", draw.Addr4(172, 16, 0, 1), 2, draw.Discards, []draw.Route{
				{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Face: 0}, {Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
			})
			b.Link(lan, faces[0])
			in, out := b.Home("home", element.NAPT{
				Pool: []netip.Addr{draw.Addr4(100, 64, 1, 1)}, PortMin: 1024, PortMax: 65535, Timeouts: draw.Timeouts, MaxSessions: 1 << 16,
				Mapping: c.mapping, Filtering: c.mapping,
				Reserved: []element.Reserved{
					{Proto: 6, Addr: draw.Addr4(100, 64, 1, 1), First: 8080, Last: 8082},
					{Proto: 17, Addr: draw.Addr4(100, 64, 1, 1), First: 5000, Last: 5000},
				},
			}, someMappings, c.turn)
			b.Link(faces[1], in)
			b.Link(out, wan)
			r, err := rig.New(&b.Graph)
			if err != nil {
				t.Fatal(err)
			}
			r.Workers, r.Cut = 3, rig.PartitionByHost
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			stats, err := r.Engine.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.Engine.Kill()
			if n := len(stats.GetShards()); n != 1 {
				t.Errorf("state is cut into %d, want one unit", n)
			}
			if err := r.Drive(t.Context(), 1, rig.Scale(30_000, 6_000), true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			if n := r.Stats.Drops[rig.NotOurs]; n > 0 {
				t.Errorf("%d packets needed the state of two workers", n)
			}
		})
	}
}

// TestAPortThatIsForwardedEndsTheSessionThatHadIt forwards 200 ports of a NAPT's only address while sessions have them: these
// sessions end, in engine and oracle alike, and no other does. When the ports are free again, new sessions get them.
func TestAPortThatIsForwardedEndsTheSessionThatHadIt(t *testing.T) {
	rig.NeedHarness(t)
	for _, mapping := range []element.Dependence{element.AddressAndPortDependent, element.AddressDependent, element.EndpointIndependent} {
		t.Run(mapping.String(), func(t *testing.T) {
			home := func(forwarded bool) *rig.Rig {
				b := new(draw.Builder)
				b.Graph.Chain = "home-of-forwards"
				lan, wan := b.PlainLinks()
				n := element.NAPT{
					Pool: []netip.Addr{draw.Addr4(100, 64, 1, 1)}, PortMin: 1024, PortMax: 65535, Timeouts: draw.Timeouts,
					MaxSessions: 1 << 16, Mapping: mapping, Filtering: mapping,
				}
				e := someMappings
				if forwarded {
					for _, proto := range []uint8{6, 17} {
						e.Mappings = append(e.Mappings[:len(e.Mappings):len(e.Mappings)], element.StaticMapping{
							Proto: proto, Inside: netip.PrefixFrom(draw.Addr4(10, 1, 3, 9), 32), Outside: netip.PrefixFrom(n.Pool[0], 32),
							InsidePort: 30000, OutsidePort: 1100, Ports: 200,
						})
						n.Reserved = append(n.Reserved, element.Reserved{Proto: proto, Addr: n.Pool[0], First: 1100, Last: 1299})
					}
				}
				in, out := b.Home("home", n, e, draw.ByFixed)
				b.Link(lan, in)
				b.Link(out, wan)
				r, err := rig.New(&b.Graph)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			endSessionsByForwards(t, home)
		})
	}
}

// endSessionsByForwards has traffic run through a chain without forwards, one with, and the first one again.
func endSessionsByForwards(t *testing.T, home func(forwarded bool) *rig.Rig) {
	t.Helper()
	r := home(false)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	now := time.Second
	run := func() {
		traffic := draw.NewTraffic(uint64(now), r.Graph, r.Result.Program)
		for range rig.Scale(60, 20) {
			next := rig.Step{Now: now}
			for range rig.Batch {
				next.Packets = append(next.Packets, traffic.Next())
			}
			left, err := r.Run(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range next.Packets {
				traffic.Saw(p, left[i])
			}
			now += 10 * time.Millisecond
		}
	}
	run()
	for _, forwarded := range []bool{true, false} {
		next := home(forwarded)
		encoded, err := program.Encode(next.Result.Program)
		if err != nil {
			t.Fatal(err)
		}
		before := len(r.Oracle.Sessions(now))
		loaded, err := r.Load(t.Context(), encoded, next.Result)
		if err != nil {
			t.Fatal(r.Engine.Died(err))
		}
		r.ContinueWith(next)
		ended := before - len(r.Oracle.Sessions(now))
		if uint64(ended) != loaded.GetSessionsDropped() || forwarded != (ended > 0) || ended == before {
			t.Errorf("forwarded: %t: of %d sessions the engine ended %d, the oracle %d", forwarded, before, loaded.GetSessionsDropped(), ended)
		}
		run()
	}
	if err := r.Finish(t.Context(), now); err != nil {
		t.Error(err)
	}
}
