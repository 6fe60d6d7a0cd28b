package napt

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

// redirected is two NAPTs, between which other remotes stand for those that hosts know: what tells the shard of a flow without ports is not
// the same for both of them.
func redirected(name string) *graph.Graph {
	b := new(draw.Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	left, right := draw.OneNAPT(b, 0)
	b.Link(s, left)
	way := func(name string, field hs.Field, from, to int) (in graph.Edge, outs []graph.Edge) {
		const remotes = 3
		c := element.Classifier{Outs: remotes + 1, Default: remotes}
		for i := range remotes {
			remote := hs.Single(hs.Addr(draw.Addr4(from, from, from, 1+i)))
			c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprint(i), Out: i, Filters: []hs.Filter{draw.Where(field, remote)}})
		}
		in.To = b.Add("redirect", name, c)
		for i := range remotes {
			set := b.Add("redirect", fmt.Sprint(name, i), element.SetField{Field: field, Value: hs.Addr(draw.Addr4(to, to, to, 1+i))})
			b.Wire(in.To, i, set)
			outs = append(outs, graph.Edge{To: set})
		}
		return in, append(outs, graph.Edge{To: in.To, Port: remotes})
	}
	forth, forthOuts := way("forth", hs.Dst, 8, 9)
	back, backOuts := way("back", hs.Src, 9, 8)
	b.Link(right, draw.Side{In: forth, Outs: backOuts})
	left, right = draw.OneNAPT(b, 1)
	b.Link(draw.Side{In: back, Outs: forthOuts}, left)
	b.Link(right, end)
	return &b.Graph
}

func TestGREESPSCTPAndTimestampsPassNAPTsByAddressOrIdentifier(t *testing.T) {
	rig.NeedHarness(t)
	for _, cut := range []string{rig.PartitionByHost, rig.PartitionByHash, "address:0"} {
		for _, chain := range []func(string) *graph.Graph{
			func(name string) *graph.Graph { return draw.InARow(name, 1, draw.OneNAPT) },
			func(name string) *graph.Graph { return draw.InARow(name, 3, draw.OneNAPT) },
			asymmetric,
			redirected,
		} {
			g := chain(t.Name() + cut)
			t.Run(fmt.Sprintf("%s, %d elements", cut, len(g.Nodes)), func(t *testing.T) {
				t.Parallel()
				r := rig.Started(t, g, 3, cut)
				if err := tunnel(t, r, rig.Scale(20_000, 4_000)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// tunnel runs such packets, with pauses around the timeout.
func tunnel(t *testing.T, r *rig.Rig, n int) error {
	tr := draw.NewTraffic(1, r.Graph, r.Result.Program)
	random, now := rand.New(rand.NewPCG(2, 3)), time.Second
	for r.Stats.Packets < n {
		s := rig.Step{Now: now}
		for range 1 + random.IntN(64) {
			s.Packets = append(s.Packets, tr.Portless())
		}
		left, err := r.Run(t.Context(), s)
		if err != nil {
			return err
		}
		for i, p := range s.Packets {
			tr.Saw(p, left[i])
		}
		now += []time.Duration{time.Millisecond, time.Second, draw.Timeouts.UDP, draw.Timeouts.UDP + time.Millisecond}[max(0, random.IntN(12)-8)]
	}
	if r.Stats.Drops["nat-exhausted"] == 0 || r.Stats.Drops["nat-unsupported"] == 0 {
		t.Errorf("no packet was refused: %v", r.Stats.Drops)
	}
	return r.Finish(t.Context(), now)
}
