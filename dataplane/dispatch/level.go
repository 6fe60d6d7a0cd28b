package dispatch

// element is one box's rules in the plan.
type element struct {
	box     box
	matches []Match
	action  Action
	level   int
	of      int     // the candidate that it does something for; -1: it only covers
	part    float64 // of the candidate's packets that it takes
}

// elements are the plan's boxes in the order in which they match: each box's own rules and its cover, exceptions before
// the first that needs them, so that they take from nobody else.
func (s *selection) elements() (out []element) {
	done := make([]bool, len(s.covers))
	for i := range s.p.main {
		c := &s.p.main[i]
		if s.acts[i] || s.part[i] > 0 {
			for _, j := range c.needs {
				if x := int(j) - len(s.p.main); x >= 0 && !done[j] {
					done[j] = true
					out = append(out, element{box: s.p.exceptions[x].outer, matches: s.p.exceptions[x].cover, of: -1})
				}
			}
			e := element{box: c.region, matches: c.act, action: s.p.action(c), of: i, part: 1}
			if s.part[i] > 0 {
				e.matches = c.act[:s.part[i]]
				e.part = float64(s.part[i]) / float64(len(c.act))
			}
			out = append(out, e)
		}
		if s.covers[i] && !s.actsAt(i) {
			out = append(out, element{box: c.outer, matches: c.cover, of: -1})
		}
	}
	return out
}

// layer gives elements that overlap and differ ascending levels, as few as possible.
func layer(all []element) {
	for i := range all {
		e := &all[i]
		for j := range all[:i] {
			if o := &all[j]; o.level >= e.level && o.action != e.action && o.box.overlaps(&e.box) {
				e.level = o.level + 1
			}
		}
	}
}
