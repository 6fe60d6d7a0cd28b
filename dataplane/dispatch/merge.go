package dispatch

import (
	"slices"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// flatten is the elements' rules.
func flatten(in []element) (out []Rule) {
	for i := range in {
		for _, m := range in[i].matches {
			out = append(out, Rule{Priority: in[i].level, Match: m, Action: in[i].action})
		}
	}
	return out
}

// merge makes one of rules that do the same and differ in one bit that the device need not look at.
func merge(rules []Rule, caps *Capabilities) []Rule {
	at := make(map[Rule]bool, len(rules))
	for _, r := range rules {
		at[r] = true
	}
	for again := true; again; {
		again = false
		for _, r := range rules {
			if !at[r] {
				continue
			}
			for f := range r.Match.Conds {
				if twin, both, ok := sibling(r, hs.Field(f), caps); ok && at[twin] {
					delete(at, r)
					delete(at, twin)
					at[both] = true
					again = true
					break
				}
			}
		}
		rules = rules[:0]
		for r := range at {
			rules = append(rules, r)
		}
		slices.SortFunc(rules, Rule.compare)
	}
	return rules
}

// sibling is the rule that differs from r in the last bit that a field's mask asks for, and the one for both.
func sibling(r Rule, f hs.Field, caps *Capabilities) (twin, both Rule, ok bool) {
	c := r.Match.Conds[f]
	bit := c.Mask & -c.Mask
	switch {
	case bit == 0, caps.Fields[f] < Prefix, f == hs.VLAN && c.Mask == Untagged,
		f == hs.Proto && caps.Fields[f] < Masked, f == hs.Proto && r.Match.deep():
		return r, r, false
	}
	twin, both = r, r
	twin.Match.Conds[f].Value ^= bit
	both.Match.Conds[f].Mask &^= bit
	both.Match.Conds[f].Value &^= bit
	return twin, both, true
}
