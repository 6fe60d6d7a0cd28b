package lower

import (
	"net/netip"
	"strconv"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Wire is an interface that leads to a function outside of the chain.
type Wire struct {
	Name string
	// Field is where it is written in the chain.
	Field string
	Spec  *v1alpha1.Interface

	owner string // the function; empty: none yet
}

// resolveWire refuses what a wire has no use for: packets on it have their next hop from the chain.
func (b *Builder) resolveWire(spec *v1alpha1.Interface, field string) {
	b.wires = append(b.wires, &Wire{Name: string(spec.Name), Field: field, Spec: spec})
	for _, has := range []struct {
		it    bool
		field string
	}{
		{spec.Address != "", "address"},
		{len(spec.Addresses) > 0, "addresses"},
		{len(spec.VLANs) > 0, "vlans"},
		{spec.Gateway != "", "gateway"},
		{len(spec.Neighbors) > 0, "neighbors"},
	} {
		if has.it {
			b.Fail(b.Object, field+"."+has.field, "", "a wire has none: it is no link of the chain; leave it out, or leave wire out")
		}
	}
}

// isWire refuses a wire where a link is named.
func (b *Builder) isWire(name, field, value string) bool {
	for _, w := range b.wires {
		if w.Name == name {
			b.Fail(b.Object, field, value, "is a wire; packets get there through the blackbox that names it: link that")
			return true
		}
	}
	return false
}

// ClaimWire is the wire that a function names; nil: there is none, which is said. Each wire is one function's, and one side of it.
func (b *Builder) ClaimWire(f *Function, field string, name v1alpha1.Name) *Wire {
	var known []string
	for _, w := range b.wires {
		if w.Name != string(name) {
			known = append(known, w.Name)
			continue
		}
		if w.owner != "" {
			b.Fail(f.Object, f.Path+"."+field, string(name), "the wire is a side of %q already; each side needs one of its own", w.owner)
			b.misnamed = true
			return nil
		}
		w.owner = f.Name
		return w
	}
	hint := finding.DidYouMean(string(name), known)
	if b.FindInterface(string(name)) != nil {
		hint = "; the interface has an address: set wire: true in its place"
	}
	b.misnamed = true
	b.Fail(f.Object, f.Path+"."+field, string(name), "no interface of the chain with wire: true has this name%s", hint)
	return nil
}

// AddWires gives a stop its interfaces, once it is known where packets go behind it. Errors about packets that nobody sent there come from the
// address of the chain's first interface.
func (b *Builder) AddWires(stop int, sides [element.StopSides]*Wire) {
	first := len(b.g.Interfaces)
	b.g.AddWires(stop, [element.StopSides]netip.Addr{b.firstAddress(), b.firstAddress()})
	for i, w := range sides {
		b.describe(w, first+i)
	}
}

// AddTap gives a function that gets copies an interface. What comes in there is dropped as <function>/returned.
func (b *Builder) AddTap(f *Function, w *Wire) {
	b.g.AddTap(w.Name, f.Name, f.Name+"/returned", b.firstAddress())
	b.describe(w, len(b.g.Interfaces)-1)
}

// firstAddress is that of the chain's first interface.
func (b *Builder) firstAddress() netip.Addr {
	if len(b.Interfaces) == 0 {
		return netip.IPv4Unspecified()
	}
	return addrOf(b.Interfaces[0].Prefix)
}

// describe gives an interface of the graph what a wire says of it.
func (b *Builder) describe(w *Wire, i int) {
	of := &b.g.Interfaces[i]
	of.MTU, of.Device, of.MAC = int(w.Spec.MTU), w.Spec.Device, b.mac(w.Field+".mac", w.Spec.MAC)
	for _, o := range b.Interfaces {
		if o.Spec.MTU > w.Spec.MTU {
			b.Warn(b.Object, w.Field+".mtu", strconv.Itoa(of.MTU), "interface %q has packets of up to %d bytes; what is too big for the wire is dropped as too-big: set mtu: %d", o.Name, o.Spec.MTU, o.Spec.MTU)
			return
		}
	}
}

// checkWires refuses wires that nobody names, unless the name may be one that was refused.
func (b *Builder) checkWires() {
	for _, w := range b.wires {
		if w.owner == "" && !b.misnamed {
			b.Fail(b.Object, w.Field+".wire", "true", "no blackbox names %q; name it as a blackbox's inside or outside, or take it out", w.Name)
		}
	}
}
