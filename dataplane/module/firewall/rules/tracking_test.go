package rules_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/firewall/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }

func TestATableOfFlowsInWords(t *testing.T) {
	p := examples.Programs[0].Program()
	want := "at most 100 flows, tcp 2h4m0s/4m0s, udp 5m0s, icmp 1m0s"
	if got := program.TableText(p, p.Tables[1]); got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	admit := p.Segments[len(p.Segments)-1].Classes[0].Legs[0].Ops[0]
	if got, want := program.OpText(p, admit), "begin a flow of fw/flows"; got != want {
		t.Errorf("the operation is %q, want %q", got, want)
	}
}
