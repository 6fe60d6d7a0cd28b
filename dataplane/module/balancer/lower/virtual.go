package lower

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// checkTranslated warns of load balancers whose clients, or whose backends, are behind a function that drops what the balancer needs: from
// outside it lets pass what has a binding or is exempt.
func checkTranslated(b *lower.Builder) {
	for _, n := range b.Nodes() {
		e, ok := n.Element.(element.Balancer)
		f := b.FindFunction(n.Function)
		if !ok || e.Direct {
			continue
		}
		virtual := e.VirtualSet()
		if nat, as := b.OnlyWay(f.Port(lower.Outside), lower.Inside); nat != nil && !virtual.SubsetOf(as.Open()) {
			b.Warn(f.Object, f.Path+".virtual", "", "clients behind %q reach no virtual address: what they send is dropped as %q; write into %q: exempt: [{source: [%s], destination: [0.0.0.0/0]}]",
				nat.Name, element.ReasonNATNoBinding, nat.Name, listed(virtual))
		}
		backends := headerspace.Set{}
		for _, s := range e.Backends {
			backends = backends.Union(lower.AddressSet([]netip.Addr{s.Addr}))
		}
		if nat, as := b.OnlyWay(f.Port(lower.Inside), lower.Outside); nat != nil && !backends.SubsetOf(as.Open()) && !anyWithin(e.Backends, as.Outside()) {
			b.Warn(f.Object, f.Path+".backends", "", "backends behind %q get nothing of clients: it is dropped as %q; put the load balancer on the inside of %q, or write into that: exempt: [{source: [%s], destination: [0.0.0.0/0]}]",
				nat.Name, element.ReasonNATNoBinding, nat.Name, listed(backends))
		}
	}
}

// anyWithin tells whether some backend has an outside address of what translates, which leads on to a server by a forward.
func anyWithin(backends []element.Backend, outside []netip.Prefix) bool {
	return slices.ContainsFunc(backends, func(s element.Backend) bool {
		return slices.ContainsFunc(outside, func(p netip.Prefix) bool { return p.Contains(s.Addr) })
	})
}

// listed are the first addresses of a set, as an exemption has them.
func listed(set headerspace.Set) string {
	const most = 8
	var out []string
	for _, i := range set.Intervals() {
		text := headerspace.AsAddr(i.Lo).String()
		if i.Hi != i.Lo {
			text += "-" + headerspace.AsAddr(i.Hi).String()
		}
		out = append(out, text)
	}
	if len(out) > most {
		out = append(out[:most], "…")
	}
	return strings.Join(out, ", ")
}
