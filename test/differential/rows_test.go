package differential

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// NAPTs in a row, and what lies between them.

// rejecting is a row of NAPTs; behind the first one lies a firewall that rejects data from outside. If split, the second one ends its run
// anyway, as the firewall looks at its addresses.
func rejecting(name string, napts int, split bool) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	s, end := b.plainLinks()
	forth := element.Classifier{Outs: 1}
	if split {
		forth.Rules = []element.Rule{{Name: "first", Filters: []hs.Filter{where(hs.Src, hs.Single(hs.Addr(addr4(100, 64, 0, 1))))}}}
	}
	back := element.Classifier{Outs: 3, Rules: []element.Rule{
		{Name: "data", Out: 2, Filters: []hs.Filter{where(hs.TCPFlags, hs.Masked(hs.TCPFlags, packets.PSH, packets.PSH))}},
	}}
	for i := range napts {
		left, right := oneNAPT(b, i)
		b.link(s, left)
		s = right
		if i == 0 {
			left, right = b.filter("fw", forth, back)
			b.link(s, left)
			s = right
		}
	}
	b.link(s, end)
	return &b.g
}

func TestAResetBetweenNAPTsLeavesByTheSessionOfWhatItAnswers(t *testing.T) {
	needHarness(t)
	for _, cut := range []string{cutByHost, cutByHash, "address:0"} {
		for napts := 2; napts <= 3; napts++ {
			for _, split := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d NAPTs, split %t", cut, napts, split), func(t *testing.T) {
					t.Parallel()
					r, err := newRig(rejecting(t.Name(), napts, split))
					if err != nil {
						t.Fatal(err)
					}
					r.workers, r.cut = 3, cut
					if err := r.start(t.Context()); err != nil {
						t.Fatal(err)
					}
					defer r.engine.kill()
					for i := range 100 {
						resetOf(t, r, netip.AddrPortFrom(addr4(10, 0, 0, i), 1000), netip.AddrPortFrom(addr4(8, 8, i, 8), 80))
					}
					if err := r.finish(t.Context(), time.Second); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// resetOf opens a connection that is answered, and has the far end send data, which a firewall rejects.
func resetOf(t *testing.T, r *rig, from, to netip.AddrPort) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(number(from.Addr()))))
	a, b := number(from.Addr()), number(to.Addr())
	syn := packets.IPv4{Src: a, Dst: b, Proto: packets.ProtoTCP, TTL: 64, Payload: packets.TCP(a, b, from.Port(), to.Port(), packets.SYN, 1, nil, nil)}
	out := r.must(t, time.Second, sent{0, ethernet(r.g, 0, syn)})
	reply := func(flags uint8, data []byte) sent {
		f, ok := packets.Reply(random, out.frame, flags, data)
		if !ok {
			t.Fatal("no reply")
		}
		return sent{1, f}
	}
	r.must(t, time.Second, reply(packets.SYN|packets.ACK, nil))
	reset := r.must(t, time.Second, reply(packets.PSH|packets.ACK, []byte("data")))
	if x, y := endsOf(t, out), endsOf(t, reset); x != y || reset.iface != 1 {
		t.Fatalf("%v → %v left as %v, and the reset as %v by interface %d", from, to, x, y, reset.iface)
	}
}
