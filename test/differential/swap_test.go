package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// TestProgramsAreSwappedUnderTrafficAndDecideKnownFlowsAnew changes rules and routes of random chains again and again while flows run: the
// engine's cache is warmed with what the new program decides, by the tests' clock, and sessions live on.
func TestProgramsAreSwappedUnderTrafficAndDecideKnownFlowsAnew(t *testing.T) {
	needHarness(t)
	for _, shape := range shapes {
		if shape.exhausts {
			continue // which flows have ports is the engine's choice
		}
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			engines <- struct{}{}
			defer func() { <-engines }()
			swaps, told, hits := 0, 0, uint64(0)
			rapid.Check(t, func(rt *rapid.T) {
				g := drawChain(rt, shape)
				r, err := newRig(g)
				if err != nil {
					rt.Fatal(err)
				}
				s := swapper{rig: r, first: g, loaded: g, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
				if err := s.drive(t.Context(), scale(8_000, 3_000)); err != nil {
					rt.Fatalf("after %d swaps: %v\n%s", s.swaps, err, dump(r.g))
				}
				swaps, told, hits = swaps+s.swaps, told+s.told, hits+s.hits
			})
			t.Logf("%d swaps, %d of them of backends alone, %d packets of flows that the cache knew", swaps, told, hits)
			if swaps == 0 {
				t.Error("no program was swapped")
			}
			if shape.name == "balancers in a row" && told == 0 && !testing.Short() {
				t.Error("no backends were changed without a program")
			}
		})
	}
}

// swapper changes a rig's chain while packets run.
type swapper struct {
	*rig
	*rand.Rand
	first  *graph.Graph
	loaded *graph.Graph // by the engine; its backends may have changed since
	swaps  int
	told   int    // swaps that were changes of backends alone
	hits   uint64 // of the cache
}

func (s *swapper) drive(ctx context.Context, n int) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	defer s.engine.kill()
	t := newTraffic(s.Uint64(), s.g, s.res.Program)
	now := time.Second
	for batches := 1; s.stats.packets < n; batches++ {
		now += pause(s.Rand)
		next := step{now: now}
		for range batch {
			next.packets = append(next.packets, t.next())
		}
		left, err := s.run(ctx, next)
		if err != nil {
			return err
		}
		for i, p := range next.packets {
			t.saw(p, left[i])
		}
		if batches%4 != 0 {
			continue
		}
		if err := s.swap(ctx); err != nil {
			return err
		}
		changed := newTraffic(s.Uint64(), s.g, s.res.Program)
		changed.out, changed.good = t.out, t.good
		t = changed
	}
	err := s.finish(ctx, now)
	stats, failed := s.engine.Stats(ctx)
	for _, w := range stats.GetWorkers() {
		s.hits += w.GetCacheHits()
	}
	if err = errors.Join(err, failed); err == nil {
		err = s.engine.stop()
	}
	s.count(err)
	return err
}

// swap changes the chain, if a change is found with which all sessions live on.
func (s *swapper) swap(ctx context.Context) error {
	for range 8 {
		g := s.revise()
		next, err := newRigOf(g, s.tabled)
		if err != nil || !sameState(next.res.Program, s.res.Program) {
			continue
		}
		if err := s.put(ctx, g, next.res); err != nil {
			return err
		}
		s.oracle = s.oracle.Continue(g, interp.Options{PortOverlapping: s.cut == partitionByHash})
		s.g, s.res = g, next.res
		s.swaps++
		return nil
	}
	return nil
}

// put has the engine go on with another chain: if only backends differ from the program that it has, at times by telling it these.
func (s *swapper) put(ctx context.Context, g *graph.Graph, res *synth.Result) error {
	if states, ok := backendStates(s.loaded, g); ok && s.IntN(3) > 0 {
		if _, err := s.engine.SetBackends(ctx, states); err != nil {
			return s.engine.died(err)
		}
		s.told++
		return nil
	}
	encoded, err := program.Encode(res.Program)
	if err != nil {
		return err
	}
	loaded, err := s.load(ctx, encoded, res)
	if err != nil {
		return s.engine.died(err)
	}
	if n := loaded.GetSessionsDropped(); n > 0 {
		return fmt.Errorf("%d sessions were dropped, though tables and runs are as they were", n)
	}
	s.loaded = g
	if _, err := s.engine.SetBackends(ctx, nil); err != nil { // what was said holds for this program, too
		return s.engine.died(err)
	}
	return nil
}

// backendStates say how the backends of a chain differ from those of the one that was loaded: a backend that is missing is down. false: more than that
// differs.
func backendStates(loaded, g *graph.Graph) (states []*programpb.BackendState, ok bool) {
	for i, n := range g.Nodes {
		was, is := loaded.Nodes[i].Element, n.Element
		e, balances := is.(element.Balancer)
		if !balances {
			if !reflect.DeepEqual(was, is) {
				return nil, false
			}
			continue
		}
		before := was.(element.Balancer).Backends
		found := 0
		for _, k := range before {
			state := &programpb.BackendState{Table: n.Name, Address: number(k.Addr), Port: uint32(k.Port), Down: true}
			for _, now := range e.Backends {
				if now.Addr == k.Addr && now.Port == k.Port {
					state.Down, state.Weight = false, uint32(now.Weight)
					found++
				}
			}
			states = append(states, state)
		}
		if found != len(e.Backends) {
			return nil, false // some are new
		}
	}
	return states, len(states) > 0
}

// sameState tells whether the entries of one program's tables have their places in another's.
func sameState(a, b *programpb.Program) bool {
	names := func(p *programpb.Program) (list []string) {
		for _, t := range p.GetTables() {
			list = append(list, "table "+t.GetName())
		}
		for _, r := range p.GetRuns() {
			list = append(list, "run "+r.GetName())
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(names(a), names(b))
}

// revise is the first chain with some rules and routes that lead elsewhere; or the one that was loaded, with other backends.
func (s *swapper) revise() *graph.Graph {
	g, all := *s.first, true
	if s.IntN(3) == 0 {
		g, all = *s.loaded, false
	}
	g.Nodes = slices.Clone(g.Nodes)
	var at []int
	for i, n := range g.Nodes {
		switch e := n.Element.(type) {
		case element.Classifier:
			if n.Function != "" && e.Outs > 1 && all {
				at = append(at, i)
			}
		case element.Lookup:
			if all {
				at = append(at, i)
			}
		case element.Balancer:
			at = append(at, i)
		}
	}
	for range min(len(at), 1+s.IntN(4)) {
		n := &g.Nodes[at[s.IntN(len(at))]]
		switch e := n.Element.(type) {
		case element.Classifier:
			e.Rules = slices.Clone(e.Rules)
			if i := s.IntN(len(e.Rules) + 1); i < len(e.Rules) {
				e.Rules[i].Out = s.IntN(e.Outs)
			} else {
				e.Default = s.IntN(e.Outs)
			}
			n.Element = e
		case element.Balancer:
			e.Backends = s.reviseBackends(e.Backends)
			n.Element = e
		case element.Lookup:
			e.Routes = slices.Clone(e.Routes)
			if len(e.Routes) > 0 {
				r := &e.Routes[s.IntN(len(e.Routes))]
				r.Out, r.Via = s.IntN(e.Outs), netip.Addr{}
			}
			n.Element = e
		}
	}
	return &g
}

// reviseBackends takes some backends away, drains some, and adds one at times.
func (s *swapper) reviseBackends(before []element.Backend) (after []element.Backend) {
	for _, k := range before {
		switch s.IntN(4) {
		case 0:
			continue
		case 1:
			k.Weight = s.IntN(3)
		}
		after = append(after, k)
	}
	if n := len(after); n > 0 && s.IntN(4) == 0 {
		after = append(after, element.Backend{Addr: after[n-1].Addr, Port: after[n-1].Port + 1, Weight: 1})
	}
	return after
}
