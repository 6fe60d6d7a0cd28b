package graph

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// ports are the monitor's sides, and those to which classes are mirrored.
func (m monitor) ports() []string {
	all := slices.Clone(twoSides)
	for i := range m.spec.Classes {
		if to := m.spec.Classes[i].Mirror; to != nil && !slices.Contains(all, string(to.To)) {
			all = append(all, string(to.To))
		}
	}
	return all
}

// through: copies leave by the other ports, and none of these lets packets in.
func (m monitor) through(_ *function, in string) []string {
	if !slices.Contains(twoSides, in) {
		return nil
	}
	return append([]string{opposite(in)}, m.ports()[len(twoSides):]...)
}

// joinRealms: copies are for who looks at them, whatever addresses there are behind their port.
func (monitor) joinRealms(f *function, r realms) { r.join(port{f.name, inside}, port{f.name, outside}) }

// mirror has copies of a class leave by the port that it names. A next hop that was noted is
// forgotten in them: the interface has one. It returns the node behind which the packets go on.
func (b *builder) mirror(f *function, class string, to *v1alpha1.Mirror, counter int) int {
	tee := b.add(f.name, class+"/copies", element.Tee{Outs: 2})
	b.wire(counter, 0, tee)
	forget := b.add(f.name, class+"/copy", element.Lookup{Routes: []element.Route{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0)}}, Outs: 1})
	b.wire(tee, 1, forget)
	b.exit(forget, 0, f, string(to.To))
	return tee
}

// checkMirrors looks at the ports to which classes are mirrored.
func (m monitor) checkMirrors(b *builder, f *function) {
	said := map[port]bool{}
	for i := range m.spec.Classes {
		to := m.spec.Classes[i].Mirror
		if to == nil {
			continue
		}
		field, p := index(f.path+".classes", i)+".mirror.to", port{f.name, string(to.To)}
		switch behind := b.interfaceBehind(p); {
		case said[p]:
		case b.reached[p]:
			b.fail(f.object, field, p.name, "packets come in by the port, which only sends copies: link it with `direction: Forward`")
		case behind != nil && behind.spec.Gateway == "":
			b.warn(f.object, field, p.name, "copies go to interface %q, which has no gateway: each is sent to the host that it is a copy for, if that is there; give the analyzer's address as gateway", behind.name)
		}
		said[p] = true
	}
}
