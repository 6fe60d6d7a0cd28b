package walk

import "github.com/sinter-nfv/sinter/dataplane/headerspace"

// Answers of routers in a row. Each router has answers, and each of them may pass all other routers. If tables and long lists of rules were merged for them as
// for other packets, each would be in the program once for each router before it. Answers are few: they are looked up once at each large table (endsAnswers), and
// before one at each long list (endsAnswersAtRules).

// ofAnswers tells whether answers alone pass the segment.
func (w *Walker) ofAnswers() bool {
	return w.seg.start.kind == startAnswer || w.seg.start.kind == startAnswerCut
}

// endsAnswers tells whether the way of answers ends before a table. A choice is not made for that: it would be made for all packets.
func (w *Walker) endsAnswers(t *Unit, l *lookup) bool {
	return w.ofAnswers() && l.Table == nil && l.size() > large && t.val[headerspace.Dst].kind == ident && !t.chooses()
}

// endsAnswersAtRules tells the same of a list of so many rules, in segments that answers alone pass because a large table is ahead.
func (w *Walker) endsAnswersAtRules(t *Unit, rules int) bool {
	return w.seg.start.kind == startAnswerCut && rules > large && !t.chooses()
}

// chooses tells whether a choice has to be made where the unit's way ends.
func (t *Unit) chooses() bool { return len(t.runs)+len(t.unwind) > 0 }

// cutKind is how the segment starts that packets enter before a node. Answers have one of their own where it would end earlier than that of others.
func (w *Walker) cutKind(node int) startKind {
	if w.ofAnswers() && w.tableAhead(node) {
		return startAnswerCut
	}
	return startCut
}

// tableAhead tells whether packets may come from a node to another one that is a large table of routes.
func (w *Walker) tableAhead(node int) bool {
	if known, ok := w.ahead[node]; ok {
		return known
	}
	ahead, seen, todo := false, map[int]bool{}, []int{node}
	for len(todo) > 0 && !ahead {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n < 0 || seen[n] {
			continue
		}
		seen[n] = true
		if l, ok := w.means[n].(*lookup); ok && n != node && l.Table == nil && l.size() > large {
			ahead = true
		}
		if _, ends := w.means[n].(answering); ends {
			continue
		}
		for _, e := range w.g.Nodes[n].Out {
			todo = append(todo, e.To)
		}
	}
	w.ahead[node] = ahead
	return ahead
}
