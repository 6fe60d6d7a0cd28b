package lower

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// Addresses are the pool.
func (p *pooled) Addresses() []netip.Addr { return p.pool }

// At is the outside, where the pool is seen.
func (p *pooled) At() lower.Port { return p.outside }

// Own: packets of hosts inside have these addresses.
func (*pooled) Own() bool { return false }

// checkInterfaces finds prefixes that overlap though no NAPT lies between them.
func checkInterfaces(b *lower.Builder) {
	for n, i := range b.Interfaces {
		for _, j := range b.Interfaces[:n] {
			if i.Prefix.IsValid() && j.Prefix.IsValid() && i.Prefix.Overlaps(j.Prefix) && b.Sees(i, j.Port()) {
				b.Fail(b.Object, i.Field+".address", string(i.Spec.Address),
					"overlaps %s of interface %q, and no NAPT lies between them; give them prefixes of their own", j.Prefix, j.Name)
			}
		}
	}
}

// checkPoolEntry finds what no NAPT may translate to, wherever it is linked.
func checkPoolEntry(b *lower.Builder, p *pooled, e poolEntry) {
	if s, ok := rules.SpecialIn(e.Range); ok {
		b.Fail(p.object, e.field, e.text, "holds %s addresses (%s), from which no packet may come; give addresses that hosts can have", s.What, s.Prefix)
	}
	for _, i := range b.Interfaces {
		if i.Prefix.IsValid() && e.Holds(i.Prefix.Addr()) {
			b.Fail(p.object, e.field, e.text, "holds the address %s of interface %q; pool addresses must not be addresses of the chain", i.Prefix.Addr(), i.Name)
		}
	}
}

// Check finds pool addresses that belong to others, for whom the engine would answer ARP requests.
func (p *pooled) Check(b *lower.Builder) {
	for _, e := range p.entries {
		for _, i := range b.Interfaces {
			checkPoolAt(b, p, e, i)
		}
		checkPoolRouters(b, p, e)
		for _, s := range b.Served() {
			if s == lower.Served(p) {
				break // those behind it look at this one
			}
			if q, ok := s.(*pooled); ok {
				checkPoolOverlap(b, p, e, q)
			}
		}
	}
}

// checkPoolAt checks a range of a pool against an interface's net.
func checkPoolAt(b *lower.Builder, p *pooled, e poolEntry, i *lower.Interface) {
	if !i.Prefix.IsValid() {
		return
	}
	last, _ := rules.Broadcast(i.Prefix)
	net := i.Prefix.Masked()
	switch {
	case b.Sees(i, p.outside):
		checkPoolOutside(b, p, e, i)
	case !b.Sees(i, p.inside):
	case e.Overlaps(rules.Range{First: net.Addr(), Last: last}):
		b.Fail(p.object, e.field, e.text, "holds inside addresses: interface %q, with %s, lies on the NAPT's inside; give outside addresses", i.Name, net)
	case slices.ContainsFunc(i.Addresses, e.Holds):
		b.Fail(p.object, e.field, e.text, "holds a further address of interface %q, which lies on the NAPT's inside; give outside addresses", i.Name)
	}
}

func checkPoolOutside(b *lower.Builder, p *pooled, e poolEntry, i *lower.Interface) {
	other := func(a netip.Addr, what string) {
		if a.IsValid() && e.Holds(a) {
			b.Fail(p.object, e.field, e.text, "holds %s, %s of interface %q; leave it out: the engine would answer ARP requests for it", a, what, i.Name)
		}
	}
	if last, has := rules.Broadcast(i.Prefix); has {
		other(i.Prefix.Masked().Addr(), "the network address")
		other(last, "the broadcast address")
	}
	gateway, _ := netip.ParseAddr(string(i.Spec.Gateway)) // one that cannot be read has an error of its own
	other(gateway, "the gateway")
	for _, n := range i.Spec.Neighbors {
		if a, _ := netip.ParseAddr(string(n.Address)); a != gateway {
			other(a, "a neighbour")
		}
	}
}

// checkPoolRouters checks a range of a pool against routers outside: those of the chain, and next hops.
func checkPoolRouters(b *lower.Builder, p *pooled, e poolEntry) {
	for _, f := range b.RoutersAt(p.outside) {
		for _, a := range f.Router().Own() {
			if e.Holds(a) {
				b.Fail(p.object, e.field, e.text, "holds the address %s of router %q; pool addresses must not be addresses of the chain", a, f.Name)
			}
		}
	}
	for _, h := range b.NextHopsAt(p.outside) {
		if e.Holds(h.Addr) {
			b.Fail(p.object, e.field, e.text, "holds %s, the next hop of %s; leave it out: the engine would answer ARP requests for it", h.Addr, h.Field)
		}
	}
}

// checkPoolOverlap finds addresses that two NAPTs translate to in one realm: a reply does not tell to whom it goes.
func checkPoolOverlap(b *lower.Builder, p *pooled, e poolEntry, q *pooled) {
	if b.Realm(p.outside) != b.Realm(q.outside) {
		return
	}
	for _, other := range q.entries {
		if e.Overlaps(other.Range) {
			b.Fail(p.object, e.field, e.text, "overlaps %s of the pool of %q, and no NAPT lies between them: replies would come to one of the two alone; give each addresses of its own",
				other.text, q.outside.Owner)
		}
	}
}
