package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// portless makes packets of protocols without ports, and ICMP timestamps, between few hosts and few remotes: more hosts than the pool has
// addresses.
func (t *traffic) portless() sent {
	f := packets.Fields{
		VLAN: -1, TTL: 64, Src: 0x0a000001 + t.Uint32N(9), Dst: 0x08080801 + t.Uint32N(3),
		Proto: []uint8{4, 33, 47, 50, 51, 132, 136, packets.ProtoICMP}[t.IntN(8)],
		Type:  packets.ICMPTimestamp, ICMPRest: t.Uint32N(3) << 16,
	}
	switch {
	case t.IntN(3) == 0 || len(t.out.list) == 0:
		return sent{0, t.build(0, f)}
	case t.IntN(3) == 0:
		o := t.out.list[t.IntN(len(t.out.list))]
		if e, ok := packets.ErrorAbout(t.Rand, o.frame, 0x09090909, 3, 1, 68); ok {
			return sent{o.iface, e}
		}
	}
	o := t.out.list[t.IntN(len(t.out.list))]
	if r, ok := packets.Reply(t.Rand, o.frame, 0, t.payload()); ok {
		return sent{o.iface, r}
	}
	return sent{0, t.build(0, f)}
}

// redirected is two NAPTs, between which other remotes stand for those that hosts know: what tells the shard of a flow without ports is not
// the same for both of them.
func redirected(name string) *graph.Graph {
	b := new(builder)
	b.g.Chain = name
	s, end := b.plainLinks()
	left, right := oneNAPT(b, 0)
	b.link(s, left)
	way := func(name string, field hs.Field, from, to int) (in graph.Edge, outs []graph.Edge) {
		const remotes = 3
		c := element.Classifier{Outs: remotes + 1, Default: remotes}
		for i := range remotes {
			c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprint(i), Out: i, Filters: []hs.Filter{where(field, hs.Single(hs.Addr(addr4(from, from, from, 1+i))))}})
		}
		in.To = b.add("redirect", name, c)
		for i := range remotes {
			set := b.add("redirect", fmt.Sprint(name, i), element.SetField{Field: field, Value: hs.Addr(addr4(to, to, to, 1+i))})
			b.wire(in.To, i, set)
			outs = append(outs, graph.Edge{To: set})
		}
		return in, append(outs, graph.Edge{To: in.To, Port: remotes})
	}
	forth, forthOuts := way("forth", hs.Dst, 8, 9)
	back, backOuts := way("back", hs.Src, 9, 8)
	b.link(right, side{forth, backOuts})
	left, right = oneNAPT(b, 1)
	b.link(side{back, forthOuts}, left)
	b.link(right, end)
	return &b.g
}

func TestGREESPSCTPAndTimestampsPassNAPTsByAddressOrIdentifier(t *testing.T) {
	needHarness(t)
	for _, cut := range []string{partitionByHost, partitionByHash, "address:0"} {
		for _, chain := range []func(string) *graph.Graph{
			func(name string) *graph.Graph { return inARow(name, 1, oneNAPT) },
			func(name string) *graph.Graph { return inARow(name, 3, oneNAPT) },
			asymmetric,
			redirected,
		} {
			g := chain(t.Name() + cut)
			t.Run(fmt.Sprintf("%s, %d elements", cut, len(g.Nodes)), func(t *testing.T) {
				t.Parallel()
				r := started(t, g, 3, cut)
				if err := r.tunnel(t, scale(20_000, 4_000)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// tunnel runs such packets, with pauses around the timeout.
func (r *rig) tunnel(t *testing.T, n int) error {
	tr := newTraffic(1, r.g, r.res.Program)
	random, now := rand.New(rand.NewPCG(2, 3)), time.Second
	for r.stats.packets < n {
		s := step{now: now}
		for range 1 + random.IntN(64) {
			s.packets = append(s.packets, tr.portless())
		}
		left, err := r.run(t.Context(), s)
		if err != nil {
			return err
		}
		for i, p := range s.packets {
			tr.saw(p, left[i])
		}
		now += []time.Duration{time.Millisecond, time.Second, timeouts.UDP, timeouts.UDP + time.Millisecond}[max(0, random.IntN(12)-8)]
	}
	if r.stats.drops["nat-exhausted"] == 0 || r.stats.drops["nat-unsupported"] == 0 {
		t.Errorf("no packet was refused: %v", r.stats.drops)
	}
	return r.finish(t.Context(), now)
}
