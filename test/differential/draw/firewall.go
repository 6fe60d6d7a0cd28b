package draw

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func drawFirewall(d *Drawer, _ [2]int) (left, right Side) { return d.firewall() }

func (d *Drawer) firewall() (left, right Side) {
	return d.Filter(d.name("fw"), d.classifier(d.int("verdicts", 2, 3)), d.classifier(d.int("verdicts", 2, 3)))
}

// classifier draws rules whose outputs are 0 and, if there are more, the others.
func (d *Drawer) classifier(outs int) element.Classifier {
	c := element.Classifier{Outs: max(outs, 1)}
	d.classifiers++
	for i := range d.int("rules", 0, 8) {
		r := element.Rule{Name: fmt.Sprintf("c%d-r%d", d.classifiers, i), Count: d.one("counted", 3)}
		for range d.int("filters", 1, 2) {
			r.Filters = append(r.Filters, d.drawFilter())
		}
		if outs > 1 {
			r.Out = d.int("verdict", 0, outs-1)
		}
		c.Rules = append(c.Rules, r)
	}
	if outs > 1 && d.one("default deny", 4) {
		c.Default = 1
	}
	return c
}

func (d *Drawer) drawFilter() hs.Filter {
	var f hs.Filter
	for range d.int("fields", 1, 3) {
		field := hs.Field(d.int("field", 0, int(hs.NumFields)-1))
		f = f.With(field, d.set4(field))
	}
	return f
}

// set4 draws the values of a field that a filter passes.
func (d *Drawer) set4(f hs.Field) hs.Set {
	switch f {
	case hs.Src, hs.Dst:
		if d.one("range", 4) {
			a := d.bases[d.int("first", 0, len(d.bases)-1)]
			b := d.bases[d.int("last", 0, len(d.bases)-1)]
			if b.Less(a) {
				a, b = b, a
			}
			return hs.AddrRange(a, b)
		}
		return hs.Prefix(d.prefix())
	case hs.Proto:
		return []hs.Set{hs.Of(6), hs.Of(17), hs.Of(1), hs.Of(6, 17), hs.Range(2, 255), hs.Of(1, 17, 47)}[d.int("proto", 0, 5)]
	case hs.SPort, hs.DPort:
		lo := d.ports[d.int("low port", 0, len(d.ports)-1)]
		s := hs.Range(lo, lo+uint64([]int{0, 0, 1, 100, 5000}[d.int("width", 0, 4)])).Intersect(hs.Range(0, 65535))
		if d.one("or none", 6) {
			s = s.Union(hs.Of(65536))
		}
		return s
	case hs.TCPFlags:
		mask := uint64(d.int("mask", 1, 255))
		return hs.Masked(f, uint64(d.int("flags", 0, 255))&mask, mask)
	case hs.ICMPType:
		return []hs.Set{hs.Of(8), hs.Of(0, 8), hs.Of(3, 11), hs.Range(0, 255), hs.Range(9, 255)}[d.int("type", 0, 4)]
	case hs.ICMPCode:
		return []hs.Set{hs.Of(0), hs.Range(1, 255), hs.Of(4)}[d.int("code", 0, 2)]
	case hs.VLAN:
		return []hs.Set{hs.Of(4096), hs.Range(0, 4095), hs.Of(10), hs.Of(10, 20, 4096)}[d.int("vlan", 0, 3)]
	case hs.TTL:
		lo := uint64(d.int("ttl", 0, 64))
		return []hs.Set{hs.Range(lo, 255), hs.Range(0, lo), hs.Of(lo)}[d.int("ttl kind", 0, 2)]
	case hs.Frag:
		return []hs.Set{hs.Of(0), hs.Of(1), hs.Of(2), hs.Of(0, 1), hs.Of(1, 2)}[d.int("frag", 0, 4)]
	default: // DSCP
		lo := uint64(d.int("dscp", 0, 63))
		return hs.Range(lo, min(lo+uint64(d.int("more", 0, 9)), 63))
	}
}
