// Package examples has programs next to the bounds of the rules of functions outside of the chain: the sample of package ruletest, changed.
package examples

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// stopped is the sample with two wires, interfaces 2 and 3, of which the first leg's packets take the one and come back by the other.
func stopped(change func(p *programpb.Program, s *programpb.Stop)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		s := &programpb.Stop{Out: 2, Back: 3, Segment: 2}
		for _, name := range []string{"ips/inside", "ips/outside"} {
			p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: name, Address: 0xc0000201, PrefixLen: 32, Mtu: 1500, Segment: 2, Wire: true})
		}
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Stop{Stop: s}
		change(p, s)
	}
}

// wired is it with a change of the first wire.
func wired(change func(i *programpb.Interface)) func(*programpb.Program) {
	return stopped(func(p *programpb.Program, _ *programpb.Stop) { change(p.Interfaces[2]) })
}

// tapped is it with a copy for each packet of the first leg, by an interface.
func tapped(out uint32) func(*programpb.Program) {
	return stopped(func(p *programpb.Program, _ *programpb.Stop) {
		c := p.Segments[0].Classes[0]
		c.Legs = append(c.Legs, &programpb.Leg{Outcome: &programpb.Leg_Tap{Tap: &programpb.Tap{Out: out}}})
	})
}

// ways is it with 64 interfaces, two classes that end at a stop, and as many next hops as two stops may have, or more. The stops are one if the same
// becomes of packets while the function is down.
func ways(more int, first, second *programpb.Stop) func(*programpb.Program) {
	return func(p *programpb.Program) {
		hops((mostHops-2)/2 + more)(p)
		for _, down := range []*programpb.Stop{first, second} {
			s := &programpb.Stop{Out: 2, Back: 3, Segment: 2, Down: down.GetDown()}
			p.Segments[0].Classes = append(p.Segments[0].Classes, &programpb.Class{Legs: []*programpb.Leg{{Outcome: &programpb.Leg_Stop{Stop: s}}}})
		}
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Output{Output: 1}
	}
}

// hops is it with 64 interfaces, and so many further legs with a next hop of their own, in classes of 60.
func hops(n int) func(*programpb.Program) {
	return stopped(func(p *programpb.Program, _ *programpb.Stop) {
		for i := len(p.Interfaces); i < program.MaxInterfaces; i++ {
			p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: fmt.Sprint("if", i), Mtu: 1500, Segment: 2})
		}
		s := p.Segments[2]
		for i := range n {
			if i%60 == 0 {
				s.Classes = append(s.Classes, &programpb.Class{})
			}
			c := s.Classes[len(s.Classes)-1]
			hop := &programpb.Op{Op: &programpb.Op_NextHop{NextHop: uint32(0x0a000100 + i)}}
			c.Legs = append(c.Legs, &programpb.Leg{Ops: []*programpb.Op{hop}, Outcome: &programpb.Leg_Output{}})
		}
	})
}

// probed is it with what becomes of packets while the function is down.
func probed(down *programpb.Stop, writes uint32) func(*programpb.Program) {
	return stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Down, s.Writes = down.GetDown(), writes })
}

var (
	dropped  = &programpb.Stop{Down: &programpb.Stop_Drop{Drop: 0}}
	bypassed = &programpb.Stop{Down: &programpb.Stop_Bypass{Bypass: 0}}
)

// shared is it with a third wire, interface 4, and a second leg at a stop: both come back by one wire, if not from another one.
func shared(out uint32, first, second *programpb.Stop) func(*programpb.Program) {
	return stopped(func(p *programpb.Program, s *programpb.Stop) {
		p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: "dpi", Address: 0xc0000201, PrefixLen: 32, Mtu: 1500, Segment: 2, Wire: true})
		s.Down = first.GetDown()
		other := &programpb.Stop{Out: out, Back: s.Back, Segment: s.Segment, Down: second.GetDown()}
		p.Segments[0].Classes[1].Legs[0].Outcome = &programpb.Leg_Stop{Stop: other}
	})
}

// mostHops is how many there may be, beside the sample's next hop and none.
const mostHops = 1<<17/program.MaxInterfaces - 2

// sharedBack is said of a wire by which two ways come back.
const sharedBack = "stop.back is 3 (ips/outside), by which frames of another way come back, want a wire of its own"

// Programs are with a stop; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("stop", stopped(func(*programpb.Program, *programpb.Stop) {})),
	ruletest.Accepted("stop-writes", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Writes = 0x1b7 })),
	ruletest.Accepted("stop-most-hops", hops(mostHops)),
	ruletest.Refused("stop-hop-too-many", hops(mostHops+1), fmt.Sprintf("there are 1 stops, %d next hops and 64 interfaces, want at most 131072 of their products", mostHops+3)),
	ruletest.Refused("stop-out", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Out = 4 }), "stop.out is 4, but there are only 4"),
	ruletest.Refused("stop-back", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Back = 4 }), "stop.back is 4, but there are only 4"),
	ruletest.Refused("stop-segment", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Segment = 3 }), "stop.segment is 3, but there are only 3"),
	ruletest.Refused("stop-out-no-wire", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Out = 1 }), "stop.out is 1 (out), want a wire"),
	ruletest.Refused("stop-back-no-wire", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Back = 0 }), "stop.back is 0 (in), want a wire"),
	ruletest.Refused("stop-one-side", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Back = 2 }), "stop.back is stop.out, want the other side"),
	ruletest.Refused("stop-writes-proto", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Writes = 1 << programpb.Field_PROTO }), "stop.writes is 0x8, want fields that can be written"),
	ruletest.Refused("stop-writes-high", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Writes = 1 << 31 }), "stop.writes is 0x80000000, want fields that can be written"),
	ruletest.Accepted("stop-never", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Never = 15 })),
	ruletest.Refused("stop-never-high", stopped(func(_ *programpb.Program, s *programpb.Stop) { s.Never = 16 }), "stop.never is 0x10, want at most 0xf"),
	ruletest.Accepted("stop-drop", probed(dropped, 0)),
	ruletest.Accepted("stop-drop-writes", probed(dropped, 0x1b7)),
	ruletest.Accepted("stop-bypass", probed(bypassed, 0)),
	ruletest.Refused("stop-drop-high", probed(&programpb.Stop{Down: &programpb.Stop_Drop{Drop: 1}}, 0), "stop.drop is 1, but there are only 1"),
	ruletest.Refused("stop-bypass-high", probed(&programpb.Stop{Down: &programpb.Stop_Bypass{Bypass: 1}}, 0), "stop.bypass is 1, but there are only 1"),
	ruletest.Refused("stop-bypass-writes", probed(bypassed, 1<<programpb.Field_TTL), "stop.bypass with stop.writes 0x20, want 0: what is written would be missing"),
	ruletest.Refused("stop-back-shared", shared(4, nil, nil), sharedBack),
	ruletest.Accepted("stop-back-same-way", shared(2, dropped, bypassed)),
	ruletest.Refused("stop-back-shared-first", shared(4, dropped, nil), sharedBack),
	ruletest.Refused("stop-back-shared-second", shared(4, nil, bypassed), sharedBack),
	ruletest.Refused("stop-back-shared-both", shared(4, dropped, dropped), sharedBack),
	ruletest.Accepted("stop-most-ways", ways(0, dropped, bypassed)),
	ruletest.Refused("stop-way-too-many", ways(1, dropped, bypassed), fmt.Sprintf("there are 2 stops, %d next hops and 64 interfaces", mostHops/2+2)),
	ruletest.Refused("stop-unprobed-way-too-many", ways(1, nil, dropped), fmt.Sprintf("there are 2 stops, %d next hops and 64 interfaces", mostHops/2+2)),
	ruletest.Accepted("stop-one-way", ways(1, dropped, dropped)),
	ruletest.Accepted("wire-full", wired(func(i *programpb.Interface) { i.Full = 1 })),
	ruletest.Refused("wire-full-high", wired(func(i *programpb.Interface) { i.Full = 2 }), "interfaces[2] (ips/inside)", "full is 2, want at most 1"),
	ruletest.Refused("full-no-wire", wired(func(i *programpb.Interface) { i.Wire, i.Full = false, 1 }), "interfaces[2] (ips/inside)", "full is 1, want 0, as it is no wire"),
	ruletest.Refused("stop-endless", stopped(func(p *programpb.Program, _ *programpb.Stop) {
		p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Stop{Stop: &programpb.Stop{Out: 3, Back: 2, Segment: 2}}
	}), "and the TTL is not lowered on the way"),
	ruletest.Accepted("tap", tapped(2)),
	ruletest.Refused("tap-out", tapped(4), "tap.out is 4, but there are only 4"),
	ruletest.Refused("tap-out-no-wire", tapped(1), "tap.out is 1 (out), want a wire"),
	ruletest.Refused("wire-output", stopped(func(p *programpb.Program, _ *programpb.Stop) {
		p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Output{Output: 3}
	}), "output is 3 (ips/outside), a wire: packets leave by it for its stop alone"),
	ruletest.Refused("wire-gateway", wired(func(i *programpb.Interface) { i.Gateway = 1 }), "interfaces[2] (ips/inside): is a wire, and has a gateway: want none"),
	ruletest.Refused("wire-neighbors", wired(func(i *programpb.Interface) {
		i.Neighbors = []*programpb.Neighbor{{Address: 0xc0000202, Mac: make([]byte, 6)}}
	}), "interfaces[2] (ips/inside): is a wire, and has neighbors: want none"),
	ruletest.Refused("wire-proxy", wired(func(i *programpb.Interface) { i.Proxy = []uint32{1} }), "interfaces[2] (ips/inside): is a wire, and has proxy: want none"),
	ruletest.Refused("wire-refused", wired(func(i *programpb.Interface) {
		i.Refused = []*programpb.RefusedSources{{First: 1, Last: 2, Reason: programpb.DropReason_DROP_OWN_SOURCE}}
	}), "interfaces[2] (ips/inside): is a wire, and has refused: want none"),
	ruletest.Refused("wire-vlans", wired(func(i *programpb.Interface) { i.Vlans = []uint32{7} }), "interfaces[2] (ips/inside): is a wire, and has vlans: want none"),
}
