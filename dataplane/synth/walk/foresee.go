package walk

import (
	"errors"
)

// Most products that do not fit are many times too large. A walk through few rules of a segment's own list finds those, before a walk through all of
// them spends the whole allowance in vain.

const (
	// sampled is through about how many rules of the list such a walk goes.
	sampled = 64
	// leastSampled is of how many rules on a list is worth it.
	leastSampled = 4 * sampled
	// overshoot is how many times as large as allowed a product has to look, as few rules tell it roughly.
	overshoot = 3
	// shares is how many rules at least have to show that a product is too large: a rule that all packets pass is one of many.
	shares = 16
)

// sampling is a walk through some rules of the segment's own list.
type sampling struct {
	rule int // which one it follows, from 1
	most int // boxes of a look-up behind one rule that count
	left int // what a walk through all rules may spend
}

// foresee keeps look-ups apart that will not fit behind the segment's own list. What it finds beside them is forgotten. It does nothing where there is little
// to spend.
func (w *Walker) foresee(c *ruling) error {
	b := &w.budget
	if len(c.near) < leastSampled || b.left < leastAllowance || w.startOver || b.vain || c.t.fan || len(w.wide[b.start]) > 0 {
		return nil
	}
	began, lookup, log := w.mark(), w.seg.lookup, w.log
	w.log = nil
	defer func() {
		w.forget(began.extent)
		w.seg.leaves, w.seg.lookup, w.budget, w.log = w.seg.leaves[:began.leaves], lookup, began.budget, log
		log.keep(w.wide[b.start])
	}()
	for {
		if err := c.sample(w, &began.budget); !errors.Is(err, errWide) {
			return err
		}
		w.forget(began.extent)
	}
}

// sample follows what passes some of the rules, with as much of a budget as is for them.
func (c *ruling) sample(w *Walker, whole *budget) error {
	stride := len(c.near) / sampled
	left := overshoot * whole.left / stride
	w.budget = newBudget(whole.start, left, overshoot*whole.tables/stride, len(w.g.Nodes))
	copy(w.budget.visits, whole.visits)
	w.budget.vain, w.budget.sample = true, &sampling{most: left / shares, left: whole.left}
	t, some := *c.t, *c
	t.passed, some.t = nil, &t
	return some.some(w, stride)
}

// some follows what passes each stride-th rule.
func (c *ruling) some(w *Walker, stride int) error {
	for k, rule := range c.near {
		i := int(rule)
		if k%stride > 0 {
			c.skip(i)
			continue
		}
		w.budget.sample.rule++
		if fate, err := c.rule(w, i); err != nil || fate != rulePasses {
			return err
		}
	}
	return nil
}

// share is how many of a product's boxes count.
func (s *sampling) share(at *passing, boxes int) int {
	if at.rule != s.rule {
		at.rule, at.ofRule = s.rule, 0
	}
	boxes = min(boxes, s.most-at.ofRule)
	at.ofRule += boxes
	return boxes
}
