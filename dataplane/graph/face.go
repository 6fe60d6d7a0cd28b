package graph

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// fullTTL is the TTL of a router's own packets before its lookup, and of what an interface sends to
// a router, by which it becomes 64 on the wire.
const fullTTL = 65

// face is a router's elements behind its lookup, for the ports that share them.
type face struct {
	*builder
	f       *function
	name    string
	source  netip.Addr // of ICMP errors
	sends   int        // node where the router's own packets begin
	expired int        // node, -1: not there yet
	to      map[string]int
}

// routerFace makes a router's elements. It returns where packets come in, and where the router's
// own packets begin.
func (b *builder) routerFace(f *function, name string, own []netip.Addr, source netip.Addr, l routing) (in Edge, sends int) {
	entry := -1
	if len(own) > 0 {
		entry = b.add(f.name, name+"/local", localClassifier(name, own))
	}
	lookup := b.add(f.name, name+"/lookup", l.Lookup)
	sends = b.add(f.name, name+"/own", element.SetField{Field: headerspace.TTL, Value: headerspace.V(fullTTL)})
	b.wire(sends, 0, lookup)
	if entry >= 0 {
		host := b.add(f.name, name+"/host", element.LocalHost{})
		b.wire(entry, 0, host)
		b.wire(entry, 1, lookup)
		b.wire(host, 0, sends)
	} else {
		entry = lookup
	}
	r := &face{b, f, name, source, sends, -1, map[string]int{}}
	r.wireLookup(lookup, l)
	return Edge{To: entry}, sends
}

// wireLookup connects the lookup's outputs with what their routes lead to.
func (r *face) wireLookup(lookup int, l routing) {
	for i, out := range l.outs {
		if r.f.splits[out] == nil {
			r.wire(lookup, i, r.leads(out))
		}
	}
	r.wire(lookup, l.NoRoute, r.refuse("no-route", codeNetUnreachable))
	for i, out := range l.outs {
		if s := r.f.splits[out]; s != nil {
			to := func(o *routeOrigin) Edge { return Edge{To: r.leads(o.leads())} }
			r.wire(lookup, i, r.bySource(r.f.name, r.name, s, to))
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
		n = r.add(r.f.name, r.name+"/discard", element.Discard{Reason: r.f.name + "/discard"})
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
	ttl := r.add(r.f.name, r.name+"/ttl-"+p, element.DecTTL{})
	r.exit(ttl, element.TTLAlive, r.f, p)
	if r.expired < 0 {
		r.expired = r.add(r.f.name, r.name+"/expired", element.ICMPError{Type: icmpTimeExceeded, Code: codeTTLExceeded, Source: r.source})
		r.wire(r.expired, 0, r.sends)
	}
	r.wire(ttl, element.TTLExpired, r.expired)
	return ttl
}

// refuse makes the element that replies with ICMP unreachable.
func (r *face) refuse(what string, code uint8) int {
	n := r.add(r.f.name, r.name+"/"+what, element.ICMPError{Type: icmpUnreachable, Code: code, Source: r.source})
	r.wire(n, 0, r.sends)
	return n
}
