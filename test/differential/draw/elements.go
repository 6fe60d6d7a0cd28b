package draw

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func drawElements(d *Drawer, _ [2]int) (left, right Side) {
	return d.Through(d.name("set"), d.elements(), d.elements())
}

func drawVLAN(d *Drawer, _ [2]int) (left, right Side) {
	return d.Through(d.name("vlan"), []element.Element{d.set(hs.VLAN)}, []element.Element{d.set(hs.VLAN)})
}

// smallElements draw elements that let packets on by output 0.
var smallElements = []func(*Drawer) element.Element{
	func(*Drawer) element.Element { return element.DecTTL{} },
	func(*Drawer) element.Element { return element.CheckIPHeader{} },
	func(d *Drawer) element.Element {
		return element.TTLGuard{Min: []uint8{1, 2, 5, 64, 255}[d.int("least TTL", 0, 4)]}
	},
	(*Drawer).write, (*Drawer).write, // twice as often as each of the others
}

func (d *Drawer) write() element.Element {
	return d.set([]hs.Field{hs.DSCP, hs.DSCP, hs.TTL, hs.VLAN, hs.SPort, hs.DPort, hs.Dst, hs.Src}[d.int("write", 0, 7)])
}

// elements draws a row of small elements.
func (d *Drawer) elements() []element.Element {
	out := []element.Element{element.Counter{}}
	for range d.int("elements", 0, 3) {
		out = append(out, smallElements[d.int("element", 0, len(smallElements)-1)](d))
	}
	return out
}

func (d *Drawer) set(f hs.Field) element.SetField {
	v := uint64(0)
	switch f {
	case hs.Src, hs.Dst:
		return element.SetField{Field: f, Value: hs.Addr(d.bases[d.int("address", 0, len(d.bases)-1)])}
	case hs.VLAN:
		v = uint64([]int{4096, 4096, 10, 20, 0}[d.int("vid", 0, 4)])
	case hs.SPort, hs.DPort:
		v = d.ports[d.int("port", 0, len(d.ports)-1)]
	case hs.TTL:
		v = uint64([]int{64, 255, 1, 0, 3}[d.int("ttl", 0, 4)])
	default:
		v = uint64(d.int("dscp", 0, 63))
	}
	return element.SetField{Field: f, Value: hs.V(v)}
}
