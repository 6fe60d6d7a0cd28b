package rules_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/inspect/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }

func TestAnInspectorIsToldInWords(t *testing.T) {
	p := examples.Programs[0].Program()
	want := "3 rules, sid 1: tunnel: drop " + p.GetReasons()[0] + ", sid 2: dscp 12, counts: count"
	if got := program.TableText(p, p.GetTables()[1]); got != want {
		t.Errorf("it is told as %q, want %q", got, want)
	}
}
