package rules

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

func init() {
	rule.RegisterOutcome[*programpb.Leg_Tap](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			return rule.First(rule.Index(at, "tap.out", l.GetTap().GetOut(), len(p.GetInterfaces())), side(p, at, "tap.out", l.GetTap().GetOut()))
		},
		Unless: func(*programpb.Program, *programpb.Leg) []string { return []string{"too-big"} },
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			return "a copy leaves by " + p.GetInterfaces()[l.GetTap().GetOut()].GetName()
		},
	})
}
