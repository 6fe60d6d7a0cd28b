package program

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
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
		firstLeg(p).Ops = append(firstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Inspect{Inspect: &programpb.Inspect{Table: 1}}})
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

// inspectExamples are of inspectors.
var inspectExamples = []example{
	{"inspect", inspected(func(*programpb.Inspector) {}), nil},
	{"inspect-op", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Inspect{Inspect: &programpb.Inspect{Table: 1}}}}
	}, []string{"inspect.table is 1, but there are only 1"}},
	{"inspect-op-of-napt", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Inspect{}}}
	}, []string{"inspect.table is 0 (nat), which is of kind napt, want an inspector's"}},
	{"inspect-run", func(p *programpb.Program) {
		inspected(func(*programpb.Inspector) {})(p)
		p.Runs[0].Table = 1
	}, []string{"runs[0] (nat): table is 1 (ids/inspect), which is of kind inspector, want a NAPT's"}},
	{"inspect-rules-0", inspected(func(i *programpb.Inspector) { i.Rules = nil }), []string{"tables[1] (ids/inspect): has 0 rules, want 1..4096"}},
	{"inspect-parts-0", inspected(func(i *programpb.Inspector) { i.Rules[2].Parts = nil }), []string{"rules[2]: has 0 parts, want 1..16"}},
	{"inspect-parts-17", inspected(func(i *programpb.Inspector) {
		for len(i.Rules[0].Parts) < 17 {
			i.Rules[0].Parts = append(i.Rules[0].Parts, i.Rules[0].Parts[0])
		}
	}), []string{"rules[0]: has 17 parts, want 1..16"}},
	{"inspect-drop", inspected(func(i *programpb.Inspector) { i.Rules[0].Action = &programpb.InspectRule_Drop{Drop: 99} }), []string{"drop is 99, but there are only"}},
	{"inspect-dscp-64", inspected(func(i *programpb.Inspector) { i.Rules[1].Action = &programpb.InspectRule_Dscp{Dscp: 64} }), []string{"dscp is 64, want at most 63"}},
	{"inspect-buffer", partOf(func(p *programpb.InspectPart) { p.Buffer = 4 }), []string{"rules[1].parts[0]: buffer is 4, want PAYLOAD, DNS_QUERY, TLS_SNI or HTTP_HOST"}},
	{"inspect-expression-0", partOf(func(p *programpb.InspectPart) { p.Expression = "" }), []string{"rules[1].parts[0]: expression has 0 bytes, want 1..8192"}},
	{"inspect-expression-8193", partOf(func(p *programpb.InspectPart) { p.Expression = strings.Repeat("a", 8193) }), []string{"expression has 8193 bytes, want 1..8192"}},
	{"inspect-expression-blank", partOf(func(p *programpb.InspectPart) { p.Expression = `\x41 ` }), []string{"expression has byte 0x20, want printable ASCII"}},
	{"inspect-ends-turned", partOf(func(p *programpb.InspectPart) { p.MinEnd = 10 }), []string{"ends are from 10 to 9, want them in order, and at most 65536"}},
	{"inspect-streams", streaming(func(*programpb.StateTable, *programpb.InspectStreams) {}), nil},
	{"inspect-streams-largest", streaming(func(t *programpb.StateTable, s *programpb.InspectStreams) {
		t.MaxSessions, s.Depth, s.Max, s.TimeoutMs = 1<<24, 1<<14, 1<<16, 1<<32-1
	}), nil},
	{"inspect-depth-0", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Depth = 0 }), []string{"streams.depth is 0, want 1..16384"}},
	{"inspect-depth-16385", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Depth = 16385 }), []string{"streams.depth is 16385, want 1..16384"}},
	{"inspect-kept-0", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Max = 0 }), []string{"streams.max is 0, want 1..65536"}},
	{"inspect-kept-65537", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Max = 65537 }), []string{"streams.max is 65537, want 1..65536"}},
	{"inspect-timeout-0", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.TimeoutMs = 0 }), []string{"streams.timeout_ms is 0, want at least 1"}},
	{"inspect-known-0", streaming(func(t *programpb.StateTable, _ *programpb.InspectStreams) { t.MaxSessions = 0 }), []string{"max_sessions is 0, want 1..16777216 streams"}},
	{"inspect-full", streaming(func(_ *programpb.StateTable, s *programpb.InspectStreams) { s.Full = 99 }), []string{"streams.full is 99, but there are only"}},
	{"inspect-end-65536", partOf(func(p *programpb.InspectPart) { p.MaxEnd = 65536 }), nil},
	{"inspect-end-65537", partOf(func(p *programpb.InspectPart) { p.MaxEnd = 65537 }), []string{"ends are from 2 to 65537, want them in order, and at most 65536"}},
}

func TestAnInspectorIsToldInWords(t *testing.T) {
	p := sample()
	inspected(func(*programpb.Inspector) {})(p)
	table := p.GetTables()[1]
	want := "3 rules, sid 1: tunnel: drop " + p.GetReasons()[0] + ", sid 2: dscp 12, counts: count"
	if got := inspectorText(p, table); got != want {
		t.Errorf("it is told as %q, want %q", got, want)
	}
}
