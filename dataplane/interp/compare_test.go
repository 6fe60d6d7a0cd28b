package interp

import (
	"math/rand/v2"
	"net/netip"
	"slices"
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

// played has a chain play the engine: what it did with a frame, and what each of its NAPTs chose.
func played(c *Chain, now time.Duration, iface int, frame []byte, choose Chooser) Seen {
	var seen Seen
	seen.Result = c.Process(now, iface, frame, func(b Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		at, ok := choose(b, allowed)
		if ok {
			seen.Choices = append(seen.Choices, Choice{NAPTs: []string{b.Node}, Proto: b.Proto, Inside: b.Inside, Outside: at, Remote: b.Remote})
		}
		return at, ok
	})
	return seen
}

// joining makes choices those of an engine that keeps one session for the zones' NAPTs and the common one: nobody is told of the zones'.
type joining map[netip.AddrPort]Choice // by what the zone's NAPT chose

func (j joining) of(seen Seen) Seen {
	var told []Choice
	for _, c := range seen.Choices {
		if c.NAPTs[0] != "isp" {
			j[c.Outside] = c
			continue
		}
		if first, ok := j[c.Inside]; ok {
			c.NAPTs, c.Inside = []string{first.NAPTs[0], "isp"}, first.Inside
		}
		told = append(told, c)
	}
	seen.Choices = told
	return seen
}

// TestAnyOtherChoiceIsAdopted lets a chain with random choices play the engine: whatever it chooses, the
// oracle must follow, also for the packets that come later.
func TestAnyOtherChoiceIsAdopted(t *testing.T) {
	router := func() *builder { return nestedRouter(false) }
	for name, k := range map[string]struct {
		build            func() *builder
		overlaps, joined bool
	}{
		"one NAT":                        {build: func() *builder { return natted(pool()) }},
		"one NAT whose ports overlap":    {build: func() *builder { return natted(pool()) }, overlaps: true},
		"answers from behind":            {build: answering},
		"a firewall behind":              {build: guarded},
		"a firewall on the chosen port":  {build: portFirewall},
		"nested NATs":                    {build: nested},
		"nested NATs with one session":   {build: nested, joined: true},
		"and a router":                   {build: router},
		"and a router, with one session": {build: router, joined: true},
		"and ports overlap":              {build: router, overlaps: true},
		"and ports overlap, one session": {build: router, overlaps: true, joined: true},
		"of uneven timeouts":             {build: func() *builder { return nestedRouter(true) }},
		"the second of some":             {build: partlyNested},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			b := k.build()
			engine, oracle := b.chain(), b.chain()
			if k.overlaps {
				engine, oracle = b.overlapping(), b.overlapping()
			}
			now, outs, drops, join := time.Duration(0), 0, 0, joining{}
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
				seen := played(engine, now, zone, frame, randomly(rng))
				if k.joined {
					seen = join.of(seen)
				}
				if _, diff := oracle.ProcessAgainst(now, zone, frame, seen); len(diff) != 0 {
					t.Fatalf("packet %d at %v on interface %d: %v\nchoices %v", i, now, zone, diff, seen.Choices)
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
// unseen in the common NAPT.
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

// partlyNested is nested, but zone a's packets to other ports than 53 go out past the common NAPT.
func partlyNested() *builder {
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

// sentOutside is what an engine is said to have done: a UDP flow of natted has an endpoint, and its packet left.
func sentOutside(p, seen pkt, choices ...Choice) Seen {
	if choices == nil {
		choices = []Choice{choice(p, seen.src, seen.sport, "nat")}
	}
	return Seen{Result: Result{Out: []Out{{Interface: outside, Frame: sent(seen).frame()}}}, Choices: choices}
}

// choice is one for a UDP packet from inside.
func choice(p pkt, address string, port uint16, napts ...string) Choice {
	return Choice{
		NAPTs: napts, Proto: 17, Inside: netip.AddrPortFrom(ip("10.0.0.2"), p.sport), Outside: netip.AddrPortFrom(ip(address), port),
		Remote: netip.AddrPortFrom(ip("198.51.100.1"), p.dport),
	}
}

func kinds(diff []Mismatch) map[Kind]bool {
	k := map[Kind]bool{}
	for _, m := range diff {
		k[m.Kind] = true
	}
	return k
}

func TestAChoiceThatNothingAskedForIsToldAsOne(t *testing.T) {
	for name, c := range map[string]*Chain{
		"of a flow that has a session":  natted(pool()).chain(),
		"of a mapping that is there":    natted(behaving(element.EndpointIndependent, element.EndpointIndependent)).chain(),
		"of a NAPT that no packet sees": nested().chain(),
	} {
		t.Run(name, func(t *testing.T) {
			p, napts := udp(1, 53), []string{"nat"}
			seen := pkt{src: "192.0.2.10", sport: 2000, dport: 53}
			if c.linkNamed("b") >= 0 {
				napts = []string{"nat-b", "isp"}
			} else {
				follow(t, c, 0, p, seen)
			}
			if name == "of a mapping that is there" {
				p.dport, seen.dport = 54, 54
			}
			chose(t, c, 1, p, seen, []Choice{choice(p, "192.0.2.10", 2001, napts...)}, MismatchChoice)
		})
	}
}

func TestAChoiceThatTheNATDoesNotAllowIsToldAsOne(t *testing.T) {
	for name, seen := range map[string]pkt{
		"a port in use":           {src: "192.0.2.10", sport: 2003, dport: 53},
		"a port out of the range": {src: "192.0.2.10", sport: 2004, dport: 53},
		"an address out of pool":  {src: "192.0.2.11", sport: 2001, dport: 53},
	} {
		c := natted(pool()).chain()
		if _, diff := c.ProcessAgainst(0, inside, udp(1, 53).frame(), sentOutside(udp(1, 53), pkt{src: "192.0.2.10", sport: 2003, dport: 53})); len(diff) != 0 {
			t.Fatalf("an allowed choice is refused: %v", diff)
		}
		if _, diff := c.ProcessAgainst(0, inside, udp(2, 53).frame(), sentOutside(udp(2, 53), seen)); !kinds(diff)[MismatchChoice] {
			t.Errorf("%s: %v", name, diff)
		}
	}
}

func TestAnythingElseThanTheChoiceMustBeEqual(t *testing.T) {
	p := udp(1, 53)
	right := sentOutside(p, pkt{src: "192.0.2.10", sport: 2001, dport: 53})
	for name, seen := range map[string]Seen{
		"a wrong TTL":     sentOutside(p, pkt{src: "192.0.2.10", sport: 2001, dport: 53, ttl: 63}),
		"a wrong port":    sentOutside(p, pkt{src: "192.0.2.10", sport: 2001, dport: 54}),
		"not as chosen":   sentOutside(p, pkt{src: "192.0.2.10", sport: 2001, dport: 53}, choice(p, "192.0.2.10", 2002, "nat")),
		"nothing at all":  {Choices: right.Choices},
		"one frame twice": {Result: Result{Out: slices.Repeat(right.Out, 2)}, Choices: right.Choices},
	} {
		_, diff := natted(pool()).chain().ProcessAgainst(0, inside, p.frame(), seen)
		if !kinds(diff)[MismatchOutput] {
			t.Errorf("%s: %v", name, diff)
		}
	}
	_, diff := natted(pool()).chain().ProcessAgainst(0, inside, p.frame(), Seen{Result: Result{Drops: []Drop{{"deny"}}}, Choices: right.Choices})
	if k := kinds(diff); !k[MismatchDrops] || !k[MismatchOutput] {
		t.Errorf("a packet dropped that should leave: %v", diff)
	}
}

func TestAnEngineMayRunOutOfPortsEarlierAndThatIsTold(t *testing.T) {
	c := natted(pool()).chain()
	_, diff := c.ProcessAgainst(0, inside, udp(1, 53).frame(), Seen{Result: Result{Drops: []Drop{{"nat-exhausted"}}}})
	if k := kinds(diff); len(k) != 1 || !k[MismatchExhausted] {
		t.Fatalf("got %v, want only the kind exhausted", diff)
	}
	if len(c.Sessions(0)) != 0 {
		t.Error("the oracle kept a binding that the engine has not")
	}
}

// TestANAPTWithoutPortsIsNoMismatch has a NAPT of the chain run out.
func TestANAPTWithoutPortsIsNoMismatch(t *testing.T) {
	c := natted(pool()).chain()
	for i := range uint16(4) {
		follow(t, c, 0, udp(1+i, 53), pkt{src: "192.0.2.10", sport: 2000 + i, dport: 53})
	}
	if _, diff := c.ProcessAgainst(0, inside, udp(5, 53).frame(), Seen{Result: Result{Drops: []Drop{{"nat-exhausted"}}}}); len(diff) != 0 {
		t.Error(diff)
	}
}

func TestComparingDoesNotCountTwice(t *testing.T) {
	b := natted(pool())
	n := len(b.g.Nodes) - 1
	count := b.add("count", element.Counter{})
	b.wire(n, element.NAPTOutside, count, 0)
	b.wire(count, 0, b.out(outside), 0)
	c := b.chain()
	c.ProcessAgainst(0, inside, udp(1, 53).frame(), sentOutside(udp(1, 53), pkt{src: "192.0.2.10", sport: 2003, dport: 53}))
	if got := c.Counters()["count"].Packets; got != 1 {
		t.Errorf("one packet counted %d times", got)
	}
}

// copied is inside ⇄ NAPT ⇄ tee to the outside interface twice, once with TTL 7, and then to the inside one.
func copied() *builder {
	b := natted(pool())
	b.g.Interfaces[inside].Gateway = ip("10.0.0.2")
	tee, ttl := b.add("tee", element.Tee{Outs: 3}), b.add("ttl", element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)})
	b.wire(b.node("nat"), element.NAPTOutside, tee, 0)
	b.wire(tee, 0, b.out(outside), 0)
	b.wire(tee, 1, ttl, 0)
	b.wire(ttl, 0, b.out(outside), 0)
	b.wire(tee, 2, b.out(inside), 0)
	return b
}

func TestOnlyFramesOfTheSameInterfaceHaveAnOrder(t *testing.T) {
	p := udp(1, 53)
	first, second := pkt{src: "192.0.2.10", sport: 2002, dport: 53}, pkt{src: "192.0.2.10", sport: 2002, dport: 53}
	second.ttl = 7
	a := Out{Interface: outside, Frame: sent(first).frame()}
	b := Out{Interface: outside, Frame: sent(second).frame()}
	c := Out{Interface: inside, Frame: delivered(first).frame()}
	for name, k := range map[string]struct {
		seen []Out
		want Kind
	}{
		"as the chain sends":                {[]Out{a, b, c}, ""},
		"the other interface first":         {[]Out{c, a, b}, ""},
		"the other interface between":       {[]Out{a, c, b}, ""},
		"two of an interface the wrong way": {[]Out{c, b, a}, MismatchOrder},
		"one missing":                       {[]Out{a, c}, MismatchOutput},
	} {
		t.Run(name, func(t *testing.T) {
			order := []int{}
			for _, o := range k.seen {
				order = append(order, o.Interface)
			}
			chain := copied().chain()
			_, diff := chain.ProcessAgainst(0, inside, p.frame(), Seen{Result: Result{Out: k.seen}, Choices: []Choice{choice(p, "192.0.2.10", 2002, "nat")}})
			if got := kinds(diff); k.want == "" && len(diff) != 0 || k.want != "" && (len(diff) != 1 || !got[k.want]) {
				t.Errorf("want kind %q, got %v", k.want, diff)
			}
			for i, o := range k.seen {
				if o.Interface != order[i] {
					t.Fatal("the caller's list was sorted")
				}
			}
			if s := chain.Sessions(time.Second); len(s) != 1 || s[0].Outside != netip.MustParseAddrPort("192.0.2.10:2002") {
				t.Errorf("bindings %v, want the port that was chosen", s)
			}
		})
	}
}

func TestAFlowToAnEndpointThatItIsGivenItselfComesBack(t *testing.T) {
	e := pool()
	e.PortMax = 2999
	b := natted(e)
	n := b.node("nat")
	own := b.add("own", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{{Prefix: prefix("192.0.2.10/32"), Out: 0}}})
	b.wire(n, element.NAPTOutside, own, 0)
	b.wire(own, 0, n, element.NAPTOutside)
	b.wire(own, 1, b.out(outside), 0)
	for name, k := range map[string]struct{ src, chosen string }{
		"to its host":                 {"10.0.0.2", "192.0.2.10:2502"},
		"to a host that nobody knows": {"172.20.0.9", "192.0.2.10:2502"},
		"but not by another endpoint": {"10.0.0.2", "192.0.2.10:2503"},
		"but not a host nobody knows": {"172.20.0.9", "192.0.2.10:2503"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := pkt{src: k.src, dst: "192.0.2.10", sport: 1, dport: 2502}.frame()
			seen := played(b.chain(), 0, inside, frame, choosing(k.chosen))
			if _, diff := b.chain().ProcessAgainst(0, inside, frame, seen); len(diff) != 0 {
				t.Fatalf("%v, of %v", diff, seen.Drops)
			}
		})
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
