package chart

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestDashboardAsksForMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/dashboards/sinter.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatal("the dashboard is no JSON")
	}
	source, err := os.ReadFile(root + "/dataplane/agent/telemetry/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`metric\("([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		served["sinter_"+m[1]] = true
	}
	asked := regexp.MustCompile(`\bsinter_[a-z_]+`).FindAllString(string(text), -1)
	if len(asked) == 0 {
		t.Error("the dashboard asks for none of the agent's metrics")
	}
	for _, name := range asked {
		if !served[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("the dashboard asks for %s, which the agent does not serve", name)
		}
	}
}
