package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.Lookup) pass.Element { return newLookup(e) })
}

// lookup is a table of prefixes, one map per length.
type lookup struct {
	byLen   [33]map[uint32]element.Route
	noRoute int
}

func newLookup(e element.Lookup) *lookup {
	l := &lookup{noRoute: e.NoRoute}
	for r := range e.All() {
		n := r.Prefix.Bits()
		if l.byLen[n] == nil {
			l.byLen[n] = map[uint32]element.Route{}
		}
		l.byLen[n][header.Number(r.Prefix.Masked().Addr())] = r
	}
	return l
}

func (l *lookup) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	rt, ok := l.find(header.Dst(p.IP))
	if !ok {
		r.Note("no route")
		return l.noRoute, false
	}
	p.Via = rt.Via
	if rt.Via.IsValid() {
		r.Note("route %v via %v", rt.Prefix, rt.Via)
	} else {
		r.Note("route %v", rt.Prefix)
	}
	return rt.Out, false
}

// find is the route of the longest prefix that holds the address.
func (l *lookup) find(a uint32) (element.Route, bool) {
	for n := 32; n >= 0; n-- {
		if l.byLen[n] == nil {
			continue
		}
		if r, ok := l.byLen[n][a&^uint32(1<<(32-n)-1)]; ok {
			return r, true
		}
	}
	return element.Route{}, false
}
