package dispatch

import (
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// candidate is a box of an entry's table and what rules could do for it.
type candidate struct {
	unit
	// treat is equal for boxes of which the device may take one for the other.
	treat uint32
	drop  bool

	// act are the rules that do for the packets of region (no more than the box) what software would do. None: the
	// device cannot.
	act    []Match
	region box
	// cover are rules for at least the box: they leave its packets to software, that no lower rule takes them.
	cover []Match
	outer box
	exact bool // act and cover are the same
	empty bool // no packet that the table is for is in the box

	weight float64 // packets
	gain   float64 // cycles
	// needs are the candidates that have to be covered before act is right.
	needs []int32
	// holders are the first later candidate that holds outer, and the first that does and is treated otherwise than it.
	holders [2]int32
}

const none = int32(1<<31 - 1)

// noClass is of what stands for packets of several.
const noClass = ^uint32(0) - 1

// dropped is the treatment of packets that are dropped and need not be told apart by class.
const dropped = ^uint32(0)

// planner makes the rules of one interface about classes.
type planner struct {
	caps *Capabilities
	in   *Input
	seg  *programpb.Segment
	e    *expresser
	// main is the segment's table, for whole packets with enough TTL; exceptions are of its other table, in which only
	// drops are interested: marks are not believed for such packets.
	main       []candidate
	exceptions []exception
	extents    []extent // of main
	// mixed: rules see fragments where the table tells them apart, and cannot ask for whole packets.
	mixed bool
	// short is the need that stands for all exceptions with little TTL; 0: there is none.
	short int32
}

// exception is a box of the table for packets that are fragments or have little TTL. Its box asks for TTL, not for
// fragments.
type exception struct {
	unit
	treat            uint32
	whole            bool // holds packets that are no fragments
	fragment, anyway bool // holds some fragments, all kinds of them
	outer            box
	cover            []Match
	holders          [2]int32
}

// segment is that in which the port's packets begin.
func (in *Input) segment() *programpb.Segment {
	return in.Program.GetSegments()[in.Program.GetInterfaces()[in.Interface].GetSegment()]
}

func newPlanner(in *Input) *planner {
	p := &planner{caps: &in.Capabilities, in: in}
	p.seg = in.segment()
	main := units(p.seg.GetTable())
	tellsFragments := p.seg.GetWholeOnly()
	for i := range main {
		tellsFragments = tellsFragments || main[i].readsTransport()
	}
	p.e = newExpresser(p.caps, tellsFragments && p.caps.Fragments == FragmentsTold)
	p.mixed = tellsFragments && p.caps.Fragments != FragmentsTold
	for _, f := range in.maskedFields() {
		p.e.masks[f] = true
	}
	everything := anything()
	for _, u := range main {
		p.main = append(p.main, p.candidate(u))
		if everything.within(&u.box) {
			break
		}
	}
	if p.seg.GetLow() != nil {
		for _, u := range units(p.seg.GetLow()) {
			p.exceptions = append(p.exceptions, p.exception(u))
		}
		p.shortLived()
	}
	p.weigh()
	return p
}

// candidate finds the rules for a box.
func (p *planner) candidate(u unit) candidate {
	c := candidate{unit: u, region: u.box, outer: u.box}
	c.treat, c.drop = p.treatment(u.class)
	if c.act, c.exact = p.e.express(&u.box); c.exact {
		c.cover = c.act
		c.empty = len(c.act) == 0
	} else {
		c.outer, c.cover = p.e.around(&u.box)
		c.region, c.act = p.e.inside(&u.box)
	}
	if !c.drop && !p.marks() || c.drop && !p.mayDrop(&c) {
		c.act = nil
	}
	return c
}

// treatment is what a class's packets have in common with others, as far as rules go.
func (p *planner) treatment(class uint32) (treat uint32, drop bool) {
	legs := p.seg.GetClasses()[class].GetLegs()
	if _, ok := legs[0].GetOutcome().(*programpb.Leg_Drop); !ok || len(legs) > 1 || !p.caps.Drop {
		return class, false
	}
	switch {
	case len(legs[0].GetOps()) > 0:
		return class, false // what is done to them before must be done
	case p.caps.Count:
		return class, true
	case len(legs[0].GetCounters()) == 0:
		return dropped, true
	}
	return class, false // somebody counts them
}

// action is what a candidate's own rules do.
func (p *planner) action(c *candidate) Action {
	if c.drop {
		return Action{Kind: Drop, Class: c.class}
	}
	return Action{Mark: marksOf(p.caps.MarkBits, p.in.Generation).of(c.class), Class: c.class}
}

// price is how many of the device's rules a candidate's own take.
func (p *planner) price(c *candidate, perPass int) int {
	if c.drop {
		return len(c.act)
	}
	return len(c.act) * perPass
}

// marks tells whether the device can mark packets with any class of the segment.
func (p *planner) marks() bool {
	return len(p.seg.GetClasses()) <= marksOf(p.caps.MarkBits, 0).classes()
}

// mayDrop tells whether what the rules of a candidate match is known well enough.
func (p *planner) mayDrop(c *candidate) bool {
	if !p.mixed {
		return true
	}
	return p.seg.GetWholeOnly() && (p.caps.Fragments == FragmentsPortless || !deep(c.act))
}

// deep tells whether some rule reads behind the IP header, bare whether some does not.
func deep(matches []Match) bool {
	for i := range matches {
		if matches[i].deep() {
			return true
		}
	}
	return false
}

func bare(matches []Match) bool {
	for i := range matches {
		if !matches[i].deep() {
			return true
		}
	}
	return false
}

func (m *Match) deep() bool {
	for _, f := range [...]hs.Field{hs.SPort, hs.DPort, hs.TCPFlags, hs.ICMPType, hs.ICMPCode} {
		if !m.Conds[f].Any() {
			return true
		}
	}
	return false
}

func (p *planner) exception(u unit) exception {
	x := exception{unit: u, holders: [2]int32{none, none}}
	x.treat, _ = p.treatment(u.class)
	f := u.sets[frag]
	x.whole = f.has(hs.FragWhole)
	x.fragment = f.has(hs.FragFirst) || f.has(hs.FragLater)
	x.anyway = f.has(hs.FragFirst) && f.has(hs.FragLater)
	x.sets[frag] = nil
	b := x.box
	if x.fragment && p.mixed {
		b = b.withoutTransport() // what covers fragments must not ask for ports
	}
	x.outer, x.cover = p.e.around(&b)
	return x
}

// shortLived adds one exception for all packets with too little TTL, if the device can tell them: it takes nothing from
// the others.
func (p *planner) shortLived() {
	b := anything()
	if p.seg.GetTtlFloor() == 0 {
		return
	}
	b.spans[ttl].hi = p.seg.GetTtlFloor() - 1
	if m, ok := p.e.express(&b); ok {
		p.exceptions = append(p.exceptions, exception{unit: unit{box: b, class: noClass}, treat: noClass, whole: true, outer: b, cover: m, holders: [2]int32{none, none}})
		p.short = int32(len(p.main) + len(p.exceptions) - 1)
	}
}

// weigh gives the candidates their packets, and those with rules of their own the cycles that these save.
func (p *planner) weigh() {
	boxes := make([]float64, len(p.seg.GetClasses()))
	for i := range p.main {
		boxes[p.main[i].class]++
	}
	costs := p.in.Costs.orDefault()
	for i := range p.main {
		c := &p.main[i]
		switch {
		case p.in.Weights == nil:
			c.weight = 1
		case int(c.class) < len(p.in.Weights):
			c.weight = float64(p.in.Weights[c.class]) / boxes[c.class]
		}
		switch {
		case len(c.act) == 0:
		case c.drop:
			c.gain = c.weight * costs.Packet
		default:
			c.gain = c.weight * costs.Classify
		}
	}
}
