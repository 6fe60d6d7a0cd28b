package draw

import (
	"net/netip"
	"slices"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func drawTwoSidedRouter(d *Drawer, ends [2]int) (left, right Side) {
	f := d.drawRouter(2, func(face int) int { return ends[face] })
	return f[0], f[1]
}

// drawRouter draws routes: to every interface's net by its face, a default, and overlapping ones anywhere.
// end is the interface that a face leads to, -1 if it is more than one.
func (d *Drawer) drawRouter(faces int, end func(int) int) []Side {
	var routes []Route
	via := func(face int) netip.Addr {
		if face < faces {
			if i := end(face); i >= 0 && d.one("via", 2) {
				return Addr4(192, 168, i, d.int("next hop", 2, 3))
			}
		}
		return netip.Addr{}
	}
	add := func(p netip.Prefix, face int) {
		if p.Addr().As4()[0] == 0 && p.Bits() > 0 ||
			slices.ContainsFunc(routes, func(r Route) bool { return r.Prefix == p }) {
			return
		}
		r := Route{Prefix: p, Face: face, Via: via(face)}
		if d.one("by source", 6) {
			for range d.int("entries", 1, 3) {
				f := fromRoute{face: d.int("face", 0, faces+len(refusals)-1)}
				for range d.int("sources", 1, 2) {
					f.sources = f.sources.Union(hs.Prefix(d.prefix()))
				}
				f.via = via(f.face)
				r.from = append(r.from, f)
			}
		}
		routes = append(routes, r)
	}
	for f := range faces {
		if i := end(f); i >= 0 {
			add(netip.PrefixFrom(Addr4(192, 168, i, 0), 24), f)
		}
		add(netip.PrefixFrom(Addr4(10, f, 0, 0), 16), f)
	}
	if !d.one("no default", 4) {
		add(netip.PrefixFrom(Addr4(0, 0, 0, 0), 0), d.int("default", 0, faces-1))
	}
	for range d.int("routes", 0, 8) {
		add(d.prefix(), d.int("face", 0, faces+len(refusals)-1))
	}
	self := Addr4(172, 16, d.names, 1)
	d.bases = append(d.bases, self)
	return d.Router(d.name("rt"), self, faces, d.turns(), routes)
}

// turns draws what a router does with a packet that would leave as it came: one of a chain may send it back.
func (d *Drawer) turns() turns {
	if d.hairpins || d.one("discards hairpins", 2) {
		return Discards
	}
	d.hairpins = true
	return Hairpins
}
