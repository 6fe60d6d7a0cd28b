package synth

import "github.com/sinter-nfv/sinter/dataplane/headerspace"

// commons are the packets that a segment's first table is for: nearly all. What
// settles them (enough TTL, not a fragment) is not read there; the rest has a table of its own.
type commons struct {
	ttlFloor  uint32 // the least TTL from which on no leaf tells TTLs apart
	wholeOnly bool   // some leaf tells fragments apart
}

func commonPackets(leaves []found) commons {
	var c commons
	for i := range leaves {
		p := &leaves[i].filter
		if !p.Any(headerspace.Frag) {
			c.wholeOnly = true
		}
		if p.Any(headerspace.TTL) {
			continue
		}
		for _, iv := range p.Get(headerspace.TTL).Intervals() {
			c.ttlFloor = max(c.ttlFloor, uint32(iv.Lo.Lo))
			if iv.Hi.Lo < 255 {
				c.ttlFloor = max(c.ttlFloor, uint32(iv.Hi.Lo)+1)
			}
		}
	}
	return c
}

// filter is the common packets.
func (c commons) filter() headerspace.Filter {
	p := headerspace.Filter{}.With(headerspace.TTL, headerspace.Range(uint64(c.ttlFloor), 255))
	if c.wholeOnly {
		p = p.Intersect(unfragmented)
	}
	return p
}

// nothing passes no packet.
var nothing = headerspace.Filter{}.With(headerspace.Frag, headerspace.Set{})

// narrow is the leaves' filters among the common packets, in out.
func (c commons) narrow(leaves []found, out []headerspace.Filter) []headerspace.Filter {
	common := c.filter()
	for i := range leaves {
		p := leaves[i].filter
		for _, f := range [...]headerspace.Field{headerspace.TTL, headerspace.Frag} {
			if p = p.Meet(common, f); p.EmptyAt(f) {
				p = nothing
				break
			}
		}
		out[i] = p.Given(common)
	}
	return out
}

// others is the filters of the leaves that hold packets which are not common, in out.
func (c commons) others(leaves []found, out []headerspace.Filter) []headerspace.Filter {
	common := c.filter()
	for i := range leaves {
		if out[i] = leaves[i].filter; out[i].SubsetOf(common) {
			out[i] = nothing
		}
	}
	return out
}
