package interp

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// randomly chooses any free port.
func randomly(rng *rand.Rand) Chooser {
	return func(b Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		addrs := map[string]netip.Addr{"nat-a": ip("100.64.0.1"), "nat-b": ip("100.64.0.2")}
		a, ok := addrs[b.Node]
		if !ok {
			a = ip("192.0.2.10")
		}
		for _, i := range rng.Perm(64) {
			if at := netip.AddrPortFrom(a, 2000+uint16(i)); allowed(at) {
				return at, true
			}
		}
		return netip.AddrPort{}, false
	}
}

// TestAnyOtherChoiceIsAdopted lets a chain with random choices play the engine: whatever it chooses, the
// oracle must follow, also for the packets that come later.
func TestAnyOtherChoiceIsAdopted(t *testing.T) {
	for name, build := range map[string]func() *builder{
		"one NAT whose ports overlap": func() *builder { return natted(pool()) }, "nested NATs and a router, and ports overlap": func() *builder { return nestedRouter(false) },
		"one NAT": func() *builder { return natted(pool()) }, "nested NATs": nested, "answers from behind": answering,
		"nested NATs and a router": func() *builder { return nestedRouter(false) }, "nested NATs of uneven timeouts": func() *builder { return nestedRouter(true) }, "a firewall behind": guarded, "a firewall on the chosen port": portFirewall,
		"a NAT whose choices the next hides only of some": partlyHidden,
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			b := build()
			engine, oracle := b.chain(), b.chain()
			if strings.HasSuffix(name, "overlap") {
				engine, oracle = b.overlapping(), b.overlapping()
			}
			now, outs, drops := time.Duration(0), 0, 0
			for i := range 20000 {
				now += time.Duration(rng.Int64N(int64(2 * time.Second)))
				zone := 2 * rng.IntN(len(b.g.Interfaces)-1)
				p := []pkt{{}, {proto: 6, flags: []string{"S", "A", "F"}[rng.IntN(3)]}, ping(0)}[rng.IntN(3)]
				p.ttl = uint8(1 + rng.IntN(2))
				p.sport, p.dport = uint16(1+rng.IntN(3)), uint16(53+rng.IntN(2))
				p.to = engine.links[zone].mac
				if rng.IntN(2) == 0 {
					zone = outside
					p.src, p.dst, p.to = "198.51.100.1", []string{"192.0.2.10", "100.64.0.1"}[rng.IntN(2)], outsideMAC
					p.sport, p.dport = p.dport, 2000+uint16(rng.IntN(4))
					if p.proto == 1 {
						p.icmp = echoReply
					}
				}
				frame := p.frame()
				seen := engine.Process(now, zone, frame, randomly(rng))
				if _, diff := oracle.ProcessAgainst(now, zone, frame, seen); len(diff) != 0 {
					t.Fatalf("packet %d at %v on interface %d: %v", i, now, zone, diff)
				}
				outs, drops = outs+len(seen.Out), drops+len(seen.Drops)
			}
			if outs < 1000 || drops < 1000 {
				t.Errorf("the traffic is one-sided: %d out, %d dropped", outs, drops)
			}
		})
	}
}

// nestedRouter is nested with a router behind the common NAPT, whose answers go back. If uneven, zone a's entries
// end sooner than the common NAPT's, zone b's later; and pools are large, for what zone a forgets first lives on
// unseen in the common NAPT and how many ports that takes depends on choices that nobody sees.
func nestedRouter(uneven bool) *builder {
	b := nested()
	ttl, answer := b.add("rt/ttl", element.DecTTL{}), b.add("rt/expired", element.ICMPError{Type: 11, Source: ip("192.0.2.1")})
	for i, n := range b.g.Nodes {
		e, ok := n.Element.(element.NAPT)
		if !ok {
			continue
		}
		if n.Name == "isp" {
			b.wire(i, element.NAPTOutside, ttl, 0)
			b.wire(answer, 0, i, element.NAPTOutside)
		}
		if uneven {
			e.PortMax = 2063
			e.Timeouts.UDP = map[string]time.Duration{"nat-a": 15 * time.Second, "isp": 20 * time.Second, "nat-b": 30 * time.Second}[n.Name]
			b.g.Nodes[i].Element = e
		}
	}
	b.wire(ttl, element.TTLAlive, b.out(outside), 0)
	b.wire(ttl, element.TTLExpired, answer, 0)
	return b
}

// partlyHidden is nested, but zone a's packets to other ports than 53 go out past the common NAPT.
func partlyHidden() *builder {
	b := nested()
	isp, natA := b.node("isp"), b.node("nat-a")
	past := b.add("past", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "dns", Filters: []headerspace.Filter{filter(headerspace.DPort, one(53))}},
	}})
	b.wire(natA, element.NAPTOutside, past, 0)
	b.wire(past, 0, isp, element.NAPTInside)
	b.wire(past, 1, b.out(outside), 0)
	back := b.add("back", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{{Prefix: prefix("100.64.0.1/32"), Out: 0}}})
	b.wire(b.in(outside), 0, back, 0)
	b.wire(back, 0, natA, element.NAPTOutside)
	b.wire(back, 1, isp, element.NAPTOutside)
	return b
}

// portFirewall lets only translated ports from 2050 on pass, of 64.
func portFirewall() *builder {
	e := pool()
	e.PortMax = 2063
	b := natted(e)
	n := len(b.g.Nodes) - 1
	fw := b.add("fw", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "high", Filters: []headerspace.Filter{filter(headerspace.SPort, headerspace.Range(2050, 65536))}},
	}})
	b.wire(n, element.NAPTOutside, fw, 0)
	b.wire(fw, 0, b.out(outside), 0)
	b.wire(fw, 1, b.add("fw/deny", element.Discard{Reason: "deny"}), 0)
	return b
}

// seenFrame is what an engine is said to have sent outside.
func seenFrame(p pkt) Result { return Result{Out: []Out{{Interface: outside, Frame: sent(p).frame()}}} }

func kinds(diff []Mismatch) map[Kind]bool {
	k := map[Kind]bool{}
	for _, m := range diff {
		k[m.Kind] = true
	}
	return k
}

func TestAChoiceThatTheNATDoesNotAllowIsToldAsOne(t *testing.T) {
	c := natted(pool()).chain()
	_, diff := c.ProcessAgainst(0, inside, udp(1, 53).frame(), seenFrame(pkt{src: "192.0.2.10", sport: 2003, dport: 53}))
	if len(diff) != 0 {
		t.Fatalf("an allowed choice is refused: %v", diff)
	}
	for name, seen := range map[string]pkt{
		"a port in use":           {src: "192.0.2.10", sport: 2003, dport: 53},
		"a port out of the range": {src: "192.0.2.10", sport: 2004, dport: 53},
		"an address out of pool":  {src: "192.0.2.11", sport: 2001, dport: 53},
	} {
		_, diff := c.ProcessAgainst(0, inside, udp(2, 53).frame(), seenFrame(seen))
		if !kinds(diff)[MismatchChoice] {
			t.Errorf("%s: %v", name, diff)
		}
		c = natted(pool()).chain()
		c.ProcessAgainst(0, inside, udp(1, 53).frame(), seenFrame(pkt{src: "192.0.2.10", sport: 2003, dport: 53}))
	}
}

func TestAnythingElseThanTheChoiceMustBeEqual(t *testing.T) {
	for name, seen := range map[string]Result{
		"a wrong TTL":     seenFrame(pkt{src: "192.0.2.10", sport: 2001, dport: 53, ttl: 63}),
		"a wrong port":    seenFrame(pkt{src: "192.0.2.10", sport: 2001, dport: 54}),
		"nothing at all":  {},
		"one frame twice": {Out: append(seenFrame(pkt{src: "192.0.2.10", sport: 2001, dport: 53}).Out, seenFrame(pkt{src: "192.0.2.10", sport: 2001, dport: 53}).Out...)},
	} {
		_, diff := natted(pool()).chain().ProcessAgainst(0, inside, udp(1, 53).frame(), seen)
		if !kinds(diff)[MismatchOutput] {
			t.Errorf("%s: %v", name, diff)
		}
	}
	_, diff := natted(pool()).chain().ProcessAgainst(0, inside, udp(1, 53).frame(), Result{Drops: []Drop{{"deny"}}})
	if k := kinds(diff); !k[MismatchDrops] || !k[MismatchOutput] {
		t.Errorf("a packet dropped that should leave: %v", diff)
	}
}

func TestAnEngineMayRunOutOfPortsEarlierAndThatIsTold(t *testing.T) {
	c := natted(pool()).chain()
	_, diff := c.ProcessAgainst(0, inside, udp(1, 53).frame(), Result{Drops: []Drop{{"nat-exhausted"}}})
	if k := kinds(diff); len(k) != 1 || !k[MismatchExhausted] {
		t.Fatalf("got %v, want only the kind exhausted", diff)
	}
	if len(c.Sessions(0)) != 0 {
		t.Error("the oracle kept a binding that the engine has not")
	}
}

func TestComparingDoesNotCountTwice(t *testing.T) {
	b := natted(pool())
	n := len(b.g.Nodes) - 1
	count := b.add("count", element.Counter{})
	b.wire(n, element.NAPTOutside, count, 0)
	b.wire(count, 0, b.out(outside), 0)
	c := b.chain()
	c.ProcessAgainst(0, inside, udp(1, 53).frame(), seenFrame(pkt{src: "192.0.2.10", sport: 2003, dport: 53}))
	if got := c.Counters()["count"].Packets; got != 1 {
		t.Errorf("one packet counted %d times", got)
	}
}

func BenchmarkRouterAndNAT(b *testing.B) {
	c := answering().chain()
	frame := udp(1000, 53).frame()
	b.ReportAllocs()
	for range b.N {
		c.Process(0, inside, frame, nil)
	}
}

func BenchmarkFirewallOf8000Rules(b *testing.B) {
	e := element.Classifier{Outs: 1}
	for i := range 8000 {
		f := filter(headerspace.Src, headerspace.Prefix(netip.PrefixFrom(addr(uint32(i)<<12), 20))).And(headerspace.DPort, one(uint64(i)))
		e.Rules = append(e.Rules, element.Rule{Name: "r", Filters: []headerspace.Filter{f}})
	}
	c := oneElement(e)
	frame := udp(1000, 53).frame()
	for range b.N {
		c.Process(0, inside, frame, nil)
	}
}
