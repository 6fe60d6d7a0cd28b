package telemetry

import (
	"bytes"
	"context"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/sinter-nfv/sinter/dataplane/agent/balance"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/health"
	"github.com/sinter-nfv/sinter/dataplane/ipfix"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// scrape reads the metrics of an agent that has seen this; err: its engine does not answer.
func scrape(t *testing.T, s *Seen, err error) string {
	t.Helper()
	var none, given loop.Counts
	given.Done.Store(32)
	given.Failed.Store(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(&Collector{
		Read:   func(context.Context) error { return err },
		See:    func() *Seen { return s },
		Writes: &none, Moves: &none, Given: &given,
		Flows:   func() ipfix.Counts { return ipfix.Counts{Records: 900, Lost: 2, LostPackets: 30, LostOctets: 4000} },
		Blocked: balance.New(nil, true, nil, logr.Discard()).Blocked,
		Backends: func() []health.Condition {
			return []health.Condition{{Target: health.Target{Table: "lb/balancer", Backend: netip.MustParseAddrPort("10.0.0.11:8080")}, Up: true}}
		},
	})
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
	got := scrape(t, testSeen(t), nil)
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
		t.Errorf("metrics differ from %s (go test -update rewrites it):\n%s", path, got)
	}
}

func TestEveryMetricIsInTheReferenceAndTheOtherWayRound(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "agent.md"))
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
		s.Now.Stats.Classes = append(s.Now.Stats.Classes, &controlpb.ClassStats{Class: i, Packets: 3})
	}
	got := scrape(t, s, nil)
	if n := strings.Count(got, "\nsinter_class_packets_total{"); n != maxClasses+1 {
		t.Errorf("%d series, want %d", n, maxClasses+1)
	}
	if !regexp.MustCompile(`sinter_class_packets_total\{class="rest".*\} 30\n`).MatchString(got) {
		t.Error("the last ten classes are not summed to 30 packets")
	}
}

func TestWithoutAnEngineTheMetricsSaySo(t *testing.T) {
	s := testSeen(t)
	s.Before, s.Now = nil, nil
	s.State.Hash, s.State.Program = "", nil
	got := scrape(t, s, engine.ErrNone)
	if !strings.Contains(got, "sinter_engine_up 0\n") || strings.Contains(got, "sinter_core_packets_total") || strings.Contains(got, "walk_steps") {
		t.Errorf("got\n%s", got)
	}
}
