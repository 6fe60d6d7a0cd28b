package rig

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Swapper changes a rig's chain while packets run.
type Swapper struct {
	*Rig
	*rand.Rand
	First  *graph.Graph
	Loaded *graph.Graph // by the engine; its backends may have changed since
	Swaps  int
	Told   int    // swaps that were changes of backends alone
	Hits   uint64 // of the cache
	Held   int    // packets that were at stops meanwhile
}

// Drive runs n packets through the chain, and changes it after every fourth batch.
func (s *Swapper) Drive(ctx context.Context, n int) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	defer s.Engine.Kill()
	t := draw.NewTraffic(s.Uint64(), s.Graph, s.Result.Program)
	now := time.Second
	for batches := 1; s.Stats.Packets < n; batches++ {
		now += Pause(s.Rand)
		next := Step{Now: now, Moves: s.DrawMoves(s.Rand)}
		for range Batch {
			next.Packets = append(next.Packets, t.Next())
		}
		left, err := s.Run(ctx, next)
		if err != nil {
			return err
		}
		for i, p := range next.Packets {
			t.Saw(p, left[i])
		}
		if batches%4 != 0 {
			continue
		}
		if now, err = s.swapWhileHeld(ctx, now, t); err != nil {
			return err
		}
		changed := draw.NewTraffic(s.Uint64(), s.Graph, s.Result.Program)
		changed.Out, changed.Good = t.Out, t.Good
		t = changed
	}
	err := s.Finish(ctx, now)
	stats, failed := s.Engine.Stats(ctx)
	for _, w := range stats.GetWorkers() {
		s.Hits += w.GetCacheHits()
	}
	if err = errors.Join(err, failed); err == nil {
		err = s.Engine.Stop()
	}
	s.Count(err)
	return err
}

// swapWhileHeld changes the chain while packets are at stops. It tells how late it is then.
func (s *Swapper) swapWhileHeld(ctx context.Context, now time.Duration, t *draw.Traffic) (time.Duration, error) {
	if len(s.stops) == 0 {
		return now, s.swap(ctx)
	}
	next := Step{Now: now}
	for range Batch {
		next.Packets = append(next.Packets, t.Next())
	}
	if err := s.hold(ctx, next); err != nil {
		return now, err
	}
	before := known(s.Result.Program)
	if err := s.swap(ctx); err != nil {
		return now, err
	}
	now, err := s.learn(ctx, now, before)
	if err != nil {
		return now, err
	}
	if err := s.move(ctx, s.DrawMoves(s.Rand)); err != nil {
		return now, err
	}
	n, err := s.release(ctx, now)
	s.Held += n
	return now, err
}

// learn has the engine find out that functions are down to which ways lead now, and did not before: it takes them to be up until then.
func (s *Swapper) learn(ctx context.Context, now time.Duration, before *interp.Known) (time.Duration, error) {
	is, probes := known(s.Result.Program), 0
	for out, stop := range s.stops {
		wire := s.Graph.Interfaces[out].Name
		if s.watched.down[stop.name] && is.Leaves(wire) && !before.Leaves(wire) {
			probes = max(probes, s.watched.toKnow(stop.name))
		}
	}
	for range probes {
		now += betweenProbes
		if _, _, err := s.inject(ctx, Step{Now: now}, nil); err != nil {
			return now, err
		}
	}
	s.watched.now = now
	return now, nil
}

// swap changes the chain, if a change is found with which all sessions live on.
func (s *Swapper) swap(ctx context.Context) error {
	for range 8 {
		next, err := NewInTables(s.revise(), s.tabled)
		if err != nil || !sameState(next.Result.Program, s.Result.Program) {
			continue
		}
		s.Swaps++
		return s.take(ctx, next)
	}
	return nil
}

// take goes on with another chain. If only backends differ from the program that the engine has, it is told these alone, at times.
func (s *Swapper) take(ctx context.Context, next *Rig) error {
	if states, ok := backendStates(s.Loaded, next.Graph); ok && s.IntN(3) > 0 {
		if _, err := s.Engine.SetBackends(ctx, states); err != nil {
			return s.Engine.Died(err)
		}
		s.Told++
		s.ContinueWith(next)
		return nil
	}
	if err := s.Become(ctx, next); err != nil {
		return err
	}
	s.Loaded = next.Graph
	if _, err := s.Engine.SetBackends(ctx, nil); err != nil { // what was said holds for this program, too
		return s.Engine.Died(err)
	}
	return nil
}

// Become has engine and oracle go on with another chain, with which all sessions live on.
func (r *Rig) Become(ctx context.Context, next *Rig) error {
	encoded, err := program.Encode(next.Result.Program)
	if err != nil {
		return err
	}
	loaded, err := r.Load(ctx, encoded, next.Result)
	if err != nil {
		return r.Engine.Died(err)
	}
	if n := loaded.GetSessionsDropped(); n > 0 {
		return fmt.Errorf("%d sessions were dropped, though tables and runs are as they were", n)
	}
	r.ContinueWith(next)
	return nil
}

// ContinueWith has the oracle go on with the chain that the engine has by now.
func (r *Rig) ContinueWith(next *Rig) {
	r.Oracle = r.Oracle.Continue(next.Graph, interp.Options{PortOverlapping: r.Cut == PartitionByHash, Known: known(next.Result.Program)})
	r.Graph, r.Result = next.Graph, next.Result
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
func (s *Swapper) revise() *graph.Graph {
	g, all := *s.First, true
	if s.IntN(3) == 0 {
		g, all = *s.Loaded, false
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
	if all && s.IntN(2) == 0 {
		s.revisePassing(g.Nodes)
	}
	return &g
}

// revisePassing has stops let another number of packets through until flows go past them.
func (s *Swapper) revisePassing(nodes []graph.Node) {
	packets := map[string]int{}
	revised := func(p element.Passing) element.Passing {
		if packets[p.Table] == 0 {
			packets[p.Table] = draw.PacketsToPass[s.IntN(len(draw.PacketsToPass))]
		}
		p.Packets = packets[p.Table]
		return p
	}
	for i := range nodes {
		switch e := nodes[i].Element.(type) {
		case element.Bypass:
			e.Passing = revised(e.Passing)
			nodes[i].Element = e
		case element.Passed:
			e.Passing = revised(e.Passing)
			nodes[i].Element = e
		}
	}
}

// reviseForwards leads ports that are forwarded to other ports of their hosts. Elements that have one table in common go on to do so.
func (s *Swapper) reviseForwards(nodes []graph.Node) {
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
func (s *Swapper) reviseBackends(before []element.Backend) (after []element.Backend) {
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
