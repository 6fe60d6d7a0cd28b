package lower

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Served is addresses that the chain answers for, though no interface and no router has them.
type Served interface {
	Addresses() []netip.Addr
	// At is a port of the realm in which they are seen.
	At() Port
	// Own says that hosts talk to the chain itself there. Else packets of others are given these addresses as their source.
	Own() bool
	// Check finds what is wrong with them, once all elements are wired.
	Check(b *Builder)
}

// Rewrite is a set-field that translates addresses without state, and the field of an object where it is written.
type Rewrite struct {
	Object finding.Object
	Where  string
	Node   int
	element.SetField
}

// Contested is implemented by what is served and cannot be a Rewrite's as well.
type Contested interface{ CheckRewrite(b *Builder, r Rewrite) }

// Serve notes addresses.
func (b *Builder) Serve(s Served) { b.served = append(b.served, s) }

// Served is all that was noted so far.
func (b *Builder) Served() []Served { return b.served }

// CheckRewrite finds what is wrong with a set-field, as what it translates to is served.
func (b *Builder) CheckRewrite(r Rewrite) {
	for _, s := range b.served {
		if c, ok := s.(Contested); ok {
			c.CheckRewrite(b, r)
		}
	}
}

// serves are those served at which hosts talk to the chain itself, or the others.
func (b *Builder) serves(own bool) (list []Served) {
	for _, s := range b.served {
		if s.Own() == own {
			list = append(list, s)
		}
	}
	return list
}

// checkServed checks addresses of packets of others first.
func (b *Builder) checkServed() {
	for _, s := range slices.Concat(b.serves(false), b.serves(true)) {
		s.Check(b)
	}
}

// addProxies has interfaces answer ARP for served addresses within their prefix: where these are seen, and where they are seen through a
// function that translates others.
func (b *Builder) addProxies() {
	for _, s := range b.serves(false) {
		b.addProxy(s.At(), s.Addresses())
	}
	for _, s := range b.serves(true) {
		b.addProxy(s.At(), s.Addresses())
		if f, t := b.OnlyWay(s.At(), Inside); f != nil && AddressSet(s.Addresses()).Subtract(t.Exempt()).IsEmpty() {
			b.addProxy(f.Port(Outside), s.Addresses())
		}
	}
}

// AnswersFor tells whether an interface answers ARP requests for an address within its prefix, once the chain is finished.
func (b *Builder) AnswersFor(i *Interface, a netip.Addr) bool {
	n := slices.Index(b.Interfaces, i)
	return slices.Contains(i.Own(), a) || slices.Contains(b.g.Interfaces[n].Proxy, a)
}

// addProxy is for addresses that are seen in the realm of a port.
func (b *Builder) addProxy(at Port, list []netip.Addr) {
	for k := range b.g.Interfaces {
		i := &b.g.Interfaces[k]
		if b.Realm(Port{i.Name, ""}) != b.Realm(at) {
			continue
		}
		for _, a := range list {
			if i.Prefix.Contains(a) && a != i.Prefix.Addr() && !slices.Contains(i.Addresses, a) && !slices.Contains(i.Proxy, a) {
				i.Proxy = append(i.Proxy, a)
			}
		}
	}
}

// OnlyWay is the function that translates, and that all ways from a port to an interface enter by its side; nil: there is none, or some way
// leads past it.
func (b *Builder) OnlyWay(from Port, side string) (only *Function, as Translating) {
	past := false
	b.walk(from, func(to Port, f *Function) []string {
		if f == nil {
			past = true
			return nil
		}
		if t, ok := f.Kind.(Translating); ok && to.Name == side {
			only, as = f, t
			return nil
		}
		return f.Kind.Through(f, to.Name)
	})
	if past {
		return nil, nil
	}
	return only, as
}
