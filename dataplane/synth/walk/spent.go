package walk

import "slices"

// passing is a look-up that units pass behind the same others in a segment, and what is spent there.
type passing struct {
	node   int
	always bool // they are followed even if the look-up is kept apart
	visits int
	boxes  int
	routes int // of tables behind tables
	behind []*passing
	gone   bool // taken back, with units still behind it
	// ofRule is the boxes that count behind a rule of a sample.
	rule, ofRule int
}

// pass notes that a unit comes to a look-up.
func (b *budget) pass(w *Walker, t *Unit, node int, always bool) *passing {
	last := t.passed
	if last == nil {
		last = b.spent
	}
	// A look-up kept apart leaves fewer units whose copies go on; what is taken over is not told look-up by look-up; the first table by content
	// decides about others; and a unit that goes round may be behind the look-up itself.
	if len(t.todo) > 0 || len(t.legs) > 0 || t.fan || w.seg.lookup > 0 || w.log != nil && w.log.before != nil || last.gone {
		b.unsure = true
	}
	at := slices.IndexFunc(last.behind, func(p *passing) bool { return p.node == node && p.always == always })
	if at < 0 {
		at = len(last.behind)
		last.behind = append(last.behind, &passing{node: node, always: always})
	}
	t.passed = last.behind[at]
	t.passed.visits++
	return t.passed
}

// spend spends boxes of the segment's own, and of tables behind tables.
func (b *budget) spend(at *passing, boxes, routes int) {
	at.boxes += boxes
	at.routes += routes
	b.left -= boxes
	b.tables -= routes
}

// forget takes back what was spent at a look-up and behind it, for it is kept apart.
func (b *budget) forget(p *passing, node int) {
	for _, q := range p.behind {
		if q.node != node || q.always {
			b.forget(q, node)
			continue
		}
		b.spend(q, -q.boxes, -q.routes)
		for _, r := range q.behind {
			b.undo(r)
		}
		q.behind = nil
	}
}

// undo takes back what was spent at a passing and behind it, and the visits.
func (b *budget) undo(p *passing) {
	b.spend(p, -p.boxes, -p.routes)
	p.gone = true
	if b.visits[p.node] -= p.visits; b.visits[p.node] == 0 {
		b.seen = slices.DeleteFunc(b.seen, func(n int) bool { return n == p.node })
	} else { // of the visits that are left, the first might have been counted as a look-up of the segment's own
		b.unsure = true
	}
	for _, q := range p.behind {
		b.undo(q)
	}
}
