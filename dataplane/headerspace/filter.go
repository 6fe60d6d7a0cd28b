package headerspace

import (
	"strings"
)

// Filter is a packet filter: a product of field filters (SNF, φ). The zero
// Filter is the whole packet space. Filters are values; With returns a new one.
type Filter struct {
	sets [numSets]*Set // nil: every value
}

// Get is the filter's set for a field.
func (p Filter) Get(f Field) Set {
	if p.sets[f] == nil {
		return Full(f)
	}
	return *p.sets[f]
}

// Any tells whether the filter lets every value of the field pass.
func (p Filter) Any(f Field) bool { return p.sets[f] == nil }

// With is the filter with a field's set replaced.
func (p Filter) With(f Field, s Set) Filter {
	if s.IsFull(f) {
		p.sets[f] = nil
	} else {
		p.sets[f] = &s
	}
	return p
}

// Without is the filter with every value of a field let pass.
func (p Filter) Without(f Field) Filter {
	p.sets[f] = nil
	return p
}

// And is the filter with a field's set intersected.
func (p Filter) And(f Field, s Set) Filter {
	if p.sets[f] == nil {
		return p.With(f, s)
	}
	if p.sets[f].SubsetOf(s) {
		return p
	}
	t := p.sets[f].Intersect(s)
	p.sets[f] = &t
	return p
}

// Meet is And with q's set, which is shared where it can be.
func (p Filter) Meet(q Filter, f Field) Filter {
	p.Narrow(&q, f)
	return p
}

// Narrow is Meet in place. It tells whether some value of the field is left.
func (p *Filter) Narrow(q *Filter, f Field) bool {
	have, want := p.sets[f], q.sets[f]
	switch {
	case want == nil || have == want:
	case have == nil || len(want.iv) == 1 && want.SubsetOf(*have):
		p.sets[f] = want
	case !have.SubsetOf(*want):
		t := have.Intersect(*want)
		p.sets[f] = &t
	}
	return p.sets[f] == nil || !p.sets[f].IsEmpty()
}

// EmptyAt tells whether the filter has no value of the field.
func (p Filter) EmptyAt(f Field) bool { return p.sets[f] != nil && p.sets[f].IsEmpty() }

// Ref identifies the filter's set for a field: equal references, equal sets. Nil: every value.
func (p Filter) Ref(f Field) *Set { return p.sets[f] }

// Intersect is the packets that both filters pass.
func (p Filter) Intersect(q Filter) Filter {
	for f := range Field(numSets) {
		p = p.Meet(q, f)
	}
	return p
}

// Given forgets the fields in which p asks no more than g: among packets that pass g,
// the result passes the same as p.
func (p Filter) Given(g Filter) Filter {
	for f := range Field(numSets) {
		if p.sets[f] != nil && g.sets[f] != nil && (p.sets[f] == g.sets[f] || g.sets[f].SubsetOf(*p.sets[f])) {
			p.sets[f] = nil
		}
	}
	return p
}

// IsEmpty tells whether no packet passes, by the product alone (see Feasible).
func (p Filter) IsEmpty() bool {
	for f := range Field(numSets) {
		if p.sets[f] != nil && p.sets[f].IsEmpty() {
			return true
		}
	}
	return false
}

// SubsetOf tells whether q passes every packet that p passes.
func (p Filter) SubsetOf(q Filter) bool {
	if p.IsEmpty() {
		return true
	}
	for f := range Field(numSets) {
		if q.sets[f] == nil || p.sets[f] == q.sets[f] {
			continue
		}
		if p.sets[f] == nil || !p.sets[f].SubsetOf(*q.sets[f]) {
			return false
		}
	}
	return true
}

// Overlaps tells whether some packet passes both.
func (p Filter) Overlaps(q Filter) bool {
	for f := range Field(numSets) {
		if p.sets[f] != nil && p.sets[f].IsEmpty() || q.sets[f] != nil && q.sets[f].IsEmpty() {
			return false
		}
		if p.sets[f] != nil && q.sets[f] != nil && !p.sets[f].Overlaps(*q.sets[f]) {
			return false
		}
	}
	return true
}

// Equal tells whether both filters are the same product.
func (p Filter) Equal(q Filter) bool { return p.SubsetOf(q) && q.SubsetOf(p) }

// Same tells whether both filters have the same set for every field. Other than with Equal, filters that no packet passes may differ.
func (p Filter) Same(q Filter) bool {
	for f := range Field(numSets) {
		if a, b := p.sets[f], q.sets[f]; a != b && (a == nil || b == nil || !a.Equal(*b)) {
			return false
		}
	}
	return true
}

// Subtract is p∖q as disjoint filters, one per field in which q is narrower (lazily
// subtracted sets explode; use it only where order cannot serve).
func (p Filter) Subtract(q Filter) []Filter {
	if !p.Overlaps(q) {
		return []Filter{p}
	}
	var out []Filter
	rest := p
	for f := range Field(numSets) {
		if q.sets[f] == nil {
			continue
		}
		if d := rest.Get(f).Subtract(*q.sets[f]); !d.IsEmpty() {
			out = append(out, rest.With(f, d))
		}
		rest = rest.And(f, *q.sets[f])
	}
	return out
}

// Contains tells whether the packet passes.
func (p Filter) Contains(pkt *Packet) bool {
	for f := range Field(numSets) {
		if p.sets[f] != nil && !p.sets[f].Contains(pkt[f]) {
			return false
		}
	}
	return true
}

// Packet is a point of the packet space: a value per field, and of Route.
type Packet [numSets]Value

var (
	tcp, icmp = Single(V(6)), Single(V(1))
	ported    = Of(6, 17)
	headed    = Of(FragWhole, FragFirst) // fragments that carry the transport header
)

// Feasible narrows the filter to packets that can exist, as far as one product
// can say it (a filter on ports implies TCP or UDP and no later fragment, …); ok is
// false if none can.
func (p Filter) Feasible() (Filter, bool) {
	need := func(f Field, proto Set) {
		absent, _ := f.Absent()
		if p.sets[f] != nil && !p.sets[f].Contains(absent) {
			p = p.And(Proto, proto).And(Frag, headed)
		}
	}
	need(SPort, ported)
	need(DPort, ported)
	need(TCPFlags, tcp)
	need(ICMPType, icmp)
	need(ICMPCode, icmp)
	// The other way round: what must be there is not absent.
	drop := func(f Field, proto Set) {
		if p.sets[f] == nil || p.sets[Proto] == nil || p.sets[Frag] == nil ||
			!p.sets[Proto].SubsetOf(proto) || !p.sets[Frag].SubsetOf(headed) {
			return
		}
		if absent, _ := f.Absent(); p.sets[f].Contains(absent) {
			p = p.With(f, p.sets[f].Subtract(Single(absent)))
		}
	}
	drop(SPort, ported)
	drop(DPort, ported)
	drop(TCPFlags, tcp)
	drop(ICMPType, icmp)
	drop(ICMPCode, icmp)
	return p, !p.IsEmpty()
}

// Simplify forgets conditions on fields that no packet of the filter's protocols has.
func (p Filter) Simplify() Filter {
	if p.sets[Proto] == nil {
		return p
	}
	forget := func(f Field, proto Set) {
		if p.sets[f] == nil || p.sets[Proto].Overlaps(proto) {
			return
		}
		if absent, _ := f.Absent(); p.sets[f].Contains(absent) {
			p.sets[f] = nil
		}
	}
	forget(SPort, ported)
	forget(DPort, ported)
	forget(TCPFlags, tcp)
	forget(ICMPType, icmp)
	forget(ICMPCode, icmp)
	return p
}

// String lists the fields that the filter restricts.
func (p Filter) String() string {
	var parts []string
	for f := range Field(numSets) {
		if p.sets[f] != nil {
			parts = append(parts, f.String()+"="+p.sets[f].Format(f))
		}
	}
	if len(parts) == 0 {
		return "any"
	}
	return strings.Join(parts, " ")
}
