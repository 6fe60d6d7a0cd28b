package synth

import (
	"errors"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// Packets that a NAPT translates: ICMP's queries and errors, and all protocols but those whose checksums cover addresses in a way that it does not
// know (DCCP, AH, UDP-Lite). Only ICMP packets have an ICMP type, so one product says it.
var (
	forwardable = translatable(3, 8, 11, 12, 13)
	returnable  = translatable(0, 3, 11, 12, 14)

	// Flows of the protocols in bound are told apart by port or identifier, others by address alone.
	bound   = headerspace.Of(1, 6, 17)
	unbound = headerspace.Full(headerspace.Proto).Subtract(bound)

	fragmented = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragFirst, headerspace.FragLater))
)

func translatable(icmpTypes ...uint64) headerspace.Filter {
	absent, _ := headerspace.ICMPType.Absent()
	return headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole)).
		With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(33, 51, 136))).
		With(headerspace.ICMPType, headerspace.Of(icmpTypes...).Union(headerspace.Single(absent)))
}

// sides splits a unit at a NAPT: the packets that types lets be translated, the other whole packets, and
// fragments. Each filter comes after the ones before it; none: no such packets.
func sides(t *walk.Unit, types headerspace.Filter) (good, whole, frags walk.Ways, err error) {
	var errs [3]error
	good, errs[0] = t.Sort(types)
	whole, errs[1] = t.Sort(walk.Unfragmented)
	frags, errs[2] = t.Sort(fragmented)
	if err := errors.Join(errs[:]...); err != nil {
		return good, whole, frags, err
	}
	if good.N == 1 && whole.N == 1 && whole.At(0).SubsetOf(good.At(0).Simplify()) {
		whole = walk.Ways{}
	}
	return good, whole, frags, nil
}
