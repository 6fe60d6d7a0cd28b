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

// never are the things that a stop may say its function does not do: it drops, resizes, originates and reorders packets.
const never = 15

func init() {
	rule.RegisterCheck(func(p *programpb.Program) error {
		return rule.First(rule.Each(p.GetInterfaces(), wire), ends(p), continuations(p))
	})
	rule.RegisterOutcome[*programpb.Leg_Stop](rule.Outcome{
		Check:   func(p *programpb.Program, at string, l *programpb.Leg) error { return stop(p, at, l.GetStop()) },
		LeadsTo: func(l *programpb.Leg) []uint32 { return []uint32{l.GetStop().GetSegment()} },
		Unless:  func(p *programpb.Program, l *programpb.Leg) []string { return unless(p, l.GetStop()) },
		Text:    func(p *programpb.Program, l *programpb.Leg) string { return text(p, l.GetStop()) },
	})
}

// unless are the reasons under which a packet may be dropped before it leaves.
func unless(p *programpb.Program, s *programpb.Stop) []string {
	if d, ok := s.GetDown().(*programpb.Stop_Drop); ok {
		return []string{p.GetReasons()[d.Drop], "too-big"}
	}
	return []string{"too-big"}
}

func text(p *programpb.Program, s *programpb.Stop) string {
	leaves := "leave by " + p.GetInterfaces()[s.GetOut()].GetName() + ", go on behind " + p.GetInterfaces()[s.GetBack()].GetName()
	switch d := s.GetDown().(type) {
	case *programpb.Stop_Drop:
		return leaves + ", drop as " + p.GetReasons()[d.Drop] + " when it is down"
	case *programpb.Stop_Bypass:
		return leaves + ", go on at once when it is down"
	}
	return leaves
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
	if s.GetNever() > never {
		return fmt.Errorf("%s: stop.never is %#x, want at most %#x", at, s.GetNever(), never)
	}
	return down(p, at, s)
}

// down refuses a fate of packets while the function is down that the program does not name, or that would not be as if it were there.
func down(p *programpb.Program, at string, s *programpb.Stop) error {
	switch d := s.GetDown().(type) {
	case *programpb.Stop_Drop:
		return rule.Index(at, "stop.drop", d.Drop, len(p.GetReasons()))
	case *programpb.Stop_Bypass:
		if s.GetWrites() != 0 {
			return fmt.Errorf("%s: stop.bypass with stop.writes %#x, want 0: what is written would be missing", at, s.GetWrites())
		}
		return rule.Index(at, "stop.bypass", d.Bypass, len(p.GetCounters()))
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

// stopsOf calls f for the outcome of each leg that ends at a stop, up to the first error.
func stopsOf(p *programpb.Program, f func(at string, s *programpb.Stop) error) error {
	return rule.Each(p.GetSegments(), func(i int, s *programpb.Segment) error {
		return rule.Each(s.GetClasses(), func(j int, c *programpb.Class) error {
			return rule.Each(c.GetLegs(), func(k int, l *programpb.Leg) error {
				if l.GetStop() == nil {
					return nil
				}
				return f(fmt.Sprintf("segments[%d] (%s): classes[%d].legs[%d]", i, s.GetName(), j, k), l.GetStop())
			})
		})
	})
}

// ends refuses two ways through functions that come back by one wire: a probe, or a packet that is checked, has to tell of its way.
func ends(p *programpb.Program) error {
	outs := map[uint32]uint32{} // of the first way that comes back there
	return stopsOf(p, func(at string, s *programpb.Stop) error {
		if int(s.GetBack()) >= len(p.GetInterfaces()) {
			return nil // which the leg's check refuses
		}
		out, known := outs[s.GetBack()]
		if !known {
			outs[s.GetBack()] = s.GetOut()
		} else if out != s.GetOut() {
			name := p.GetInterfaces()[s.GetBack()].GetName()
			return fmt.Errorf("%s: stop.back is %d (%s), by which frames of another way come back, want a wire of its own", at, s.GetBack(), name)
		}
		return nil
	})
}

// way is one through a function outside of the chain. The engine takes legs whose ways are the same for one stop.
type way struct {
	out, back, segment, writes, never uint32
	drop, bypass                      int // indices; -1: none
}

func wayOf(s *programpb.Stop) way {
	w := way{s.GetOut(), s.GetBack(), s.GetSegment(), s.GetWrites(), s.GetNever(), -1, -1}
	switch d := s.GetDown().(type) {
	case *programpb.Stop_Drop:
		w.drop = int(d.Drop)
	case *programpb.Stop_Bypass:
		w.bypass = int(d.Bypass)
	}
	return w
}

// continuations refuses more than tags can number: each packet at a stop has a next hop, or none, and came in by an interface.
func continuations(p *programpb.Program) error {
	stops, hops := map[way]bool{}, map[uint32]bool{0: true}
	for _, s := range p.GetSegments() {
		for _, c := range s.GetClasses() {
			for _, l := range c.GetLegs() {
				if o, ok := l.GetOutcome().(*programpb.Leg_Stop); ok {
					stops[wayOf(o.Stop)] = true
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
