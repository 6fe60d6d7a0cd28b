package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPassCountsIfTheBaselineIsNearItsBest(t *testing.T) {
	q := quiet{baselines: map[string]float64{}}
	for i, c := range []struct {
		traffic          string
		cycles           float64
		counts, restarts bool
	}{
		{"a", 80, true, false}, // the first one: nothing better is known
		{"a", 87, true, false},
		{"a", 89, false, false},
		{"b", 120, true, false}, // of other packets
		{"a", 75, true, false},  // better, and those before it still near
		{"a", 83, false, false},
		{"a", 53, true, true},
		{"a", 80, false, false},
		{"b", 131, true, false},
	} {
		if counts, restarts := q.judge("5tswap", c.traffic, c.cycles); counts != c.counts || restarts != c.restarts {
			t.Errorf("pass %d: counts %v, restarts %v; want %v, %v", i, counts, restarts, c.counts, c.restarts)
		}
	}
	if counts, _ := q.judge("io", "a", 90); !counts {
		t.Error("another mode has a best of its own")
	}
}

func TestTheQuickestProbesTellWhatAQuickProbeIs(t *testing.T) {
	var q quiet
	if q.limit() != 1 {
		t.Errorf("limit %d before any probe; want 1, which none keeps", q.limit())
	}
	for i, c := range []struct {
		probes   quantiles
		restarts bool
		limit    int
	}{
		{quantiles{}, false, 1}, // none were made
		{quantiles{Values: 600, P1: 1500}, false, 1575},
		{quantiles{Values: 600, P1: 1800}, false, 1575},
		{quantiles{Values: 600, P1: 1450}, false, 1522}, // better, and those before it still near
		{quantiles{Values: 600, P1: 1000}, true, 1050},
		{quantiles{Values: 600, P1: 1450}, false, 1050},
	} {
		if restarts := q.learn(&deviceReport{Probes: c.probes}); restarts != c.restarts || q.limit() != c.limit {
			t.Errorf("run %d: restarts %v, limit %d; want %v, %d", i, restarts, q.limit(), c.restarts, c.limit)
		}
	}
}

func TestQuietMomentsCountIfThereAreEnough(t *testing.T) {
	for _, c := range []struct {
		name, report string
		cycles       float64
		busy         bool
	}{
		{"no probes", `{"cycles_per_packet":{"values":20000,"p50":80}}`, 80, false},
		{"enough", `{"cycles_per_packet":{"values":20000,"p50":80},"quiet_cycles_per_packet":{"values":500,"p50":50},"probe_cycles":{"values":625,"p1":1000}}`, 50, false},
		{"too few", `{"cycles_per_packet":{"values":20000,"p50":80},"quiet_cycles_per_packet":{"values":499,"p50":50},"probe_cycles":{"values":625,"p1":1000}}`, 80, true},
	} {
		path := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(path, []byte(c.report), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := readReport(path)
		if err != nil {
			t.Fatal(err)
		}
		if d.Cycles.P50 != c.cycles || d.busy != c.busy {
			t.Errorf("%s: %v cycles, busy %v; want %v, %v", c.name, d.Cycles.P50, d.busy, c.cycles, c.busy)
		}
	}
}
