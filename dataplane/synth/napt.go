package synth

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// What a NAPT translates: ICMP's queries and errors, and all protocols but those whose checksums cover addresses in a way that it does not
// know (DCCP, AH, UDP-Lite). Only ICMP packets have an ICMP type, so one product says it.
var (
	forwardable = translatable(3, 8, 11, 12, 13)
	returnable  = translatable(0, 3, 11, 12, 14)

	// Flows of the protocols in bound are told apart by port or identifier, others by address alone.
	bound   = headerspace.Of(1, 6, 17)
	unbound = headerspace.Full(headerspace.Proto).Subtract(bound)

	unfragmented = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	fragmented   = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragFirst, headerspace.FragLater))
)

func translatable(icmpTypes ...uint64) headerspace.Filter {
	absent, _ := headerspace.ICMPType.Absent()
	return headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole)).
		With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(33, 51, 136))).
		With(headerspace.ICMPType, headerspace.Of(icmpTypes...).Union(headerspace.Single(absent)))
}

// errUnread cannot happen while no element writes protocol, fragment state or ICMP type.
var errUnread = fmt.Errorf("protocol, fragment state and ICMP type are never written")

// sides splits a unit at a NAPT: the packets that types lets be translated, the other whole packets, and
// fragments. Each filter comes after the ones before it; none: no such packets.
func (t *tcu) sides(types headerspace.Filter) (good, whole, frags ways, err error) {
	var ok [3]bool
	good, ok[0] = t.match(types)
	whole, ok[1] = t.match(unfragmented)
	frags, ok[2] = t.match(fragmented)
	if ok != [3]bool{true, true, true} {
		return good, whole, frags, errUnread
	}
	if good.n == 1 && whole.n == 1 && whole.first.SubsetOf(good.first.Simplify()) {
		whole = ways{}
	}
	return good, whole, frags, nil
}

func (w *walker) drop(t *tcu, node int, filters *ways, reason string) error {
	for i := range filters.n {
		u := w.branch(t, *filters.at(i))
		if err := w.leaf(u, node, outcome{kind: toDrop, reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// translate is a NAPT's inside → outside.
func (w *walker) translate(t *tcu, node int, n element.NAPT) error {
	good, whole, frags, err := t.sides(forwardable)
	if err != nil {
		return err
	}
	for i := range good.n {
		for _, p := range w.parts(t, *good.at(i)) {
			u := w.branch(t, p)
			if err := w.forward(u, node, n); err != nil {
				return err
			}
			if err := w.follow(u, node, element.NAPTOutside, -1); err != nil {
				return err
			}
		}
	}
	if err := w.drop(t, node, &whole, element.ReasonNATUnsupported); err != nil {
		return err
	}
	return w.drop(t, node, &frags, element.ReasonNATFragment)
}

// parts are the packets of a filter that NAPTs may translate together, and those without ports, which are bound at each by itself: what one
// makes of their address tells the next one's, and how many a remote can have is told by the pool of each.
func (w *walker) parts(t *tcu, p headerspace.Filter) []headerspace.Filter {
	if !w.joins(t) {
		return []headerspace.Filter{p}
	}
	var out []headerspace.Filter
	for _, protos := range [...]headerspace.Set{bound, unbound} {
		if q := p.And(headerspace.Proto, protos); !q.IsEmpty() {
			out = append(out, q)
		}
	}
	return out
}

// forward composes the translation. Behind another NAPT whose choice nobody has
// read, it joins that one's run: only the last choice is ever made (SNF, Property 1).
func (w *walker) forward(t *tcu, node int, n element.NAPT) error {
	if len(t.unwind) > 0 {
		w.apart[t.unwind[0]] = true
		return errAgain
	}
	if w.joins(t) && t.filter.And(headerspace.Proto, unbound).IsEmpty() {
		last := len(t.runs) - 1
		t.runs = slices.Clone(t.runs)
		t.runs[last] = w.runs.extend(t.runs[last], node)
	} else {
		t.settle()
		t.ops = append(t.ops[:len(t.ops):len(t.ops)], op{kind: opForward, arg: int64(len(t.runs))})
		t.runs = append(t.runs[:len(t.runs):len(t.runs)], w.runs.extend(noRun, node))
	}
	addrs, ports := w.pool(node, n)
	t.val[headerspace.Src] = expr{kind: choice, node: int32(node), set: addrs}
	t.val[headerspace.SPort] = expr{kind: choice, node: int32(node), set: ports}
	done := *t.settled()
	done[headerspace.Src], done[headerspace.SPort] = t.val[headerspace.Src], t.val[headerspace.SPort]
	t.done, t.flow = t.share(done), t.share(t.val)
	return nil
}

// pool is what a NAPT can choose.
func (w *walker) pool(node int, n element.NAPT) (addrs, ports *headerspace.Set) {
	if p, ok := w.pools[node]; ok {
		return p[0], p[1]
	}
	iv := make([]headerspace.Interval, len(n.Pool))
	for i, a := range n.Pool {
		iv[i] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	a, p := headerspace.NewSet(iv...), headerspace.Range(uint64(n.PortMin), uint64(n.PortMax))
	w.pools[node] = [2]*headerspace.Set{&a, &p}
	return &a, &p
}

// joins tells whether the flow stands exactly as the last run left it.
func (w *walker) joins(t *tcu) bool {
	if len(t.runs) == 0 {
		return false
	}
	if w.apart[w.runs.last(t.runs[len(t.runs)-1])] {
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
func (w *walker) translateBack(t *tcu, node int, n element.NAPT) error {
	good, whole, frags, err := t.sides(returnable)
	if err != nil {
		return err
	}
	addrs, _ := w.pool(node, n)
	for i := range good.n {
		p := *good.at(i)
		u := w.branch(t, p)
		if len(u.unwind) > 0 && u.unwind[0] == node && u.val[headerspace.Dst].kind == virtual {
			if u.val[headerspace.Src].kind != ident || u.val[headerspace.SPort].kind != ident {
				w.apart[node] = true // its entry would not know this remote
				return errAgain
			}
			u.unwind = u.unwind[1:]
			w.rewind(u)
			if err := w.follow(u, node, element.NAPTInside, -1); err != nil {
				return err
			}
			continue
		}
		ways, decided := u.read(p, headerspace.Dst, *addrs)
		if !decided {
			return w.undecided(t, node, element.NAPTOutside)
		}
		for _, q := range ways {
			v := *u
			v.filter = q
			v.trace = w.step(step{prev: v.trace, node: node, out: element.NAPTInside, rule: -1})
			if err := w.leaf(&v, node, outcome{kind: toReturn, arg: w.table(node)}); err != nil {
				return err
			}
		}
		if len(ways) != 1 || !p.SubsetOf(ways[0]) {
			whole.add(p) // to an address that is not the pool's
		}
	}
	if err := w.drop(t, node, &whole, element.ReasonNATNoBinding); err != nil {
		return err
	}
	return w.drop(t, node, &frags, element.ReasonNATFragment)
}

// run is the index of a NAPT run; a new one has a way back, which is a segment.
func (w *walker) run(r runID) int {
	i, fresh := w.runs.use(r)
	if fresh {
		last := w.runs.last(r)
		w.table(last)
		w.segmentOf(start{kind: startReturn, node: last, run: i})
		for _, node := range w.runs.used[i] {
			w.run(w.single(node))
		}
	}
	return i
}

// single is the run of one NAPT.
func (w *walker) single(node int) runID { return w.runs.extend(noRun, node) }

// table is the index of the state table of a NAPT that writes last.
func (w *walker) table(node int) int {
	if i := slices.Index(w.tables, node); i >= 0 {
		return i
	}
	w.tables = append(w.tables, node)
	return len(w.tables) - 1
}
