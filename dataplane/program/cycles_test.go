package program_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// The operation of a leg on the TTL.
func addTTL(by int32) *programpb.Op { return &programpb.Op{Op: &programpb.Op_AddTtl{AddTtl: by}} }

func setTTL() *programpb.Op {
	return &programpb.Op{Op: &programpb.Op_Set{Set: &programpb.SetField{Field: programpb.Field_TTL, Value: 64}}}
}

// arc leads from a segment to another.
type arc struct {
	from, to int
	ops      []*programpb.Op
}

// connected is a program of n segments and the arcs between them.
func connected(n int, arcs ...arc) *programpb.Program {
	p := &programpb.Program{Schema: program.SchemaVersion, LongestWay: 1, Chain: "c"}
	for i := range n {
		p.Segments = append(p.Segments, &programpb.Segment{
			Name: fmt.Sprint("s", i), Table: &programpb.Table{Classes: []uint32{0}},
			Classes: []*programpb.Class{{Legs: []*programpb.Leg{
				{Outcome: &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: programpb.DropReason_DROP_LOCAL}}}},
			}}},
		})
	}
	for _, a := range arcs {
		s := p.Segments[a.from]
		s.Classes = append(s.Classes, &programpb.Class{Legs: []*programpb.Leg{{Ops: a.ops, Outcome: &programpb.Leg_Segment{Segment: uint32(a.to)}}}})
	}
	return p
}

func TestSegmentsMayLeadBackToEachOtherWhereTheTTLFalls(t *testing.T) {
	down := []*programpb.Op{addTTL(-1)}
	for name, p := range map[string]*programpb.Program{
		"two, one of which lowers it":            connected(2, arc{0, 1, down}, arc{1, 0, nil}),
		"one that leads to itself":               connected(1, arc{0, 0, down}),
		"two cycles with a segment in common":    connected(3, arc{0, 1, down}, arc{1, 0, nil}, arc{1, 2, nil}, arc{2, 1, down}),
		"the TTL is set before the cycle":        connected(3, arc{0, 1, []*programpb.Op{setTTL()}}, arc{1, 2, down}, arc{2, 1, nil}),
		"the TTL is raised from cycle to cycle":  connected(2, arc{0, 0, down}, arc{0, 1, []*programpb.Op{addTTL(2)}}, arc{1, 1, down}),
		"two ways that meet, neither lowers it":  connected(4, arc{0, 1, nil}, arc{0, 2, nil}, arc{1, 3, nil}, arc{2, 3, nil}),
		"a cycle of which all edges lower it":    connected(3, arc{0, 1, down}, arc{1, 2, down}, arc{2, 0, down}),
		"lowered twice on the way, added nought": connected(1, arc{0, 0, []*programpb.Op{addTTL(0), addTTL(-1), addTTL(-3)}}),
	} {
		if err := program.Validate(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACycleThatTheTTLDoesNotEndIsRefusedWithItsSegments(t *testing.T) {
	down, set := []*programpb.Op{addTTL(-1)}, []*programpb.Op{setTTL(), addTTL(-1)}
	for want, p := range map[string]*programpb.Program{
		"segments[0] (s0): leads back to itself by itself, and the TTL is not lowered":           connected(1, arc{0, 0, nil}),
		"segments[0] (s0): leads back to itself by segments[1] (s1), and the TTL is not lowered": connected(2, arc{0, 1, nil}, arc{1, 0, nil}),
		"segments[2] (s2): leads back to itself by segments[1] (s1), and the TTL is set or raised": connected(3, arc{0, 1, nil}, arc{1, 2, set},
			arc{2, 1, down}),
		"by segments[1] (s1), segments[2] (s2), and the TTL is not lowered": connected(4, arc{0, 1, []*programpb.Op{addTTL(0)}}, arc{1, 2, nil},
			arc{2, 0, nil}, arc{2, 3, down}, arc{3, 0, down}),
	} {
		if err := program.Validate(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// TestCyclesAreJudgedAsByTryingEveryWay compares random graphs with a search of all their simple cycles.
func TestCyclesAreJudgedAsByTryingEveryWay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	refused := 0
	for range 20_000 {
		n := 1 + r.IntN(6)
		var arcs []arc
		for range r.IntN(9) {
			a := arc{r.IntN(n), r.IntN(n), nil}
			switch r.IntN(8) {
			case 0:
				a.ops = []*programpb.Op{addTTL(int32(r.IntN(3)))}
			case 1:
				a.ops = []*programpb.Op{setTTL()}
			case 2, 3, 4:
				a.ops = []*programpb.Op{addTTL(-1 - int32(r.IntN(2)))}
			}
			arcs = append(arcs, a)
		}
		err := program.Validate(connected(n, arcs...))
		if want := endlessByTrial(n, arcs); (err != nil) != want {
			t.Fatalf("%v: refused %v, want %v (%v)", arcs, err != nil, want, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 2_000 || refused > 18_000 {
		t.Errorf("%d of 20000 were refused; the test wants many of both", refused)
	}
}

// endlessByTrial goes every simple cycle: one that sets or raises the TTL, or does not lower it, is wrong.
func endlessByTrial(n int, arcs []arc) bool {
	var walk func(start, at int, seen map[int]bool, raises, lowers bool) bool
	walk = func(start, at int, seen map[int]bool, raises, lowers bool) bool {
		for _, a := range arcs {
			if a.from != at {
				continue
			}
			up, down := raises, lowers
			for _, o := range a.ops {
				up = up || o.GetSet() != nil || o.GetAddTtl() > 0
				down = down || o.GetAddTtl() < 0
			}
			if a.to == start {
				if up || !down {
					return true
				}
				continue
			}
			if !seen[a.to] {
				seen[a.to] = true
				if walk(start, a.to, seen, up, down) {
					return true
				}
				delete(seen, a.to)
			}
		}
		return false
	}
	for s := range n {
		if walk(s, s, map[int]bool{s: true}, false, false) {
			return true
		}
	}
	return false
}

func TestManySegmentsInARowAreJudgedWithoutRecursion(t *testing.T) {
	p := &programpb.Program{Schema: program.SchemaVersion, LongestWay: 1, Segments: make([]*programpb.Segment, 200_000)}
	for i := range p.Segments {
		next := &programpb.Leg{Ops: []*programpb.Op{addTTL(-1)}, Outcome: &programpb.Leg_Segment{Segment: uint32((i + 1) % len(p.Segments))}}
		p.Segments[i] = &programpb.Segment{
			Table:   &programpb.Table{Classes: []uint32{0}},
			Classes: []*programpb.Class{{Legs: []*programpb.Leg{next}}},
		}
	}
	if err := program.Validate(p); err != nil {
		t.Errorf("a cycle that lowers the TTL everywhere: %v", err)
	}
	for _, s := range p.Segments {
		s.Classes[0].Legs[0].Ops = nil
	}
	if err := program.Validate(p); err == nil || !strings.Contains(err.Error(), "199995 more") {
		t.Errorf("got %v, want the cycle refused", err)
	}
}
