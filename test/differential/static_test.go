package differential

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// TestFixedTranslationsDoWhatTheUnmergedChainDoes runs random chains, each with a NAPT that has port forwards, addresses of their own for some
// hosts and, mostly, hairpinning, while time goes on between packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestFixedTranslations.*/^17$' -v
func TestFixedTranslationsDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared := 0
	for seed := range seeds(t, "SINTER_HOMES", scale(8, 3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "homes", draw: (*drawer).homes}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, scale(45_000, 8_000), true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
		})
	}
	t.Logf("%d packets", compared)
}

// someMappings are one of each kind.
var someMappings = element.StaticNAT{Mappings: []element.StaticMapping{
	{Inside: netip.PrefixFrom(addr4(10, 1, 2, 0), 28), Outside: netip.PrefixFrom(addr4(100, 66, 1, 0), 28)},
	{Inside: netip.PrefixFrom(addr4(10, 1, 3, 1), 32), Outside: netip.PrefixFrom(addr4(100, 65, 1, 1), 32)},
	{Proto: 6, Inside: netip.PrefixFrom(addr4(10, 1, 3, 2), 32), Outside: netip.PrefixFrom(addr4(100, 64, 1, 1), 32), InsidePort: 80, OutsidePort: 8080, Ports: 3},
	{Proto: 17, Inside: netip.PrefixFrom(addr4(10, 1, 3, 2), 32), Outside: netip.PrefixFrom(addr4(100, 64, 1, 1), 32), InsidePort: 5000, OutsidePort: 5000, Ports: 1},
}}

// TestANAPTWithFixedTranslationsKeepsItsStateOnOneWorker has three workers. What an ICMP error quotes may be translated otherwise than the packet
// that it is about, and the flow of a protocol without ports then has another shard: the error would be dropped as not-ours.
func TestANAPTWithFixedTranslationsKeepsItsStateOnOneWorker(t *testing.T) {
	needHarness(t)
	for name, c := range map[string]struct {
		turn    hairpinning
		mapping element.Dependence
	}{
		"none": {never, element.AddressAndPortDependent}, "fixed": {byFixed, element.AddressAndPortDependent}, "all": {byAll, element.AddressAndPortDependent},
		"fixed, shared ports": {byFixed, element.EndpointIndependent}, "all, shared ports": {byAll, element.EndpointIndependent},
	} {
		t.Run(name, func(t *testing.T) {
			b := new(builder)
			b.g.Chain = "home-" + name
			lan, wan := b.plainLinks()
			faces := b.router("rt", addr4(172, 16, 0, 1), 2, discards, []route{
				{prefix: netip.MustParsePrefix("10.0.0.0/8"), face: 0}, {prefix: netip.MustParsePrefix("0.0.0.0/0"), face: 1},
			})
			b.link(lan, faces[0])
			in, out := b.home("home", element.NAPT{
				Pool: []netip.Addr{addr4(100, 64, 1, 1)}, PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 16, Mapping: c.mapping, Filtering: c.mapping,
				Reserved: []element.Reserved{{Proto: 6, Addr: addr4(100, 64, 1, 1), First: 8080, Last: 8082}, {Proto: 17, Addr: addr4(100, 64, 1, 1), First: 5000, Last: 5000}},
			}, someMappings, c.turn)
			b.link(faces[1], in)
			b.link(out, wan)
			r, err := newRig(&b.g)
			if err != nil {
				t.Fatal(err)
			}
			r.workers, r.cut = 3, partitionByHost
			if err := r.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			stats, err := r.engine.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.engine.kill()
			if n := len(stats.GetShards()); n != 1 {
				t.Errorf("state is cut into %d, want one unit", n)
			}
			if err := r.drive(t.Context(), 1, scale(30_000, 6_000), true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			if n := r.stats.drops[notOurs]; n > 0 {
				t.Errorf("%d packets needed the state of two workers", n)
			}
		})
	}
}

// TestAPortThatIsForwardedEndsTheSessionThatHadIt forwards 200 ports of a NAPT's only address while sessions have them: these
// sessions end, in engine and oracle alike, and no other does. When the ports are free again, new sessions get them.
func TestAPortThatIsForwardedEndsTheSessionThatHadIt(t *testing.T) {
	needHarness(t)
	for _, mapping := range []element.Dependence{element.AddressAndPortDependent, element.AddressDependent, element.EndpointIndependent} {
		t.Run(mapping.String(), func(t *testing.T) {
			home := func(forwarded bool) *rig {
				b := new(builder)
				b.g.Chain = "home-of-forwards"
				lan, wan := b.plainLinks()
				n := element.NAPT{
					Pool: []netip.Addr{addr4(100, 64, 1, 1)}, PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 16, Mapping: mapping, Filtering: mapping,
				}
				e := someMappings
				if forwarded {
					for _, proto := range []uint8{6, 17} {
						e.Mappings = append(e.Mappings[:len(e.Mappings):len(e.Mappings)], element.StaticMapping{
							Proto: proto, Inside: netip.PrefixFrom(addr4(10, 1, 3, 9), 32), Outside: netip.PrefixFrom(n.Pool[0], 32),
							InsidePort: 30000, OutsidePort: 1100, Ports: 200,
						})
						n.Reserved = append(n.Reserved, element.Reserved{Proto: proto, Addr: n.Pool[0], First: 1100, Last: 1299})
					}
				}
				in, out := b.home("home", n, e, byFixed)
				b.link(lan, in)
				b.link(out, wan)
				r, err := newRig(&b.g)
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
func endSessionsByForwards(t *testing.T, home func(forwarded bool) *rig) {
	t.Helper()
	r := home(false)
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.engine.kill()
	now := time.Second
	run := func() {
		traffic := newTraffic(uint64(now), r.g, r.res.Program)
		for range scale(60, 20) {
			next := step{now: now}
			for range batch {
				next.packets = append(next.packets, traffic.next())
			}
			left, err := r.run(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range next.packets {
				traffic.saw(p, left[i])
			}
			now += 10 * time.Millisecond
		}
	}
	run()
	for _, forwarded := range []bool{true, false} {
		next := home(forwarded)
		encoded, err := program.Encode(next.res.Program)
		if err != nil {
			t.Fatal(err)
		}
		before := len(r.oracle.Sessions(now))
		loaded, err := r.load(t.Context(), encoded, next.res)
		if err != nil {
			t.Fatal(r.engine.died(err))
		}
		r.continueWith(next)
		ended := before - len(r.oracle.Sessions(now))
		if uint64(ended) != loaded.GetSessionsDropped() || forwarded != (ended > 0) || ended == before {
			t.Errorf("forwarded: %t: of %d sessions the engine ended %d, the oracle %d", forwarded, before, loaded.GetSessionsDropped(), ended)
		}
		run()
	}
	if err := r.finish(t.Context(), now); err != nil {
		t.Error(err)
	}
}
