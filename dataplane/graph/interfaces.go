package graph

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// chainInterface is an interface on its way into the graph.
type chainInterface struct {
	name  string
	field string
	spec  *v1alpha1.Interface
	// prefix is not valid if it could not be read.
	prefix netip.Prefix
	// addresses are further ones; those that cannot be read are left out.
	addresses []netip.Addr
	local     int // nodes: the classifier of own addresses,
	host      int // where packets to them end,
	out       int // and the output
}

func (b *builder) resolveInterface(spec *v1alpha1.Interface, field string) {
	i := &chainInterface{name: string(spec.Name), field: field, spec: spec}
	b.interfaces = append(b.interfaces, i)
	p, problem := rules.ParseInterfaceAddress(string(spec.Address))
	if b.problem(b.object, field+".address", problem) {
		i.prefix = p
	}
	b.readAddresses(i)
}

// checkInterfaces finds prefixes that overlap though no NAPT keeps them apart.
func (b *builder) checkInterfaces() {
	for n, i := range b.interfaces {
		for _, j := range b.interfaces[:n] {
			if i.prefix.IsValid() && j.prefix.IsValid() && i.prefix.Overlaps(j.prefix) &&
				b.sees(i, port{j.name, ""}) {
				b.fail(b.object, i.field+".address", string(i.spec.Address),
					"overlaps %s of interface %q, and no NAPT lies between them; give them prefixes of their own", j.prefix, j.name)
			}
		}
	}
}

// checkDevices finds interfaces that are bound to one device, which the engine opens once.
func (b *builder) checkDevices() {
	first := map[string]string{}
	for _, i := range b.interfaces {
		if i.spec.Device == "" {
			continue
		}
		device := DeviceName(i.spec.Device)
		if other, ok := first[device]; ok {
			b.fail(b.object, i.field+".device", i.spec.Device, "interface %q is bound to this device; give each interface one of its own", other)
			continue
		}
		first[device] = i.name
	}
}

// DeviceName is a device without its arguments, a PCI address with its domain.
func DeviceName(device string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(device, "pci:"), ",")
	if shortPCI.MatchString(name) {
		name = "0000:" + name
	}
	return name
}

var shortPCI = regexp.MustCompile(`^[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`)

// sees tells whether the interface lies in the address realm of a port.
func (b *builder) sees(i *chainInterface, p port) bool {
	return b.realm.find(port{i.name, ""}) == b.realm.find(p)
}

// lowerInterfaces makes each interface's nodes: packets for own addresses end there, the others go on into
// the chain. finishLocal says which are which, when all functions are known.
func (b *builder) lowerInterfaces() {
	for _, i := range b.interfaces {
		in := b.add("", i.name+"/in", element.Input{Interface: i.name})
		i.local = b.add("", i.name+"/local", element.Classifier{Default: toChain, Outs: localOuts})
		i.host = b.add("", i.name+"/host", element.LocalHost{})
		broadcast := b.add("", i.name+"/broadcast", element.Discard{Reason: element.ReasonDirectedBroadcast})
		i.out = b.add("", i.name+"/out", element.Output{Interface: i.name})
		b.wire(in, 0, i.local)
		b.wire(i.local, toHost, i.host)
		b.wire(i.local, toBroadcast, broadcast)
		b.exits = append(b.exits, exit{i.local, toChain, port{i.name, ""}})
		b.g.Interfaces = append(b.g.Interfaces, b.graphInterface(i, in))
	}
}

func addrOf(p netip.Prefix) netip.Addr {
	if !p.IsValid() {
		return netip.IPv4Unspecified() // an error was found; the graph will not be used
	}
	return p.Addr()
}

func (b *builder) graphInterface(i *chainInterface, in int) Interface {
	out := Interface{
		Name: i.name, Prefix: i.prefix, Addresses: i.addresses, MTU: int(i.spec.MTU), Device: i.spec.Device, In: in, Out: i.out,
		VLANs:   b.vlans(i),
		Gateway: b.onLink(i, i.field+".gateway", i.spec.Gateway),
		MAC:     b.mac(i.field+".mac", i.spec.MAC),
	}
	for n, nb := range i.spec.Neighbors {
		field := index(i.field+".neighbors", n)
		if nb.VLAN != 0 && !slices.Contains(out.VLANs, uint16(nb.VLAN)) {
			b.fail(b.object, field+".vlan", strconv.Itoa(int(nb.VLAN)), "is no VLAN of the interface; add it to the interface's vlans")
		}
		out.Neighbors = append(out.Neighbors, Neighbor{
			Addr: b.onLink(i, field+".address", nb.Address),
			MAC:  b.mac(field+".mac", nb.MAC),
			VLAN: uint16(nb.VLAN),
		})
	}
	return out
}

// vlans reads an interface's VLANs.
func (b *builder) vlans(i *chainInterface) (list []uint16) {
	for n, s := range i.spec.VLANs {
		first, last, message := rules.ParseVLANs(s.String())
		if message != "" {
			b.fail(b.object, index(i.field+".vlans", n), s.String(), "%s", message)
			continue
		}
		for v := first; v <= last; v++ {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// onLink reads an address that must be another's within the interface's prefix.
func (b *builder) onLink(i *chainInterface, field string, s v1alpha1.Address) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	a, problem := rules.ParseAddress(string(s))
	switch {
	case !b.problem(b.object, field, problem):
	case i.prefix.IsValid() && !i.prefix.Contains(a):
		b.fail(b.object, field, string(s), "is not on-link; give an address within %s", i.prefix.Masked())
	case i.prefix.IsValid() && i.prefix.Addr() == a:
		b.fail(b.object, field, string(s), "is the interface's own address; give that of the neighbour")
	}
	return a
}

func (b *builder) mac(field string, s v1alpha1.MACAddress) net.HardwareAddr {
	if s == "" {
		return nil
	}
	m, err := net.ParseMAC(string(s))
	switch {
	case err != nil || len(m) != 6:
		b.fail(b.object, field, string(s), `not an Ethernet address; write it like "02:00:00:00:00:01"`)
		return nil
	case m[0]&1 != 0:
		b.fail(b.object, field, string(s), "is a group address; give that of one station (an even first byte)")
	}
	return m
}

// addProxies has interfaces answer ARP for addresses within their prefix: of the pools of the NAPTs whose outside they see, and of
// load balancers.
func (b *builder) addProxies() {
	for _, n := range b.pools {
		b.addProxy(n.outside, n.pool)
	}
	for _, v := range b.virtuals {
		own := []netip.Addr{v.addr}
		b.addProxy(v.at, own)
		if nat := b.natAlone(v.at, inside); nat != nil && addressSet(own).Subtract(b.exempted[nat.name]).IsEmpty() {
			b.addProxy(port{nat.name, outside}, own) // where it is seen as it is
		}
	}
}

// addProxy is for addresses that are seen in the realm of a port.
func (b *builder) addProxy(at port, list []netip.Addr) {
	for k := range b.g.Interfaces {
		i := &b.g.Interfaces[k]
		if b.realm.find(port{i.Name, ""}) != b.realm.find(at) {
			continue
		}
		for _, a := range list {
			if i.Prefix.Contains(a) && a != i.Prefix.Addr() && !slices.Contains(i.Addresses, a) && !slices.Contains(i.Proxy, a) {
				i.Proxy = append(i.Proxy, a)
			}
		}
	}
}
