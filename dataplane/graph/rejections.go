package graph

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// rejection is where a firewall's answers begin, and the port by which they leave.
type rejection struct {
	node int
	port port
}

// routeRejections has the answers of firewalls find their next hop where nothing but an interface without a gateway lies
// on their way: by the routes of the router behind it, as its replies.
func (b *builder) routeRejections() {
	replies := map[port]int{}
	for _, r := range b.rejections {
		i := b.interfaceBehind(r.port)
		if i == nil || i.spec.Gateway != "" {
			continue
		}
		rt, p := b.routerBehind(i, false)
		if rt == nil {
			continue
		}
		straight := b.g.Nodes[r.node].Out[0]
		reply, ok := replies[r.port]
		if !ok {
			reply = b.add(r.port.owner, r.port.owner+"/reply-"+r.port.name, b.routesBack(rt, p))
			b.wire(reply, toRouter, rt.sends[p])
			b.g.Nodes[reply].Out[straightOut] = straight
			replies[r.port] = reply
		}
		b.wire(r.node, 0, reply)
	}
}

// Output ports of a firewall's "reply" lookup.
const (
	toRouter = iota
	straightOut
	replyOuts
)

// routesBack are a router's routes by a port, with their next hops, and those within them that lead elsewhere: to these, and to
// what is not listed, the router sends.
func (b *builder) routesBack(rt *function, by string) element.Lookup {
	lookup := b.g.Nodes[b.g.Nodes[rt.sends[by]].Out[0].To].Element.(element.Lookup)
	l := element.Lookup{NoRoute: toRouter, Outs: replyOuts}
	leadsBack := func(out int) bool { return out < len(rt.leads) && rt.leads[out] == by }
	if t := lookup.Table; t != nil {
		l.Table = &element.Table{Routes: t.Routes, Hops: slices.Clone(t.Hops), Source: t.Source}
		for i, h := range t.Hops {
			if l.Table.Hops[i].Out = toRouter; leadsBack(h.Out) {
				l.Table.Hops[i].Out = straightOut
			}
		}
		return l
	}
	var above []element.Route // those that hold the route at hand; routes are in the order of their prefixes
	for _, r := range lookup.Routes {
		for len(above) > 0 && !above[len(above)-1].Prefix.Contains(r.Prefix.Addr()) {
			above = above[:len(above)-1]
		}
		back := leadsBack(r.Out)
		if !back && len(above) == 0 {
			continue
		}
		if r.Out = toRouter; back {
			r.Out = straightOut
		}
		l.Routes, above = append(l.Routes, r), append(above, r)
	}
	return l
}

// interfaceBehind is the interface that packets reach by a port, behind firewalls and monitors; nil if another
// function comes first.
func (b *builder) interfaceBehind(at port) *chainInterface {
	for {
		w, ok := b.next[at]
		if !ok {
			return nil
		}
		if i := b.findInterface(w.to.owner); i != nil {
			return i
		}
		f := b.findFunction(w.to.owner)
		if f == nil || !f.kind.traits().transparent {
			return nil
		}
		at = port{f.name, opposite(w.to.name)}
	}
}
