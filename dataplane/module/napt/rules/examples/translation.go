package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// added gives the first leg an operation that adds to a field.
func added(f programpb.Field, v uint32) func(*programpb.Program) {
	return func(p *programpb.Program) {
		ruletest.Op(p, 2).Op = &programpb.Op_Add{Add: &programpb.SetField{Field: f, Value: v}}
	}
}

// mapped gives the first leg fixed translations of ICMP errors, changed.
func mapped(change func(t *programpb.TranslateError)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		t := &programpb.TranslateError{Mappings: []*programpb.FixedMapping{
			{Inside: 0x0a000000, Outside: 0xcb007100, PrefixLen: 24},
			{Inside: 0x0a000101, Outside: 0xcb007201, PrefixLen: 32, Proto: 6, InsidePort: 80, OutsidePort: 8080, Ports: 10},
		}}
		change(t)
		ruletest.Op(p, 2).Op = &programpb.Op_TranslateError{TranslateError: t}
	}
}

func reservedOf(r *programpb.ReservedPorts) func(*programpb.Program) {
	return func(p *programpb.Program) { p.Tables[0].Reserved = append(p.Tables[0].Reserved, r) }
}

// maxMappings is how many mappings translate errors.
const maxMappings = 512

// translations are fixed ones.
var translations = []ruletest.Example{
	ruletest.Accepted("add-to-src", added(programpb.Field_SRC, 0xffffffff)),
	ruletest.Accepted("add-to-dport-65535", added(programpb.Field_DPORT, 65535)),
	ruletest.Refused("add-to-sport-65536", added(programpb.Field_SPORT, 65536), "65536", "65535"),
	ruletest.Refused("add-to-ttl", added(programpb.Field_TTL, 1), "nothing can be added to field", "want SRC, DST, SPORT or DPORT"),
	ruletest.Accepted("translate-error", mapped(func(*programpb.TranslateError) {})),
	ruletest.Accepted("translate-error-512", mapped(func(t *programpb.TranslateError) {
		t.Mappings = ruletest.Many(maxMappings, func(i int) *programpb.FixedMapping {
			return &programpb.FixedMapping{Inside: uint32(i), Outside: 0xcb000000 + uint32(i), PrefixLen: 32}
		})
	})),
	ruletest.Refused("translate-error-513", mapped(func(t *programpb.TranslateError) {
		t.Mappings = ruletest.Many(maxMappings+1, func(i int) *programpb.FixedMapping { return &programpb.FixedMapping{Inside: uint32(i), PrefixLen: 32} })
	}), "translate_error has 513 mappings, want 1..512"),
	ruletest.Refused("translate-error-0", mapped(func(t *programpb.TranslateError) { t.Mappings = nil }), "translate_error has 0 mappings, want 1..512"),
	ruletest.Refused("mapping-length-7", mapped(func(t *programpb.TranslateError) { t.Mappings[0].PrefixLen = 7 }), "prefix_len is 7, want 8..32"),
	ruletest.Refused("mapping-length-33", mapped(func(t *programpb.TranslateError) { t.Mappings[0].PrefixLen = 33 }), "prefix_len is 33, want 8..32"),
	ruletest.Refused("mapping-host-bits", mapped(func(t *programpb.TranslateError) { t.Mappings[0].Outside++ }), "host bits"),
	ruletest.Refused("mapping-ports-of-no-protocol", mapped(func(t *programpb.TranslateError) { t.Mappings[1].Proto = 0 }), "has ports, but proto is 0"),
	ruletest.Refused("mapping-ports-of-icmp", mapped(func(t *programpb.TranslateError) { t.Mappings[1].Proto = 1 }), "proto is 1, want 0, 6 or 17"),
	ruletest.Refused("mapping-ports-of-a-prefix", mapped(func(t *programpb.TranslateError) {
		t.Mappings[1].PrefixLen, t.Mappings[1].Inside, t.Mappings[1].Outside = 24, 0x0a000100, 0xcb007200
	}), "prefix_len is 24, but it has ports: want 32"),
	ruletest.Refused("mapping-ports-0", mapped(func(t *programpb.TranslateError) { t.Mappings[1].Ports = 0 }), "want", "within 1..65535"),
	ruletest.Accepted("mapping-last-port-65535", mapped(func(t *programpb.TranslateError) { t.Mappings[1].OutsidePort = 65526 })),
	ruletest.Refused("mapping-last-port-65536", mapped(func(t *programpb.TranslateError) { t.Mappings[1].OutsidePort = 65527 }), "65527", "within 1..65535"),
	ruletest.Refused("mapping-inside-port-0", mapped(func(t *programpb.TranslateError) { t.Mappings[1].InsidePort = 0 }), "within 1..65535"),
	ruletest.Accepted("reserved", reservedOf(&programpb.ReservedPorts{Proto: 17, Address: 1, First: 1, Last: 65535})),
	ruletest.Refused("reserved-of-icmp", reservedOf(&programpb.ReservedPorts{Proto: 1, First: 1, Last: 2}), "reserved[0]: proto is 1, want 6 or 17"),
	ruletest.Refused("reserved-reversed", reservedOf(&programpb.ReservedPorts{Proto: 6, First: 2, Last: 1}), "reserved[0]: ports are 2-1, want an ascending range up to 65535"),
	ruletest.Refused("reserved-65536", reservedOf(&programpb.ReservedPorts{Proto: 6, First: 2, Last: 65536}), "reserved[0]: ports are 2-65536, want an ascending range up to 65535"),
}
