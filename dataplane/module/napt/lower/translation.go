package lower

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/module/napt/lower/fixed"
)

// translation is a NAPT as it is being wired: its dynamic part, and the fixed one before it.
type translation struct {
	b       *lower.Builder
	f       *lower.Function
	dynamic int // node; -1: it has no pool
	static  int // node; -1: it has no fixed translations
	// ownErrors is the node before static, for what comes from inside; -1: there is none.
	ownErrors int
	// The outside addresses of each.
	staticAddrs, poolAddrs headerspace.Set
}

// translate makes "nat/napt" and, for fixed translations, "nat/static": what is of none of these goes on to "nat/napt". For hosts that reach others by outside
// addresses there are classifiers behind both, "nat/hairpin" and "nat/hairpin-static".
func translate(b *lower.Builder, f *lower.Function, n *napt) *translation {
	t := &translation{b: b, f: f, dynamic: -1, static: -1, ownErrors: -1}
	var e element.NAPT
	if n.spec.Masquerade || len(n.spec.Pool) > 0 || len(n.spec.Static) == 0 {
		e = readNAPT(b, f, f.Path, n.spec, f.Name)
		t.poolAddrs = lower.AddressSet(e.Pool)
	}
	list := readFixed(b, f, n.spec, e.Pool)
	if len(e.Pool) > 0 {
		e.Reserved = fixed.Reserved(list, e.Pool)
		t.dynamic = b.Add(f.Name, f.Name+"/napt", e)
	}
	if len(list) > 0 {
		static := fixed.Element(list)
		t.staticAddrs = static.Addresses(element.StaticOutside)
		t.static = b.Add(f.Name, f.Name+"/static", static)
		t.wireOwnErrors()
	}
	t.leadOut(n)
	return t
}

// entry is where packets come in by a side.
func (t *translation) entry(side int) lower.Edge {
	switch {
	case side == element.NAPTInside && t.ownErrors >= 0:
		return lower.Edge{To: t.ownErrors}
	case t.static >= 0:
		return lower.Edge{To: t.static, Port: side}
	}
	return t.rest(side)
}

// dummy is the source that ICMP errors have which have no address yet: the IPv4 dummy address of RFC 7600 section 6.
var dummy = netip.AddrFrom4([4]byte{192, 0, 0, 8})

// wireOwnErrors takes the source from errors of the chain's routers where it is an outside address of a fixed translation, as that of a NAPT which
// shares the interface's address: it would say that they are translated already. Their translation gives them a source again.
func (t *translation) wireOwnErrors() {
	var own []netip.Addr
	for _, i := range t.b.Interfaces {
		for _, a := range i.Own() {
			if t.staticAddrs.Contains(headerspace.Addr(a)) {
				own = append(own, a)
			}
		}
	}
	if len(own) == 0 {
		return
	}
	const yes, no = 0, 1
	name := t.f.Name + "/own-errors"
	rule := element.Rule{Name: name + "/address", Filters: []headerspace.Filter{lower.ICMPErrors.With(headerspace.Src, lower.AddressSet(own))}, Out: yes}
	t.ownErrors = t.b.Add(t.f.Name, name, element.Classifier{Rules: []element.Rule{rule}, Default: no, Outs: 2})
	take := t.b.Add(t.f.Name, name+"/source", element.SetField{Field: headerspace.Src, Value: headerspace.Addr(dummy)})
	t.b.Generated(take)
	static := lower.Edge{To: t.static, Port: element.StaticInside}
	t.b.Wire(t.ownErrors, yes, take)
	t.b.Lead(take, 0, static)
	t.b.Lead(t.ownErrors, no, static)
}

// rest is where packets go that come by a side and are of no fixed translation.
func (t *translation) rest(side int) lower.Edge {
	if t.dynamic >= 0 {
		return lower.Edge{To: t.dynamic, Port: side}
	}
	reason := element.ReasonNATUnsupported
	if side == element.NAPTOutside {
		reason = element.ReasonNATNoBinding
	}
	name := t.f.Name + "/no-pool-" + lower.TwoSides[side]
	if i := t.b.FindNode(name); i >= 0 {
		return lower.Edge{To: i}
	}
	return lower.Edge{To: t.b.Add(t.f.Name, name, element.Discard{Reason: reason})}
}

// leadOut leads packets on behind the elements.
func (t *translation) leadOut(n *napt) {
	b, f := t.b, t.f
	turns := n.Answers(b) && b.Reached(f.Port(lower.Inside)) && (t.static >= 0 || n.spec.Hairpinning == v1alpha1.HairpinAll)
	for side, name := range lower.TwoSides {
		if !b.Reached(f.Port(name)) && !(turns && side == element.NAPTOutside) {
			continue
		}
		if t.static >= 0 {
			b.Lead(t.static, side+element.StaticInsideRest, t.rest(side))
		}
		for _, node := range []int{t.dynamic, t.static} {
			switch {
			case node < 0:
			case turns && side == element.NAPTInside:
				t.hairpin(node, n.spec.Hairpinning == v1alpha1.HairpinAll)
			default:
				b.Exit(node, 1-side, f, lower.Opposite(name)) // out by the other side
			}
		}
	}
}

// hairpin leads what leaves a node by the outside, and goes to an outside address, back in. A host that the NAPT gave a port reaches others by fixed translations, and by
// ports of the pool only if that is wanted: such packets need the state of two hosts.
func (t *translation) hairpin(node int, all bool) {
	const leaves, turns = 0, 1
	b, f := t.b, t.f
	name, to, back := f.Name+"/hairpin", t.staticAddrs, t.entry(element.NAPTOutside)
	if all || node == t.static {
		to = to.Union(t.poolAddrs)
	}
	if node == t.static {
		name += "-static"
	} else if !all {
		back = t.fixedAlone()
	}
	rule := element.Rule{Name: name + "/outside-addresses", Filters: []headerspace.Filter{headerspace.Filter{}.With(headerspace.Dst, to)}, Out: turns}
	c := b.Add(f.Name, name, element.Classifier{Rules: []element.Rule{rule}, Default: leaves, Outs: 2})
	b.Wire(node, element.NAPTOutside, c)
	b.Exit(c, leaves, f, lower.Outside)
	b.Lead(c, turns, back)
}

// fixedAlone is an element with the same fixed translations, for packets that the NAPT has translated: it does not translate them back.
func (t *translation) fixedAlone() lower.Edge {
	b, f := t.b, t.f
	e := b.Nodes()[t.static].Element
	node := b.Add(f.Name, f.Name+"/hairpin-back", e)
	b.Exit(node, element.StaticInside, f, lower.Inside)
	b.Wire(node, element.StaticOutsideRest, b.Add(f.Name, f.Name+"/hairpin-rest", element.Discard{Reason: element.ReasonNATNoBinding}))
	return lower.Edge{To: node, Port: element.StaticOutside}
}

// readFixed reads the fixed translations, and notes their outside addresses, as far as the pool does not have them.
func readFixed(b *lower.Builder, f *lower.Function, spec *v1alpha1.NAPT, pool []netip.Addr) []fixed.Mapping {
	list := fixed.Read(spec, pool, func(field string, p rules.Problem) {
		b.Problem(f.Object, f.Path+"."+field, &p)
	})
	p := &pooled{inside: f.Port(lower.Inside), outside: f.Port(lower.Outside), object: f.Object, portMin: 0, portMax: 65535}
	for _, m := range list {
		checkInside(b, f, m)
		if m.Proto != 0 && slices.Contains(pool, m.Outside.Addr()) {
			continue
		}
		r, _ := rules.ParseAddressSet(m.Outside.String())
		if m.Proto == 0 {
			checkOwn(b, f, m, r)
		}
		p.entries = append(p.entries, poolEntry{r, f.Path + "." + m.Field + ".outside", m.End(element.StaticOutside)})
		for a := r.First; a.IsValid() && !r.Last.Less(a); a = a.Next() {
			if !slices.Contains(p.pool, a) {
				p.pool = append(p.pool, a)
			}
		}
	}
	if len(p.pool) > 0 {
		b.Serve(p)
	}
	return list
}

// interfacesAt are those of the realm of a port.
func interfacesAt(b *lower.Builder, at lower.Port) []*lower.Interface {
	var out []*lower.Interface
	for _, i := range b.Interfaces {
		if i.Prefix.IsValid() && b.Sees(i, at) {
			out = append(out, i)
		}
	}
	return out
}

// checkInside finds hosts inside that are none: addresses of the chain.
func checkInside(b *lower.Builder, f *lower.Function, m fixed.Mapping) {
	for _, i := range interfacesAt(b, f.Port(lower.Inside)) {
		for _, a := range i.Own() {
			if m.Inside.Contains(a) {
				b.Fail(f.Object, f.Path+"."+m.Field+".inside", m.End(element.StaticInside), "holds %s, an address of interface %q; give addresses of hosts", a, i.Name)
			}
		}
	}
}

// checkOwn finds addresses for hosts inside that interfaces outside have.
func checkOwn(b *lower.Builder, f *lower.Function, m fixed.Mapping, r rules.Range) {
	for _, i := range interfacesAt(b, f.Port(lower.Outside)) {
		for _, a := range i.Own() {
			if r.Holds(a) {
				b.Fail(f.Object, f.Path+"."+m.Field+".outside", m.End(element.StaticOutside), "holds %s, an address of interface %q; give addresses that hosts inside have for themselves",
					a, i.Name)
			}
		}
	}
}

// masquerade has the address of the interface outside as pool.
func masquerade(b *lower.Builder, p *pooled, field string) {
	list := interfacesAt(b, p.outside)
	switch {
	case len(list) == 1:
		a := list[0].Prefix.Addr()
		p.pool = []netip.Addr{a}
		p.entries = []poolEntry{{rules.Range{First: a, Last: a}, field, a.String()}}
	case len(list) > 1:
		var names []string
		for _, i := range list {
			names = append(names, i.Name)
		}
		b.Fail(p.object, field, "true", "several interfaces lie outside (%s); give a pool with the addresses that are meant", strings.Join(names, ", "))
	case !b.Unlinked():
		b.Fail(p.object, field, "true", "no interface lies outside; link one, or give a pool")
	}
}
