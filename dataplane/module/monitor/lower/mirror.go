package lower

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// Ports are the monitor's sides, and those to which classes are mirrored.
func (m monitor) Ports() []string {
	all := slices.Clone(lower.TwoSides)
	for i := range m.spec.Classes {
		if to := m.spec.Classes[i].Mirror; to != nil && !slices.Contains(all, string(to.To)) {
			all = append(all, string(to.To))
		}
	}
	return all
}

// Through: copies leave by the other ports, and none of these lets packets in.
func (m monitor) Through(_ *lower.Function, in string) []string {
	if !slices.Contains(lower.TwoSides, in) {
		return nil
	}
	return append([]string{lower.Opposite(in)}, m.Ports()[len(lower.TwoSides):]...)
}

// JoinRealms: copies are for who looks at them, whatever addresses there are behind their port.
func (monitor) JoinRealms(f *lower.Function, r lower.Realms) {
	r.Join(f.Port(lower.Inside), f.Port(lower.Outside))
}

// mirrorTo has copies of a class leave by the port that it names. A next hop that was noted is
// forgotten in them: the interface has one. It returns the node behind which the packets go on.
func mirrorTo(b *lower.Builder, f *lower.Function, class string, to *v1alpha1.Mirror, counter int) int {
	tee := b.Add(f.Name, class+"/copies", element.Tee{Outs: 2})
	b.Wire(counter, 0, tee)
	forget := b.Add(f.Name, class+"/copy", element.Lookup{Routes: []element.Route{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0)}}, Outs: 1})
	b.Wire(tee, 1, forget)
	b.Exit(forget, 0, f, string(to.To))
	return tee
}

// checkMirrors looks at the ports to which classes are mirrored.
func (m monitor) checkMirrors(b *lower.Builder, f *lower.Function) {
	said := map[lower.Port]bool{}
	for i := range m.spec.Classes {
		to := m.spec.Classes[i].Mirror
		if to == nil {
			continue
		}
		field, p := lower.Index(f.Path+".classes", i)+".mirror.to", f.Port(string(to.To))
		switch behind := b.InterfaceBehind(p); {
		case said[p]:
		case b.Reached(p):
			b.Fail(f.Object, field, p.Name, "packets come in by the port, which only sends copies: link it with `direction: Forward`")
		case behind != nil && behind.Spec.Gateway == "":
			b.Warn(f.Object, field, p.Name, "copies go to interface %q, which has no gateway: each is sent to the host that it is a copy for, if that is there; give the analyzer's address as gateway", behind.Name)
		}
		said[p] = true
	}
}
