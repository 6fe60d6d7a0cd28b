package lower

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// answer is where a function's answers to packets begin, and the port by which they leave.
type answer struct {
	node int
	port Port
}

// AnswersFrom notes that a node answers packets, by the port that they came in by.
func (b *Builder) AnswersFrom(node int, by Port) { b.answers = append(b.answers, answer{node, by}) }

// routeAnswers has the answers of functions find their next hop where nothing but an interface without a gateway lies
// on their way: by the routes of the router behind it, as its replies.
func (b *Builder) routeAnswers() {
	replies := map[Port]int{}
	for _, r := range b.answers {
		i := b.InterfaceBehind(r.port)
		if i == nil || i.Spec.Gateway != "" {
			continue
		}
		rt, p := b.routerBehind(i, false)
		if rt == nil {
			continue
		}
		straight := b.g.Nodes[r.node].Out[0]
		reply, ok := replies[r.port]
		if !ok {
			reply = b.reply(r.port.Owner, r.port.Owner+"/reply-"+r.port.Name, rt, p, straight)
			replies[r.port] = reply
		}
		b.Wire(r.node, 0, reply)
	}
}

// Output ports of a "reply" lookup. Behind them are those of routes that lead straight
// out for some sources.
const (
	toRouter = iota
	straightOut
	replyOuts
)

// reply makes the lookup of the answers of a function, or of an interface (owner is empty): what the router would
// send back by its port leaves straight.
func (b *Builder) reply(owner, name string, rt *Function, by string, straight Edge) int {
	lookup, splits := b.routesBack(rt, by)
	sends := rt.Router().Routes().Sends[by]
	reply := b.Add(owner, name, lookup)
	b.Wire(reply, toRouter, sends)
	b.g.Nodes[reply].Out[straightOut] = straight
	for i, split := range splits {
		b.Wire(reply, replyOuts+i, split(owner, name, func(port string) Edge {
			if port == by {
				return straight
			}
			return Edge{To: sends}
		}))
	}
	return reply
}

// lookupOf is where a router looks up what it sends itself about packets by a port.
func (b *Builder) lookupOf(rt *Function, by string) element.Lookup {
	return b.g.Nodes[b.g.Nodes[rt.Router().Routes().Sends[by]].Out[0].To].Element.(element.Lookup)
}

// routesBack are a router's routes by a port, with their next hops, and those within them that lead
// elsewhere: to these, and to what is not listed, the router sends. Splits are those with a route
// by the port; each has an output.
func (b *Builder) routesBack(rt *Function, by string) (l element.Lookup, splits []Split) {
	lookup := b.lookupOf(rt, by)
	outs := make([]int, lookup.Outs)
	routes := rt.Router().Routes()
	for out, ports := range routes.Leads {
		switch s := routes.Splits[out]; {
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

// InterfaceBehind is the interface that packets reach by a port, behind transparent functions; nil if another
// function comes first.
func (b *Builder) InterfaceBehind(at Port) *Interface {
	to := b.past(at, func(t Traits) bool { return t.Transparent })
	return b.FindInterface(to.Owner)
}
