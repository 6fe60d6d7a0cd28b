package lower

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// routed is a function that is a hop of its own: a router between two interfaces of the chain, whose gateway it is at each. What it sends comes in there
// as any other packet does.
type routed struct {
	lower.TwoSided
	spec *v1alpha1.Blackbox
}

// By is the interface that leads to a side of the function.
func (k *routed) By(port string) v1alpha1.Name {
	if port == lower.Outside {
		return k.spec.Outside
	}
	return k.spec.Inside
}

// Through is nowhere: packets leave the chain.
func (*routed) Through(*lower.Function, string) []string { return nil }

// Translated is nowhere.
func (*routed) Translated(*lower.Function, string) ([]string, []netip.Prefix) { return nil, nil }

// JoinRealms joins nothing: nobody knows whether the function translates addresses.
func (*routed) JoinRealms(*lower.Function, lower.Realms) {}

// Traits say that it is none of the chain's elements.
func (*routed) Traits() lower.Traits { return lower.Traits{AddressesAlone: true} }

// Lower makes, per side, "ips/inside", which sends to the function what is not for the network itself, whatever next hop a router has chosen.
func (k *routed) Lower(b *lower.Builder, f *lower.Function) {
	k.refuse(b, f)
	for _, side := range lower.TwoSides {
		i := b.FindInterface(string(k.By(side)))
		if i == nil {
			continue
		}
		if i.Spec.Gateway == "" {
			b.Fail(b.Object, i.Field+".gateway", "", "blackbox %q is a hop behind this interface: give the address that it has there", f.Name)
			continue
		}
		gateway, problem := rules.ParseAddress(string(i.Spec.Gateway))
		if problem != nil || !i.Prefix.IsValid() {
			continue // is said of the interface
		}
		node := b.Add(f.Name, f.Name+"/"+side, element.Lookup{Outs: 1, Routes: []element.Route{
			{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: gateway},
			{Prefix: i.Prefix.Masked()},
		}})
		b.Lead(node, 0, i.Exit())
		i.PassLast(node)
		b.Host(i, f, gateway)
	}
}

// checkRoutes warns of a router behind the hop whose routes lead elsewhere with packets for a network before the hop: replies would never return.
func (k *routed) checkRoutes(b *lower.Builder, f *lower.Function) {
	for i, side := range lower.TwoSides {
		far := lower.TwoSides[1-i]
		near, hop := b.FindInterface(string(k.By(side))), b.FindInterface(string(k.By(far)))
		if near == nil || hop == nil {
			continue
		}
		before, behind := b.Behind(near.Port()), b.Behind(hop.Port()) // what comes from the hop goes on there
		if len(before.Translated)+len(behind.Translated) > 0 {
			continue // the router has other addresses to find
		}
		for _, rt := range behind.Routers {
			for _, n := range before.Interfaces {
				checkRoute(b, f, rt, n, hop)
			}
		}
	}
}

func checkRoute(b *lower.Builder, f, rt *lower.Function, n, hop *lower.Interface) {
	network := n.Prefix.Masked()
	ports, routed := leadsTo(b, rt, network)
	leadsBack := func(p string) bool { return slices.Contains(b.Behind(rt.Port(p)).Interfaces, hop) }
	if slices.ContainsFunc(ports, leadsBack) || routed && len(ports) == 0 { // or it is to drop them
		return
	}
	elsewhere := "no route leads there"
	if routed {
		elsewhere = "its routes lead there by " + strings.Join(ports, ", ")
	}
	for _, p := range rt.Ports {
		if leadsBack(p) {
			b.Warn(rt.Object, rt.Path+".routes", "", "%s of interface %q lies before blackbox %q, and %s: replies do not return; add {prefix: %s, port: %s, via: %s}",
				network, n.Name, f.Name, elsewhere, network, p, hop.Spec.Gateway)
		}
	}
}

// leadsTo are the ports by which a router sends packets for a network; none, though it has a route: it drops them.
func leadsTo(b *lower.Builder, rt *lower.Function, network netip.Prefix) (ports []string, routed bool) {
	routes := rt.Router().Routes()
	for _, n := range b.Nodes() {
		l, is := n.Element.(element.Lookup)
		if !is || n.Function != rt.Name || len(routes.Leads) != l.NoRoute {
			continue // it has no table of the router
		}
		longest, out := -1, l.NoRoute
		for r := range l.All() {
			if r.Prefix.Bits() > longest && r.Prefix.Bits() <= network.Bits() && r.Prefix.Contains(network.Addr()) {
				longest, out = r.Prefix.Bits(), r.Out
			}
		}
		if out != l.NoRoute {
			return routes.Leads[out], true
		}
		break
	}
	return nil, false
}

// refuse says what cannot be. An API server with the CRDs of another release may take it.
func (k *routed) refuse(b *lower.Builder, f *lower.Function) {
	const elsewhere = "is not for attachment: Routed, a hop that someone else runs and whose packets are new ones to the chain; leave it out"
	if k.spec.Inside == k.spec.Outside {
		b.Fail(f.Object, f.Path+".outside", string(k.spec.Outside), "is the interface of the other side already; each side needs one of its own")
	}
	for _, has := range []struct {
		field, value string
		it           bool
	}{
		{"whenDown", string(k.spec.WhenDown), k.spec.WhenDown != ""},
		{"bypass", "", k.spec.Bypass != nil},
		{"image", k.spec.Image, k.spec.Image != ""},
	} {
		if has.it {
			b.Fail(f.Object, f.Path+"."+has.field, has.value, elsewhere)
		}
	}
}
