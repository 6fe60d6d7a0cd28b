package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func init() {
	register(func(_ *Chain, _ string, e element.Lookup) meaning { return newLookup(e) })
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
		l.byLen[n][num(r.Prefix.Masked().Addr())] = r
	}
	return l
}

func (l *lookup) pass(r *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	rt, ok := l.find(dstOf(p.ip))
	if !ok {
		r.note("no route")
		return l.noRoute, false
	}
	p.via = rt.Via
	if rt.Via.IsValid() {
		r.note("route %v via %v", rt.Prefix, rt.Via)
	} else {
		r.note("route %v", rt.Prefix)
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
