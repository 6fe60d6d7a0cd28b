package rules

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxPackets are how many of a flow a function may want to see; the engine has the same limit (../engine/sn_passing.c).
const maxPackets = 1<<16 - 1

// passing are the tables of flows that may go past a function.
var passing = &rule.StateKind{
	Name:   "passing",
	Wanted: "one of passing",
	Claims: func(t *programpb.StateTable) bool { return t.GetPassing() != nil },
	Check:  table,
	Text:   tableText,
	Holds:  "flows, both ways",
	Memory: rule.Flows,
}

func init() {
	rule.RegisterState(passing)
	rule.RegisterOperation[*programpb.Op_Passed](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return passing.Index(p, at, "passed.table", o.GetPassed().GetTable())
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "count for its flow of " + p.GetTables()[o.GetPassed().GetTable()].GetName()
		},
	})
	rule.RegisterOutcome[*programpb.Leg_Bypass](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			b, n := l.GetBypass(), len(p.GetSegments())
			return rule.First(
				passing.Index(p, at, "bypass.table", b.GetTable()),
				rule.Index(at, "bypass.through", b.GetThrough(), n),
				rule.Index(at, "bypass.past", b.GetPast(), n),
			)
		},
		LeadsTo: func(l *programpb.Leg) []uint32 { return []uint32{l.GetBypass().GetThrough(), l.GetBypass().GetPast()} },
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			return "go past or through as its flow says " + p.GetTables()[l.GetBypass().GetTable()].GetName()
		},
	})
}

func table(_ *programpb.Program, at string, t *programpb.StateTable) error {
	return rule.First(
		flows(at, t.GetPassing(), t.GetMaxSessions()),
		rule.Between(at, "packets", t.GetPassing().GetPackets(), 1, maxPackets),
	)
}

func tableText(_ *programpb.Program, t *programpb.StateTable) string {
	return fmt.Sprintf("past after %d packets, %s", t.GetPassing().GetPackets(), flowsText(t.GetPassing(), t.GetMaxSessions()))
}
