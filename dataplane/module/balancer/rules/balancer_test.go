package rules_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/balancer/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }

func TestTheCheckOfBackendsIsChecked(t *testing.T) {
	for want, change := range map[string]func(h *programpb.HealthCheck){
		"": func(*programpb.HealthCheck) {},
		"tables[1] (lb/balancer): backends[0] has no port, nor has the check of it":          func(h *programpb.HealthCheck) { h.Port = 0 },
		"tables[1] (lb/balancer): check.port is 65536, want at most 65535":                   func(h *programpb.HealthCheck) { h.Port = 65536 },
		"tables[1] (lb/balancer): check.unhealthy is 0 and check.healthy 2, want at least 1": func(h *programpb.HealthCheck) { h.Unhealthy = 0 },
		"tables[1] (lb/balancer): check.interval_ms is 0, want 1..604800000":                 func(h *programpb.HealthCheck) { h.IntervalMs = 0 },
		"tables[1] (lb/balancer): check.timeout_ms is 604800001, want 1..604800000":          func(h *programpb.HealthCheck) { h.TimeoutMs = 604_800_001 },
	} {
		p := examples.Programs[0].Program()
		h := &programpb.HealthCheck{Port: 80, IntervalMs: 2000, TimeoutMs: 1000, Unhealthy: 3, Healthy: 2}
		change(h)
		p.Tables[1].Balancer.Check = h
		err := program.Validate(p)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
