package interp

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	napt "github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
)

// Tests of what an engine may choose itself are beside it. Here is how the rest is compared.

// sentOutside is what an engine is said to have done: a UDP flow of testbed.Natted has an endpoint, and its packet left.
func sentOutside(p, seen testbed.Packet, choices ...Told) Seen {
	if choices == nil {
		choices = told(p, seen.Sport)
	}
	return Seen{Result: pass.Result{Out: []pass.Out{{Interface: testbed.Outside, Frame: testbed.Sent(seen).Frame()}}}, Told: choices}
}

// told is the choice of an outside port for a UDP packet from inside.
func told(p testbed.Packet, port uint16) []Told {
	return []Told{napt.Choice{
		NAPTs: []string{"nat"}, Proto: 17, Inside: netip.AddrPortFrom(testbed.Addr("10.0.0.2"), p.Sport), Outside: netip.AddrPortFrom(testbed.Addr("192.0.2.10"), port),
		Remote: netip.AddrPortFrom(testbed.Addr("198.51.100.1"), p.Dport),
	}}
}

func kinds(diff []Mismatch) map[Kind]bool {
	k := map[Kind]bool{}
	for _, m := range diff {
		k[m.Kind] = true
	}
	return k
}

func TestAnythingElseThanTheChoiceMustBeEqual(t *testing.T) {
	p := testbed.UDP(1, 53)
	right := sentOutside(p, testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 53})
	for name, seen := range map[string]Seen{
		"a wrong TTL":     sentOutside(p, testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 53, TTL: 63}),
		"a wrong port":    sentOutside(p, testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 54}),
		"not as chosen":   sentOutside(p, testbed.Packet{Src: "192.0.2.10", Sport: 2001, Dport: 53}, told(p, 2002)...),
		"nothing at all":  {Told: right.Told},
		"one frame twice": {Result: pass.Result{Out: slices.Repeat(right.Out, 2)}, Told: right.Told},
	} {
		_, diff := start(&testbed.Natted(testbed.Pool()).Graph).ProcessAgainst(0, testbed.Inside, p.Frame(), seen)
		if !kinds(diff)[MismatchOutput] {
			t.Errorf("%s: %v", name, diff)
		}
	}
	_, diff := start(&testbed.Natted(testbed.Pool()).Graph).ProcessAgainst(0, testbed.Inside, p.Frame(), Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: "deny"}}}, Told: right.Told})
	if k := kinds(diff); !k[MismatchDrops] || !k[MismatchOutput] {
		t.Errorf("a packet dropped that should leave: %v", diff)
	}
}

func TestComparingDoesNotCountTwice(t *testing.T) {
	b := testbed.Natted(testbed.Pool())
	n := len(b.Graph.Nodes) - 1
	count := b.Add("count", element.Counter{})
	b.Wire(n, element.NAPTOutside, count, 0)
	b.Wire(count, 0, b.Out(testbed.Outside), 0)
	c := start(&b.Graph)
	c.ProcessAgainst(0, testbed.Inside, testbed.UDP(1, 53).Frame(), sentOutside(testbed.UDP(1, 53), testbed.Packet{Src: "192.0.2.10", Sport: 2003, Dport: 53}))
	if got := c.Counters()["count"].Packets; got != 1 {
		t.Errorf("one packet counted %d times", got)
	}
}

// copied is inside ⇄ NAPT ⇄ tee to the outside interface twice, once with TTL 7, and then to the inside one.
func copied() *testbed.Builder {
	b := testbed.Natted(testbed.Pool())
	b.Graph.Interfaces[testbed.Inside].Gateway = testbed.Addr("10.0.0.2")
	tee, ttl := b.Add("tee", element.Tee{Outs: 3}), b.Add("ttl", element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)})
	b.Wire(b.Node("nat"), element.NAPTOutside, tee, 0)
	b.Wire(tee, 0, b.Out(testbed.Outside), 0)
	b.Wire(tee, 1, ttl, 0)
	b.Wire(ttl, 0, b.Out(testbed.Outside), 0)
	b.Wire(tee, 2, b.Out(testbed.Inside), 0)
	return b
}

func TestOnlyFramesOfTheSameInterfaceHaveAnOrder(t *testing.T) {
	p := testbed.UDP(1, 53)
	first, second := testbed.Packet{Src: "192.0.2.10", Sport: 2002, Dport: 53}, testbed.Packet{Src: "192.0.2.10", Sport: 2002, Dport: 53}
	second.TTL = 7
	a := pass.Out{Interface: testbed.Outside, Frame: testbed.Sent(first).Frame()}
	b := pass.Out{Interface: testbed.Outside, Frame: testbed.Sent(second).Frame()}
	c := pass.Out{Interface: testbed.Inside, Frame: testbed.Delivered(first).Frame()}
	for name, k := range map[string]struct {
		seen []pass.Out
		want Kind
	}{
		"as the chain sends":                {[]pass.Out{a, b, c}, ""},
		"the other interface first":         {[]pass.Out{c, a, b}, ""},
		"the other interface between":       {[]pass.Out{a, c, b}, ""},
		"two of an interface the wrong way": {[]pass.Out{c, b, a}, MismatchOrder},
		"one missing":                       {[]pass.Out{a, c}, MismatchOutput},
	} {
		t.Run(name, func(t *testing.T) {
			order := []int{}
			for _, o := range k.seen {
				order = append(order, o.Interface)
			}
			chain := start(&copied().Graph)
			_, diff := chain.ProcessAgainst(0, testbed.Inside, p.Frame(), Seen{Result: pass.Result{Out: k.seen}, Told: told(p, 2002)})
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
