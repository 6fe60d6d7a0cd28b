package oracle_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
)

// randomly chooses any free port.
func randomly(rng *rand.Rand) interp.Chooser {
	return func(b pass.Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		addrs := map[string]netip.Addr{"nat-a": testbed.Addr("100.64.0.1"), "nat-b": testbed.Addr("100.64.0.2")}
		a, ok := addrs[b.Node]
		if !ok {
			a = testbed.Addr("192.0.2.10")
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
func played(c *interp.Chain, now time.Duration, iface int, frame []byte, choose interp.Chooser) interp.Seen {
	var seen interp.Seen
	seen.Result = c.Process(now, iface, frame, func(b pass.Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
		at, ok := choose(b, allowed)
		if ok {
			seen.Told = append(seen.Told, oracle.Choice{NAPTs: []string{b.Node}, Proto: b.Proto, Inside: b.Inside, Outside: at, Remote: b.Remote})
		}
		return at, ok
	})
	return seen
}

// joining makes choices those of an engine that keeps one session for the zones' NAPTs and the common one: nobody is told of the zones'.
type joining map[netip.AddrPort]oracle.Choice // by what the zone's NAPT chose

func (j joining) of(seen interp.Seen) interp.Seen {
	var told []pass.Told
	for _, of := range seen.Told {
		c := of.(oracle.Choice)
		if c.NAPTs[0] != "isp" {
			j[c.Outside] = c
			continue
		}
		if first, ok := j[c.Inside]; ok {
			c.NAPTs, c.Inside = []string{first.NAPTs[0], "isp"}, first.Inside
		}
		told = append(told, c)
	}
	seen.Told = told
	return seen
}

// TestAnyOtherChoiceIsAdopted lets a chain with random choices play the engine: whatever it chooses, the
// oracle must follow, also for the packets that come later.
func TestAnyOtherChoiceIsAdopted(t *testing.T) {
	router := func() *testbed.Builder { return nestedRouter(false) }
	for name, k := range map[string]struct {
		build            func() *testbed.Builder
		overlaps, joined bool
	}{
		"one NAT":                        {build: func() *testbed.Builder { return testbed.Natted(testbed.Pool()) }},
		"one NAT whose ports overlap":    {build: func() *testbed.Builder { return testbed.Natted(testbed.Pool()) }, overlaps: true},
		"answers from behind":            {build: testbed.Answering},
		"a firewall behind":              {build: guarded},
		"a firewall on the chosen port":  {build: portFirewall},
		"nested NATs":                    {build: nested},
		"nested NATs with one session":   {build: nested, joined: true},
		"and a router":                   {build: router},
		"and a router, with one session": {build: router, joined: true},
		"and ports overlap":              {build: router, overlaps: true},
		"and ports overlap, one session": {build: router, overlaps: true, joined: true},
		"of uneven timeouts":             {build: func() *testbed.Builder { return nestedRouter(true) }},
		"the second of some":             {build: partlyNested},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			b := k.build()
			engine, oracle := start(&b.Graph), start(&b.Graph)
			if k.overlaps {
				engine, oracle = overlapping(b), overlapping(b)
			}
			now, outs, drops, join := time.Duration(0), 0, 0, joining{}
			for i := range 20000 {
				now += time.Duration(rng.Int64N(int64(2 * time.Second)))
				zone := 2 * rng.IntN(len(b.Graph.Interfaces)-1)
				p := []testbed.Packet{{}, {Proto: 6, Flags: []string{"S", "A", "F"}[rng.IntN(3)]}, testbed.Ping(0)}[rng.IntN(3)]
				p.TTL = uint8(1 + rng.IntN(2))
				p.Sport, p.Dport = uint16(1+rng.IntN(3)), uint16(53+rng.IntN(2))
				p.To = macOf(zone)
				if rng.IntN(2) == 0 {
					zone = testbed.Outside
					p.Src, p.Dst, p.To = "198.51.100.1", []string{"192.0.2.10", "100.64.0.1"}[rng.IntN(2)], testbed.OutsideMAC
					p.Sport, p.Dport = p.Dport, 2000+uint16(rng.IntN(4))
					if p.Proto == 1 {
						p.ICMP = testbed.EchoReply
					}
				}
				frame := p.Frame()
				seen := played(engine, now, zone, frame, randomly(rng))
				if k.joined {
					seen = join.of(seen)
				}
				if _, diff := oracle.ProcessAgainst(now, zone, frame, seen); len(diff) != 0 {
					t.Fatalf("packet %d at %v on interface %d: %v\nchoices %v", i, now, zone, diff, seen.Told)
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
func nestedRouter(uneven bool) *testbed.Builder {
	b := nested()
	ttl, answer := b.Add("rt/ttl", element.DecTTL{}), b.Add("rt/expired", element.ICMPError{Type: 11, Source: testbed.Addr("192.0.2.1")})
	for i, n := range b.Graph.Nodes {
		e, ok := n.Element.(element.NAPT)
		if !ok {
			continue
		}
		if n.Name == "isp" {
			b.Wire(i, element.NAPTOutside, ttl, 0)
			b.Wire(answer, 0, i, element.NAPTOutside)
		}
		if uneven {
			e.PortMax = 2063
			e.Timeouts.UDP = map[string]time.Duration{"nat-a": 15 * time.Second, "isp": 20 * time.Second, "nat-b": 30 * time.Second}[n.Name]
			b.Graph.Nodes[i].Element = e
		}
	}
	b.Wire(ttl, element.TTLAlive, b.Out(testbed.Outside), 0)
	b.Wire(ttl, element.TTLExpired, answer, 0)
	return b
}

// partlyNested is nested, but zone a's packets to other ports than 53 go out past the common NAPT.
func partlyNested() *testbed.Builder {
	b := nested()
	isp, natA := b.Node("isp"), b.Node("nat-a")
	past := b.Add("past", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "dns", Filters: []headerspace.Filter{testbed.Filter(headerspace.DPort, testbed.One(53))}},
	}})
	b.Wire(natA, element.NAPTOutside, past, 0)
	b.Wire(past, 0, isp, element.NAPTInside)
	b.Wire(past, 1, b.Out(testbed.Outside), 0)
	back := b.Add("back", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{{Prefix: testbed.Prefix("100.64.0.1/32"), Out: 0}}})
	b.Wire(b.In(testbed.Outside), 0, back, 0)
	b.Wire(back, 0, natA, element.NAPTOutside)
	b.Wire(back, 1, isp, element.NAPTOutside)
	return b
}

// portFirewall lets only translated ports from 2050 on pass, of 64.
func portFirewall() *testbed.Builder {
	e := testbed.Pool()
	e.PortMax = 2063
	b := testbed.Natted(e)
	n := len(b.Graph.Nodes) - 1
	fw := b.Add("fw", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "high", Filters: []headerspace.Filter{testbed.Filter(headerspace.SPort, headerspace.Range(2050, 65536))}},
	}})
	b.Wire(n, element.NAPTOutside, fw, 0)
	b.Wire(fw, 0, b.Out(testbed.Outside), 0)
	b.Wire(fw, 1, b.Add("fw/deny", element.Discard{Reason: "deny"}), 0)
	return b
}

// sentOutside is what an engine is said to have done: a UDP flow of natted has an endpoint, and its packet left.
func sentOutside(p, seen testbed.Packet, choices ...oracle.Choice) interp.Seen {
	if choices == nil {
		choices = []oracle.Choice{choice(p, seen.Src, seen.Sport, "nat")}
	}
	return interp.Seen{Result: pass.Result{Out: []pass.Out{{Interface: testbed.Outside, Frame: testbed.Sent(seen).Frame()}}}, Told: told(choices...)}
}

// told are choices as an engine tells them.
func told(choices ...oracle.Choice) (list []pass.Told) {
	for _, c := range choices {
		list = append(list, c)
	}
	return list
}

// choice is one for a UDP packet from inside.
func choice(p testbed.Packet, address string, port uint16, napts ...string) oracle.Choice {
	return oracle.Choice{
		NAPTs: napts, Proto: 17, Inside: netip.AddrPortFrom(testbed.Addr("10.0.0.2"), p.Sport), Outside: netip.AddrPortFrom(testbed.Addr(address), port),
		Remote: netip.AddrPortFrom(testbed.Addr("198.51.100.1"), p.Dport),
	}
}

func kinds(diff []interp.Mismatch) map[interp.Kind]bool {
	k := map[interp.Kind]bool{}
	for _, m := range diff {
		k[m.Kind] = true
	}
	return k
}

func TestAChoiceThatNothingAskedForIsToldAsOne(t *testing.T) {
	for name, c := range map[string]*interp.Chain{
		"of a flow that has a session":  start(&testbed.Natted(testbed.Pool()).Graph),
		"of a mapping that is there":    start(&testbed.Natted(behaving(element.EndpointIndependent, element.EndpointIndependent)).Graph),
		"of a NAPT that no packet sees": start(&nested().Graph),
	} {
		t.Run(name, func(t *testing.T) {
			p, napts := testbed.UDP(1, 53), []string{"nat"}
			seen := testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: 53}
			if len(c.Graph.Interfaces) > 2 {
				napts = []string{"nat-b", "isp"}
			} else {
				follow(t, c, 0, p, seen)
			}
			if name == "of a mapping that is there" {
				p.Dport, seen.Dport = 54, 54
			}
			chose(t, c, 1, p, seen, []oracle.Choice{choice(p, "192.0.2.10", 2001, napts...)}, interp.MismatchChoice)
		})
	}
}

func TestAChoiceThatTheNATDoesNotAllowIsToldAsOne(t *testing.T) {
	for name, seen := range map[string]testbed.Packet{
		"a port in use":           {Src: "192.0.2.10", Sport: 2003, Dport: 53},
		"a port out of the range": {Src: "192.0.2.10", Sport: 2004, Dport: 53},
		"an address out of pool":  {Src: "192.0.2.11", Sport: 2001, Dport: 53},
	} {
		c := start(&testbed.Natted(testbed.Pool()).Graph)
		if _, diff := c.ProcessAgainst(0, testbed.Inside, testbed.UDP(1, 53).Frame(), sentOutside(testbed.UDP(1, 53), testbed.Packet{Src: "192.0.2.10", Sport: 2003, Dport: 53})); len(diff) != 0 {
			t.Fatalf("an allowed choice is refused: %v", diff)
		}
		if _, diff := c.ProcessAgainst(0, testbed.Inside, testbed.UDP(2, 53).Frame(), sentOutside(testbed.UDP(2, 53), seen)); !kinds(diff)[interp.MismatchChoice] {
			t.Errorf("%s: %v", name, diff)
		}
	}
}

func TestAnEngineMayRunOutOfPortsEarlierAndThatIsTold(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	_, diff := c.ProcessAgainst(0, testbed.Inside, testbed.UDP(1, 53).Frame(), interp.Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: "nat-exhausted"}}}})
	if k := kinds(diff); len(k) != 1 || !k[interp.MismatchExhausted] {
		t.Fatalf("got %v, want only the kind exhausted", diff)
	}
	if len(c.Sessions(0)) != 0 {
		t.Error("the oracle kept a binding that the engine has not")
	}
}

// TestANAPTWithoutPortsIsNoMismatch has a NAPT of the chain run out.
func TestANAPTWithoutPortsIsNoMismatch(t *testing.T) {
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	for i := range uint16(4) {
		follow(t, c, 0, testbed.UDP(1+i, 53), testbed.Packet{Src: "192.0.2.10", Sport: 2000 + i, Dport: 53})
	}
	if _, diff := c.ProcessAgainst(0, testbed.Inside, testbed.UDP(5, 53).Frame(), interp.Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: "nat-exhausted"}}}}); len(diff) != 0 {
		t.Error(diff)
	}
}

func TestAFlowToAnEndpointThatItIsGivenItselfComesBack(t *testing.T) {
	e := testbed.Pool()
	e.PortMax = 2999
	b := testbed.Natted(e)
	n := b.Node("nat")
	own := b.Add("own", element.Lookup{Outs: 2, NoRoute: 1, Routes: []element.Route{{Prefix: testbed.Prefix("192.0.2.10/32"), Out: 0}}})
	b.Wire(n, element.NAPTOutside, own, 0)
	b.Wire(own, 0, n, element.NAPTOutside)
	b.Wire(own, 1, b.Out(testbed.Outside), 0)
	for name, k := range map[string]struct{ src, chosen string }{
		"to its host":                 {"10.0.0.2", "192.0.2.10:2502"},
		"to a host that nobody knows": {"172.20.0.9", "192.0.2.10:2502"},
		"but not by another endpoint": {"10.0.0.2", "192.0.2.10:2503"},
		"but not a host nobody knows": {"172.20.0.9", "192.0.2.10:2503"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := testbed.Packet{Src: k.src, Dst: "192.0.2.10", Sport: 1, Dport: 2502}.Frame()
			seen := played(start(&b.Graph), 0, testbed.Inside, frame, choosing(k.chosen))
			if _, diff := start(&b.Graph).ProcessAgainst(0, testbed.Inside, frame, seen); len(diff) != 0 {
				t.Fatalf("%v, of %v", diff, seen.Drops)
			}
		})
	}
}

func BenchmarkRouterAndNAT(b *testing.B) {
	c := start(&testbed.Answering().Graph)
	frame := testbed.UDP(1000, 53).Frame()
	b.ReportAllocs()
	for range b.N {
		c.Process(0, testbed.Inside, frame, nil)
	}
}
