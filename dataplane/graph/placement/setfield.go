package placement

import (
	"strconv"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	Register(v1alpha1.ElementSetField, "setField", func(e *v1alpha1.Element) *v1alpha1.SetFieldElement { return e.SetField }, placeSetField)
}

// fields are those that can be written.
var fields = map[v1alpha1.HeaderField]headerspace.Field{
	v1alpha1.FieldVLAN:            headerspace.VLAN,
	v1alpha1.FieldSource:          headerspace.Src,
	v1alpha1.FieldDestination:     headerspace.Dst,
	v1alpha1.FieldDSCP:            headerspace.DSCP,
	v1alpha1.FieldTTL:             headerspace.TTL,
	v1alpha1.FieldSourcePort:      headerspace.SPort,
	v1alpha1.FieldDestinationPort: headerspace.DPort,
}

func placeSetField(p *Place, spec *v1alpha1.SetFieldElement) {
	path, s := "setField", spec.Value.String()
	field, ok := fields[spec.Field]
	if !ok {
		p.Fail(path+".field", string(spec.Field), "%s", oneOf(spec.Field, fields))
		return
	}
	var limit uint64
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
	default: // ports
		limit = 65535
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		p.Fail(path+".value", s, "must be a number from 0 to %d", limit)
		return
	}
	p.Element = element.SetField{Field: field, Value: headerspace.V(n)}
}
