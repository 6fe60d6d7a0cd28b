package lower

import (
	"net/netip"

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
