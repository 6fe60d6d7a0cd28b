package differential

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestAnErrorThatIsRejectedBetweenNAPTsIsSuppressed has two NAPTs that are one to flows, and between them a firewall that rejects ICMP: an
// error about a flow's packet meets the first NAPT only.
func TestAnErrorThatIsRejectedBetweenNAPTsIsSuppressed(t *testing.T) {
	needHarness(t)
	b := new(builder)
	b.g.Chain = t.Name()
	s, end := b.plainLinks()
	for i := range 2 {
		left, right := oneNAPT(b, i)
		b.link(s, left)
		if s = right; i == 0 {
			icmp := element.Rule{Name: "icmp", Out: 2, Filters: []hs.Filter{where(hs.Proto, hs.Of(packets.ProtoICMP))}}
			left, right = b.filter("fw", element.Classifier{Outs: 3, Rules: []element.Rule{icmp}}, element.Classifier{Outs: 1})
			b.link(s, left)
			s = right
		}
	}
	b.link(s, end)
	r, err := newRig(&b.g)
	if err != nil {
		t.Fatal(err)
	}
	r.workers = 1
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.engine.kill()
	out := r.must(t, time.Second, udp(&b.g, 0, netip.MustParseAddrPort("10.0.0.7:5000"), netip.MustParseAddrPort("8.8.8.8:53")))
	reply, ok := packets.Reply(rand.New(rand.NewPCG(1, 1)), out.frame, 0, nil)
	if !ok {
		t.Fatal("no reply")
	}
	delivered := r.must(t, time.Second, sent{1, reply})
	if _, err := r.run(t.Context(), step{time.Second, []sent{complaint(&b.g, delivered)}}); err != nil {
		t.Fatal(err)
	}
	if n := r.stats.drops[element.ReasonICMPSuppressed]; n != 1 {
		t.Errorf("%d packets were dropped as %s, want 1; all drops: %v", n, element.ReasonICMPSuppressed, r.stats.drops)
	}
}
