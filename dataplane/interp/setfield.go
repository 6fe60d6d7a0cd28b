package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.SetField) pass.Element { return setField{e.Field, constant(e)} })
}

type setField struct {
	field headerspace.Field
	value uint32
}

func (s setField) Pass(_ *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	p.Set(s.field, s.value)
	return 0, false
}

// constant is what a set-field writes.
func constant(e element.SetField) uint32 {
	if e.Field == headerspace.Src || e.Field == headerspace.Dst {
		return header.Number(headerspace.AsAddr(e.Value))
	}
	return uint32(e.Value.Lo)
}
