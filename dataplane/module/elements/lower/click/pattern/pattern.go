// Package pattern reads the languages in which Click's classifiers say what packets they mean: the expressions of IPClassifier and IPFilter,
// and the clauses of Classifier (manual pages ipclassifier(n), classifier(n)). Patterns become packet filters.
package pattern

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Error is what is wrong with a pattern.
type Error struct {
	// Off is where in the text, in bytes.
	Off int
	// Value is what is there.
	Value string
	// Message says what would be right.
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%q: %s", e.Value, e.Message) }

// Names are the names of addresses that a configuration has for itself (AddressInfo).
type Names interface {
	Address(name string) (netip.Addr, bool)
	Prefix(name string) (netip.Prefix, bool)
}

// maxFilters bounds the packet filters of a pattern, and of each step on the way to them.
const maxFilters = 512

// union is the packets that one of its filters passes.
type union []headerspace.Filter

var everything = union{headerspace.Filter{}}

// one is a union of one filter with one condition.
func one(f headerspace.Field, s headerspace.Set) union {
	return union{headerspace.Filter{}.With(f, s)}
}

// possible leaves out filters that no packet passes.
func (u union) possible() union {
	return slices.DeleteFunc(u, func(f headerspace.Filter) bool {
		_, ok := f.Feasible()
		return !ok
	})
}

// and is the packets of both; ok is false if that takes too many filters.
func (u union) and(o union) (_ union, ok bool) {
	if len(u)*len(o) > maxFilters*maxFilters/4 {
		return nil, false
	}
	var out union
	for _, a := range u {
		for _, b := range o {
			out = append(out, a.Intersect(b))
		}
	}
	return out.possible().tidy()
}

func (u union) or(o union) (union, bool) {
	return append(slices.Clone(u), o...).tidy()
}

// not is the packets that no filter passes.
func (u union) not() (union, bool) {
	out := everything
	for _, f := range u {
		var left union
		for _, r := range out {
			left = append(left, r.Subtract(f)...)
		}
		if len(left) > 4*maxFilters {
			return nil, false
		}
		var ok bool
		if out, ok = left.possible().tidy(); !ok {
			return nil, false
		}
	}
	return out, true
}

// tidy puts filters together that differ in one field, and leaves out those within others.
func (u union) tidy() (union, bool) {
	if len(u) > maxFilters*maxFilters/4 {
		return nil, false
	}
	out := make(union, 0, len(u))
	for _, f := range u {
		for i := 0; i < len(out); i++ {
			if g, ok := merged(out[i], f); ok {
				f, out = g, slices.Delete(out, i, i+1)
				i = -1 // what it became may fit others
			}
		}
		if out = append(out, f); len(out) > maxFilters {
			return nil, false
		}
	}
	return out, true
}

// merged is both filters as one, if one says it.
func merged(a, b headerspace.Filter) (headerspace.Filter, bool) {
	differs := headerspace.NumFields
	for f := range headerspace.NumFields {
		if a.Any(f) && b.Any(f) || a.Get(f).Equal(b.Get(f)) {
			continue
		}
		if differs != headerspace.NumFields {
			switch {
			case a.SubsetOf(b):
				return b, true
			case b.SubsetOf(a):
				return a, true
			}
			return a, false
		}
		differs = f
	}
	if differs == headerspace.NumFields {
		return a, true
	}
	return a.With(differs, a.Get(differs).Union(b.Get(differs))), true
}
