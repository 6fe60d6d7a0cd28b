package rules_test

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/connlimit/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }

func TestConnectionsInWords(t *testing.T) {
	p := examples.Programs[0].Program()
	want := "at most 1000 connections, tcp 2h4m0s/4m0s/10s, udp 5m0s, icmp 1m0s, per /24 at most 100"
	if got := program.TableText(p, p.Tables[1]); got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	ops := ruletest.FirstLeg(p).Ops
	if got, want := program.OpText(p, ops[len(ops)-1]), "bound connections of guard"; got != want {
		t.Errorf("the operation is %q, want %q", got, want)
	}
}

func TestOnlyAPacketFromInsideMayBeOneTooMany(t *testing.T) {
	for _, example := range examples.Programs[:2] {
		p := example.Program()
		ops := ruletest.FirstLeg(p).Ops
		inside := !ops[len(ops)-1].GetConnect().GetFromOutside()
		for _, e := range program.Ends(p, 0, ruletest.FirstLeg(p)) {
			if e.Drop != "" {
				continue
			}
			for _, reason := range []string{"guard/limit", "guard/full"} {
				if slices.Contains(e.Unless, reason) != inside {
					t.Errorf("%s: the end %+v says of %s that it is a reason: want %t", example.Name, e, reason, inside)
				}
			}
		}
	}
}
