package program_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// ledger is a kind of state that no function keeps: tables of that name are of it.
const ledger = "ledger"

func init() {
	rule.RegisterState(&rule.StateKind{
		Name:   ledger,
		Claims: func(t *programpb.StateTable) bool { return t.GetName() == ledger },
		Check: func(_ *programpb.Program, at string, t *programpb.StateTable) error {
			if t.GetMaxSessions() == 0 {
				return errors.New(at + ": has no pages")
			}
			return nil
		},
		Text:   func(*programpb.Program, *programpb.StateTable) string { return "pages" },
		Holds:  "entries",
		Memory: rule.Flows,
	})
}

func TestAKindOfStateChecksItsTables(t *testing.T) {
	for name, k := range map[string]struct {
		spoil func(*programpb.Program)
		want  string // of the error; empty: accepted
	}{
		"it wants no pool": {func(p *programpb.Program) {
			p.Tables = append(p.Tables, &programpb.StateTable{Name: ledger, MaxSessions: 1})
		}, ""},
		"it refuses what it cannot keep": {func(p *programpb.Program) {
			p.Tables = append(p.Tables, &programpb.StateTable{Name: ledger})
		}, "tables[1] (ledger): has no pages"},
		"no translation leads to it": {func(p *programpb.Program) {
			p.Tables[0] = &programpb.StateTable{Name: ledger, MaxSessions: 1}
		}, "runs[0] (nat): table is 0 (ledger), which is of kind ledger, want a NAPT's"},
		"nothing returns through it": {func(p *programpb.Program) {
			p.Tables = append(p.Tables, &programpb.StateTable{Name: ledger, MaxSessions: 1})
			ruletest.FirstLeg(p).Outcome = &programpb.Leg_StateReturn{StateReturn: 1}
		}, "classes[0].legs[0]: state_return is 1 (ledger), which is of kind ledger, want a NAPT's"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ruletest.Sample()
			k.spoil(p)
			err := program.Validate(p)
			if (err != nil) != (k.want != "") || err != nil && !strings.Contains(err.Error(), k.want) {
				t.Errorf("got %v, want %q", err, k.want)
			}
		})
	}
}
