package placement

import (
	"strconv"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register(v1alpha1.ElementSetField, "setField", func(e *v1alpha1.Element) *v1alpha1.SetFieldElement { return e.SetField }, placeSetField)
}

func placeSetField(p *Place, spec *v1alpha1.SetFieldElement) {
	path, s := "setField", spec.Value.String()
	field, err := headerspace.ParseField(spec.Field)
	if err != nil {
		p.Fail(path+".field", spec.Field, "cannot be written; write one of vlan, src, dst, dscp, ttl, sport, dport")
		return
	}
	limit := uint64(0)
	switch field {
	case headerspace.Src, headerspace.Dst:
		a, problem := rules.ParseAddress(s)
		if p.Problem(path+".value", problem) {
			p.Element = element.SetField{Field: field, Value: headerspace.Addr(a)}
		}
		return
	case headerspace.VLAN:
		v, message := rules.ParseVLAN(s)
		if message != "" {
			p.Fail(path+".value", s, "%s", message)
			return
		}
		p.Element = element.SetField{Field: field, Value: v}
		return
	case headerspace.DSCP:
		limit = 63
	case headerspace.TTL:
		limit = 255
	case headerspace.SPort, headerspace.DPort:
		limit = 65535
	default:
		p.Fail(path+".field", spec.Field, "cannot be written; write one of vlan, src, dst, dscp, ttl, sport, dport")
		return
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		p.Fail(path+".value", s, "must be a number from 0 to %d", limit)
		return
	}
	p.Element = element.SetField{Field: field, Value: headerspace.V(n)}
}
