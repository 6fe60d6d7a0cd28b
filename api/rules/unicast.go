package rules

import "net/netip"

// Special is a block of addresses that no host has.
type Special struct {
	Prefix netip.Prefix
	What   string
}

// Specials are the blocks that no packet may come from or go to (RFC 1812 section 5.3.7).
var Specials = []Special{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "class E"},
}

// SpecialIn finds a block that has addresses in common with the range.
func SpecialIn(r Range) (Special, bool) {
	for _, s := range Specials {
		if r.Overlaps(Range{s.Prefix.Addr(), lastOf(s.Prefix)}) {
			return s, true
		}
	}
	return Special{}, false
}

// Broadcast is the prefix's broadcast address; prefixes of one or two addresses have none (RFC 3021).
func Broadcast(p netip.Prefix) (netip.Addr, bool) {
	return lastOf(p), p.Bits() < 31
}

// Holds tells whether the range holds the address.
func (r Range) Holds(a netip.Addr) bool { return !a.Less(r.First) && !r.Last.Less(a) }

// Overlaps tells whether the ranges have an address in common.
func (r Range) Overlaps(o Range) bool { return !r.Last.Less(o.First) && !o.Last.Less(r.First) }
