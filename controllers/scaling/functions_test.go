package scaling

import (
	"strings"
	"testing"
	"time"
)

// given has a function be given so much of what that of a pod can do.
func (w *world) given(load float64) { w.functions = []Function{{"ips", load, 0.7}} }

// A function is often much slower than the engine, which has next to nothing to do for all that the function can take.
func TestPodsComeAndGoWithWhatAFunctionIsGiven(t *testing.T) {
	for name, work := range map[string]float64{"the engine has next to nothing to do": 0.004, "the engine has nothing to do": 0, "the engine has half as much to do": 0.3} {
		t.Run(name, func(t *testing.T) {
			w := chain(t, manyPods(4), work)
			w.given(0.6)
			w.run(10 * time.Second)
			if len(w.pods) != 1 {
				t.Fatalf("%d pods for 60 %% of what one's function can do, want 1", len(w.pods))
			}
			w.given(1.9)
			w.run(10 * time.Second)
			if len(w.pods) != 3 {
				t.Fatalf("%d pods for 190 %% at 70 %% of each, want 3", len(w.pods))
			}
			for _, p := range w.pods {
				if part := float64(len(p.owner)) / 128 * 1.9; part > 0.75 || p.cores != 1 {
					t.Errorf("%s has %d shards, so its function is given %.0f %%, and works with %d cores: want 70 %% and 1", p.name, len(p.owner), 100*part, p.cores)
				}
			}
			w.given(0.4)
			w.run(DefaultPolicy.Pods.Window + 10*time.Second)
			if len(w.pods) != 1 {
				t.Errorf("%d pods for 40 %%, want 1", len(w.pods))
			}
		})
	}
}

func TestAFunctionThatIsNotTheBottleneckChangesNothing(t *testing.T) {
	for _, load := range []float64{0.3, 1.2, 2.6, 3.9} {
		with, without := chain(t, manyPods(3), load), chain(t, manyPods(3), load)
		for range 60 {
			with.given(0.5 * load)
			with.run(period)
			without.run(period)
			if len(with.pods) != len(without.pods) {
				t.Fatalf("%d pods with a function that could do more than the engine, and %d without", len(with.pods), len(without.pods))
			}
			for i, p := range with.pods {
				if p.cores != without.pods[i].cores || len(p.owner) != len(without.pods[i].owner) {
					t.Fatalf("%s has %d cores and %d shards, and without the function %d and %d", p.name, p.cores, len(p.owner), without.pods[i].cores, len(without.pods[i].owner))
				}
			}
		}
	}
}

func TestAChainThatScalesForAFunctionSaysSo(t *testing.T) {
	w := chain(t, manyPods(2), 0.01)
	w.given(0.5)
	w.run(10 * time.Second)
	w.given(0.91)
	told := func(until time.Duration) (d Decision) {
		for end := w.now.Add(until); w.now.Before(end) && len(d.Changes) == 0; {
			w.ticks(10)
			d = w.operator()
		}
		return d
	}
	d := told(5 * time.Second)
	if want := "the chain scales from 1 to 2 instances of 2 cores: packets for function ips are 91 % of one container's capacity, the target is 70 % of each"; len(d.Changes) != 1 || d.Changes[0].Reason != LoadRose || d.Changes[0].Message != want {
		t.Errorf("changes are %+v, want %q", d.Changes, want)
	}
	w.given(0.3)
	d = told(3 * time.Minute)
	if len(d.Changes) != 1 || d.Changes[0].Reason != LoadFell || !strings.Contains(d.Changes[0].Message, "for 2m0s fewer instances were enough; packets for function ips are 30 %") {
		t.Errorf("changes are %+v, want the function's", d.Changes)
	}
}

func TestAFunctionThatIsGivenTooMuchIsAFinding(t *testing.T) {
	for name, c := range map[string]struct {
		bounds Bounds
		given  float64
		says   string
	}{
		"of a fixed instance":  {onePod(2), 0.8, "packets for function ips of instance edge-0 are 80 % of its capacity, the target is 70 %: raise instances or maxInstances"},
		"with no more to come": {manyPods(2), 1.6, "packets for function ips are 160 % of one container's capacity, the target is 70 % of each, and there may be no more than 2: raise maxInstances"},
	} {
		t.Run(name, func(t *testing.T) {
			w := chain(t, c.bounds, 0.01)
			findings := func(given float64) []Note {
				w.given(given)
				w.run(10 * time.Second)
				return w.operator().Findings
			}
			if f := findings(c.given / 1.3); len(f) != 0 {
				t.Errorf("%v, want nothing at less than the target", f)
			}
			if f := findings(c.given); len(f) != 1 || f[0].Reason != AtMaximum || f[0].Message != c.says {
				t.Errorf("%v, want %q", f, c.says)
			}
			if f := findings(c.given / 1.18); len(f) != 1 {
				t.Errorf("%v just below the target, want that it does not follow noise", f)
			}
			if f := findings(c.given / 1.4); len(f) != 0 {
				t.Errorf("%v, want nothing well below the target", f)
			}
		})
	}
}
