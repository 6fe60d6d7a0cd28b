// Package rules has the rules of functions outside of the chain in packet programs: the outcome by which packets leave for one, and its interfaces.
package rules

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
	"github.com/sinter-nfv/sinter/dataplane/tag"
)

// written are the fields that a stop may say it changes: those that operations can write.
const written = 1<<programpb.Field_VLAN | 1<<programpb.Field_SRC | 1<<programpb.Field_DST | 1<<programpb.Field_DSCP |
	1<<programpb.Field_TTL | 1<<programpb.Field_SPORT | 1<<programpb.Field_DPORT

func init() {
	rule.RegisterCheck(func(p *programpb.Program) error {
		return rule.First(rule.Each(p.GetInterfaces(), wire), continuations(p))
	})
	rule.RegisterOutcome[*programpb.Leg_Stop](rule.Outcome{
		Check:   func(p *programpb.Program, at string, l *programpb.Leg) error { return stop(p, at, l.GetStop()) },
		LeadsTo: func(l *programpb.Leg) []uint32 { return []uint32{l.GetStop().GetSegment()} },
		Unless:  []string{"too-big"},
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			return "leave by " + p.GetInterfaces()[l.GetStop().GetOut()].GetName() + ", go on behind " + p.GetInterfaces()[l.GetStop().GetBack()].GetName()
		},
	})
}

// wire refuses what a side of a stop has no use for: the next hop of its packets is another one's.
func wire(i int, n *programpb.Interface) error {
	if !n.GetWire() {
		return nil
	}
	for _, has := range []struct {
		it bool
		of string
	}{
		{n.GetGateway() != 0, "a gateway"},
		{len(n.GetNeighbors()) > 0, "neighbors"},
		{len(n.GetProxy()) > 0, "proxy"},
		{len(n.GetRefused()) > 0, "refused"},
		{len(n.GetVlans()) > 0, "vlans"},
	} {
		if has.it {
			return fmt.Errorf("interfaces[%d] (%s): is a wire, and has %s: want none", i, n.GetName(), has.of)
		}
	}
	return nil
}

func stop(p *programpb.Program, at string, s *programpb.Stop) error {
	n := len(p.GetInterfaces())
	if err := rule.First(
		rule.Index(at, "stop.out", s.GetOut(), n),
		rule.Index(at, "stop.back", s.GetBack(), n),
		rule.Index(at, "stop.segment", s.GetSegment(), len(p.GetSegments())),
		side(p, at, "stop.out", s.GetOut()),
		side(p, at, "stop.back", s.GetBack()),
	); err != nil {
		return err
	}
	if s.GetOut() == s.GetBack() {
		return fmt.Errorf("%s: stop.back is stop.out, want the other side", at)
	}
	if s.GetWrites()&^written != 0 {
		return fmt.Errorf("%s: stop.writes is %#x, want fields that can be written", at, s.GetWrites())
	}
	return nil
}

func side(p *programpb.Program, at, field string, i uint32) error {
	if int(i) >= len(p.GetInterfaces()) || p.GetInterfaces()[i].GetWire() {
		return nil
	}
	return fmt.Errorf("%s: %s is %d (%s), want a wire", at, field, i, p.GetInterfaces()[i].GetName())
}

// note adds the next hops of an operation.
func note(p *programpb.Program, o *programpb.Op, hops map[uint32]bool) {
	known, _ := rule.OperationOf(o)
	if known.Hops == nil {
		return
	}
	for _, h := range known.Hops(p, o) {
		hops[h] = true
	}
}

// continuations refuses more than tags can number: each packet at a stop has a next hop, or none, and came in by an interface.
func continuations(p *programpb.Program) error {
	type way struct{ out, back, segment, writes uint32 }
	stops, hops := map[way]bool{}, map[uint32]bool{0: true}
	for _, s := range p.GetSegments() {
		for _, c := range s.GetClasses() {
			for _, l := range c.GetLegs() {
				if o, ok := l.GetOutcome().(*programpb.Leg_Stop); ok {
					stops[way{o.Stop.GetOut(), o.Stop.GetBack(), o.Stop.GetSegment(), o.Stop.GetWrites()}] = true
				}
				for _, o := range l.GetOps() {
					note(p, o, hops)
				}
			}
		}
	}
	n := len(p.GetInterfaces())
	if uint64(len(stops))*uint64(len(hops))*uint64(n) <= tag.Continuations {
		return nil
	}
	return fmt.Errorf("there are %d stops, %d next hops and %d interfaces, want at most %d of their products", len(stops), len(hops), n, tag.Continuations)
}
