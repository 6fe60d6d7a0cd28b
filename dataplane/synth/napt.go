package synth

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// What a NAPT translates: TCP, UDP, echo, and errors about them. TCP and UDP packets have no ICMP
// type, so one product says it.
var (
	icmpAbsent, _ = headerspace.ICMPType.Absent()
	translatable  = headerspace.Of(1, 6, 17)
	forwardTypes  = headerspace.Of(3, 8, 11, 12).Union(headerspace.Single(icmpAbsent))
	returnTypes   = headerspace.Of(0, 3, 11, 12).Union(headerspace.Single(icmpAbsent))
)

// sides splits a unit at a NAPT: fragments, what is translated, and the rest.
func (t *tcu) sides(types headerspace.Set) (frag, good []headerspace.Filter, rest bool, err error) {
	frag, ok := t.match(headerspace.Filter{}.With(headerspace.Frag, fragments))
	if !ok {
		return nil, nil, false, errUnread
	}
	want := headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole)).
		With(headerspace.Proto, translatable).With(headerspace.ICMPType, types)
	good, ok = t.match(want)
	if !ok {
		return nil, nil, false, errUnread
	}
	rest = !(len(good) == 1 && t.filter.SubsetOf(good[0])) && !(len(frag) == 1 && t.filter.SubsetOf(frag[0]))
	return frag, good, rest, nil
}

// errUnread cannot happen while no element writes protocol, fragment state or ICMP type.
var errUnread = fmt.Errorf("protocol, fragment state and ICMP type are never written")

func (w *walker) drop(t tcu, node int, filters []headerspace.Filter, reason string) error {
	for _, p := range filters {
		u := t
		u.filter = p
		if err := w.leaf(u, node, outcome{kind: toDrop, reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// translate is a NAPT's inside → outside.
func (w *walker) translate(t tcu, node int, n element.NAPT) error {
	frag, good, rest, err := t.sides(forwardTypes)
	if err != nil {
		return err
	}
	if err := w.drop(t, node, frag, element.ReasonNATFragment); err != nil {
		return err
	}
	for _, p := range good {
		u := t
		u.filter = p
		if err := w.forward(&u, node, n); err != nil {
			return err
		}
		if err := w.follow(u, node, element.NAPTOutside, -1); err != nil {
			return err
		}
	}
	if rest {
		return w.drop(t, node, []headerspace.Filter{t.filter}, element.ReasonNATUnsupported)
	}
	return nil
}

// forward composes the translation. Behind another NAPT whose choice nobody has
// read, it joins that one's run: only the last choice is ever made (SNF, Property 1).
func (w *walker) forward(t *tcu, node int, n element.NAPT) error {
	if len(t.unwind) > 0 {
		w.apart[t.unwind[0]] = true
		return errAgain
	}
	if w.joins(t) {
		last := len(t.runs) - 1
		runs := slices.Clone(t.runs)
		runs[last] = append(slices.Clone(runs[last]), node)
		t.runs = runs
	} else {
		t.settle()
		t.ops = append(t.ops[:len(t.ops):len(t.ops)], op{kind: opForward, arg: int64(len(t.runs))})
		t.runs = append(t.runs[:len(t.runs):len(t.runs)], []int{node})
	}
	addrs, ports := pool(n)
	t.val[headerspace.Src] = expr{kind: choice, node: int32(node), set: &addrs}
	t.val[headerspace.SPort] = expr{kind: choice, node: int32(node), set: &ports}
	t.done[headerspace.Src], t.done[headerspace.SPort] = t.val[headerspace.Src], t.val[headerspace.SPort]
	t.flow = t.val
	return nil
}

// joins tells whether the flow stands exactly as the last run left it.
func (w *walker) joins(t *tcu) bool {
	if len(t.runs) == 0 {
		return false
	}
	run := t.runs[len(t.runs)-1]
	if w.apart[run[len(run)-1]] {
		return false
	}
	for _, f := range [...]headerspace.Field{headerspace.Src, headerspace.SPort, headerspace.Dst, headerspace.DPort} {
		if !sameExpr(t.val[f], t.flow[f]) {
			return false
		}
	}
	return true
}

// translateBack is a NAPT's outside → inside: where it is a part of the run that the packet was just
// translated back through, it is passed; else the packet is looked up, and goes on in a segment per origin.
func (w *walker) translateBack(t tcu, node int, n element.NAPT) error {
	frag, good, rest, err := t.sides(returnTypes)
	if err != nil {
		return err
	}
	if err := w.drop(t, node, frag, element.ReasonNATFragment); err != nil {
		return err
	}
	addrs, _ := pool(n)
	for _, p := range good {
		u := t
		u.filter = p
		if len(u.unwind) > 0 && u.unwind[0] == node && u.val[headerspace.Dst].kind == virtual {
			u.unwind = u.unwind[1:]
			w.rewind(&u)
			if err := w.follow(u, node, element.NAPTInside, -1); err != nil {
				return err
			}
			continue
		}
		ways, decided := u.read(p, headerspace.Dst, addrs)
		if !decided {
			return w.undecided(t, node)
		}
		for _, q := range ways {
			v := u
			v.filter = q
			v.trace = &step{prev: v.trace, node: node, out: element.NAPTInside, rule: -1}
			if err := w.leaf(v, node, outcome{kind: toReturn, arg: w.table(node)}); err != nil {
				return err
			}
		}
		rest = rest || !(len(ways) == 1 && p.SubsetOf(ways[0]))
	}
	if rest {
		return w.drop(t, node, []headerspace.Filter{t.filter}, element.ReasonNATNoBinding)
	}
	return nil
}

// run is the index of a NAPT run; a new one has a way back, which is a segment.
func (w *walker) run(nodes []int) int {
	key := fmt.Sprint(nodes)
	if i, ok := w.runIndex[key]; ok {
		return i
	}
	i := len(w.runs)
	w.runIndex[key] = i
	w.runs = append(w.runs, nodes)
	w.table(nodes[len(nodes)-1])
	w.segmentOf(start{kind: startReturn, node: nodes[len(nodes)-1], run: i})
	return i
}

// table is the index of the state table of a NAPT that writes last.
func (w *walker) table(node int) int {
	if i := slices.Index(w.tables, node); i >= 0 {
		return i
	}
	w.tables = append(w.tables, node)
	return len(w.tables) - 1
}
