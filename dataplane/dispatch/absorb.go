package dispatch

import hs "github.com/sinter-nfv/sinter/dataplane/headerspace"

// absorb takes out what a larger rule below does as well, and covers that nobody needs any more; it tells whether that
// made room.
func (s *selection) absorb() bool {
	before := s.room
	for i := len(s.p.main) - 1; i >= 0; i-- {
		if s.acts[i] && s.swallowed(i) {
			s.acts[i], s.absorbed[i] = false, true
			s.room += s.p.price(&s.p.main[i], s.perPass)
			if s.p.main[i].exact {
				s.cheaper(int32(i), -s.coverPrice(int32(i)))
			}
		}
	}
	for j := range s.covers {
		if s.covers[j] && !s.used(int32(j)) {
			if !s.covered(int32(j)) || !s.actsAt(j) {
				s.cheaper(int32(j), -s.coverPrice(int32(j)))
				s.room += s.coverPrice(int32(j))
			}
			s.covers[j] = false
		}
	}
	return s.room > before
}

// actsAt tells whether a box's own exact rules replace its cover.
func (s *selection) actsAt(j int) bool {
	return j < len(s.p.main) && s.acts[j] && s.p.main[j].exact
}

// used tells whether a candidate in the plan needs the cover.
func (s *selection) used(j int32) bool {
	for _, i := range s.users[j] {
		if s.acts[i] {
			return true
		}
	}
	return false
}

// swallowed tells whether the rules below a candidate would do the same for all of its packets.
func (s *selection) swallowed(i int) bool {
	c := &s.p.main[i]
	if s.used(int32(i)) || s.covers[i] && !c.exact {
		return false
	}
	for k := i + 1; k < len(s.p.main); k++ {
		o := &s.p.main[k]
		switch {
		case !s.acts[k] && !s.covers[k]:
		case s.acts[k] && o.treat == c.treat && c.region.within(&o.region):
			return !s.excepted(k, &c.region)
		case s.acts[k] && o.treat != c.treat && o.region.overlaps(&c.region), s.covers[k] && !s.actsAt(k) && o.outer.overlaps(&c.region):
			return false
		}
	}
	return false
}

// excepted tells whether a cover of exceptions that a candidate needs takes ordinary packets of a box.
func (s *selection) excepted(k int, b *box) bool {
	for _, j := range s.p.main[k].needs {
		if x := int(j) - len(s.p.main); x >= 0 && s.p.exceptions[x].outer.overlaps(b) && s.p.exceptions[x].outer.spans[ttl].hi == full(hs.TTL).hi {
			return true
		}
	}
	return false
}
