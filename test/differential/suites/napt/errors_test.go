package napt

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestAnErrorThatIsRejectedBetweenNAPTsIsSuppressed has two NAPTs that are one to flows, and between them a firewall that rejects ICMP: an
// error about a flow's packet meets the first NAPT only.
func TestAnErrorThatIsRejectedBetweenNAPTsIsSuppressed(t *testing.T) {
	rig.NeedHarness(t)
	b := new(draw.Builder)
	b.Graph.Chain = t.Name()
	s, end := b.PlainLinks()
	for i := range 2 {
		left, right := draw.OneNAPT(b, i)
		b.Link(s, left)
		if s = right; i == 0 {
			icmp := element.Rule{Name: "icmp", Out: 2, Filters: []hs.Filter{draw.Where(hs.Proto, hs.Of(packets.ProtoICMP))}}
			left, right = b.Filter("fw", element.Classifier{Outs: 3, Rules: []element.Rule{icmp}}, element.Classifier{Outs: 1})
			b.Link(s, left)
			s = right
		}
	}
	b.Link(s, end)
	r, err := rig.New(&b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	r.Workers = 1
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	out := r.Must(t, time.Second, draw.UDP(&b.Graph, 0, netip.MustParseAddrPort("10.0.0.7:5000"), netip.MustParseAddrPort("8.8.8.8:53")))
	reply, ok := packets.Reply(rand.New(rand.NewPCG(1, 1)), out.Frame, 0, nil)
	if !ok {
		t.Fatal("no reply")
	}
	delivered := r.Must(t, time.Second, draw.Sent{Iface: 1, Frame: reply})
	if _, err := r.Run(t.Context(), rig.Step{Now: time.Second, Packets: []draw.Sent{complaint(&b.Graph, delivered)}}); err != nil {
		t.Fatal(err)
	}
	if n := r.Stats.Drops[element.ReasonICMPSuppressed]; n != 1 {
		t.Errorf("%d packets were dropped as %s, want 1; all drops: %v", n, element.ReasonICMPSuppressed, r.Stats.Drops)
	}
}

// TestAnErrorAboutAFlowOfAnotherNAPTIsTranslated has a NAPT behind another one, whose pool is routed elsewhere: what a host there
// says of a flow comes in where nothing but the pool tells the flow's shard.
func TestAnErrorAboutAFlowOfAnotherNAPTIsTranslated(t *testing.T) {
	p := rig.NewPair(t, `  interfaces:
  - {name: lan, address: 10.0.0.1/24}
  - {name: side, address: 172.16.0.1/24}
  - {name: wan, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - {name: first, napt: {pool: [198.51.100.1]}}
  - {name: second, napt: {pool: [192.0.2.2]}}
  - name: rt
    router:
      ports: [{name: lan}, {name: side}, {name: out}]
      routes:
      - {prefix: 10.0.0.0/24, port: lan}
      - {prefix: 172.16.0.0/24, port: side}
      - {prefix: 198.51.100.1/32, port: side, via: 172.16.0.2}
      - {prefix: 0.0.0.0/0, port: out}
  links:
  - {from: lan, to: first.inside}
  - {from: first.outside, to: rt.lan}
  - {from: side, to: rt.side}
  - {from: rt.out, to: second.inside}
  - {from: second.outside, to: wan}
`)
	rng := rand.New(rand.NewPCG(1, 1))
	for port := range uint16(20) {
		flow := draw.IP("10.0.0.2", "8.8.8.8")
		flow.Proto, flow.Payload = packets.ProtoUDP, packets.UDP(flow.Src, flow.Dst, 5000+port, 53, nil)
		p.Send("lan", flow)
		frame, ok := packets.Reply(rng, p.Last, 0, nil)
		if !ok {
			t.Fatal("no reply")
		}
		reply, _ := packets.Parse(frame)
		if got := p.Send("wan", reply.IP); !strings.HasPrefix(got, "side: 8.8.8.8 > 198.51.100.1 ") {
			t.Fatalf("the reply became %s", got)
		}
		v, _ := packets.Parse(p.Last)
		e := draw.IP("172.16.0.2", "8.8.8.8")
		e.Proto, e.Payload = packets.ProtoICMP, packets.ICMP(3, 3, 0, v.IP.Bytes())
		p.Wants("side", e, "wan: 192.0.2.2 > 8.8.8.8 ttl 63 icmp 3/3")
	}
}
