package rules_test

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/limiter/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }

func TestAMeterInWords(t *testing.T) {
	for want, change := range map[string]func(t *programpb.StateTable){
		"10000000 bit/s, burst 500000, excess burst 100000, per src/24, at most 100, comes yellow 12, red 14, yellow: dscp 12, red: drop denied": func(*programpb.StateTable) {},
		"5 packet/s, burst 7, peak 9 packet/s, burst 8, yellow: pass, red: pass": func(t *programpb.StateTable) {
			t.Meter = &programpb.Meter{Unit: programpb.Meter_PACKETS, Rate: 5, Burst: 7, PeakRate: 9, ExcessBurst: 8}
		},
	} {
		p := examples.Programs[0].Program()
		change(p.Tables[1])
		if got := program.TableText(p, p.Tables[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		ops := ruletest.FirstLeg(p).Ops
		if got, want := program.OpText(p, ops[len(ops)-1]), "measure lim/all"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPacketMayBeDroppedByAMeter(t *testing.T) {
	p := examples.Programs[0].Program()
	for _, e := range program.Ends(p, 0, ruletest.FirstLeg(p)) {
		if e.Drop == "" && !slices.Contains(e.Unless, "denied") {
			t.Errorf("the end %+v does not say that the meter may drop", e)
		}
	}
}
