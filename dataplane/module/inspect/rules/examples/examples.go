// Package examples has programs next to the bounds of the rules of inspectors: the sample of package ruletest, changed.
package examples

import (
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// inspected is the sample with an inspector, which looks into the packets of the first leg, changed.
func inspected(change func(i *programpb.Inspector)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		text := func(e string) *programpb.InspectPart { return &programpb.InspectPart{Expression: e} }
		i := &programpb.Inspector{Rules: []*programpb.InspectRule{
			{Name: "sid 1: tunnel", Parts: []*programpb.InspectPart{text(`\x00[\x41\x61]\z`)}, Action: &programpb.InspectRule_Drop{}},
			{Name: "sid 2", Parts: []*programpb.InspectPart{
				{Buffer: programpb.InspectPart_DNS_QUERY, Expression: `\x2e`, MinEnd: 2, MaxEnd: 9}, text(`\A(?:\x61|\x62){2,3}`),
			}, Action: &programpb.InspectRule_Dscp{Dscp: 12}},
			{Name: "counts", Parts: []*programpb.InspectPart{text(`[\x00-\xff]`)}},
		}}
		change(i)
		p.Tables = append(p.Tables, &programpb.StateTable{Name: "ids/inspect", Inspector: i})
		ruletest.FirstLeg(p).Ops = append(ruletest.FirstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Inspect{Inspect: &programpb.Inspect{Table: 1}}})
	}
}

// streaming is the same with streams, changed.
func streaming(change func(t *programpb.StateTable, s *programpb.InspectStreams)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		inspected(func(i *programpb.Inspector) {
			i.Streams = &programpb.InspectStreams{Depth: 4096, Max: 100, TimeoutMs: 120_000}
		})(p)
		p.Tables[1].MaxSessions = 1000
		change(p.Tables[1], p.Tables[1].Inspector.Streams)
	}
}

func partOf(change func(p *programpb.InspectPart)) func(*programpb.Program) {
	return inspected(func(i *programpb.Inspector) { change(i.Rules[1].Parts[0]) })
}

// Programs are with an inspector, their second table; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("inspect", inspected(func(*programpb.Inspector) {})),
	ruletest.Refused("inspect-op", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Inspect{Inspect: &programpb.Inspect{Table: 1}}}}
	}, "inspect.table is 1, but there are only 1"),
	ruletest.Refused("inspect-op-of-napt", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Inspect{}}}
	}, "inspect.table is 0 (nat), which is of kind napt, want an inspector's"),
	ruletest.Refused("inspect-run", func(p *programpb.Program) {
		inspected(func(*programpb.Inspector) {})(p)
		p.Runs[0].Table = 1
	}, "runs[0] (nat): table is 1 (ids/inspect), which is of kind inspector, want a NAPT's"),
	ruletest.Refused("inspect-rules-0", inspected(func(i *programpb.Inspector) { i.Rules = nil }), "tables[1] (ids/inspect): has 0 rules, want 1..4096"),
	ruletest.Refused("inspect-parts-0", inspected(func(i *programpb.Inspector) { i.Rules[2].Parts = nil }), "rules[2]: has 0 parts, want 1..16"),
	ruletest.Refused("inspect-parts-17", inspected(func(i *programpb.Inspector) {
		for len(i.Rules[0].Parts) < 17 {
			i.Rules[0].Parts = append(i.Rules[0].Parts, i.Rules[0].Parts[0])
		}
	}), "rules[0]: has 17 parts, want 1..16"),
	ruletest.Refused("inspect-drop", inspected(func(i *programpb.Inspector) { i.Rules[0].Action = &programpb.InspectRule_Drop{Drop: 99} }), "drop is 99, but there are only"),
	ruletest.Refused("inspect-dscp-64", inspected(func(i *programpb.Inspector) { i.Rules[1].Action = &programpb.InspectRule_Dscp{Dscp: 64} }), "dscp is 64, want at most 63"),
	ruletest.Refused("inspect-buffer", partOf(func(p *programpb.InspectPart) { p.Buffer = 4 }), "rules[1].parts[0]: buffer is 4, want PAYLOAD, DNS_QUERY, TLS_SNI or HTTP_HOST"),
	ruletest.Refused("inspect-expression-0", partOf(func(p *programpb.InspectPart) { p.Expression = "" }), "rules[1].parts[0]: expression has 0 bytes, want 1..8192"),
	ruletest.Refused("inspect-expression-8193", partOf(func(p *programpb.InspectPart) { p.Expression = strings.Repeat("a", 8193) }), "expression has 8193 bytes, want 1..8192"),
	ruletest.Refused("inspect-expression-blank", partOf(func(p *programpb.InspectPart) { p.Expression = `\x41 ` }), "expression has byte 0x20, want printable ASCII"),
	ruletest.Refused("inspect-ends-turned", partOf(func(p *programpb.InspectPart) { p.MinEnd = 10 }), "ends are from 10 to 9, want them in order, and at most 65536"),
	ruletest.Accepted("inspect-streams", streaming(func(*programpb.StateTable, *programpb.InspectStreams) {})),
	ruletest.Accepted("inspect-streams-largest", streaming(func(t *programpb.StateTable, s *programpb.InspectStreams) {
		t.MaxSessions, s.Depth, s.Max, s.TimeoutMs = 1<<24, 1<<14, 1<<16, 1<<32-1
	})),
	ruletest.Refused("inspect-depth-0", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Depth = 0 }), "streams.depth is 0, want 1..16384"),
	ruletest.Refused("inspect-depth-16385", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Depth = 16385 }), "streams.depth is 16385, want 1..16384"),
	ruletest.Refused("inspect-kept-0", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Max = 0 }), "streams.max is 0, want 1..65536"),
	ruletest.Refused("inspect-kept-65537", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Max = 65537 }), "streams.max is 65537, want 1..65536"),
	ruletest.Refused("inspect-timeout-0", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.TimeoutMs = 0 }), "streams.timeout_ms is 0, want at least 1"),
	ruletest.Refused("inspect-known-0", streaming(func(t *programpb.StateTable, _ *programpb.InspectStreams) { t.MaxSessions = 0 }), "max_sessions is 0, want 1..16777216 streams"),
	ruletest.Refused("inspect-full", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Full = 99 }), "streams.full is 99, but there are only"),
	ruletest.Accepted("inspect-end-65536", partOf(func(p *programpb.InspectPart) { p.MaxEnd = 65536 })),
	ruletest.Refused("inspect-end-65537", partOf(func(p *programpb.InspectPart) { p.MaxEnd = 65537 }), "ends are from 2 to 65537, want them in order, and at most 65536"),
}
