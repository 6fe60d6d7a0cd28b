package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Range is the addresses First..Last of one family.
type Range struct{ First, Last netip.Addr }

// Set is the range as a set of values of an address field.
func (r Range) Set() headerspace.Set { return headerspace.AddrRange(r.First, r.Last) }

// ParseAddress reads an IPv4 address. IPv6 addresses are well-formed, but not supported yet.
func ParseAddress(s string) (netip.Addr, *Problem) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Zone() != "":
		return a, &Problem{Value: s, Message: `not an address; write it like "192.0.2.1"`}
	case !a.Is4():
		return a, &Problem{Value: s, Message: "IPv6 is not supported yet; use an IPv4 address"}
	}
	return a, nil
}

// ParsePrefix reads an IPv4 prefix. If it has host bits, it is masked, and the
// problem is a warning.
func ParsePrefix(s string) (netip.Prefix, *Problem) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, &Problem{Value: s, Message: `not a prefix; write it like "192.0.2.0/24"`}
	case !p.Addr().Is4():
		return p, &Problem{Value: s, Message: "IPv6 is not supported yet; use an IPv4 prefix"}
	case p != p.Masked():
		return p.Masked(), &Problem{
			Value: s, Warning: true,
			Message: fmt.Sprintf("the prefix has host bits set; it is taken as %s", p.Masked()),
		}
	}
	return p, nil
}

// ParseInterfaceAddress reads an interface's address with its on-link prefix.
func ParseInterfaceAddress(s string) (netip.Prefix, *Problem) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, &Problem{Value: s, Message: `not an address with its prefix length; write it like "192.0.2.1/24"`}
	case !p.Addr().Is4():
		return p, &Problem{Value: s, Message: "IPv6 is not supported yet; use an IPv4 address"}
	case p.Bits() < 31 && p.Addr() == p.Masked().Addr():
		return p, &Problem{Value: s, Message: "this is the prefix itself; give the interface an address within it, like " +
			netip.PrefixFrom(p.Addr().Next(), p.Bits()).String()}
	case p.Bits() < 31 && p.Addr() == lastOf(p):
		return p, &Problem{Value: s, Message: "this is the prefix's broadcast address; take another of its addresses"}
	}
	return p, nil
}

// ParseAddressSet reads an address, a prefix, or a range "first-last".
func ParseAddressSet(s string) (Range, *Problem) {
	if first, last, ok := strings.Cut(s, "-"); ok {
		return parseRange(s, first, last)
	}
	if strings.Contains(s, "/") {
		p, problem := ParsePrefix(s)
		if problem != nil && !problem.Warning {
			return Range{}, problem
		}
		return Range{p.Addr(), lastOf(p)}, problem
	}
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Zone() != "":
		return Range{}, &Problem{Value: s, Message: `not an address, prefix or range; write it like "192.0.2.1", "192.0.2.0/24" or "192.0.2.1-192.0.2.9"`}
	case !a.Is4():
		return Range{}, &Problem{Value: s, Message: "IPv6 is not supported yet; use IPv4 addresses"}
	}
	return Range{a, a}, nil
}

func parseRange(s, first, last string) (Range, *Problem) {
	a, err1 := netip.ParseAddr(first)
	b, err2 := netip.ParseAddr(last)
	switch {
	case err1 != nil || err2 != nil:
		return Range{}, &Problem{Value: s, Message: `not a range of addresses; write it like "192.0.2.1-192.0.2.9"`}
	case a.Is4() != b.Is4():
		return Range{}, &Problem{Value: s, Message: "the range mixes IPv4 and IPv6; both ends must be of one family"}
	case !a.Is4():
		return Range{}, &Problem{Value: s, Message: "IPv6 is not supported yet; use IPv4 addresses"}
	case b.Less(a):
		return Range{}, &Problem{Value: s, Message: fmt.Sprintf("the range is reversed; write %s-%s", b, a)}
	}
	return Range{a, b}, nil
}

func lastOf(p netip.Prefix) netip.Addr {
	iv := headerspace.Prefix(p).Intervals()
	return headerspace.AsAddr(iv[0].Hi)
}

// is6 tells whether the text is meant as IPv6.
func is6(s string) bool { return strings.Contains(s, ":") }

// Prefixes is the fewest prefixes that make up the range.
func (r Range) Prefixes() []netip.Prefix {
	var out []netip.Prefix
	for a := r.First; a.IsValid() && !r.Last.Less(a); {
		p := netip.PrefixFrom(a, a.BitLen())
		for p.Bits() > 0 {
			wider := netip.PrefixFrom(a, p.Bits()-1)
			if wider.Masked().Addr() != a || r.Last.Less(lastOf(wider)) {
				break
			}
			p = wider
		}
		out = append(out, p)
		a = lastOf(p).Next()
	}
	return out
}
