package program

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// added gives the first leg an operation that adds to a field.
func added(f programpb.Field, v uint32) func(*programpb.Program) {
	return func(p *programpb.Program) {
		op(p, 2).Op = &programpb.Op_Add{Add: &programpb.SetField{Field: f, Value: v}}
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
		op(p, 2).Op = &programpb.Op_TranslateError{TranslateError: t}
	}
}

func reservedOf(r *programpb.ReservedPorts) func(*programpb.Program) {
	return func(p *programpb.Program) { p.Tables[0].Reserved = append(p.Tables[0].Reserved, r) }
}

// translationExamples are of fixed translations.
var translationExamples = []example{
	{"add-to-src", added(programpb.Field_SRC, 0xffffffff), nil},
	{"add-to-dport-65535", added(programpb.Field_DPORT, 65535), nil},
	{"add-to-sport-65536", added(programpb.Field_SPORT, 65536), []string{"65536", "65535"}},
	{"add-to-ttl", added(programpb.Field_TTL, 1), []string{"nothing can be added to field", "want SRC, DST, SPORT or DPORT"}},
	{"translate-error", mapped(func(*programpb.TranslateError) {}), nil},
	{"translate-error-512", mapped(func(t *programpb.TranslateError) {
		t.Mappings = many(MaxMappings, func(i int) *programpb.FixedMapping {
			return &programpb.FixedMapping{Inside: uint32(i), Outside: 0xcb000000 + uint32(i), PrefixLen: 32}
		})
	}), nil},
	{"translate-error-513", mapped(func(t *programpb.TranslateError) {
		t.Mappings = many(MaxMappings+1, func(i int) *programpb.FixedMapping { return &programpb.FixedMapping{Inside: uint32(i), PrefixLen: 32} })
	}), []string{"translate_error has 513 mappings, want 1..512"}},
	{"translate-error-0", mapped(func(t *programpb.TranslateError) { t.Mappings = nil }), []string{"translate_error has 0 mappings, want 1..512"}},
	{"mapping-length-7", mapped(func(t *programpb.TranslateError) { t.Mappings[0].PrefixLen = 7 }), []string{"prefix_len is 7, want 8..32"}},
	{"mapping-length-33", mapped(func(t *programpb.TranslateError) { t.Mappings[0].PrefixLen = 33 }), []string{"prefix_len is 33, want 8..32"}},
	{"mapping-host-bits", mapped(func(t *programpb.TranslateError) { t.Mappings[0].Outside++ }), []string{"host bits"}},
	{"mapping-ports-of-no-protocol", mapped(func(t *programpb.TranslateError) { t.Mappings[1].Proto = 0 }), []string{"has ports, but proto is 0"}},
	{"mapping-ports-of-icmp", mapped(func(t *programpb.TranslateError) { t.Mappings[1].Proto = 1 }), []string{"proto is 1, want 0, 6 or 17"}},
	{"mapping-ports-of-a-prefix", mapped(func(t *programpb.TranslateError) {
		t.Mappings[1].PrefixLen, t.Mappings[1].Inside, t.Mappings[1].Outside = 24, 0x0a000100, 0xcb007200
	}), []string{"prefix_len is 24, but it has ports: want 32"}},
	{"mapping-ports-0", mapped(func(t *programpb.TranslateError) { t.Mappings[1].Ports = 0 }), []string{"want", "within 1..65535"}},
	{"mapping-last-port-65535", mapped(func(t *programpb.TranslateError) { t.Mappings[1].OutsidePort = 65526 }), nil},
	{"mapping-last-port-65536", mapped(func(t *programpb.TranslateError) { t.Mappings[1].OutsidePort = 65527 }), []string{"65527", "within 1..65535"}},
	{"mapping-inside-port-0", mapped(func(t *programpb.TranslateError) { t.Mappings[1].InsidePort = 0 }), []string{"within 1..65535"}},
	{"reserved", reservedOf(&programpb.ReservedPorts{Proto: 17, Address: 1, First: 1, Last: 65535}), nil},
	{"reserved-of-icmp", reservedOf(&programpb.ReservedPorts{Proto: 1, First: 1, Last: 2}), []string{"reserved[0]: proto is 1, want 6 or 17"}},
	{"reserved-reversed", reservedOf(&programpb.ReservedPorts{Proto: 6, First: 2, Last: 1}), []string{"reserved[0]: ports are 2-1, want an ascending range up to 65535"}},
	{"reserved-65536", reservedOf(&programpb.ReservedPorts{Proto: 6, First: 2, Last: 65536}), []string{"reserved[0]: ports are 2-65536, want an ascending range up to 65535"}},
}
