package graph

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Refused are source addresses that an interface's entry drops, and why.
type Refused struct {
	First, Last netip.Addr
	Reason      string
}

// refusals collects refused sources; what was refused first keeps its reason.
type refusals struct {
	taken headerspace.Set
	list  []Refused
}

func (r *refusals) add(s headerspace.Set, reason string) {
	for _, i := range s.Subtract(r.taken).Intervals() {
		r.list = append(r.list, Refused{headerspace.AsAddr(i.Lo), headerspace.AsAddr(i.Hi), reason})
	}
	r.taken = r.taken.Union(s)
}

// refuseSources says which sources cannot be right at each interface, within its address realm.
func (b *builder) refuseSources() {
	for n, i := range b.interfaces {
		if !i.prefix.IsValid() {
			continue
		}
		var r refusals
		r.add(addressSet(b.ownIn(b.realmOf(i))), element.ReasonOwnSource)
		r.add(addressSet(b.virtualsIn(b.realmOf(i))), element.ReasonOwnSource)
		for _, p := range b.pools {
			if b.sees(i, p.outside) {
				r.add(addressSet(p.pool), element.ReasonPoolSource)
			}
		}
		for _, j := range b.interfaces {
			if a, ok := broadcastOf(j); ok && b.realmOf(i) == b.realmOf(j) {
				r.add(addressSet([]netip.Addr{a}), element.ReasonBroadcastSource)
			}
		}
		r.add(b.offPath(i), element.ReasonReversePath)
		slices.SortFunc(r.list, func(x, y Refused) int { return x.First.Compare(y.First) })
		b.g.Interfaces[n].Refused = r.list
		b.g.Interfaces[n].TinyFragments = !b.readsTransport()
	}
}

// readsTransport tells whether some function may read or write a transport header: a router does neither.
func (b *builder) readsTransport() bool {
	return slices.ContainsFunc(b.functions, func(f *function) bool { return !f.kind.traits().addressesAlone })
}

// ownIn are the addresses of interfaces and routers in a realm.
func (b *builder) ownIn(realm port) []netip.Addr {
	var own []netip.Addr
	for _, i := range b.interfaces {
		if i.prefix.IsValid() && b.realmOf(i) == realm {
			own = append(own, i.own()...)
		}
	}
	for _, f := range b.functions {
		if is[router](f) && b.realm.find(port{f.name, f.ports[0]}) == realm {
			own = append(own, f.addresses()...)
		}
	}
	return own
}

// offPath are the sources to which no packet would be sent by the interface (RFC 3704 section 2.2), as far as
// prefixes tell. Strict: hosts of another interface's prefix; and where packets leave for the interface's
// own prefix only, all others. Loose (section 2.4): where that holds for every interface of the realm, what is in no
// prefix.
func (b *builder) offPath(i *chainInterface) headerspace.Set {
	every := headerspace.AddrRange(netip.AddrFrom4([4]byte{}), netip.AddrFrom4([4]byte{255, 255, 255, 255}))
	own, others, all, closed := headerspace.Prefix(i.prefix.Masked()), headerspace.Set{}, headerspace.Set{}, true
	for _, j := range b.interfaces {
		if !j.prefix.IsValid() || b.realmOf(i) != b.realmOf(j) {
			continue
		}
		p := headerspace.Prefix(j.prefix.Masked())
		all = all.Union(p)
		closed = closed && b.closed(j)
		if i != j {
			others = others.Union(p)
		}
	}
	switch i.spec.ReversePath {
	case v1alpha1.ReversePathOff:
	case v1alpha1.ReversePathLoose:
		if closed {
			return every.Subtract(all)
		}
	default:
		if b.closed(i) {
			return every.Subtract(own)
		}
		return others.Subtract(own)
	}
	return headerspace.Set{}
}

// closed tells whether packets leave by the interface for its own prefix only: it has no gateway, and no route of the realm leads there.
func (b *builder) closed(i *chainInterface) bool {
	if i.spec.Gateway != "" {
		return false
	}
	for _, f := range b.functions {
		if f.kind.traits().unforeseen && slices.ContainsFunc(f.ports, func(p string) bool { return b.sees(i, port{f.name, p}) }) {
			return false // what its lookups do is not known
		}
		for at := range f.beyond {
			if slices.Contains(b.behind(port{f.name, at}).interfaces, i) {
				return false
			}
		}
	}
	return true
}

// broadcastOf is the broadcast address of an interface's prefix, if it has one.
func broadcastOf(i *chainInterface) (netip.Addr, bool) {
	if !i.prefix.IsValid() {
		return netip.Addr{}, false
	}
	return rules.Broadcast(i.prefix)
}
