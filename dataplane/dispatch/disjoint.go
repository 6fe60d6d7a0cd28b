package dispatch

import (
	"cmp"
	"slices"
)

// maxPieces bounds into how many boxes one is cut where rules have no order.
const maxPieces = 16

// disjoint plans for a device whose rules have no order: every box is cut down to what no earlier box holds, so that no
// two rules overlap.
func (p *planner) disjoint(room, perPass int) (chosen []element) {
	type choice struct {
		element
		gain  float64
		price int
	}
	var all []choice
	for i := range p.main {
		c := &p.main[i]
		if len(c.act) == 0 || c.gain == 0 {
			continue
		}
		rest := p.rest(i)
		for _, b := range rest {
			if c.drop && p.short != 0 {
				b.spans[ttl].lo = p.seg.GetTtlFloor() // the others' fate is not looked into
			}
			piece := *c
			piece.region = b
			var ok bool
			if piece.act, ok = p.e.express(&b); !ok || len(piece.act) == 0 || c.drop && !p.unexceptional(&piece) {
				continue
			}
			e := element{box: b, matches: piece.act, action: p.action(c), of: i, part: 1 / float64(len(rest))}
			all = append(all, choice{e, c.gain * e.part, p.price(&piece, perPass)})
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(b.gain*float64(a.price), a.gain*float64(b.price)) })
	for _, x := range all {
		if x.price <= room {
			room -= x.price
			chosen = append(chosen, x.element)
		}
	}
	return chosen
}

// rest is what no earlier box holds of a candidate's region; nothing if it is too much in pieces.
func (p *planner) rest(i int) []box {
	rest := []box{p.main[i].region}
	for j := range p.main[:i] {
		o := &p.main[j].box
		if !o.overlaps(&p.main[i].region) {
			continue
		}
		var next []box
		for k := range rest {
			next = append(next, rest[k].subtract(o)...)
		}
		if rest = next; len(rest) > maxPieces {
			return nil
		}
	}
	return rest
}

// unexceptional tells whether no packet with little TTL, nor a fragment, that a drop's rules match has another fate.
func (p *planner) unexceptional(c *candidate) bool {
	return p.mayDrop(c) && p.relateExceptions(0, c) && len(c.needs) == 0
}
