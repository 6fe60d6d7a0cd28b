package walk_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// sampleChains are the graphs of all chains that the tests and the samples have.
func sampleChains(t *testing.T) (out []*graph.Graph) {
	t.Helper()
	for _, pattern := range []string{"testdata/*.yaml", "../../graph/testdata/*.yaml", "../../../config/samples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no chains", pattern, err)
		}
		for _, file := range files {
			bundle, _ := manifest.Load(file)
			for _, c := range bundle.Chains {
				if g, _ := graph.Build(c, graph.Inputs{Functions: bundle.Functions, Files: bundle.Files}); g != nil {
					out = append(out, g)
				}
			}
		}
	}
	return append(out, largeChain(t))
}

// changer changes rules of a chain.
type changer struct {
	*rand.Rand
	first *graph.Graph
}

// filter is some filter of the first chain, or a narrower or wider one.
func (c *changer) filter(rules []element.Rule) headerspace.Filter {
	some := func() headerspace.Filter {
		r := rules[c.IntN(len(rules))]
		return r.Filters[c.IntN(len(r.Filters))]
	}
	f := some()
	switch c.IntN(8) {
	case 0:
		return f.Intersect(some())
	case 1:
		return f.Without(headerspace.Field(c.IntN(int(headerspace.NumFields))))
	case 2:
		return headerspace.Filter{}
	case 3:
		a := netip.AddrFrom4([4]byte{10, byte(c.IntN(3)), byte(c.IntN(256)), 0})
		f = f.With([]headerspace.Field{headerspace.Src, headerspace.Dst}[c.IntN(2)], headerspace.Prefix(netip.PrefixFrom(a, 8+c.IntN(25))))
	case 4:
		f = headerspace.Filter{}.With(headerspace.Dst, f.Get(headerspace.Dst))
	case 5:
		f = f.With(headerspace.DPort, headerspace.Of(c.Uint64N(1<<16)))
	case 6:
		f = f.With(headerspace.DSCP, headerspace.Of(c.Uint64N(64)))
	}
	return f
}

// change changes some rules of a graph; seldom its routes, or how many rules there are.
func (c *changer) change(g *graph.Graph) *graph.Graph {
	out := *g
	out.Nodes = slices.Clone(g.Nodes)
	for range 1 + c.IntN(3) {
		n := &out.Nodes[c.IntN(len(out.Nodes))]
		switch e := n.Element.(type) {
		case element.Classifier:
			if len(e.Rules) == 0 || n.Function == "" {
				continue
			}
			e.Rules = slices.Clone(e.Rules)
			for range 1 + c.IntN(2) {
				r := &e.Rules[c.IntN(len(e.Rules))]
				switch c.IntN(3) {
				case 0:
					r.Out = c.IntN(e.Outs)
				default:
					r.Filters = []headerspace.Filter{c.filter(e.Rules)}
				}
			}
			if c.IntN(12) == 0 {
				e.Rules = slices.Delete(e.Rules, 0, 1)
			}
			n.Element = e
		case element.Lookup:
			if len(e.Routes) > 0 && c.IntN(6) == 0 {
				e.Routes = slices.Clone(e.Routes)
				r := &e.Routes[c.IntN(len(e.Routes))]
				r.Out, r.Via = c.IntN(e.Outs), netip.Addr{}
				n.Element = e
			}
		}
	}
	if c.IntN(10) == 0 {
		return c.first
	}
	return &out
}

// shown is all that people see of a result.
func shown(r *synth.Result) []byte {
	var b bytes.Buffer
	for _, s := range r.Segments {
		fmt.Fprintln(&b, s.Name, s.Classes, s.NumLeaves())
		n := 0
		for l := range s.Leaves() {
			if n++; n%7 == 0 { // they take their time
				fmt.Fprintln(&b, l.Filter, l.Class, r.Trace(&l))
			}
		}
	}
	fmt.Fprintln(&b, r.Warnings, r.Runs, r.Cuts)
	return b.Bytes()
}

func TestASessionMakesTheProgramsThatAreMadeWithoutIt(t *testing.T) {
	chains := sampleChains(t)
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		g := chains[rapid.IntRange(0, len(chains)-1).Draw(t, "chain")]
		opts := synth.Options{MaxBoxes: rapid.SampledFrom([]int{0, 0, 100}).Draw(t, "boxes"), Fanned: rapid.SampledFrom([]int{0, 2}).Draw(t, "fanned"), Joined: rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "joined")}
		c := &changer{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), g}
		var s synth.Session
		for n := range rapid.IntRange(2, 5).Draw(t, "versions") {
			want, err := s.Afresh(g, opts)
			got, failed := s.Synthesize(g, opts)
			if (err == nil) != (failed == nil) {
				t.Fatalf("with a session: %v; without: %v", failed, err)
			}
			if err == nil {
				t.Logf("version %d of chain %s", n, g.Chain)
				same(t, got, want)
				taken += s.Taken()
			}
			g = c.change(g)
		}
	})
	t.Logf("%d leaves were taken over", taken)
	if taken == 0 {
		t.Error("no leaf was ever taken over")
	}
}

func same(t *rapid.T, got, want *synth.Result) {
	a, err := program.Encode(got.Program)
	if err != nil {
		t.Fatal(err)
	}
	b, err := program.Encode(want.Program)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Fatalf("the program has the hash %s, want %s", program.Hash(a), program.Hash(b))
	}
	if a, b := shown(got), shown(want); !bytes.Equal(a, b) {
		t.Fatalf("people see\n%s\nwant\n%s", a, b)
	}
}

// heap is what is alive.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Where look-ups are kept apart, finding that out takes a walk in vain. A changed rule must not wait for it again.
func TestASessionKnowsWhichLookupsAreKeptApart(t *testing.T) {
	g := chainOf(t, "fw1_713", "acl1_8550")
	var s synth.Session
	made := func(g *graph.Graph) int {
		return allocated(func() {
			r, err := s.Synthesize(g, synth.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Segments) < 4 {
				t.Fatalf("%d segments: the firewalls are together, so the test tells nothing", len(r.Segments))
			}
		})
	}
	first := made(g)
	next := *g
	next.Nodes = slices.Clone(g.Nodes)
	at := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "f1/inside" })
	e := next.Nodes[at].Element.(element.Classifier)
	e.Rules = slices.Clone(e.Rules)
	e.Rules[20].Out = (e.Rules[20].Out + 1) % e.Outs
	next.Nodes[at].Element = e
	second := made(&next)
	t.Logf("the first version took %d MB, the second one %d MB", first>>20, second>>20)
	if second > first/2 { // 26 of 104 MB; 86 where nothing is known
		t.Errorf("the second version took %d MB, the first one %d: at most half is allowed", second>>20, first>>20)
	}
}

func TestASessionKeepsOneVersion(t *testing.T) {
	g := largeChain(t)
	at := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "fw/inside" })
	var s synth.Session
	var early uint64
	for n := range 40 {
		next := *g
		next.Nodes = slices.Clone(g.Nodes)
		e := next.Nodes[at].Element.(element.Classifier)
		e.Rules = slices.Clone(e.Rules)
		for k := range 4 { // each time others
			r := &e.Rules[(4*n+k)*53%len(e.Rules)]
			r.Out = (r.Out + 1) % e.Outs
		}
		next.Nodes[at].Element = e
		g = &next
		if _, err := s.Synthesize(g, synth.Options{}); err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			early = heap()
		}
	}
	late := heap()
	t.Logf("%d KB after 5 versions, %d KB after 40; %d leaves were taken over", early>>10, late>>10, s.Taken())
	if late > early+early/2 { // leaves that were taken over keep some that came with them
		t.Errorf("%d KB are alive after 40 versions, %d KB after 5: some of earlier ones are kept", late>>10, early>>10)
	}
	if s.Taken() == 0 {
		t.Error("nothing is taken over")
	}
	runtime.KeepAlive(&s)
}
