package program

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Limits of a program; the engine has the same (sn_program.h).
const (
	MaxInterfaces = 64
	MaxTables     = 256 // of state
	MaxRuns       = 1024
	MaxLegs       = 64    // of a class
	MaxOps        = 256   // of a leg
	MaxCounters   = 65535 // of a leg
	MaxBits       = 256   // bit sets of a table
	MaxFIBs       = 64
	MaxNextHops   = 65535 // numbers of a FIB
	maxBoxes      = 1<<28 - 1
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
		func() error { return each(p.GetInterfaces(), v.iface) },
		func() error { return each(p.GetTables(), v.stateTable) },
		func() error { return each(p.GetSubscribers(), v.subscribers) },
		func() error { return each(p.GetRuns(), v.run) },
		func() error { return each(p.GetGenerators(), v.generator) },
		func() error { return each(p.GetObservations(), v.observation) },
		func() error { return each(p.GetFibs(), v.fib) },
		func() error { return each(p.GetSegments(), v.segment) },
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
	return first(
		count("interfaces", len(v.p.GetInterfaces()), MaxInterfaces),
		count("tables", len(v.p.GetTables()), MaxTables),
		count("runs", len(v.p.GetRuns()), MaxRuns),
		count("fibs", len(v.p.GetFibs()), MaxFIBs),
		count("observations", len(v.p.GetObservations()), maxObservations),
		distinct("tables", v.p.GetTables()),
		distinct("runs", v.p.GetRuns()),
		count("subscribers", len(v.p.GetSubscribers()), MaxSubscriberSets),
		distinct("subscribers", v.p.GetSubscribers()),
	)
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
	if err := first(
		atMost(at, "prefix_len", n.GetPrefixLen(), 32),
		index(at, "segment", n.GetSegment(), len(v.p.GetSegments())),
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
	return kindOf(t).check(v, fmt.Sprintf("tables[%d] (%s)", i, t.GetName()), t)
}

func naptTable(at string, t *programpb.StateTable) error {
	if len(t.GetPool()) == 0 {
		return fmt.Errorf("%s: pool is empty", at)
	}
	for j, r := range t.GetPool() {
		if r.GetFirst() > r.GetLast() {
			return fmt.Errorf("%s: pool[%d] is %#x-%#x, want an ascending range", at, j, r.GetFirst(), r.GetLast())
		}
	}
	if a, twice := heldTwice(t.GetPool()); twice {
		return fmt.Errorf("%s: pool holds %#x twice, want disjoint ranges", at, a)
	}
	if t.GetPortMin() > t.GetPortMax() || t.GetPortMax() > 65535 {
		return fmt.Errorf("%s: ports are %d-%d, want an ascending range up to 65535", at, t.GetPortMin(), t.GetPortMax())
	}
	if m := t.GetMapping(); m < 0 || m > programpb.Dependence_ENDPOINT_INDEPENDENT {
		return fmt.Errorf("%s: mapping is %d, want 0..%d", at, m, programpb.Dependence_ENDPOINT_INDEPENDENT)
	}
	if ms := t.GetPortRestMs(); ms > maxIdleMs {
		return fmt.Errorf("%s: port_rest_ms is %d, want at most %d", at, ms, maxIdleMs)
	}
	if f := t.GetFiltering(); f < 0 || f > t.GetMapping() {
		return fmt.Errorf("%s: filtering is %d, want at most the mapping, which is %d", at, f, t.GetMapping())
	}
	return each(t.GetReserved(), func(j int, r *programpb.ReservedPorts) error {
		return reservedPorts(fmt.Sprintf("%s: reserved[%d]", at, j), r)
	})
}

// heldTwice is an address that two ranges hold.
func heldTwice(pool []*programpb.AddressRange) (uint32, bool) {
	pool = slices.SortedFunc(slices.Values(pool), func(a, b *programpb.AddressRange) int { return cmp.Compare(a.GetFirst(), b.GetFirst()) })
	for i := 1; i < len(pool); i++ {
		if pool[i].GetFirst() <= pool[i-1].GetLast() {
			return pool[i].GetFirst(), true
		}
	}
	return 0, false
}

func (v validator) run(i int, r *programpb.Run) error {
	at := fmt.Sprintf("runs[%d] (%s)", i, r.GetName())
	return first(
		v.napt(at, "table", r.GetTable()),
		index(at, "segment", r.GetSegment(), len(v.p.GetSegments())),
		count(at+": single", len(r.GetSingle()), MaxRuns),
		each(r.GetSingle(), func(j int, run uint32) error { return index(at, fmt.Sprintf("single[%d]", j), run, len(v.p.GetRuns())) }),
		atMost(at, "subscribers", r.GetSubscribers(), uint32(len(v.p.GetSubscribers()))),
	)
}

func (v validator) generator(i int, g *programpb.Generator) error {
	at := fmt.Sprintf("generators[%d] (%s)", i, g.GetName())
	if _, ok := programpb.Generator_Kind_name[int32(g.GetKind())]; !ok {
		return fmt.Errorf("%s: kind %d is unknown", at, g.GetKind())
	}
	return first(
		atMost(at, "type", g.GetType(), 255),
		atMost(at, "code", g.GetCode(), 255),
		index(at, "segment", g.GetSegment(), len(v.p.GetSegments())),
	)
}

func (v validator) fib(i int, f *programpb.Fib) error {
	at := fmt.Sprintf("fibs[%d]", i)
	if n := len(f.GetHash()); n != sha256.Size {
		return fmt.Errorf("%s: hash has %d bytes, want %d", at, n, sha256.Size)
	}
	return atMost(at, "next_hops", f.GetNextHops(), MaxNextHops)
}

func (v validator) segment(i int, s *programpb.Segment) error {
	at := fmt.Sprintf("segments[%d] (%s)", i, s.GetName())
	if int(s.GetFib()) > len(v.p.GetFibs()) {
		return fmt.Errorf("%s: fib is %d, but there are only %d", at, s.GetFib(), len(v.p.GetFibs()))
	}
	fib := s.GetFib() > 0
	if err := first(
		atMost(at, "ttl_floor", s.GetTtlFloor(), 256),
		table(at+": table", s.GetTable(), len(s.GetClasses()), fib),
	); err != nil {
		return err
	}
	if s.GetTtlFloor() > 0 || s.GetWholeOnly() || s.GetLow() != nil {
		if err := table(at+": low", s.GetLow(), len(s.GetClasses()), fib); err != nil {
			return err
		}
	}
	return each(s.GetClasses(), func(j int, c *programpb.Class) error {
		if n := len(c.GetLegs()); n < 1 || n > MaxLegs {
			return fmt.Errorf("%s: classes[%d]: has %d legs, want 1..%d", at, j, n, MaxLegs)
		}
		return each(c.GetLegs(), func(k int, l *programpb.Leg) error {
			return v.leg(fmt.Sprintf("%s: classes[%d].legs[%d]", at, j, k), l)
		})
	})
}

func (v validator) leg(at string, l *programpb.Leg) error {
	if err := first(has(at, "ops", len(l.GetOps()), MaxOps), has(at, "counters", len(l.GetCounters()), MaxCounters)); err != nil {
		return err
	}
	if err := each(l.GetOps(), func(i int, o *programpb.Op) error {
		return v.op(fmt.Sprintf("%s.ops[%d]", at, i), o)
	}); err != nil {
		return err
	}
	for i, c := range l.GetCounters() {
		if err := index(at, fmt.Sprintf("counters[%d]", i), c, len(v.p.GetCounters())); err != nil {
			return err
		}
	}
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Output:
		return index(at, "output", o.Output, len(v.p.GetInterfaces()))
	case *programpb.Leg_Drop:
		return v.drop(at, o.Drop)
	case *programpb.Leg_Generator:
		return index(at, "generator", o.Generator, len(v.p.GetGenerators()))
	case *programpb.Leg_Segment:
		return index(at, "segment", o.Segment, len(v.p.GetSegments()))
	case *programpb.Leg_StateReturn:
		return v.napt(at, "state_return", o.StateReturn)
	case *programpb.Leg_Track:
		return v.track(at, o.Track)
	}
	return fmt.Errorf("%s: has no outcome", at)
}

func (v validator) drop(at string, d *programpb.Drop) error {
	switch r := d.GetReason().(type) {
	case *programpb.Drop_Chain:
		return index(at, "drop.chain", r.Chain, len(v.p.GetReasons()))
	case *programpb.Drop_Builtin:
		if _, ok := programpb.DropReason_name[int32(r.Builtin)]; ok && r.Builtin != programpb.DropReason_DROP_NONE {
			return nil
		}
		return fmt.Errorf("%s: drop.builtin %d is no drop reason", at, r.Builtin)
	}
	return fmt.Errorf("%s: drop has no reason", at)
}

func (v validator) op(at string, o *programpb.Op) error {
	if row, ok := operationOf(o); ok {
		return row.check(v, at, o)
	}
	return fmt.Errorf("%s: is empty", at)
}

func setField(at string, s *programpb.SetField) error {
	limit := FieldMax(s.GetField())
	switch s.GetField() {
	case programpb.Field_VLAN, programpb.Field_SRC, programpb.Field_DST, programpb.Field_DSCP, programpb.Field_TTL:
		return atMost(at, "set "+s.GetField().String(), s.GetValue(), limit)
	case programpb.Field_SPORT, programpb.Field_DPORT: // a port cannot be made absent
		return atMost(at, "set "+s.GetField().String(), s.GetValue(), limit-1)
	default:
		return fmt.Errorf("%s: field %s cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT", at, s.GetField())
	}
}

func count(at string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return fmt.Errorf("%s: there are %d, want at most %d", at, n, limit)
}

func has(at, what string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return fmt.Errorf("%s: has %d %s, want at most %d", at, n, what, limit)
}

// distinct refuses two of one name: state is kept by it over a swap.
func distinct[T interface{ GetName() string }](field string, list []T) error {
	seen := map[string]int{}
	for i, x := range list {
		if j, ok := seen[x.GetName()]; ok {
			return fmt.Errorf("%s[%d] (%s): name is that of %s[%d], want names that differ", field, i, x.GetName(), field, j)
		}
		seen[x.GetName()] = i
	}
	return nil
}

func index(at, field string, i uint32, n int) error {
	if uint64(i) < uint64(n) {
		return nil
	}
	return fmt.Errorf("%s: %s is %d, but there are only %d", at, field, i, n)
}

func atMost(at, field string, v, limit uint32) error {
	if v <= limit {
		return nil
	}
	return fmt.Errorf("%s: %s is %d, want at most %d", at, field, v, limit)
}

func each[T any](list []T, check func(int, T) error) error {
	for i, x := range list {
		if err := check(i, x); err != nil {
			return err
		}
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
