package graph

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
)

// via is a next hop of a route, and the router's port where it lies.
type via struct {
	addr  netip.Addr
	at    port
	field string
}

func (b *builder) noteVia(f *function, field, at string, addr netip.Addr) {
	b.vias = append(b.vias, via{addr, port{f.name, at}, field})
}

// checkPoolEntry finds what no NAPT may translate to, wherever it is linked.
func (b *builder) checkPoolEntry(p *pooled, e poolEntry) {
	if s, ok := rules.SpecialIn(e.Range); ok {
		b.fail(p.object, e.field, e.text, "holds %s addresses (%s), from which no packet may come; give addresses that hosts can have", s.What, s.Prefix)
	}
	for _, i := range b.interfaces {
		if i.prefix.IsValid() && e.Holds(i.prefix.Addr()) {
			b.fail(p.object, e.field, e.text, "holds the address %s of interface %q; pool addresses must not be addresses of the chain", i.prefix.Addr(), i.name)
		}
	}
}

// checkPools finds pool addresses that belong to others, for whom the engine would answer ARP requests.
func (b *builder) checkPools() {
	for n := range b.pools {
		p := &b.pools[n]
		for _, e := range p.entries {
			for _, i := range b.interfaces {
				b.checkPoolAt(p, e, i)
			}
			b.checkPoolRouters(p, e)
			for _, q := range b.pools[:n] {
				b.checkPoolOverlap(p, e, &q)
			}
		}
	}
}

// checkPoolAt checks a range of a pool against an interface's net.
func (b *builder) checkPoolAt(p *pooled, e poolEntry, i *chainInterface) {
	if !i.prefix.IsValid() {
		return
	}
	last, _ := rules.Broadcast(i.prefix)
	net := i.prefix.Masked()
	switch {
	case b.sees(i, p.outside):
		b.checkPoolOutside(p, e, i)
	case !b.sees(i, p.inside):
	case e.Overlaps(rules.Range{First: net.Addr(), Last: last}):
		b.fail(p.object, e.field, e.text, "holds inside addresses: interface %q, with %s, lies on the NAPT's inside; give outside addresses", i.name, net)
	case slices.ContainsFunc(i.addresses, e.Holds):
		b.fail(p.object, e.field, e.text, "holds a further address of interface %q, which lies on the NAPT's inside; give outside addresses", i.name)
	}
}

func (b *builder) checkPoolOutside(p *pooled, e poolEntry, i *chainInterface) {
	other := func(a netip.Addr, what string) {
		if a.IsValid() && e.Holds(a) {
			b.fail(p.object, e.field, e.text, "holds %s, %s of interface %q; leave it out: the engine would answer ARP requests for it", a, what, i.name)
		}
	}
	if last, has := rules.Broadcast(i.prefix); has {
		other(i.prefix.Masked().Addr(), "the network address")
		other(last, "the broadcast address")
	}
	gateway, _ := netip.ParseAddr(string(i.spec.Gateway)) // one that cannot be read has an error of its own
	other(gateway, "the gateway")
	for _, n := range i.spec.Neighbors {
		if a, _ := netip.ParseAddr(string(n.Address)); a != gateway {
			other(a, "a neighbour")
		}
	}
}

// checkPoolRouters checks a range of a pool against routers outside: those of the chain, and next hops.
func (b *builder) checkPoolRouters(p *pooled, e poolEntry) {
	realm := b.realm.find(p.outside)
	for _, f := range b.functions {
		if !is[router](f) || b.realm.find(port{f.name, f.ports[0]}) != realm {
			continue
		}
		for _, a := range f.addresses() {
			if e.Holds(a) {
				b.fail(p.object, e.field, e.text, "holds the address %s of router %q; pool addresses must not be addresses of the chain", a, f.name)
			}
		}
	}
	for _, v := range b.vias {
		if e.Holds(v.addr) && b.realm.find(v.at) == realm && !b.isGateway(v.addr) {
			b.fail(p.object, e.field, e.text, "holds %s, the next hop of %s; leave it out: the engine would answer ARP requests for it", v.addr, v.field)
		}
	}
}

// isGateway tells whether an interface has the gateway: that is said once.
func (b *builder) isGateway(a netip.Addr) bool {
	for _, i := range b.interfaces {
		if string(i.spec.Gateway) == a.String() {
			return true
		}
	}
	return false
}

// checkPoolOverlap finds addresses that two NAPTs translate to in one realm: a reply does not tell to whom it goes.
func (b *builder) checkPoolOverlap(p *pooled, e poolEntry, q *pooled) {
	if b.realm.find(p.outside) != b.realm.find(q.outside) {
		return
	}
	for _, other := range q.entries {
		if e.Overlaps(other.Range) {
			b.fail(p.object, e.field, e.text, "overlaps %s of the pool of %q, and no NAPT lies between them: replies would come to one of the two alone; give each addresses of its own",
				other.text, q.outside.owner)
		}
	}
}
