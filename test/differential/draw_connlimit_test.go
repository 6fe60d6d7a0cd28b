package differential

import (
	"cmp"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// drawConnLimit draws a limiter of connections, whose hosts are on the left more often than on the right.
func drawConnLimit(d *drawer, _ [2]int) (left, right side) {
	hosts, others := d.connLimit(d.name("cl"), d.connections())
	if d.one("hosts on the right", 3) {
		return others, hosts
	}
	return hosts, others
}

// connections draws limits that a traffic of a few hundred packets meets: often those of hosts, at times that of all.
func (d *drawer) connections() element.ConnLimit {
	c := element.ConnLimit{Timeouts: d.timeouts(), Max: manyFlows}
	c.Timeouts.TCPClosing = []time.Duration{timeouts.ICMP, timeouts.UDP, timeouts.TCPTransitory}[d.int("closing", 0, 2)]
	c.PerHost.PrefixLen = []int{32, 32, 24, 8, 1}[d.int("hosts", 0, 4)]
	c.PerHost.MaxSessions = d.int("connections", 1, 60)
	if d.one("runs full", 4) {
		c.Max = d.int("all connections", 1, 400)
	}
	return c
}

// connLimit is a limiter that all packets pass. Connections that close are kept as others that are not established, unless c says it.
func (b *builder) connLimit(name string, c element.ConnLimit) (hosts, others side) {
	c.Table, c.Full, c.PerHost.Reason = name, name+"/full", name+connectionLimit
	c.Timeouts.TCPClosing = cmp.Or(c.Timeouts.TCPClosing, c.Timeouts.TCPTransitory)
	n := b.add(name, "connections", c)
	face := func(port int) side {
		return side{in: graph.Edge{To: n, Port: port}, outs: []graph.Edge{{To: n, Port: port}}}
	}
	return face(element.ConnLimitInside), face(element.ConnLimitOutside)
}

// connectionLimit ends the reasons for which a host's connection does not begin.
const connectionLimit = "/limit"
