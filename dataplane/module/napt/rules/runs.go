package rules

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxRuns is how many a program may have; the engine has the same limit (sn_program.h).
const maxRuns = 1024

func init() {
	rule.RegisterCheck(func(p *programpb.Program) error {
		return rule.First(
			rule.Count("runs", len(p.GetRuns()), maxRuns),
			rule.Distinct("runs", p.GetRuns()),
			rule.Each(p.GetRuns(), func(i int, r *programpb.Run) error { return run(p, i, r) }),
		)
	})
	rule.RegisterOperation[*programpb.Op_StateForward](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return rule.Index(at, "state_forward", o.GetStateForward(), len(p.GetRuns()))
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "translate " + p.GetRuns()[o.GetStateForward()].GetName()
		},
		Unless: func(p *programpb.Program, o *programpb.Op) []string {
			reasons := []string{"nat-exhausted", "nat-unsupported"}
			if i := p.GetRuns()[o.GetStateForward()].GetSubscribers(); i > 0 {
				reasons = append(reasons, p.GetReasons()[p.GetSubscribers()[i-1].GetReason()])
			}
			return reasons
		},
	})
}

func run(p *programpb.Program, i int, r *programpb.Run) error {
	at := fmt.Sprintf("runs[%d] (%s)", i, r.GetName())
	return rule.First(
		pools.Index(p, at, "table", r.GetTable()),
		rule.Index(at, "segment", r.GetSegment(), len(p.GetSegments())),
		rule.Count(at+": single", len(r.GetSingle()), maxRuns),
		rule.Each(r.GetSingle(), func(j int, single uint32) error {
			return rule.Index(at, fmt.Sprintf("single[%d]", j), single, len(p.GetRuns()))
		}),
		subscribers(p, at, r),
	)
}

// subscribers checks whose the sessions of a run are; 0: nobody counts.
func subscribers(p *programpb.Program, at string, r *programpb.Run) error {
	i := r.GetSubscribers()
	if i == 0 {
		return nil
	}
	if err := rule.AtMost(at, "subscribers", i, uint32(len(p.GetSubscribers()))); err != nil {
		return err
	}
	if s := p.GetSubscribers()[i-1]; s.GetMaxPorts() < 1 {
		return fmt.Errorf("%s: subscribers is %d (%s), whose max_ports is 0, want at least 1", at, i, s.GetName())
	}
	return nil
}
