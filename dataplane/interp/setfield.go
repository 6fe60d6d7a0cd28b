package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register(func(_ *Chain, _ string, e element.SetField) meaning { return setField{e.Field, constant(e)} })
}

type setField struct {
	field headerspace.Field
	value uint32
}

func (s setField) pass(_ *run, _ *graph.Node, p *packet, _ int) (int, bool) {
	p.set(s.field, s.value)
	return 0, false
}

// constant is what a set-field writes.
func constant(e element.SetField) uint32 {
	if e.Field == headerspace.Src || e.Field == headerspace.Dst {
		return num(headerspace.AsAddr(e.Value))
	}
	return uint32(e.Value.Lo)
}
