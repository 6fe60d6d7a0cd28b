package agent

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

var update = flag.Bool("update", false, "write the golden files anew")

func hexBytes(text string) ([]byte, error) { return hex.DecodeString(text) }

// seenAgent is an agent that has seen this, and whose engine is asked no more.
func seenAgent(t *testing.T, s *Seen) *Agent {
	t.Helper()
	dir := t.TempDir()
	clock := clocktesting.NewFakeClock(s.Now.At)
	a := New(Config{Clock: clock, Log: logr.Discard(), Binding: filepath.Join(dir, "binding.json")})
	if err := WriteBinding(a.config.Binding, s.Binding); err != nil {
		t.Fatal(err)
	}
	a.sampler.samples = []*Sample{s.Before, s.Now}
	a.keeper.state = s.State
	a.dispatch.state = s.Dispatch
	a.sharing = &Sharing{}
	a.sharing.moved.done.Store(32)
	a.sharing.moved.failed.Store(1)
	return a
}

func scrape(t *testing.T, a *Agent) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(a.Metrics())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestMetricsAreAsInTheGoldenFile(t *testing.T) {
	got := scrape(t, seenAgent(t, testSeen(t)))
	path := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("metrics differ from %s (go test -update writes it anew):\n%s", path, got)
	}
}

func TestEveryMetricIsInTheReferenceAndTheOtherWayRound(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := unique(regexp.MustCompile("`(sinter_[a-z_]+)`").FindAllStringSubmatch(string(doc), -1))
	golden, err := os.ReadFile(filepath.Join("testdata", "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	served := unique(regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(string(golden), -1))
	if !slices.Equal(documented, served) {
		t.Errorf("docs/agent.md has\n%s\nserved are\n%s", strings.Join(documented, "\n"), strings.Join(served, "\n"))
	}
}

func unique(matches [][]string) []string {
	var names []string
	for _, m := range matches {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestClassesBeyondTheBoundAreOneSeries(t *testing.T) {
	s := testSeen(t)
	segment := s.State.Program.GetSegments()[0]
	s.Now.Stats.Classes = nil
	for i := range uint32(maxClasses + 10) {
		if i > 0 {
			segment.Classes = append(segment.Classes, segment.GetClasses()[0])
		}
		s.Now.Stats.Classes = append(s.Now.Stats.Classes, &programpb.ClassStats{Class: i, Packets: 3})
	}
	got := scrape(t, seenAgent(t, s))
	if n := strings.Count(got, "\nsinter_class_packets_total{"); n != maxClasses+1 {
		t.Errorf("%d series, want %d", n, maxClasses+1)
	}
	if !regexp.MustCompile(`sinter_class_packets_total\{class="rest".*\} 30\n`).MatchString(got) {
		t.Error("the last ten classes are not summed to 30 packets")
	}
}

func TestWithoutAnEngineTheMetricsSaySo(t *testing.T) {
	s := testSeen(t)
	a := seenAgent(t, s)
	a.sampler.samples = nil
	if got := scrape(t, a); !strings.Contains(got, "sinter_engine_up 0\n") || strings.Contains(got, "sinter_core_packets_total") {
		t.Errorf("got\n%s", got)
	}
}
