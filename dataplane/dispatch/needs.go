package dispatch

import (
	"slices"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// relate finds for every candidate with rules of its own what has to be covered before it; those for which that is
// in vain lose their rules. Indexes from len(main) on are exceptions.
//
// A rule is right if every packet that it matches and that another box decides otherwise is taken by a rule above it.
// So what it needs is a cover of each earlier box that overlaps it and is treated otherwise, but not of those that a
// larger one of them holds.
func (p *planner) relate() {
	p.extents = make([]extent, len(p.main))
	for i := range p.main {
		p.extents[i] = extentOf(&p.main[i].box)
	}
	for j := range p.main {
		p.main[j].holders = p.holders(j+1, &p.main[j].outer)
	}
	for x := range p.exceptions {
		if p.exceptions[x].class == noClass {
			break
		}
		p.exceptions[x].holders = p.holders(0, &p.exceptions[x].outer)
	}
	for i := range p.main {
		c := &p.main[i]
		if len(c.act) == 0 || c.gain == 0 {
			continue
		}
		if !p.relateMain(i) || c.drop && !p.relateExceptions(i, c) {
			c.act, c.needs = nil, nil
		}
	}
}

// extent is what of a box is compared first, packed so that thousands fit the processor's cache.
type extent struct{ dst, src span }

func extentOf(b *box) extent { return extent{b.spans[dst], b.spans[src]} }

func (e *extent) within(f *extent) bool   { return e.dst.within(f.dst) && e.src.within(f.src) }
func (e *extent) overlaps(f *extent) bool { return e.dst.overlaps(f.dst) && e.src.overlaps(f.src) }

// holders are the first candidate from an index on that holds a box, and the first that is treated otherwise than that.
func (p *planner) holders(from int, b *box) [2]int32 {
	out := [2]int32{none, none}
	e := extentOf(b)
	for i := from; i < len(p.main); i++ {
		if !e.within(&p.extents[i]) {
			continue
		}
		c := &p.main[i]
		if c.empty || out[0] != none && c.treat == p.main[out[0]].treat || !b.within(&c.box) {
			continue
		}
		if out[0] == none {
			out[0] = int32(i)
			continue
		}
		out[1] = int32(i)
		break
	}
	return out
}

// held tells whether a candidate before i, treated otherwise than i, is among the holders or after one that is.
func (p *planner) held(holders [2]int32, i int, treat uint32) bool {
	first := holders[0]
	if first != none && p.main[first].treat == treat {
		first = holders[1]
	}
	return first < int32(i)
}

// relateMain finds what a candidate needs of the table itself; false if a box that it cannot get past holds it.
func (p *planner) relateMain(i int) bool {
	c := &p.main[i]
	e := extentOf(&c.region)
	for j := range p.extents[:i] {
		if !e.overlaps(&p.extents[j]) {
			continue
		}
		o := &p.main[j]
		if o.treat == c.treat || o.empty || !o.overlaps(&c.region) || p.held(o.holders, i, c.treat) {
			continue
		}
		if c.region.within(&o.outer) {
			return false
		}
		c.needs = append(c.needs, int32(j))
	}
	return true
}

// relateExceptions does the same for what a drop's rules match besides: packets with little TTL, and fragments.
func (p *planner) relateExceptions(i int, c *candidate) bool {
	floor := p.seg.GetTtlFloor()
	low := c.region.spans[ttl].lo < floor
	fragments := p.mixed && bare(c.act)
	region := c.region
	if fragments {
		region = region.withoutTransport()
	}
	for x := range p.exceptions {
		o := &p.exceptions[x]
		if !low && !fragments || o.class == noClass {
			break
		}
		if !o.spans[dst].overlaps(region.spans[dst]) || !o.spans[src].overlaps(region.spans[src]) {
			continue
		}
		inLow := low && o.spans[ttl].lo < floor && (o.whole || !p.seg.GetWholeOnly())
		if !(inLow || fragments && o.fragment) || !o.overlaps(&region) {
			continue
		}
		if o.treat == c.treat {
			holds := o.box
			holds.spans[ttl] = full(hs.TTL)
			if region.within(&holds) { // it decides what is left
				low = low && !(inLow && o.spans[ttl].lo == 0 && o.spans[ttl].hi >= floor-1)
				fragments = fragments && !(o.anyway && o.spans[ttl] == full(hs.TTL))
			}
			continue
		}
		switch {
		case p.held(o.holders, i, c.treat):
		case p.short != 0 && !(fragments && o.fragment):
			if !slices.Contains(c.needs, p.short) {
				c.needs = append(c.needs, p.short)
			}
			low = false
		case region.within(&o.outer):
			return false
		default:
			c.needs = append(c.needs, int32(len(p.main)+x))
		}
	}
	return true
}
