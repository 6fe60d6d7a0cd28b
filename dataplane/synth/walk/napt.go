package walk

import (
	"errors"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { Register(func(e element.NAPT) Meaning { return &napt{NAPT: e} }) }

type napt struct {
	element.NAPT
	addrs, ports *headerspace.Set // what it can choose; nil: not asked for yet
}

func (w *Walker) napt(node int) *napt { return w.means[node].(*napt) }

func (n *napt) Walk(w *Walker, t *Unit, at Arrival) error {
	if at.Port == element.NAPTInside {
		return n.translate(w, t, at.Node)
	}
	return n.translateBack(w, t, at.Node)
}

// Leads: from outside the destination becomes what the session says.
func (n *napt) Leads(h HopTo, in int, on func(HopTo, int)) {
	if in == element.NAPTInside {
		on(h, element.NAPTOutside)
	}
}

// Redirects: a session may say any address.
func (n *napt) Redirects() (port int, to headerspace.Set) { return element.NAPTInside, ipv4 }

func (n *napt) Sources() headerspace.Set {
	addrs, _ := n.pool()
	return *addrs
}

// pool is what the NAPT can choose.
func (n *napt) pool() (addrs, ports *headerspace.Set) {
	if n.addrs == nil {
		iv := make([]headerspace.Interval, len(n.Pool))
		for i, a := range n.Pool {
			iv[i] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
		}
		a, p := headerspace.NewSet(iv...), headerspace.Range(uint64(n.PortMin), uint64(n.PortMax))
		n.addrs, n.ports = &a, &p
	}
	return n.addrs, n.ports
}

// What a NAPT translates: ICMP's queries and errors, and all protocols but those whose checksums cover addresses in a way that it does not
// know (DCCP, AH, UDP-Lite). Only ICMP packets have an ICMP type, so one product says it.
var (
	forwardable = translatable(3, 8, 11, 12, 13)
	returnable  = translatable(0, 3, 11, 12, 14)

	// Flows of the protocols in bound are told apart by port or identifier, others by address alone.
	bound   = headerspace.Of(1, 6, 17)
	unbound = headerspace.Full(headerspace.Proto).Subtract(bound)

	fragmented = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragFirst, headerspace.FragLater))
)

func translatable(icmpTypes ...uint64) headerspace.Filter {
	absent, _ := headerspace.ICMPType.Absent()
	return headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole)).
		With(headerspace.Proto, headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(33, 51, 136))).
		With(headerspace.ICMPType, headerspace.Of(icmpTypes...).Union(headerspace.Single(absent)))
}

var toReturn = NewOutcome(Ending{traced: true, Write: func(e *Emitter, o Outcome, leg *programpb.Leg) string {
	leg.Outcome = &programpb.Leg_StateReturn{StateReturn: uint32(o.Arg)}
	return "translate back (" + e.w.g.Nodes[e.w.tables[o.Arg]].Name + ")"
}})

// sides splits a unit at a NAPT: the packets that types lets be translated, the other whole packets, and
// fragments. Each filter comes after the ones before it; none: no such packets.
func (t *Unit) sides(types headerspace.Filter) (good, whole, frags Ways, err error) {
	var errs [3]error
	good, errs[0] = t.Sort(types)
	whole, errs[1] = t.Sort(Unfragmented)
	frags, errs[2] = t.Sort(fragmented)
	if err := errors.Join(errs[:]...); err != nil {
		return good, whole, frags, err
	}
	if good.N == 1 && whole.N == 1 && whole.first.SubsetOf(good.first.Simplify()) {
		whole = Ways{}
	}
	return good, whole, frags, nil
}

// translate is a NAPT's inside → outside.
func (n *napt) translate(w *Walker, t *Unit, node int) error {
	good, whole, frags, err := t.sides(forwardable)
	if err != nil {
		return err
	}
	for i := range good.N {
		for _, p := range n.parts(w, t, *good.At(i)) {
			u := w.Branch(t, p)
			if err := n.forward(w, u, node); err != nil {
				return err
			}
			if err := w.Follow(u, node, element.NAPTOutside, -1); err != nil {
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
func (n *napt) parts(w *Walker, t *Unit, p headerspace.Filter) []headerspace.Filter {
	if !n.joins(w, t) {
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
func (n *napt) forward(w *Walker, t *Unit, node int) error {
	if len(t.unwind) > 0 {
		return w.setApart(t.unwind[0])
	}
	if n.joins(w, t) && t.filter.And(headerspace.Proto, unbound).IsEmpty() {
		last := len(t.runs) - 1
		t.runs = slices.Clone(t.runs)
		t.runs[last] = w.runs.extend(t.runs[last], node)
	} else {
		t.settle()
		t.do(Op{Kind: opForward, Arg: int64(len(t.runs))})
		t.runs = append(t.runs[:len(t.runs):len(t.runs)], w.runs.extend(noRun, node))
	}
	addrs, ports := n.pool()
	t.val[headerspace.Src] = expr{kind: choice, node: int32(node), set: addrs}
	t.val[headerspace.SPort] = expr{kind: choice, node: int32(node), set: ports}
	done := *t.settled()
	done[headerspace.Src], done[headerspace.SPort] = t.val[headerspace.Src], t.val[headerspace.SPort]
	t.done, t.flow = t.share(done), t.share(t.val)
	return nil
}

// rewind sets the destination of a return packet to what the next NAPT to pass would see.
func (w *Walker) rewind(t *Unit) {
	d := [2]expr{}
	if len(t.unwind) > 0 {
		n := t.unwind[0]
		addrs, ports := w.napt(n).pool()
		d = [2]expr{{kind: virtual, node: int32(n), set: addrs}, {kind: virtual, node: int32(n), set: ports}}
	}
	t.val[headerspace.Dst], t.val[headerspace.DPort] = d[0], d[1]
	done := *t.settled()
	done[headerspace.Dst], done[headerspace.DPort] = d[0], d[1]
	t.done = t.share(done)
}

// joinable tells whether the choice of a node is one that a later NAPT may make in its place.
func (w *Walker) joinable(node int) bool {
	_, ok := w.means[node].(*napt)
	return ok && !w.apart[node]
}

// joins tells whether the flow stands exactly as the last run left it, by a NAPT that behaves alike: NAPTs with the same mapping and filtering
// have the same sessions and mappings.
func (n *napt) joins(w *Walker, t *Unit) bool {
	if len(t.runs) == 0 || n.Paired { // whose flows leave by one address is told by the address that the run before chose
		return false
	}
	last := w.runs.last(t.runs[len(t.runs)-1])
	if before := w.napt(last); w.apart[last] || before.Mapping != n.Mapping || before.Filtering != n.Filtering ||
		n.Mapping != element.AddressAndPortDependent && before.capacity() < n.capacity() { // how many mappings there can be is told by the last pool
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
func (n *napt) translateBack(w *Walker, t *Unit, node int) error {
	good, whole, frags, err := t.sides(returnable)
	if err != nil {
		return err
	}
	if err := t.ByDst(); err != nil { // is it the pool's?
		return err
	}
	addrs, _ := n.pool()
	for i := range good.N {
		p := *good.At(i)
		u := w.Branch(t, p)
		if len(u.unwind) > 0 && u.unwind[0] == node && u.val[headerspace.Dst].kind == virtual {
			if u.val[headerspace.Src].kind != ident || u.val[headerspace.SPort].kind != ident {
				return w.setApart(node) // its entry would not know this remote
			}
			u.unwind = u.unwind[1:]
			w.rewind(u)
			if err := w.Follow(u, node, element.NAPTInside, -1); err != nil {
				return err
			}
			continue
		}
		ways, decided := u.read(p, headerspace.Dst, *addrs)
		if !decided {
			return w.Undecided(t, node, element.NAPTOutside)
		}
		for _, q := range ways {
			v := *u
			if v.filter = q; !v.Reaches() {
				continue
			}
			v.trace = w.step(step{prev: v.trace, node: node, out: element.NAPTInside, rule: -1})
			if err := w.Leaf(&v, node, Outcome{Kind: toReturn, Arg: w.Table(node)}); err != nil {
				return err
			}
		}
		if len(ways) != 1 || !p.SubsetOf(ways[0]) {
			whole.Add(p) // to an address that is not the pool's
		}
	}
	if err := w.drop(t, node, &whole, element.ReasonNATNoBinding); err != nil {
		return err
	}
	return w.drop(t, node, &frags, element.ReasonNATFragment)
}

// run is the index of a NAPT run; a new one has a way back, which is a segment.
func (w *Walker) run(r runID) int {
	i, fresh := w.runs.use(r)
	if fresh {
		last := w.runs.last(r)
		w.Table(last)
		w.segmentOf(start{kind: startReturn, node: last, run: i})
		for _, node := range w.runs.used[i] {
			w.run(w.single(node))
		}
	}
	return i
}

// single is the run of one NAPT.
func (w *Walker) single(node int) runID { return w.runs.extend(noRun, node) }

var opForward = NewOperation(Operation{
	Write: func(e *Emitter, o Op, says *Leg) *programpb.Op {
		run := e.w.run(e.runs[o.Arg])
		says.Ops = append(says.Ops, "translate source ("+e.w.runName(run)+")")
		return &programpb.Op{Op: &programpb.Op_StateForward{StateForward: uint32(run)}}
	},
	Key:     func(e *Emitter, o Op) int64 { return int64(e.w.run(e.runs[o.Arg])) },
	Verdict: true,
})
