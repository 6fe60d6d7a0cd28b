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
			reply = b.reply(r.port.owner, r.port.owner+"/reply-"+r.port.name, rt, p, straight)
			replies[r.port] = reply
		}
		b.wire(r.node, 0, reply)
	}
}

// Output ports of a "reply" lookup. Behind them are those of routes that lead straight
// out for some sources.
const (
	toRouter = iota
	straightOut
	replyOuts
)

// reply makes the lookup of the answers of a firewall, or of an interface (owner is empty): what the router would
// send back by its port leaves straight.
func (b *builder) reply(owner, name string, rt *function, by string, straight Edge) int {
	lookup, splits := b.routesBack(rt, by)
	reply := b.add(owner, name, lookup)
	b.wire(reply, toRouter, rt.sends[by])
	b.g.Nodes[reply].Out[straightOut] = straight
	for i, s := range splits {
		b.wire(reply, replyOuts+i, b.bySource(owner, name, s, func(o *routeOrigin) Edge {
			if o.port == by {
				return straight
			}
			return Edge{To: rt.sends[by]}
		}))
	}
	return reply
}

// lookupOf is where a router looks up what it sends itself about packets by a port.
func (b *builder) lookupOf(rt *function, by string) element.Lookup {
	return b.g.Nodes[b.g.Nodes[rt.sends[by]].Out[0].To].Element.(element.Lookup)
}

// routesBack are a router's routes by a port, with their next hops, and those within them that lead
// elsewhere: to these, and to what is not listed, the router sends. Splits are those with a route
// by the port; each has an output.
func (b *builder) routesBack(rt *function, by string) (l element.Lookup, splits []*split) {
	lookup := b.lookupOf(rt, by)
	outs := make([]int, lookup.Outs)
	for out, ports := range rt.leads {
		switch s := rt.splits[rt.outs[out]]; {
		case !slices.Contains(ports, by):
			outs[out] = toRouter
		case s == nil:
			outs[out] = straightOut
		default:
			outs[out] = replyOuts + len(splits)
			splits = append(splits, s)
		}
	}
	l = element.Lookup{NoRoute: toRouter, Outs: replyOuts + len(splits)}
	if t := lookup.Table; t != nil {
		l.Table = &element.Table{Routes: t.Routes, Hops: slices.Clone(t.Hops), Source: t.Source}
		for i, h := range t.Hops {
			l.Table.Hops[i].Out = outs[h.Out]
		}
		return l, splits
	}
	var above []element.Route // those that hold the route at hand; routes are in the order of their prefixes
	for _, r := range lookup.Routes {
		for len(above) > 0 && !above[len(above)-1].Prefix.Contains(r.Prefix.Addr()) {
			above = above[:len(above)-1]
		}
		r.Out = outs[r.Out]
		if r.Out == toRouter && len(above) == 0 {
			continue
		}
		l.Routes, above = append(l.Routes, r), append(above, r)
	}
	return l, splits
}

// interfaceBehind is the interface that packets reach by a port, behind firewalls and monitors; nil if another
// function comes first.
func (b *builder) interfaceBehind(at port) *chainInterface {
	to := b.past(at, func(t traits) bool { return t.transparent })
	return b.findInterface(to.owner)
}
