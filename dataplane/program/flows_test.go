package program

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// observed is the sample with an observation, to which the packets of the first leg come, changed.
func observed(change func(o *programpb.Observation)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		o := &programpb.Observation{
			Name: "mon", Entries: 1024, IntervalMs: 60_000,
			Tops:   []*programpb.ObserveBy{{}, {What: programpb.ObserveBy_SOURCE, PrefixLen: 32}, {What: programpb.ObserveBy_DESTINATION, PrefixLen: 24}},
			Export: &programpb.FlowExport{Collector: 0xc0000209, Port: 4739, Sampling: 1, ActiveMs: 60_000, IdleMs: 15_000},
		}
		change(o)
		p.Observations = append(p.Observations, o)
		firstLeg(p).Ops = append(firstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Observe{}})
	}
}

func exported(change func(x *programpb.FlowExport)) func(*programpb.Program) {
	return observed(func(o *programpb.Observation) { change(o.Export) })
}

// flowExamples are of observations.
var flowExamples = []example{
	{"observe", observed(func(*programpb.Observation) {}), nil},
	{"observe-nothing", observed(func(o *programpb.Observation) { o.Tops, o.Export = nil, nil }), nil},
	{"observe-least", observed(func(o *programpb.Observation) { o.Entries, o.IntervalMs, o.Tops[1].PrefixLen = 16, 1000, 1 }), nil},
	{"observe-most", observed(func(o *programpb.Observation) {
		o.Entries, o.IntervalMs = 16384, 3_600_000
		o.Tops = many(8, func(int) *programpb.ObserveBy { return &programpb.ObserveBy{} })
		o.Export.Port, o.Export.Sampling, o.Export.ActiveMs, o.Export.IdleMs = 65535, 65535, 3_600_000, 3_600_000
	}), nil},
	{"observe-op", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Observe{}}}
	}, []string{"observe is 0, but there are only 0"}},
	{"observations-2", func(p *programpb.Program) {
		observed(func(*programpb.Observation) {})(p)
		observed(func(o *programpb.Observation) { o.Name = "other" })(p)
	}, []string{"observations: there are 2, want at most 1"}},
	{"observe-tops-9", observed(func(o *programpb.Observation) {
		o.Tops = many(9, func(int) *programpb.ObserveBy { return &programpb.ObserveBy{} })
	}), []string{"observations[0] (mon): has 9 tops, want at most 8"}},
	{"observe-entries-15", observed(func(o *programpb.Observation) { o.Entries = 15 }), []string{"observations[0] (mon): entries is 15, want 16..16384"}},
	{"observe-entries-16385", observed(func(o *programpb.Observation) { o.Entries = 16385 }), []string{"entries is 16385, want 16..16384"}},
	{"observe-interval-999", observed(func(o *programpb.Observation) { o.IntervalMs = 999 }), []string{"interval_ms is 999, want 1000..3600000"}},
	{"observe-interval-3600001", observed(func(o *programpb.Observation) { o.IntervalMs = 3_600_001 }), []string{"interval_ms is 3600001, want 1000..3600000"}},
	{"observe-by-3", observed(func(o *programpb.Observation) { o.Tops[1].What = 3 }), []string{"observations[0] (mon): tops[1]: what is 3, want FLOW, SOURCE or DESTINATION"}},
	{"observe-by-negative", observed(func(o *programpb.Observation) { o.Tops[1].What = -1 }), []string{"tops[1]: what is -1, want FLOW, SOURCE or DESTINATION"}},
	{"observe-flow-prefix", observed(func(o *programpb.Observation) { o.Tops[0].PrefixLen = 32 }), []string{"tops[0]: prefix_len is 32, want 1..32, of flows 0"}},
	{"observe-prefix-0", observed(func(o *programpb.Observation) { o.Tops[1].PrefixLen = 0 }), []string{"tops[1]: prefix_len is 0, want 1..32, of flows 0"}},
	{"observe-prefix-33", observed(func(o *programpb.Observation) { o.Tops[2].PrefixLen = 33 }), []string{"tops[2]: prefix_len is 33, want 1..32, of flows 0"}},
	{"export-port-0", exported(func(x *programpb.FlowExport) { x.Port = 0 }), []string{"observations[0] (mon): export: port is 0, want 1..65535"}},
	{"export-port-65536", exported(func(x *programpb.FlowExport) { x.Port = 65536 }), []string{"export: port is 65536, want 1..65535"}},
	{"export-sampling-0", exported(func(x *programpb.FlowExport) { x.Sampling = 0 }), []string{"export: sampling is 0, want 1..65535"}},
	{"export-sampling-65536", exported(func(x *programpb.FlowExport) { x.Sampling = 65536 }), []string{"export: sampling is 65536, want 1..65535"}},
	{"export-active-0", exported(func(x *programpb.FlowExport) { x.ActiveMs = 0 }), []string{"export: active_ms is 0, want 1000..3600000"}},
	{"export-idle-3600001", exported(func(x *programpb.FlowExport) { x.IdleMs = 3_600_001 }), []string{"export: idle_ms is 3600001, want 1000..3600000"}},
}
