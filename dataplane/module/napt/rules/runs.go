package rules

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of a program; the engine has the same (sn_program.h).
const (
	maxRuns           = 1024
	maxSubscriberSets = 256
)

func init() {
	rule.RegisterCheck(func(p *programpb.Program) error {
		return rule.First(
			rule.Count("runs", len(p.GetRuns()), maxRuns),
			rule.Distinct("runs", p.GetRuns()),
			rule.Count("subscribers", len(p.GetSubscribers()), maxSubscriberSets),
			rule.Distinct("subscribers", p.GetSubscribers()),
			rule.Each(p.GetSubscribers(), func(i int, s *programpb.SubscriberLimits) error { return subscribers(p, i, s) }),
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
		rule.AtMost(at, "subscribers", r.GetSubscribers(), uint32(len(p.GetSubscribers()))),
	)
}

func subscribers(p *programpb.Program, i int, s *programpb.SubscriberLimits) error {
	at := fmt.Sprintf("subscribers[%d] (%s)", i, s.GetName())
	if n := s.GetPrefixLen(); n < 1 || n > 32 {
		return fmt.Errorf("%s: prefix_len is %d, want 1..32", at, n)
	}
	switch {
	case s.GetMaxSessions() < 1:
		return fmt.Errorf("%s: max_sessions is 0, want at least 1", at)
	case s.GetMaxPorts() < 1:
		return fmt.Errorf("%s: max_ports is 0, want at least 1", at)
	}
	return rule.Index(at, "reason", s.GetReason(), len(p.GetReasons()))
}
