// Package synth has the meaning of NAPTs on sets of packets: operations that translate, alone or in a run of NAPTs, an outcome that translates back,
// and fixed translations, which are sums of addresses and ports.
package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() {
	walk.Register(func(e element.NAPT) walk.Meaning { return &napt{NAPT: e} })
}

type napt struct {
	element.NAPT
	addrs, ports *headerspace.Set // what it can choose; nil: not asked for yet
}

func (n *napt) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if at.Port == element.NAPTInside {
		return n.translate(w, t, at.Node)
	}
	return n.translateBack(w, t, at.Node)
}

// Leads: from outside the destination becomes what the session says.
func (n *napt) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) {
	if in == element.NAPTInside {
		on(h, element.NAPTOutside)
	}
}

// Redirects: a session may say any address.
func (n *napt) Redirects(on func(port int, to headerspace.Set)) {
	on(element.NAPTInside, walk.Everything.Get(headerspace.Dst))
}

func (n *napt) Sources() headerspace.Set {
	addrs, _ := n.Choices()
	return *addrs
}

// Choices implements Choosing: the pool.
func (n *napt) Choices() (addrs, ports *headerspace.Set) {
	if n.addrs == nil {
		iv := make([]headerspace.Interval, len(n.Pool))
		for i, a := range n.Pool {
			iv[i] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
		}
		a, p := headerspace.NewSet(iv...), headerspace.Range(uint64(n.PortMin), uint64(n.PortMax))
		n.addrs, n.ports = &a, &p
	}
	return n.addrs, n.ports
}

// Joins implements Choosing: NAPTs with the same mapping and filtering have the same sessions and mappings.
func (n *napt) Joins(before walk.Choosing) bool {
	b, ok := before.(*napt)
	if !ok || n.Paired { // whose flows leave by one address is told by the address that the run before chose
		return false
	}
	if b.Mapping != n.Mapping || b.Filtering != n.Filtering {
		return false
	}
	return n.Mapping == element.AddressAndPortDependent || b.capacity() >= n.capacity() // how many mappings there can be is told by the last pool
}

// Returns implements Choosing.
func (n *napt) Returns() (out int, packets headerspace.Filter) { return element.NAPTInside, returnable }

// capacity is how many flows of a protocol the NAPT's pool has ports for.
func (n *napt) capacity() int { return len(n.Pool) * (int(n.PortMax) - int(n.PortMin) + 1) }
