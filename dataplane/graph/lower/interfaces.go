package lower

import (
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// Interface is an interface on its way into the graph.
type Interface struct {
	Name string
	// Field is where it is written in the chain.
	Field string
	Spec  *v1alpha1.Interface
	// Prefix is not valid if it could not be read.
	Prefix netip.Prefix
	// Addresses are further ones; those that cannot be read are left out.
	Addresses []netip.Addr

	local int // nodes: the classifier of own addresses,
	host  int // where packets to them end,
	out   int // and the output
	last  int // the node before it, for what the chain sends; -1: none
}

// Port is the interface, as functions are linked to it.
func (i *Interface) Port() Port { return Port{i.Name, ""} }

// Entry is where packets go that come in there.
func (i *Interface) Entry() Edge { return Edge{To: i.local} }

// Exit is where packets go that leave there.
func (i *Interface) Exit() Edge { return Edge{To: i.out} }

// PassLast has what leaves functions by the interface pass a node first, which leads to its Exit.
func (i *Interface) PassLast(node int) { i.last = node }

// Own are its addresses.
func (i *Interface) Own() []netip.Addr { return append([]netip.Addr{addrOf(i.Prefix)}, i.Addresses...) }

func (b *Builder) resolveInterface(spec *v1alpha1.Interface, field string) {
	if spec.Wire {
		b.resolveWire(spec, field)
		return
	}
	i := &Interface{Name: string(spec.Name), Field: field, Spec: spec, last: -1}
	b.Interfaces = append(b.Interfaces, i)
	p, problem := rules.ParseInterfaceAddress(string(spec.Address))
	if b.Problem(b.Object, field+".address", problem) {
		i.Prefix = p
	}
	b.readAddresses(i)
}

// checkDevices finds interfaces that are bound to one device, which the engine opens once.
func (b *Builder) checkDevices() {
	first := map[string]string{}
	check := func(name, field string, spec *v1alpha1.Interface) {
		if spec.Device == "" {
			return
		}
		device := wiring.DeviceName(spec.Device)
		if other, ok := first[device]; ok {
			b.Fail(b.Object, field+".device", spec.Device, "interface %q is bound to this device; give each interface one of its own", other)
			return
		}
		first[device] = name
	}
	for _, i := range b.Interfaces {
		check(i.Name, i.Field, i.Spec)
	}
	for _, w := range b.wires {
		check(w.Name, w.Field, w.Spec)
	}
}

// Sees tells whether the interface lies in the address realm of a port.
func (b *Builder) Sees(i *Interface, p Port) bool {
	return b.Realm(i.Port()) == b.Realm(p)
}

// lowerInterfaces makes each interface's nodes: packets for own addresses end there, the others go on into
// the chain. finishLocal says which are which, when all functions are known.
func (b *Builder) lowerInterfaces() {
	for _, i := range b.Interfaces {
		in := b.Add("", i.Name+"/in", element.Input{Interface: i.Name})
		i.local = b.Add("", i.Name+"/local", element.Classifier{Default: toChain, Outs: localOuts})
		i.host = b.Add("", i.Name+"/host", element.LocalHost{})
		broadcast := b.Add("", i.Name+"/broadcast", element.Discard{Reason: element.ReasonDirectedBroadcast})
		i.out = b.Add("", i.Name+"/out", element.Output{Interface: i.Name})
		b.Wire(in, 0, i.local)
		b.Wire(i.local, toHost, i.host)
		b.Wire(i.local, toBroadcast, broadcast)
		b.exits = append(b.exits, exit{i.local, toChain, i.Port()})
		b.g.Interfaces = append(b.g.Interfaces, b.graphInterface(i, in))
	}
}

func addrOf(p netip.Prefix) netip.Addr {
	if !p.IsValid() {
		return netip.IPv4Unspecified() // an error was found; the graph will not be used
	}
	return p.Addr()
}

// Host says that a function is a host in the network of an interface. The engine asks again and again whether it is there, if its address is valid. It
// asks nobody whose MAC address is configured, and none on a trunk: nothing says in which VLAN the host is.
func (b *Builder) Host(i *Interface, f *Function, address netip.Addr) {
	at := &b.g.Interfaces[slices.IndexFunc(b.g.Interfaces, func(o wiring.Interface) bool { return o.Name == i.Name })]
	at.Function = f.Name
	if len(at.VLANs) == 0 && !slices.ContainsFunc(at.Neighbors, func(n wiring.Neighbor) bool { return n.Addr == address }) {
		at.Watched = address
	}
}

func (b *Builder) graphInterface(i *Interface, in int) wiring.Interface {
	out := wiring.Interface{
		Name: i.Name, Prefix: i.Prefix, Addresses: i.Addresses, MTU: int(i.Spec.MTU), Device: i.Spec.Device, In: in, Out: i.out,
		VLANs:   b.vlans(i),
		Gateway: b.OnLink(i, b.Object, i.Field+".gateway", i.Spec.Gateway),
		MAC:     b.mac(i.Field+".mac", i.Spec.MAC),
	}
	for n, nb := range i.Spec.Neighbors {
		field := Index(i.Field+".neighbors", n)
		if nb.VLAN != 0 && !slices.Contains(out.VLANs, uint16(nb.VLAN)) {
			b.Fail(b.Object, field+".vlan", strconv.Itoa(int(nb.VLAN)), "is no VLAN of the interface; add it to the interface's vlans")
		}
		out.Neighbors = append(out.Neighbors, wiring.Neighbor{
			Addr: b.OnLink(i, b.Object, field+".address", nb.Address),
			MAC:  b.mac(field+".mac", nb.MAC),
			VLAN: uint16(nb.VLAN),
		})
	}
	return out
}

// vlans reads an interface's VLANs.
func (b *Builder) vlans(i *Interface) (list []uint16) {
	for n, s := range i.Spec.VLANs {
		first, last, message := rules.ParseVLANs(s.String())
		if message != "" {
			b.Fail(b.Object, Index(i.Field+".vlans", n), s.String(), "%s", message)
			continue
		}
		for v := first; v <= last; v++ {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// OnLink reads an address that must be another's within the interface's prefix.
func (b *Builder) OnLink(i *Interface, object finding.Object, field string, s v1alpha1.Address) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	a, problem := rules.ParseAddress(string(s))
	switch {
	case !b.Problem(object, field, problem):
	case i.Prefix.IsValid() && !i.Prefix.Contains(a):
		b.Fail(object, field, string(s), "is not on-link; give an address within %s", i.Prefix.Masked())
	case i.Prefix.IsValid() && i.Prefix.Addr() == a:
		b.Fail(object, field, string(s), "is the interface's own address; give that of the neighbour")
	}
	return a
}

func (b *Builder) mac(field string, s v1alpha1.MACAddress) net.HardwareAddr {
	if s == "" {
		return nil
	}
	m, err := net.ParseMAC(string(s))
	switch {
	case err != nil || len(m) != 6:
		b.Fail(b.Object, field, string(s), `not an Ethernet address; write it like "02:00:00:00:00:01"`)
		return nil
	case m[0]&1 != 0:
		b.Fail(b.Object, field, string(s), "is a group address; give that of one station (an even first byte)")
	}
	return m
}
