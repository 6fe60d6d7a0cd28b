package lower

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// face is a router's elements behind its lookup, for the ports that share them.
type face struct {
	*lower.Builder
	rt      *router
	f       *lower.Function
	name    string
	source  netip.Addr // of ICMP errors
	sends   int        // node where the router's own packets begin
	expired int        // node, -1: not there yet
	to      map[string]int
}

// face makes a router's elements. It returns where packets come in, and where the router's
// own packets begin.
func (rt *router) face(b *lower.Builder, f *lower.Function, name string, own []netip.Addr, source netip.Addr, l routing) (in lower.Edge, sends int) {
	entry := -1
	if len(own) > 0 {
		entry = b.Add(f.Name, name+"/local", localClassifier(name, own))
	}
	lookup := b.Add(f.Name, name+"/lookup", l.Lookup)
	sends = b.Add(f.Name, name+"/own", element.SetField{Field: headerspace.TTL, Value: headerspace.V(lower.FullTTL)})
	b.Wire(sends, 0, lookup)
	if entry >= 0 {
		host := b.Add(f.Name, name+"/host", element.LocalHost{})
		b.Wire(entry, 0, host)
		b.Wire(entry, 1, lookup)
		b.Wire(host, 0, sends)
	} else {
		entry = lookup
	}
	r := &face{b, rt, f, name, source, sends, -1, map[string]int{}}
	r.wireLookup(lookup, l)
	return lower.Edge{To: entry}, sends
}

// wireLookup connects the lookup's outputs with what their routes lead to.
func (r *face) wireLookup(lookup int, l routing) {
	for i, out := range l.outs {
		if r.rt.splits[out] == nil {
			r.Wire(lookup, i, r.leads(out))
		}
	}
	r.Wire(lookup, l.NoRoute, r.refuse("no-route", codeNetUnreachable))
	for i, out := range l.outs {
		if s := r.rt.splits[out]; s != nil {
			to := func(o *routeOrigin) lower.Edge { return lower.Edge{To: r.leads(o.leads())} }
			r.Wire(lookup, i, bySource(r.Builder, r.f.Name, r.name, s, to))
		}
	}
}

// leads is the node that routes lead to: of a port, or of a type that leads nowhere.
func (r *face) leads(to string) int {
	n, ok := r.to[to]
	if ok {
		return n
	}
	switch v1alpha1.RouteType(to) {
	case v1alpha1.RouteDiscard:
		n = r.Add(r.f.Name, r.name+"/discard", element.Discard{Reason: r.f.Name + "/discard"})
	case v1alpha1.RouteUnreachable:
		n = r.refuse("unreachable", codeHostUnreachable)
	case v1alpha1.RouteProhibit:
		n = r.refuse("prohibit", codeProhibited)
	case v1alpha1.RouteForward: // names no output: its routes lead to ports
	default:
		n = r.port(to)
	}
	r.to[to] = n
	return n
}

// port makes the elements of packets that leave by a port.
func (r *face) port(p string) int {
	ttl := r.Add(r.f.Name, r.name+"/ttl-"+p, element.DecTTL{})
	r.Exit(ttl, element.TTLAlive, r.f, p)
	if r.expired < 0 {
		r.expired = r.Add(r.f.Name, r.name+"/expired", element.ICMPError{Type: icmpTimeExceeded, Code: codeTTLExceeded, Source: r.source})
		r.Wire(r.expired, 0, r.sends)
	}
	r.Wire(ttl, element.TTLExpired, r.expired)
	return ttl
}

// refuse makes the element that replies with ICMP unreachable.
func (r *face) refuse(what string, code uint8) int {
	n := r.Add(r.f.Name, r.name+"/"+what, element.ICMPError{Type: icmpUnreachable, Code: code, Source: r.source})
	r.Wire(n, 0, r.sends)
	return n
}
