package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Group is the classes of a segment that do the same to their packets
// (Metron, "Traffic class-level scaling"; counters may differ).
type Group struct {
	Class   *programpb.Class // one of them
	Classes []int
	Boxes   int
	// Match is the filter of its first box, and how many more there are.
	Match string
	// Held are the filters of all boxes.
	Held []headerspace.Filter
	// Low says that only packets that are classified apart come here (see Apart).
	Low bool
}

// Groups sorts a segment's classes into groups, in order of their first box.
func Groups(p *programpb.Program, segment int) []Group {
	s := p.GetSegments()[segment]
	var groups []Group
	of := map[string]int{} // what the class does → group
	add := func(t *programpb.Table, low bool) {
		for box, class := range t.GetClasses() {
			c := s.GetClasses()[class]
			key := Class(p, segment, c)
			g, ok := of[key]
			if !ok {
				g = len(groups)
				of[key] = g
				groups = append(groups, Group{Class: c, Match: Box(t, box), Low: low})
			}
			groups[g].Held = append(groups[g].Held, BoxFilter(t, box))
			if groups[g].Low == low { // those of the main table say more
				groups[g].Boxes++
			}
			if !slices.Contains(groups[g].Classes, int(class)) {
				groups[g].Classes = append(groups[g].Classes, int(class))
			}
		}
	}
	add(s.GetTable(), false)
	add(s.GetLow(), true)
	for i := range groups {
		if groups[i].Boxes > 1 {
			groups[i].Match += fmt.Sprintf("  (+%d)", groups[i].Boxes-1)
		}
	}
	return groups
}

// Apart says which packets a segment classifies by a table of their own; empty: none.
func Apart(s *programpb.Segment) string {
	var which []string
	if s.GetTtlFloor() > 0 {
		which = append(which, fmt.Sprintf("ttl < %d", s.GetTtlFloor()))
	}
	if s.GetWholeOnly() {
		which = append(which, "fragments")
	}
	return strings.Join(which, ", ")
}

// Reads are the names of the fields that a segment's one read looks at.
func Reads(s *programpb.Segment) []string {
	var names []string
	add := func(f programpb.Field) {
		if name := headerspace.Field(f).String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, t := range []*programpb.Table{s.GetTable(), s.GetLow()} {
		for _, f := range t.GetDims() {
			add(f)
		}
		for _, b := range t.GetBits() {
			add(b.GetField())
		}
	}
	if s.GetTtlFloor() > 0 {
		add(programpb.Field_TTL)
	}
	if s.GetWholeOnly() {
		add(programpb.Field_FRAG)
	}
	return names
}
