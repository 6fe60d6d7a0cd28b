package rules

import (
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxMappings is how many fixed translations of ICMP errors an operation may have; the engine has the same limit (operation/sn_op_translate_error.c).
const maxMappings = 512

const (
	maxPort            = 65535
	protoTCP, protoUDP = 6, 17
)

func init() {
	rule.RegisterOperation[*programpb.Op_Add](rule.Operation{
		Kind:  rule.Write,
		Check: func(_ *programpb.Program, at string, o *programpb.Op) error { return addField(at, o.GetAdd()) },
		Text: func(_ *programpb.Program, o *programpb.Op) string {
			f := o.GetAdd().GetField()
			return fmt.Sprintf("%s += %s", headerspace.Field(f), rule.ValueText(f, o.GetAdd().GetValue()))
		},
		Leaves: func(_ *programpb.Program, x *rule.Exit, o *programpb.Op) {
			if o.GetAdd().GetField() == programpb.Field_DST {
				x.Redirect()
			}
		},
	})
	rule.RegisterOperation[*programpb.Op_TranslateError](rule.Operation{
		Kind: rule.Write,
		Check: func(_ *programpb.Program, at string, o *programpb.Op) error {
			t := o.GetTranslateError()
			if n := len(t.GetMappings()); n < 1 || n > maxMappings {
				return fmt.Errorf("%s: translate_error has %d mappings, want 1..%d", at, n, maxMappings)
			}
			return rule.Each(t.GetMappings(), func(i int, m *programpb.FixedMapping) error {
				return fixedMapping(fmt.Sprintf("%s: mappings[%d]", at, i), m)
			})
		},
		Text: func(_ *programpb.Program, o *programpb.Op) string {
			return fmt.Sprintf("translate errors about packets of %d mappings", len(o.GetTranslateError().GetMappings()))
		},
		Leaves: func(_ *programpb.Program, x *rule.Exit, o *programpb.Op) {
			if !o.GetTranslateError().GetFromInside() {
				x.Redirect()
			}
		},
	})
}

func addField(at string, s *programpb.SetField) error {
	switch s.GetField() {
	case programpb.Field_SRC, programpb.Field_DST:
		return nil
	case programpb.Field_SPORT, programpb.Field_DPORT:
		return rule.AtMost(at, "add to "+s.GetField().String(), s.GetValue(), maxPort)
	default:
		return fmt.Errorf("%s: nothing can be added to field %s: want SRC, DST, SPORT or DPORT", at, s.GetField())
	}
}

func fixedMapping(at string, m *programpb.FixedMapping) error {
	if n := m.GetPrefixLen(); n < 8 || n > 32 {
		return fmt.Errorf("%s: prefix_len is %d, want 8..32", at, n)
	}
	for field, a := range map[string]uint32{"inside": m.GetInside(), "outside": m.GetOutside()} {
		if p := netip.PrefixFrom(rule.Address(a), int(m.GetPrefixLen())); p != p.Masked() {
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
	return rule.First(
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
