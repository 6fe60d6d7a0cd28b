package program

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of a program; the engine has the same (sn_program.h).
const (
	MaxInterfaces = 64
	MaxTables     = 256   // of state
	MaxLegs       = 64    // of a class
	MaxOps        = 256   // of a leg
	MaxCounters   = 65535 // of a leg
	MaxBits       = 256   // bit sets of a table
	MaxFIBs       = 64
	MaxNextHops   = 65535 // numbers of a FIB
	maxBoxes      = 1<<28 - 1
	maxSets       = 256 // of subscribers
)

// SchemaError says that a program was written for another release.
type SchemaError struct{ Schema uint32 }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("program has schema %d, this Sinter reads schema %d: synthesize the chain again with this release",
		e.Schema, SchemaVersion)
}

// Validate checks the schema, the limits, that every index is within bounds, that the tables' arrays fit each other and
// hold every packet, and that segments lead back to themselves only where the TTL ends that. It does not judge what the program
// does. The engine accepts and refuses the same programs: testdata/rules has examples for both.
func Validate(p *programpb.Program) error {
	if p.GetSchema() != SchemaVersion {
		return &SchemaError{p.GetSchema()}
	}
	if n := p.GetLongestWay(); n < 1 || n > MaxWay {
		return fmt.Errorf("program of chain %q: longest_way is %d, want 1..%d", p.GetChain(), n, MaxWay)
	}
	v := validator{p}
	for _, check := range []func() error{
		v.counts,
		func() error { return rule.Each(p.GetInterfaces(), v.iface) },
		func() error { return rule.Each(p.GetSubscribers(), v.subscribers) },
		func() error { return rule.Each(p.GetTables(), v.stateTable) },
		func() error { return rule.Check(p) },
		func() error { return rule.Each(p.GetGenerators(), v.generator) },
		func() error { return rule.Each(p.GetFibs(), v.fib) },
		func() error { return rule.Each(p.GetSegments(), v.segment) },
		func() error { return checkCycles(p) },
	} {
		if err := check(); err != nil {
			return fmt.Errorf("program of chain %q: %w", p.GetChain(), err)
		}
	}
	return nil
}

type validator struct{ p *programpb.Program }

func (v validator) counts() error {
	if len(v.p.GetSegments()) == 0 {
		return errors.New("segments: there are none, want at least one")
	}
	return rule.First(
		rule.Count("interfaces", len(v.p.GetInterfaces()), MaxInterfaces),
		rule.Count("tables", len(v.p.GetTables()), MaxTables),
		rule.Count("fibs", len(v.p.GetFibs()), MaxFIBs),
		rule.Count("subscribers", len(v.p.GetSubscribers()), maxSets),
		rule.Distinct("tables", v.p.GetTables()),
		rule.Distinct("subscribers", v.p.GetSubscribers()),
	)
}

// full is why frames are dropped that a wire does not take.
func (v validator) full(at string, n *programpb.Interface) error {
	if n.GetFull() > 0 && !n.GetWire() {
		return fmt.Errorf("%s: full is %d, want 0, as it is no wire", at, n.GetFull())
	}
	return rule.AtMost(at, "full", n.GetFull(), uint32(len(v.p.GetReasons())))
}

func (v validator) iface(i int, n *programpb.Interface) error {
	at := fmt.Sprintf("interfaces[%d] (%s)", i, n.GetName())
	if n.GetName() == "" {
		return fmt.Errorf("%s: has no name", at)
	}
	if l := len(n.GetMac()); l != 0 && l != 6 {
		return fmt.Errorf("%s: mac has %d bytes, want 6 or none", at, l)
	}
	for j, vlan := range n.GetVlans() {
		if vlan < 1 || vlan > 4094 || j > 0 && vlan <= n.GetVlans()[j-1] {
			return fmt.Errorf("%s: vlans[%d] is %d, want 1..4094, each above the one before", at, j, vlan)
		}
	}
	for j, nb := range n.GetNeighbors() {
		if v := nb.GetVlan(); v != 0 && !slices.Contains(n.GetVlans(), v) {
			return fmt.Errorf("%s: neighbors[%d].vlan is %d, want one of the interface's, or 0", at, j, v)
		}
		if l := len(nb.GetMac()); l != 6 {
			return fmt.Errorf("%s: neighbors[%d]: mac has %d bytes, want 6", at, j, l)
		}
	}
	if w := n.GetWatched(); w != 0 && (n.GetWire() || w == n.GetAddress() || n.GetPrefixLen() <= 32 && (w^n.GetAddress())>>(32-n.GetPrefixLen()) != 0) {
		return fmt.Errorf("%s: watched is %#x, want another host of the interface's network", at, w)
	}
	if err := rule.First(
		rule.AtMost(at, "prefix_len", n.GetPrefixLen(), 32),
		rule.Index(at, "segment", n.GetSegment(), len(v.p.GetSegments())),
		v.full(at, n),
	); err != nil {
		return err
	}
	for j, r := range n.GetRefused() {
		switch {
		case r.GetFirst() > r.GetLast() || j > 0 && r.GetFirst() <= n.GetRefused()[j-1].GetLast():
			return fmt.Errorf("%s: refused[%d] is %#x-%#x, want ascending, disjoint ranges", at, j, r.GetFirst(), r.GetLast())
		case !slices.Contains(sourceReasons, r.GetReason()):
			return fmt.Errorf("%s: refused[%d].reason is %d, want that of a source", at, j, r.GetReason())
		}
	}
	// RFC 791: every link carries 68 bytes.
	if n.GetMtu() < 68 || n.GetMtu() > 65535 {
		return fmt.Errorf("%s: mtu is %d, want 68..65535", at, n.GetMtu())
	}
	if n.GetAnswerTtl() > 255 {
		return fmt.Errorf("%s: answer_ttl is %d, want 0..255", at, n.GetAnswerTtl())
	}
	return nil
}

// sourceReasons are why an interface may refuse a source.
var sourceReasons = []programpb.DropReason{
	programpb.DropReason_DROP_OWN_SOURCE, programpb.DropReason_DROP_POOL_SOURCE,
	programpb.DropReason_DROP_BROADCAST_SOURCE, programpb.DropReason_DROP_REVERSE_PATH,
}

func (v validator) stateTable(i int, t *programpb.StateTable) error {
	return rule.StateKindOf(t).Check(v.p, fmt.Sprintf("tables[%d] (%s)", i, t.GetName()), t)
}

func (v validator) generator(i int, g *programpb.Generator) error {
	at := fmt.Sprintf("generators[%d] (%s)", i, g.GetName())
	if _, ok := programpb.Generator_Kind_name[int32(g.GetKind())]; !ok {
		return fmt.Errorf("%s: kind %d is unknown", at, g.GetKind())
	}
	return rule.First(
		rule.AtMost(at, "type", g.GetType(), 255),
		rule.AtMost(at, "code", g.GetCode(), 255),
		rule.Index(at, "segment", g.GetSegment(), len(v.p.GetSegments())),
	)
}

func (v validator) fib(i int, f *programpb.Fib) error {
	at := fmt.Sprintf("fibs[%d]", i)
	if n := len(f.GetHash()); n != sha256.Size {
		return fmt.Errorf("%s: hash has %d bytes, want %d", at, n, sha256.Size)
	}
	return rule.AtMost(at, "next_hops", f.GetNextHops(), MaxNextHops)
}

func (v validator) segment(i int, s *programpb.Segment) error {
	at := fmt.Sprintf("segments[%d] (%s)", i, s.GetName())
	if int(s.GetFib()) > len(v.p.GetFibs()) {
		return fmt.Errorf("%s: fib is %d, but there are only %d", at, s.GetFib(), len(v.p.GetFibs()))
	}
	fib := s.GetFib() > 0
	if err := rule.First(
		rule.AtMost(at, "ttl_floor", s.GetTtlFloor(), 256),
		table(at+": table", s.GetTable(), len(s.GetClasses()), fib),
	); err != nil {
		return err
	}
	if s.GetTtlFloor() > 0 || s.GetWholeOnly() || s.GetLow() != nil {
		if err := table(at+": low", s.GetLow(), len(s.GetClasses()), fib); err != nil {
			return err
		}
	}
	return rule.Each(s.GetClasses(), func(j int, c *programpb.Class) error {
		if n := len(c.GetLegs()); n < 1 || n > MaxLegs {
			return fmt.Errorf("%s: classes[%d]: has %d legs, want 1..%d", at, j, n, MaxLegs)
		}
		return rule.Each(c.GetLegs(), func(k int, l *programpb.Leg) error {
			return v.leg(fmt.Sprintf("%s: classes[%d].legs[%d]", at, j, k), l)
		})
	})
}

func (v validator) leg(at string, l *programpb.Leg) error {
	if err := rule.First(rule.Has(at, "ops", len(l.GetOps()), MaxOps), rule.Has(at, "counters", len(l.GetCounters()), MaxCounters)); err != nil {
		return err
	}
	if err := rule.Each(l.GetOps(), func(i int, o *programpb.Op) error {
		return v.op(fmt.Sprintf("%s.ops[%d]", at, i), o)
	}); err != nil {
		return err
	}
	for i, c := range l.GetCounters() {
		if err := rule.Index(at, fmt.Sprintf("counters[%d]", i), c, len(v.p.GetCounters())); err != nil {
			return err
		}
	}
	if known, ok := rule.OutcomeOf(l); ok {
		return known.Check(v.p, at, l)
	}
	return fmt.Errorf("%s: has no outcome", at)
}

func (v validator) op(at string, o *programpb.Op) error {
	if known, ok := rule.OperationOf(o); ok {
		return known.Check(v.p, at, o)
	}
	return fmt.Errorf("%s: is empty", at)
}
