package scaling

import "time"

// stabilizer decides a number over time: up soon, down when a whole window needed less.
type stabilizer struct {
	damping Damping
	count   int // 0: not started
	marks   []mark
	since   time.Time // of what the window holds
	grown   time.Time
	shrunk  time.Time
	window  time.Duration
	rising  time.Time // since when more is needed
	risen   int       // the least that was needed since
	asked   time.Time // last
	short   bool      // more would be wanted than the number bears
}

// Damping is how a number follows what is needed.
type Damping struct {
	// Rise is how long more must have been needed before the number grows, unless packets
	// are lost.
	Rise time.Duration
	// Window is how long less must have been needed before the number falls. It is
	// doubled, up to longest times, each time that a fall is taken back within it.
	Window time.Duration
	// CoolDown is how long after growth lost packets do not make it grow again: until
	// then the growth may not have come into effect (µNF, IV-E).
	CoolDown time.Duration
}

const longest = 8

// mark is what was needed at a time.
type mark struct {
	at   time.Time
	need int
}

// reading is what is needed now.
type reading struct {
	needed  int  // with less, cores are above the target
	atLeast int  // the same, within the bounds
	enough  int  // with this, they are below it by the margin
	alarm   bool // packets are lost
	least   int  // the bounds, which hold at once
	most    int
	hold    bool // what is seen is too old to let the number fall
}

func (s *stabilizer) start(now time.Time, count int) {
	s.count, s.since, s.window = count, now, s.damping.Window
}

// beat is how often a stabilizer is meant to be asked. A caller that asks less often has seen nothing
// new: what was needed then was needed until now.
const beat = time.Second

// next gives the number.
func (s *stabilizer) next(now time.Time, r reading) int {
	if s.count == 0 {
		s.start(now, r.atLeast)
	}
	if last := len(s.marks) - 1; last >= 0 && now.Sub(s.asked) > beat {
		s.marks[last].at = now.Add(-beat)
	}
	s.asked = now
	if s.count < r.least {
		s.count, s.grown, s.rising = r.least, now, time.Time{}
	}
	want := s.wanted(now, r.atLeast)
	if r.alarm && s.mayGrow(now) {
		want = max(want, s.count+1)
	}
	want = min(want, r.most)
	enough := min(max(r.enough, r.atLeast, want), r.most)
	if r.alarm || r.hold {
		enough = max(enough, min(s.count, r.most))
	}
	s.push(mark{now, enough})
	switch fits := s.marks[0].need; {
	case want > s.count:
		s.grow(now, want)
	case s.count > r.most:
		s.count = r.most
	case fits < s.count && now.Sub(s.since) >= s.window:
		s.count, s.shrunk = fits, now
	}
	return s.count
}

// again is how long after the last reading the number changes if all stays as it is; 0:
// it does not.
func (s *stabilizer) again() time.Duration {
	if !s.rising.IsZero() {
		return max(s.rising.Add(s.damping.Rise).Sub(s.asked), beat)
	}
	if len(s.marks) == 0 || s.marks[len(s.marks)-1].need >= s.count {
		return 0
	}
	full := s.since.Add(s.window)
	for _, m := range s.marks {
		if end := m.at.Add(s.window + 1); m.need >= s.count && end.After(full) {
			full = end
		}
	}
	return max(full.Sub(s.asked), beat)
}

// wanted is the number, or what was needed at least for as long as growth takes.
func (s *stabilizer) wanted(now time.Time, need int) int {
	switch {
	case need <= s.count:
		s.rising = time.Time{}
		return need
	case s.rising.IsZero():
		s.rising, s.risen = now, need
	}
	s.risen = min(s.risen, need)
	if now.Sub(s.rising) < s.damping.Rise {
		return s.count
	}
	return s.risen
}

// mayGrow tells whether an alarm counts.
func (s *stabilizer) mayGrow(now time.Time) bool {
	return s.grown.IsZero() || now.Sub(s.grown) >= s.damping.CoolDown
}

func (s *stabilizer) grow(now time.Time, want int) {
	s.count, s.grown, s.rising = want, now, time.Time{}
	if !s.shrunk.IsZero() && now.Sub(s.shrunk) < s.window {
		s.window = min(2*s.window, longest*s.damping.Window)
	} else {
		s.window = s.damping.Window
	}
}

// push keeps the marks of the window that are greater than all after them, so that the
// first one is the greatest.
func (s *stabilizer) push(m mark) {
	for len(s.marks) > 0 && s.marks[len(s.marks)-1].need <= m.need {
		s.marks = s.marks[:len(s.marks)-1]
	}
	s.marks = append(s.marks, m)
	for m.at.Sub(s.marks[0].at) > s.window {
		s.marks = s.marks[1:]
	}
}
