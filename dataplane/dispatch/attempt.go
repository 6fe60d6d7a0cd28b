package dispatch

import "slices"

// plan chooses what the device does about classes.
func (p *planner) plan(room, perPass, levels int) []element {
	if !p.caps.ordered() {
		return p.disjoint(room, perPass)
	}
	p.relate()
	best, whole := p.attempt(room, perPass, levels, func(*candidate) bool { return true })
	if whole && !p.mixed {
		return best
	}
	// Where levels are short, or covers have to be coarse for the sake of fragments, drops and marks compete.
	for _, want := range [...]bool{true, false} {
		other, _ := p.attempt(room, perPass, levels, func(c *candidate) bool { return c.drop == want })
		if p.gain(other) > p.gain(best) {
			best = other
		}
	}
	return best
}

// maxTries bounds how often a choice is made again because some of it lies deeper than the device has levels.
const maxTries = 4

// attempt chooses among the candidates that are wanted; whole is false if there are too few levels for the best choice.
func (p *planner) attempt(room, perPass, levels int, wanted func(*candidate) bool) (best []element, whole bool) {
	off := make([]bool, len(p.main))
	for i := range p.main {
		off[i] = !wanted(&p.main[i])
	}
	for try := range maxTries {
		all := p.choose(room, perPass, off).elements()
		layer(all)
		kept := slices.DeleteFunc(slices.Clone(all), func(e element) bool { return e.level >= levels })
		if len(kept) == len(all) && try == 0 {
			return kept, true
		}
		if p.gain(kept) > p.gain(best) {
			best = kept
		}
		if len(kept) == len(all) {
			break
		}
		// Fields that lie too deep are left out of the next choice, so that others get its room.
		for i := range all {
			if all[i].level >= levels && all[i].of >= 0 {
				off[all[i].of] = true
			}
		}
	}
	return best, false
}

// gain is the cycles that elements save, but for those whose packets a cover takes.
func (p *planner) gain(in []element) (sum float64) {
	for i := range in {
		if in[i].of >= 0 && !covered(in[:i], &in[i].box) {
			sum += p.main[in[i].of].gain * in[i].part
		}
	}
	return sum
}

// covered tells whether one of the elements leaves all packets of a box to software.
func covered(in []element, b *box) bool {
	return slices.ContainsFunc(in, func(e element) bool { return e.of < 0 && b.within(&e.box) })
}
