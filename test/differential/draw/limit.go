package draw

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// drawLimiter draws a classifier in each direction, and meters behind it, of which both directions share some.
func drawLimiter(d *Drawer, _ [2]int) (left, right Side) {
	name := d.name("lim")
	n := d.int("limits", 1, 3)
	var meters []int
	var both []bool
	for i := range n {
		m := d.meter(name)
		m.TwoSided = d.one("both sides", 2)
		meters, both = append(meters, d.Add(name, fmt.Sprint("limit", i), m)), append(both, m.TwoSided)
	}
	var in, pass [2]graph.Edge
	var outs [2][]graph.Edge // by the side that they leave by
	for side, way := range []string{"forth", "back"} {
		c := element.Classifier{Default: 0, Outs: 1}
		var to []graph.Edge
		for i, m := range meters {
			if !both[i] && i%2 != side {
				continue
			}
			e := graph.Edge{To: m}
			if both[i] {
				e.Port = side
			}
			to = append(to, e)
			outs[1-side] = append(outs[1-side], graph.Edge{To: m, Port: d.Graph.Nodes[m].Element.(element.Meter).Leaves(e.Port)})
			r := element.Rule{Name: fmt.Sprint("r", i), Out: c.Outs, Filters: []hs.Filter{d.limited()}}
			c.Rules, c.Outs = append(c.Rules, r), c.Outs+1
		}
		node := d.Add(name, way, c)
		in[side], pass[side] = graph.Edge{To: node}, graph.Edge{To: node}
		for i, e := range to {
			d.connect(graph.Edge{To: node, Port: 1 + i}, e)
		}
	}
	return Side{In: in[0], Outs: append(outs[0], pass[1])}, Side{In: in[1], Outs: append(outs[1], pass[0])}
}

// limited draws the packets of a limit, often all.
func (d *Drawer) limited() hs.Filter {
	if d.one("all packets", 3) {
		return hs.Filter{}
	}
	return d.drawFilter()
}

// meter draws a meter that drops some of a traffic of a few hundred packets at a time, a few milliseconds apart.
func (d *Drawer) meter(name string) element.Meter {
	draw := func(what string, values ...uint64) uint64 { return values[d.int(what, 0, len(values)-1)] }
	m := element.Meter{Packets: d.one("in packets", 3)}
	if m.Packets {
		m.Rate, m.Burst = draw("packets per second", 1, 3, 700, 20_000, 1e9), draw("burst of packets", 1, 2, 50, 1000)
	} else {
		m.Rate, m.Burst = draw("bits per second", 1000, 77_777, 1e6, 30e6, 1e12), 8*draw("burst of bytes", 1500, 5000, 65_535, 1e6, element.MaxBurst/8)
	}
	switch d.int("marker", 0, 4) {
	case 1, 2:
		m.ExcessBurst = min(max(m.Burst*draw("times the burst", 1, 5)/draw("part of the burst", 1, 2), 1), element.MaxBurst)
	case 3, 4:
		m.PeakRate = min(m.Rate*draw("peak", 1, 2, 10), 1e12)
		m.ExcessBurst = min(m.Burst*draw("peak burst", 1, 8), element.MaxBurst)
	}
	if d.one("aware of colours", 3) {
		m.ComesYellow = 1<<10 | 1<<d.int("yellow DSCP", 0, 31)
		m.ComesRed = 1<<46 | 1<<d.int("red DSCP", 32, 63)
	}
	action := func(what string) element.MeterAction {
		switch d.int(what, 0, 2) {
		case 1:
			return element.MeterAction{Mark: true, DSCP: uint8(draw(what+" DSCP", 0, 10, 46, 63))}
		case 2:
			return element.MeterAction{Drop: name + "/exceeded"}
		}
		return element.MeterAction{}
	}
	m.Yellow, m.Red = action("yellow"), action("red")
	if d.one("for subscribers", 2) {
		m.Subscribers = element.Subscribers{Destination: d.one("by destination", 2), PrefixLen: int(draw("prefix", 1, 8, 24, 30, 32)), Max: int(draw("subscribers", 1, 4, 16, 200, 1<<16))}
		m.Rate = max(m.Rate, (m.Burst+m.ExcessBurst)/slowest)
		if m.PeakRate > 0 {
			m.PeakRate = max(m.PeakRate, m.Rate)
		}
	}
	return m
}

// slowest is in how many seconds a subscriber's buckets are full at most: they may take 2³² ms.
const slowest = 4_000_000

// Metered tells whether something of a chain is measured.
func Metered(g *graph.Graph) bool {
	for _, n := range g.Nodes {
		if _, ok := n.Element.(element.Meter); ok {
			return true
		}
	}
	return false
}

// Limits is a line with one to three limiters among other functions.
func (d *Drawer) Limits() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("limiters", 1, 3) {
		left, right := drawLimiter(d, ends)
		d.Link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.Link(a, b)
}

// ManyOfAHost is more than one host has of sessions in a chain's traffic.
const ManyOfAHost = 4096
