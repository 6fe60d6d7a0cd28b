// Package examples has programs next to the bounds of the rules of monitors: the sample of package ruletest, changed.
package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

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
		ruletest.FirstLeg(p).Ops = append(ruletest.FirstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Observe{}})
	}
}

func exported(change func(x *programpb.FlowExport)) func(*programpb.Program) {
	return observed(func(o *programpb.Observation) { change(o.Export) })
}

// Programs are with an observation; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("observe", observed(func(*programpb.Observation) {})),
	ruletest.Accepted("observe-nothing", observed(func(o *programpb.Observation) { o.Tops, o.Export = nil, nil })),
	ruletest.Accepted("observe-least", observed(func(o *programpb.Observation) { o.Entries, o.IntervalMs, o.Tops[1].PrefixLen = 16, 1000, 1 })),
	ruletest.Accepted("observe-most", observed(func(o *programpb.Observation) {
		o.Entries, o.IntervalMs = 16384, 3_600_000
		o.Tops = ruletest.Many(8, func(int) *programpb.ObserveBy { return &programpb.ObserveBy{} })
		o.Export.Port, o.Export.Sampling, o.Export.ActiveMs, o.Export.IdleMs = 65535, 65535, 3_600_000, 3_600_000
	})),
	ruletest.Refused("observe-op", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Observe{}}}
	}, "observe is 0, but there are only 0"),
	ruletest.Refused("observations-2", func(p *programpb.Program) {
		observed(func(*programpb.Observation) {})(p)
		observed(func(o *programpb.Observation) { o.Name = "other" })(p)
	}, "observations: there are 2, want at most 1"),
	ruletest.Refused("observe-tops-9", observed(func(o *programpb.Observation) {
		o.Tops = ruletest.Many(9, func(int) *programpb.ObserveBy { return &programpb.ObserveBy{} })
	}), "observations[0] (mon): has 9 tops, want at most 8"),
	ruletest.Refused("observe-entries-15", observed(func(o *programpb.Observation) { o.Entries = 15 }), "observations[0] (mon): entries is 15, want 16..16384"),
	ruletest.Refused("observe-entries-16385", observed(func(o *programpb.Observation) { o.Entries = 16385 }), "entries is 16385, want 16..16384"),
	ruletest.Refused("observe-interval-999", observed(func(o *programpb.Observation) { o.IntervalMs = 999 }), "interval_ms is 999, want 1000..3600000"),
	ruletest.Refused("observe-interval-3600001", observed(func(o *programpb.Observation) { o.IntervalMs = 3_600_001 }), "interval_ms is 3600001, want 1000..3600000"),
	ruletest.Refused("observe-by-3", observed(func(o *programpb.Observation) { o.Tops[1].What = 3 }), "observations[0] (mon): tops[1]: what is 3, want FLOW, SOURCE or DESTINATION"),
	ruletest.Refused("observe-by-negative", observed(func(o *programpb.Observation) { o.Tops[1].What = -1 }), "tops[1]: what is -1, want FLOW, SOURCE or DESTINATION"),
	ruletest.Refused("observe-flow-prefix", observed(func(o *programpb.Observation) { o.Tops[0].PrefixLen = 32 }), "tops[0]: prefix_len is 32, want 1..32, of flows 0"),
	ruletest.Refused("observe-prefix-0", observed(func(o *programpb.Observation) { o.Tops[1].PrefixLen = 0 }), "tops[1]: prefix_len is 0, want 1..32, of flows 0"),
	ruletest.Refused("observe-prefix-33", observed(func(o *programpb.Observation) { o.Tops[2].PrefixLen = 33 }), "tops[2]: prefix_len is 33, want 1..32, of flows 0"),
	ruletest.Refused("export-port-0", exported(func(x *programpb.FlowExport) { x.Port = 0 }), "observations[0] (mon): export: port is 0, want 1..65535"),
	ruletest.Refused("export-port-65536", exported(func(x *programpb.FlowExport) { x.Port = 65536 }), "export: port is 65536, want 1..65535"),
	ruletest.Refused("export-sampling-0", exported(func(x *programpb.FlowExport) { x.Sampling = 0 }), "export: sampling is 0, want 1..65535"),
	ruletest.Refused("export-sampling-65536", exported(func(x *programpb.FlowExport) { x.Sampling = 65536 }), "export: sampling is 65536, want 1..65535"),
	ruletest.Refused("export-active-0", exported(func(x *programpb.FlowExport) { x.ActiveMs = 0 }), "export: active_ms is 0, want 1000..3600000"),
	ruletest.Refused("export-idle-3600001", exported(func(x *programpb.FlowExport) { x.IdleMs = 3_600_001 }), "export: idle_ms is 3600001, want 1000..3600000"),
}
