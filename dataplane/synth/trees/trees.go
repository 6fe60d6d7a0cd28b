// Package trees foresees how long the engine's walks through a table are. It makes the trees that the engine's classifier makes of the table
// (dataplane/engine/classify, docs/classifier.md), but without what they hold: the same cuts, the same lists. So a program can be judged before any engine
// has it.
package trees

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// Walk is what look-ups in a table cost, in steps: a node or a group of 8 boxes that is read.
type Walk struct {
	// Steps is how many one takes on average if packets are where the boxes are, and 3 for each tree beside the first.
	Steps float64
	// Longest is how many one takes at most, whatever the packet.
	Longest int
}

const (
	group    = 8  // boxes that are compared at once
	listMax  = 16 // boxes of one column that are compared one after the other
	maxRoots = 4
)

// Of foresees the walks through a table. rare: it is a segment's table of the packets apart (Segment.low), which the engine divides
// more coarsely unless that makes long walks. A table that becomes a trie, or nothing at all, has none: zero.
func Of(t *programpb.Table, rare bool) Walk {
	if viewsFIB(t) {
		return Walk{}
	}
	b := readBoxes(t, rare)
	if b.n == 0 || b.n > listMax && len(b.ranges) == 1 && len(b.masks) == 0 {
		return Walk{}
	}
	tree := b.trees()
	if rare && tree.longest > long {
		b.rare = false
		tree = b.trees()
	}
	return Walk{float64(tree.steps), tree.longest}
}

// trees are those that serve the boxes best.
func (b *boxes) trees() *tree {
	c := newCutter(b)
	by, possible := b.divisions()
	first := notDivided
	if !possible[notDivided] {
		first = byAddress
	}
	tree := newTree(c, by[first])
	for k := first + 1; k < kinds; k++ {
		could := tree.steps > few
		if k == byPort {
			could = tree.longest > long
		}
		if !possible[k] || !could {
			continue
		}
		other := newTree(c, by[k])
		if k == byPort && other.longest < tree.longest || k != byPort && other.steps < tree.steps {
			tree = other
		}
	}
	return tree
}
