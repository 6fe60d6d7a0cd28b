package boxes

import "github.com/sinter-nfv/sinter/dataplane/headerspace"

// Commons are the packets that a segment's first table is for: nearly all. What
// settles them (enough TTL, not a fragment) is not read there; the rest has a table of its own.
type Commons struct {
	TTLFloor  uint32 // the least TTL from which on no leaf tells TTLs apart
	WholeOnly bool   // some leaf tells fragments apart
}

// CommonPackets finds them for the shapes of a segment.
func CommonPackets(shapes []Shape) Commons {
	var c Commons
	for i := range shapes {
		p := &shapes[i].Filter
		if !p.Any(headerspace.Frag) {
			c.WholeOnly = true
		}
		if p.Any(headerspace.TTL) {
			continue
		}
		for _, iv := range p.Get(headerspace.TTL).Intervals() {
			c.TTLFloor = max(c.TTLFloor, uint32(iv.Lo.Lo))
			if iv.Hi.Lo < 255 {
				c.TTLFloor = max(c.TTLFloor, uint32(iv.Hi.Lo)+1)
			}
		}
	}
	return c
}

// filter is the common packets.
func (c Commons) filter() headerspace.Filter {
	p := headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(uint64(c.TTLFloor), 255))
	if c.WholeOnly {
		p = p.Intersect(whole)
	}
	return p
}

// whole is the packets that are no fragments.
var whole = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))

// nothing passes no packet.
var nothing = headerspace.Filter{}.With(headerspace.Frag, headerspace.Set{})

// Narrow is the shapes among the common packets, in out.
func (c Commons) Narrow(shapes, out []Shape) []Shape {
	common := c.filter()
	out = append(out[:0], shapes...)
	for i := range out {
		p := out[i].Filter
		for _, f := range [...]headerspace.Field{headerspace.TTL, headerspace.Frag} {
			if p = p.Meet(common, f); p.EmptyAt(f) {
				p = nothing
				break
			}
		}
		out[i].Filter = p.Given(common)
	}
	return out
}

// Others is the shapes of which some packets are not common, in out; the others are empty.
func (c Commons) Others(shapes, out []Shape) []Shape {
	common := c.filter()
	out = append(out[:0], shapes...)
	for i := range out {
		if out[i].Filter.SubsetOf(common) {
			out[i].Filter = nothing
		}
	}
	return out
}
