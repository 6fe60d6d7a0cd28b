// Package rules has the rules of monitors in packet programs: observations of flows, and the operation that shows them a packet.
package rules

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of observations; the engine has the same (program/sn_program_observation.c).
const (
	maxObservations = 1
	maxTops         = 8
	minEntries      = 16
	maxEntries      = 16384
	minObserveMs    = 1000
	maxObserveMs    = 3_600_000
	maxSampling     = 65535
)

func init() {
	rule.RegisterCheck(func(p *programpb.Program) error {
		return rule.First(
			rule.Count("observations", len(p.GetObservations()), maxObservations),
			rule.Each(p.GetObservations(), observation),
		)
	})
	rule.RegisterOperation[*programpb.Op_Observe](rule.Operation{
		Kind: rule.Note,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return rule.Index(at, "observe", o.GetObserve(), len(p.GetObservations()))
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "observe flow " + p.GetObservations()[o.GetObserve()].GetName()
		},
	})
}

func observation(i int, o *programpb.Observation) error {
	at := fmt.Sprintf("observations[%d] (%s)", i, o.GetName())
	return rule.First(
		rule.Has(at, "tops", len(o.GetTops()), maxTops),
		rule.Between(at, "entries", o.GetEntries(), minEntries, maxEntries),
		rule.Between(at, "interval_ms", o.GetIntervalMs(), minObserveMs, maxObserveMs),
		rule.Each(o.GetTops(), func(j int, by *programpb.ObserveBy) error {
			return observeBy(fmt.Sprintf("%s: tops[%d]", at, j), by)
		}),
		flowExport(at+": export", o.GetExport()),
	)
}

func observeBy(at string, by *programpb.ObserveBy) error {
	flow := by.GetWhat() == programpb.ObserveBy_FLOW
	if _, ok := programpb.ObserveBy_What_name[int32(by.GetWhat())]; !ok {
		return fmt.Errorf("%s: what is %d, want FLOW, SOURCE or DESTINATION", at, by.GetWhat())
	}
	if n := by.GetPrefixLen(); flow && n != 0 || !flow && (n < 1 || n > 32) {
		return fmt.Errorf("%s: prefix_len is %d, want 1..32, of flows 0", at, n)
	}
	return nil
}

func flowExport(at string, x *programpb.FlowExport) error {
	if x == nil {
		return nil
	}
	return rule.First(
		rule.Between(at, "port", x.GetPort(), 1, 65535),
		rule.Between(at, "sampling", x.GetSampling(), 1, maxSampling),
		rule.Between(at, "active_ms", x.GetActiveMs(), minObserveMs, maxObserveMs),
		rule.Between(at, "idle_ms", x.GetIdleMs(), minObserveMs, maxObserveMs),
	)
}
