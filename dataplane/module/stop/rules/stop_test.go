package rules_test

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/stop/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }

func TestWordsSayWhatBecomesOfPacketsWhileAFunctionIsDown(t *testing.T) {
	const leaves = "leave by ips/inside, go on behind ips/outside"
	for name, want := range map[string]struct {
		text    string
		dropped bool
	}{
		"stop":        {leaves, false},
		"stop-drop":   {leaves + ", drop as denied when it is down", true},
		"stop-bypass": {leaves + ", go on at once when it is down", false},
	} {
		i := slices.IndexFunc(examples.Programs, func(e ruletest.Example) bool { return e.Name == name })
		p := examples.Programs[i].Program()
		leg := ruletest.FirstLeg(p)
		if got := program.OutcomeText(p, leg); got != want.text {
			t.Errorf("%s: got %q, want %q", name, got, want.text)
		}
		for _, e := range program.Ends(p, 0, leg) {
			if slices.Contains(e.Unless, "denied") != want.dropped || !slices.Contains(e.Unless, "too-big") {
				t.Errorf("%s: packets may be dropped as %q", name, e.Unless)
			}
		}
	}
}
