package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
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
		next, err := newRigOf(s.revise(), s.tabled)
		if err != nil || !sameState(next.res.Program, s.res.Program) {
			continue
		}
		s.swaps++
		return s.take(ctx, next)
	}
	return nil
}

// take goes on with another chain. If only backends differ from the program that the engine has, it is told these alone, at times.
func (s *swapper) take(ctx context.Context, next *rig) error {
	if states, ok := backendStates(s.loaded, next.g); ok && s.IntN(3) > 0 {
		if _, err := s.engine.SetBackends(ctx, states); err != nil {
			return s.engine.died(err)
		}
		s.told++
		s.continueWith(next)
		return nil
	}
	if err := s.become(ctx, next); err != nil {
		return err
	}
	s.loaded = next.g
	if _, err := s.engine.SetBackends(ctx, nil); err != nil { // what was said holds for this program, too
		return s.engine.died(err)
	}
	return nil
}

// become has engine and oracle go on with another chain, with which all sessions live on.
func (r *rig) become(ctx context.Context, next *rig) error {
	encoded, err := program.Encode(next.res.Program)
	if err != nil {
		return err
	}
	loaded, err := r.load(ctx, encoded, next.res)
	if err != nil {
		return r.engine.died(err)
	}
	if n := loaded.GetSessionsDropped(); n > 0 {
		return fmt.Errorf("%d sessions were dropped, though tables and runs are as they were", n)
	}
	r.continueWith(next)
	return nil
}

// continueWith has the oracle go on with the chain that the engine has by now.
func (r *rig) continueWith(next *rig) {
	r.oracle = r.oracle.Continue(next.g, interp.Options{PortOverlapping: r.cut == partitionByHash})
	r.g, r.res = next.g, next.res
}

// backendStates say how the backends of a chain differ from those of the one that was loaded: one that is missing is down. false: more differs
// than that.
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
			state := &programpb.BackendState{Table: n.Name, Address: packets.Number(k.Addr), Port: uint32(k.Port), Down: true}
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

// revise is the first chain with some rules and routes that lead elsewhere, and other limits of hosts; or the one that was loaded, with other backends.
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
		case element.Lookup, element.ConnLimit:
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
		case element.ConnLimit:
			e.PerHost.MaxSessions, e.PerHost.PrefixLen = 1+s.IntN(60), []int{32, 24, 8}[s.IntN(3)]
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
	if all && s.IntN(2) == 0 {
		s.reviseForwards(g.Nodes)
	}
	return &g
}

// reviseForwards leads ports that are forwarded to other ports of their hosts. Elements that have one table in common go on to do so.
func (s *swapper) reviseForwards(nodes []graph.Node) {
	changed := map[element.StaticMapping]element.StaticMapping{}
	for i := range nodes {
		e, ok := nodes[i].Element.(element.StaticNAT)
		if !ok {
			continue
		}
		e.Mappings = slices.Clone(e.Mappings)
		for j, m := range e.Mappings {
			if _, known := changed[m]; !known && m.Proto != 0 && s.IntN(2) == 0 {
				next := m
				next.InsidePort = uint16(1 + s.IntN(65536-m.Ports))
				changed[m] = next
			}
			if next, ok := changed[m]; ok {
				e.Mappings[j] = next
			} else {
				changed[m] = m
			}
		}
		nodes[i].Element = e
	}
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

// TestTheSessionsOfAZoneOutliveTheWayToAThirdNAPT has hosts of a zone with addresses of another one's pool, which is right: the zones do not see
// each other. What no NAPT has translated is looked up as any host's, whether or not some packets are translated twice.
func TestTheSessionsOfAZoneOutliveTheWayToAThirdNAPT(t *testing.T) {
	const zones = `  interfaces:
  - {name: zone1, address: 10.0.0.1/24}
  - {name: zone2, address: 192.0.2.1/24}
  - {name: wan, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - {name: nat1, napt: {pool: [192.0.2.11]}}
  - {name: nat2, napt: {pool: [198.51.100.12]}}
  - {name: nat3, napt: {pool: [203.0.113.9]}}
  - name: rt
    router:
      ports: [{name: a, address: 172.16.0.1}, {name: b}, {name: out}]
      routes: [{prefix: 0.0.0.0/0, port: out}]
  links:
  - {from: zone1, to: nat1.inside}
  - {from: nat1.outside, to: rt.a}
  - {from: zone2, to: nat2.inside}
  - {from: nat2.outside, to: rt.b}
  - {from: rt.out, to: nat3.inside}
  - {from: nat3.outside, to: wan}
`
	direct := strings.NewReplacer("  - {name: nat3, napt: {pool: [203.0.113.9]}}\n", "", "  - {from: rt.out, to: nat3.inside}\n", "", "nat3.outside", "rt.out")
	p := newPair(t, zones)
	for round := range 2 {
		for id := range uint32(8) {
			ping := pingTo("192.0.2.11", "172.16.0.1")
			ping.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, id<<16|1, nil)
			p.wants("zone2", ping, "zone2: 172.16.0.1 > 192.0.2.11 ttl 64 icmp 0/0")
		}
		if round == 0 {
			if err := p.r.become(t.Context(), compiled(t, direct.Replace(zones))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
