package program

import (
	"fmt"
	"net/netip"
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// MaxMappings is how many fixed translations of ICMP errors an operation may have; the engine has the same limit (operation/sn_op_translate_error.c).
const MaxMappings = 512

func init() {
	operations[reflect.TypeFor[*programpb.Op_Add]()] = operation{
		kind:  Write,
		check: func(_ validator, at string, o *programpb.Op) error { return addField(at, o.GetAdd()) },
		text: func(_ *Program, o *programpb.Op) string {
			f := o.GetAdd().GetField()
			return fmt.Sprintf("%s += %s", headerspace.Field(f), valueText(f, o.GetAdd().GetValue()))
		},
		leaves: func(x *exit, o *programpb.Op) {
			if o.GetAdd().GetField() == programpb.Field_DST {
				x.redirected, x.dst = true, nil
			}
		},
	}
	operations[reflect.TypeFor[*programpb.Op_TranslateError]()] = operation{
		kind: Write,
		check: func(_ validator, at string, o *programpb.Op) error {
			t := o.GetTranslateError()
			if n := len(t.GetMappings()); n < 1 || n > MaxMappings {
				return fmt.Errorf("%s: translate_error has %d mappings, want 1..%d", at, n, MaxMappings)
			}
			return each(t.GetMappings(), func(i int, m *programpb.FixedMapping) error {
				return fixedMapping(fmt.Sprintf("%s: mappings[%d]", at, i), m)
			})
		},
		text: func(_ *Program, o *programpb.Op) string {
			return fmt.Sprintf("translate errors about packets of %d mappings", len(o.GetTranslateError().GetMappings()))
		},
		leaves: func(x *exit, o *programpb.Op) {
			if !o.GetTranslateError().GetFromInside() {
				x.redirected, x.dst = true, nil
			}
		},
	}
}

func addField(at string, s *programpb.SetField) error {
	switch s.GetField() {
	case programpb.Field_SRC, programpb.Field_DST:
		return nil
	case programpb.Field_SPORT, programpb.Field_DPORT:
		return atMost(at, "add to "+s.GetField().String(), s.GetValue(), FieldMax(s.GetField())-1)
	default:
		return fmt.Errorf("%s: nothing can be added to field %s: want SRC, DST, SPORT or DPORT", at, s.GetField())
	}
}

func fixedMapping(at string, m *programpb.FixedMapping) error {
	if n := m.GetPrefixLen(); n < 8 || n > 32 {
		return fmt.Errorf("%s: prefix_len is %d, want 8..32", at, n)
	}
	for field, a := range map[string]uint32{"inside": m.GetInside(), "outside": m.GetOutside()} {
		if p := netip.PrefixFrom(address(a), int(m.GetPrefixLen())); p != p.Masked() {
			return fmt.Errorf("%s: %s is %s, want a prefix without host bits", at, field, p)
		}
	}
	if m.GetProto() == 0 {
		if m.GetPorts()|m.GetInsidePort()|m.GetOutsidePort() != 0 {
			return fmt.Errorf("%s: has ports, but proto is 0: want no ports, or proto 6 or 17", at)
		}
		return nil
	}
	switch {
	case m.GetProto() != protoTCP && m.GetProto() != protoUDP:
		return fmt.Errorf("%s: proto is %d, want 0, 6 or 17", at, m.GetProto())
	case m.GetPrefixLen() != 32:
		return fmt.Errorf("%s: prefix_len is %d, but it has ports: want 32", at, m.GetPrefixLen())
	}
	return first(
		portRange(at, "inside_port", m.GetInsidePort(), m.GetPorts()),
		portRange(at, "outside_port", m.GetOutsidePort(), m.GetPorts()),
	)
}

// portRange refuses ranges that are empty, or end above the last port.
func portRange(at, field string, first, n uint32) error {
	if first < 1 || first > 65535 || n < 1 || n > 65536-first {
		return fmt.Errorf("%s: %s is %d, of %d ports, want a range within 1..65535", at, field, first, n)
	}
	return nil
}

// reservedPorts refuses ranges that are none.
func reservedPorts(at string, r *programpb.ReservedPorts) error {
	switch {
	case r.GetProto() != protoTCP && r.GetProto() != protoUDP:
		return fmt.Errorf("%s: proto is %d, want 6 or 17", at, r.GetProto())
	case r.GetFirst() > r.GetLast() || r.GetLast() > 65535:
		return fmt.Errorf("%s: ports are %d-%d, want an ascending range up to 65535", at, r.GetFirst(), r.GetLast())
	}
	return nil
}
