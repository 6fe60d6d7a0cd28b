package draw

import (
	"cmp"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawConnLimit draws a limiter of connections, whose hosts are on the left more often than on the right.
func drawConnLimit(d *Drawer, _ [2]int) (left, right Side) {
	hosts, others := d.connLimit(d.name("cl"), d.connections())
	if d.one("hosts on the right", 3) {
		return others, hosts
	}
	return hosts, others
}

// connections draws limits that a traffic of a few hundred packets meets: often those of hosts, at times that of all.
func (d *Drawer) connections() element.ConnLimit {
	c := element.ConnLimit{Timeouts: d.timeouts(), Max: ManyFlows}
	c.Timeouts.TCPClosing = []time.Duration{Timeouts.ICMP, Timeouts.UDP, Timeouts.TCPTransitory}[d.int("closing", 0, 2)]
	c.PerHost.PrefixLen = []int{32, 32, 24, 8, 1}[d.int("hosts", 0, 4)]
	c.PerHost.MaxSessions = d.int("connections", 1, 60)
	if d.one("runs full", 4) {
		c.Max = d.int("all connections", 1, 400)
	}
	return c
}

// connLimit is a limiter that all packets pass. Connections that close are kept as others that are not established, unless c says it.
func (b *Builder) connLimit(name string, c element.ConnLimit) (hosts, others Side) {
	c.Table, c.Full, c.PerHost.Reason = name, name+"/full", name+ConnectionLimit
	c.Timeouts.TCPClosing = cmp.Or(c.Timeouts.TCPClosing, c.Timeouts.TCPTransitory)
	n := b.Add(name, "connections", c)
	face := func(port int) Side {
		return Side{In: graph.Edge{To: n, Port: port}, Outs: []graph.Edge{{To: n, Port: port}}}
	}
	return face(element.ConnLimitInside), face(element.ConnLimitOutside)
}

// ConnectionLimit ends the reasons for which a host's connection does not begin.
const ConnectionLimit = "/limit"

// Bounded is a line with one to three limiters of connections among other functions.
var Bounded = Shape{Name: "limiters of connections", Draw: func(d *Drawer) {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("limiters", 1, 3) {
		left, right := drawConnLimit(d, ends)
		d.Link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.Link(a, b)
}}
