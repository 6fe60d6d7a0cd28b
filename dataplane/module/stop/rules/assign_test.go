package rules_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/stop/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesOfReplicasAreJudgedAsTheySay(t *testing.T) {
	ruletest.Judge(t, examples.Assigns)
}

func TestReplicasInWords(t *testing.T) {
	p := examples.Assigns[1].Program()
	for _, k := range []struct{ got, want string }{
		{program.TableText(p, p.Tables[1]), "at most 1000 flows, tcp 2h4m0s/4m0s/1s, udp 5m0s, icmp 1m0s"},
		{program.OutcomeText(p, ruletest.FirstLeg(p)), "go to the replica that has its flow: ips0 ips1 (draining)"},
		{program.OpText(p, p.Segments[2].Classes[0].Legs[0].Ops[0]), "its flow is one of ips0"},
	} {
		if k.got != k.want {
			t.Errorf("got %q, want %q", k.got, k.want)
		}
	}
}
