package lower

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// refusals collects refused sources; what was refused first keeps its reason.
type refusals struct {
	taken headerspace.Set
	list  []wiring.Refused
}

func (r *refusals) add(s headerspace.Set, reason string) {
	for _, i := range s.Subtract(r.taken).Intervals() {
		r.list = append(r.list, wiring.Refused{First: headerspace.AsAddr(i.Lo), Last: headerspace.AsAddr(i.Hi), Reason: reason})
	}
	r.taken = r.taken.Union(s)
}

// refuseSources says which sources cannot be right at each interface, within its address realm.
func (b *Builder) refuseSources() {
	for n, i := range b.Interfaces {
		if !i.Prefix.IsValid() {
			continue
		}
		var r refusals
		r.add(AddressSet(b.ownIn(b.realmOf(i))), element.ReasonOwnSource)
		r.add(AddressSet(b.servedIn(b.realmOf(i))), element.ReasonOwnSource)
		for _, s := range b.serves(false) {
			if b.Sees(i, s.At()) {
				r.add(AddressSet(s.Addresses()), element.ReasonPoolSource)
			}
		}
		for _, j := range b.Interfaces {
			if a, ok := broadcastOf(j); ok && b.realmOf(i) == b.realmOf(j) {
				r.add(AddressSet([]netip.Addr{a}), element.ReasonBroadcastSource)
			}
		}
		r.add(b.offPath(i), element.ReasonReversePath)
		slices.SortFunc(r.list, func(x, y wiring.Refused) int { return x.First.Compare(y.First) })
		b.g.Interfaces[n].Refused = r.list
		b.g.Interfaces[n].TinyFragments = !b.readsTransport()
	}
}

// readsTransport tells whether some function may read or write a transport header: a router does neither.
func (b *Builder) readsTransport() bool {
	return slices.ContainsFunc(b.Functions, func(f *Function) bool { return !f.Kind.Traits().AddressesAlone })
}

// ownIn are the addresses of interfaces and routers in a realm.
func (b *Builder) ownIn(realm Port) []netip.Addr {
	var own []netip.Addr
	for _, i := range b.Interfaces {
		if i.Prefix.IsValid() && b.realmOf(i) == realm {
			own = append(own, i.Own()...)
		}
	}
	for _, f := range b.Functions {
		if r := f.Router(); r != nil && b.Realm(f.Port(f.Ports[0])) == realm {
			own = append(own, r.Own()...)
		}
	}
	return own
}

// servedIn are the addresses of its own that the chain serves in a realm.
func (b *Builder) servedIn(realm Port) []netip.Addr {
	var own []netip.Addr
	for _, s := range b.serves(true) {
		if b.Realm(s.At()) == realm {
			own = append(own, s.Addresses()...)
		}
	}
	return own
}

// offPath are the sources to which no packet would be sent by the interface (RFC 3704 section 2.2), as far as
// prefixes tell. Strict: hosts of another interface's prefix; and where packets leave for the interface's
// own prefix only, all others. Loose (section 2.4): where that holds for every interface of the realm, what is in no
// prefix.
func (b *Builder) offPath(i *Interface) headerspace.Set {
	every := headerspace.AddrRange(netip.AddrFrom4([4]byte{}), netip.AddrFrom4([4]byte{255, 255, 255, 255}))
	own, others, all, closed := headerspace.Prefix(i.Prefix.Masked()), headerspace.Set{}, headerspace.Set{}, true
	for _, j := range b.Interfaces {
		if !j.Prefix.IsValid() || b.realmOf(i) != b.realmOf(j) {
			continue
		}
		p := headerspace.Prefix(j.Prefix.Masked())
		all = all.Union(p)
		closed = closed && b.closed(j)
		if i != j {
			others = others.Union(p)
		}
	}
	switch i.Spec.ReversePath {
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
func (b *Builder) closed(i *Interface) bool {
	if i.Spec.Gateway != "" {
		return false
	}
	for _, f := range b.Functions {
		if f.Kind.Traits().Unforeseen && slices.ContainsFunc(f.Ports, func(p string) bool { return b.Sees(i, f.Port(p)) }) {
			return false // what its lookups do is not known
		}
		r := f.Router()
		if r == nil {
			continue
		}
		for at := range r.Routes().Beyond {
			if slices.Contains(b.Behind(f.Port(at)).Interfaces, i) {
				return false
			}
		}
	}
	return true
}

// broadcastOf is the broadcast address of an interface's prefix, if it has one.
func broadcastOf(i *Interface) (netip.Addr, bool) {
	if !i.Prefix.IsValid() {
		return netip.Addr{}, false
	}
	return rules.Broadcast(i.Prefix)
}
