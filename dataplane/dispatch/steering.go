package dispatch

import (
	"fmt"
	"math/bits"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Group is traffic with its own cores: what carries its tag (Metron, section 8.1.2), or everything.
type Group struct {
	Tag Tag
	// Queues is the queue of each shard: 1<<Shards.Bits of them, or one for all.
	Queues []uint16
}

// Tag is what somebody upstream has put on a group's packets; the zero Tag is on all.
type Tag struct {
	VLAN   uint16 // 1..4094; 0: not by VLAN
	DstMAC MAC    // zero: not by address
}

func (t Tag) match() (m Match) {
	m.DstMAC = t.DstMAC
	if t.VLAN != 0 {
		m.Conds[hs.VLAN] = Cond{Value: uint32(t.VLAN), Mask: widthMask(hs.VLAN)}
	}
	return m
}

// steeringLevels: returning packets before those from inside, tags before none.
const steeringLevels = 4

// steering are the rules that send packets to queues, with levels from 0 on; total tells whether they do with all.
func (in *Input) steering() (out []Rule, total bool, err error) {
	w := directionsOf(in.Program, in.Interface)
	for _, g := range in.Groups {
		base := 2
		if g.Tag != (Tag{}) {
			base = 0
		} else if w.inside || !w.outside || len(g.Queues) == 1 {
			total = true
		}
		rules, err := in.groupRules(g, &w)
		if err != nil {
			return nil, false, err
		}
		for _, r := range rules {
			var ok bool
			if r.Match, ok = r.Match.and(g.Tag.match()); ok {
				r.Priority += base
				out = append(out, r)
			}
		}
	}
	if err := in.canSteer(out); err != nil {
		return nil, false, err
	}
	return out, total, nil
}

// groupRules are a group's rules without its tag: a masked one per direction and run of shards.
func (in *Input) groupRules(g Group, w *directions) ([]Rule, error) {
	to := func(q uint16, level int, m Match) Rule {
		return Rule{Priority: level, Match: m, Action: Action{Kind: ToQueue, Queue: q}}
	}
	if len(g.Queues) == 1 {
		return []Rule{to(g.Queues[0], 1, Match{})}, nil
	}
	if len(g.Queues) != 1<<in.Shards.Bits {
		return nil, fmt.Errorf("a group has queues for %d shards, want one queue or %d", len(g.Queues), 1<<in.Shards.Bits)
	}
	var out []Rule
	for _, run := range Runs(g.Queues) {
		under := in.Shards.mask() &^ (1<<run.Bits - 1)
		var src Match
		src.Conds[hs.Src] = Cond{Value: run.First << in.Shards.AddressShift, Mask: under << in.Shards.AddressShift}
		if w.inside || !w.outside {
			out = append(out, to(run.Queue, 1, src))
		}
		if !w.outside {
			continue
		}
		port := Cond{Value: run.First << in.Shards.PortShift, Mask: under << in.Shards.PortShift}
		for _, pool := range w.pools() {
			for _, p := range [...]uint32{protoTCP, protoUDP} {
				for _, dport := range in.ports(port, w) {
					var m Match
					m.Conds[hs.Proto] = Cond{Value: p, Mask: widthMask(hs.Proto)}
					m.Conds[hs.DPort] = dport
					m.Conds[hs.Dst] = pool
					out = append(out, to(run.Queue, 0, m))
				}
			}
		}
	}
	return out, nil
}

// ports are the conditions that tell the ports under a mask: the mask itself; or, where the device matches ports only whole and the
// NAPTs have so few that there may be room for them, each of theirs.
func (in *Input) ports(masked Cond, w *directions) (out []Cond) {
	c := &in.Capabilities
	if masked.Any() || c.Fields[hs.DPort] == Never || c.Fields[hs.DPort] >= Masked || w.portMax-w.portMin >= uint32(min(c.Rules, 1<<16)/2) {
		return []Cond{masked}
	}
	for p := w.portMin; p <= w.portMax; p++ {
		if (p^masked.Value)&masked.Mask == 0 {
			out = append(out, Cond{Value: p, Mask: widthMask(hs.DPort)})
		}
	}
	return out
}

// canSteer tells what the device lacks for the rules.
func (in *Input) canSteer(rules []Rule) error {
	c := &in.Capabilities
	levels := map[int]bool{}
	for _, r := range rules {
		levels[r.Priority] = true
		switch {
		case !c.Queue:
			return fmt.Errorf("rules cannot choose a queue")
		case int(r.Action.Queue) >= c.Queues:
			return fmt.Errorf("queue %d is asked for, the device has %d", r.Action.Queue, c.Queues)
		case r.Match.DstMAC != (MAC{}) && !c.DstMAC:
			return fmt.Errorf("rules cannot match destination MAC addresses")
		}
		for f, cond := range r.Match.Conds {
			if need := cond.How(hs.Field(f)); c.Fields[f] < need {
				return fmt.Errorf("rules have to match %s by %s, the device does it by %s", hs.Field(f), need, c.Fields[f])
			}
		}
	}
	if len(levels) > 1 && c.Priorities < 2*len(levels) {
		return fmt.Errorf("rules need %d priorities, the device has %d", 2*len(levels), c.Priorities)
	}
	return nil
}

// How is the least that a device must be able to do for a condition.
func (c Cond) How(f hs.Field) How {
	switch {
	case c.Any():
		return Never
	case c.Mask == 0:
		return Ranged
	case c.Mask == widthMask(f):
		return Exact
	case bits.OnesCount32(c.Mask)+bits.TrailingZeros32(c.Mask) == width(f):
		return Prefix
	}
	return Masked
}

func (h How) String() string {
	return [...]string{"nothing", "whole value", "prefix", "any bits", "ranges"}[h]
}

// maskedFields are those that steering rules ask for by mask, if they are combined with the rules about classes.
func (in *Input) maskedFields() []hs.Field {
	if len(in.Groups) == 0 || in.Capabilities.Jump {
		return nil
	}
	return []hs.Field{hs.Src, hs.Dst, hs.DPort, hs.VLAN}
}

// directions are how an interface's packets meet state.
type directions struct {
	inside  bool // some start flows
	outside bool // some are looked up as returning ones
	ranges  []*programpb.AddressRange
	// of the tables in which they are looked up
	portMin, portMax uint32
}

// directionsOf follows an interface's packets as far as the first state table.
func directionsOf(p *programpb.Program, iface uint32) (d directions) {
	seen, tables := map[uint32]bool{}, map[uint32]bool{}
	var walk func(segment uint32)
	walk = func(segment uint32) {
		if seen[segment] {
			return
		}
		seen[segment] = true
		for _, c := range p.GetSegments()[segment].GetClasses() {
			for _, l := range c.GetLegs() {
				started := false
				for _, o := range l.GetOps() {
					if _, ok := o.GetOp().(*programpb.Op_StateForward); ok {
						started = true
					}
				}
				d.inside = d.inside || started
				switch o := l.GetOutcome().(type) {
				case *programpb.Leg_Segment:
					if !started {
						walk(o.Segment)
					}
				case *programpb.Leg_StateReturn:
					if !started && !tables[o.StateReturn] {
						tables[o.StateReturn] = true
						d.look(p.GetTables()[o.StateReturn])
					}
				}
			}
		}
	}
	walk(p.GetInterfaces()[iface].GetSegment())
	return d
}

// look adds a table in which packets are looked up.
func (d *directions) look(t *programpb.StateTable) {
	if !d.outside {
		d.portMin = t.GetPortMin()
	}
	d.outside = true
	d.portMin, d.portMax = min(d.portMin, t.GetPortMin()), max(d.portMax, t.GetPortMax())
	d.ranges = append(d.ranges, t.GetPool()...)
}

// pools are the conditions on the destination that tell returning packets from others; one that asks nothing if there are no others.
func (d *directions) pools() []Cond {
	if !d.inside {
		return []Cond{{}}
	}
	var out []Cond
	for _, r := range d.ranges {
		out = append(out, prefixes(span{r.GetFirst(), r.GetLast()}, 32)...)
	}
	return out
}
