package graph

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// readAddresses reads an interface's further addresses.
func (b *builder) readAddresses(i *chainInterface) {
	for n, s := range i.spec.Addresses {
		field := index(i.field+".addresses", n)
		a, problem := rules.ParseAddress(string(s))
		if !b.problem(b.object, field, problem) {
			continue
		}
		if why := i.refuses(a); why != "" {
			b.fail(b.object, field, string(s), "%s", why)
			continue
		}
		i.addresses = append(i.addresses, a)
	}
}

// refuses says why the interface cannot have a further address; empty: it can.
func (i *chainInterface) refuses(a netip.Addr) string {
	if s, ok := rules.SpecialIn(rules.Range{First: a, Last: a}); ok {
		return "is a " + s.What + " address (" + s.Prefix.String() + "); give one that a host can have"
	}
	if !i.prefix.IsValid() {
		return ""
	}
	broadcast, has := rules.Broadcast(i.prefix)
	switch {
	case a == i.prefix.Addr():
		return "is the interface's address already; leave it out here"
	case has && a == i.prefix.Masked().Addr():
		return "is the network address of " + i.prefix.Masked().String() + "; take another of its addresses"
	case has && a == broadcast:
		return "is the broadcast address of " + i.prefix.Masked().String() + "; take another of its addresses"
	case string(i.spec.Gateway) == a.String():
		return "is the interface's gateway; this address must belong to the chain"
	case slices.ContainsFunc(i.spec.Neighbors, func(n v1alpha1.Neighbor) bool { return string(n.Address) == a.String() }):
		return "is a static neighbour's; this address must belong to the chain"
	}
	return ""
}

// checkAddresses finds addresses that belong to the net of another interface, where hosts ask for them.
func (b *builder) checkAddresses() {
	for _, i := range b.interfaces {
		for n, s := range i.spec.Addresses {
			a, err := netip.ParseAddr(string(s))
			if err != nil || !slices.Contains(i.addresses, a) {
				continue // has an error of its own
			}
			for _, j := range b.interfaces {
				if i != j && j.prefix.IsValid() && j.prefix.Contains(a) && b.sees(i, port{j.name, ""}) {
					b.fail(b.object, index(i.field+".addresses", n), string(s),
						"lies in %s of interface %q, whose hosts ask for it there; list it there", j.prefix.Masked(), j.name)
				}
			}
		}
	}
}

var echoRequests = headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(8))

// sentTo is the packets to some addresses.
func sentTo(addrs []netip.Addr) headerspace.Filter {
	iv := make([]headerspace.Interval, len(addrs))
	for n, a := range addrs {
		iv[n] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	return headerspace.Filter{}.With(headerspace.Dst, headerspace.NewSet(iv...))
}

// translatedSources are the addresses that the chain writes as source: replies to them must get back into it.
func (b *builder) translatedSources() []netip.Addr {
	var out []netip.Addr
	for _, n := range b.pools {
		out = append(out, n.pool...)
	}
	for _, n := range b.g.Nodes {
		if e, ok := n.Element.(element.SetField); ok && e.Field == headerspace.Src {
			out = append(out, headerspace.AsAddr(e.Value))
		}
	}
	return out
}
