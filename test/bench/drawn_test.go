package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDrawnRowsHaveHeadersThatAllFirewallsAccept(t *testing.T) {
	list, err := drawRows("../data", "../data/classbench", t.TempDir(), 5)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range list {
		names[d.name()] = true
		if len(d.fns) < 2 || len(d.fns) != len(d.row) {
			t.Errorf("%s: %d functions", d.name(), len(d.fns))
		}
		frames := d.burstOf(rand.New(rand.NewPCG(1, 0)), d.common[0], 0)
		if len(frames) != burst {
			t.Fatalf("%s: a burst has %d headers", d.name(), len(frames))
		}
	}
	if len(names) < 4 {
		t.Errorf("only %d rows differ", len(names))
	}
	if _, err := drawRows("../data", t.TempDir(), t.TempDir(), 1); err == nil || !strings.Contains(err.Error(), "has no sets of rules") {
		t.Errorf("of an empty folder it is said: %v", err)
	}
}

func TestAReportOfDrawnRowsTellsWhatTheyMiss(t *testing.T) {
	good := &drawnResult{
		row: "acl1_251 router acl1_713", synth: time.Second / 2, grown: 20 << 20, again: &result{Cycles: 60, Gain: 2}, once: &result{Cycles: 90, Gain: 1.5}, ofOne: 1.05, ofOneNew: 1.2,
		dearest: 300, dearestApart: 400,
	}
	bad := &drawnResult{
		row: "fw1_713 fw1_713", synth: 2 * time.Second, grown: 600 << 20, cuts: 1, again: &result{Cycles: 60, Gain: 0.99}, once: &result{Cycles: 900, Gain: 0.8, Busy: 1}, dearest: 1600, dearestApart: 1700,
	}
	text := drawnReport([]*result{
		{Name: "acl1_251", Cycles: 100, Ratio: 2, Peers: []peerResult{{Name: "l3fwd acl", Cycles: 125, Ratio: 2.5}}}, {Name: "fw1_713", Cycles: 90, Ratio: 1.8},
	}, []*drawnResult{good, bad}, 3)
	for _, want := range []string{
		"2 rows of 2 to 10 firewalls with rules of ClassBench sets (acl1_251, acl1_713, fw1_713)",
		"1 of 2 rows meet all of it. New headers: 1 miss. Dearest: 1 miss. Time of synthesis: 1 miss. Its memory: 1 miss.",
		"| acl1_251 router acl1_713 | 0 | 0.50 s | 20 | 60 | 2.0 × | 1.05 | 90 | 1.5 × | 1.20 | 300 | 400 | met |",
		"| fw1_713 fw1_713 | 1 | 2.00 s | 600 | 60 | 1.0 × | – | 900 | 0.8 × | – | 1600 | 1700 | new headers cost 1.25 × one by one; dearest 1600; synthesis 2.00 s; memory 600 MB, machine busy |",
		"| acl1_251 | 100.0 | 2.00 | 125.0 | 0.80 |", "| fw1_713 | 90.0 | 1.80 | not measured | – |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if err := drawnVerdict([]*drawnResult{good}); err != nil {
		t.Error(err)
	}
	if err := drawnVerdict([]*drawnResult{good, bad}); err == nil || !strings.Contains(err.Error(), "fw1_713 fw1_713 gains 0.99 and 0.80") {
		t.Errorf("of a row that is dearer than its functions it is said: %v", err)
	}
}

// A hindrance of one burst in a run is not part of its cost, so its next run counts. Runs have the bursts in different orders.
func TestABurstCostsWhatItsQuickestRunTook(t *testing.T) {
	costs := make(burstCosts, 4)
	for i, run := range []struct {
		order []int
		took  []float64
		same  bool
	}{
		{[]int{0, 1, 2}, []float64{100, 2000, 120}, true}, // nothing was known before
		{[]int{2, 1, 3}, []float64{110, 300, 90}, false},
		{[]int{3, 2, 1}, []float64{500, 130, 290}, true},
	} {
		if same := costs.note(run.order, run.took); same != run.same {
			t.Errorf("run %d: the dearest burst costs about the same: %v, want %v", i, same, run.same)
		}
	}
	if want := (burstCosts{100, 290, 110, 90}); !slices.Equal(costs, want) {
		t.Errorf("the bursts cost %v, want %v", costs, want)
	}
}
