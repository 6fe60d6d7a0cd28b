package servicechain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Pins of keys that nobody has.
const (
	onePin     = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	anotherPin = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="
)

func one() []string { return []string{onePin} }

func TestReadersOfMetricsAreToldToInstancesWithoutAnotherPodOrProgram(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.node("b")
	w.apply(edge(443))
	w.run()
	before, pod := w.instance("edge-0"), w.pod("edge-0").UID
	for _, pins := range [][]string{{onePin}, {anotherPin}, nil} {
		w.chains.MetricsReaders = func() []string { return pins }
		w.run()
		i := w.instance("edge-0")
		if r := w.chain("edge").Status.Rollout; r != nil {
			t.Errorf("with readers %q there is a rollout to %s", pins, r.Instance)
		}
		if !slices.Equal(i.Spec.MetricsReaders, pins) {
			t.Errorf("readers are %q, want %q", i.Spec.MetricsReaders, pins)
		}
		if i.Spec.Program != before.Spec.Program || w.pod("edge-0").UID != pod {
			t.Errorf("with readers %q the instance has program %s and pod %s, before %s and %s", pins, i.Spec.Program, w.pod("edge-0").UID, before.Spec.Program, pod)
		}
	}

	// A chain whose spec is refused goes on, and is read.
	w.chains.MetricsReaders = one
	w.apply(strings.Replace(edge(443), "path: [inside, fw", "path: [inside, fv", 1))
	w.run()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, "keeps running")
	if i := w.instance("edge-0"); !slices.Equal(i.Spec.MetricsReaders, one()) || i.Spec.Program != before.Spec.Program {
		t.Errorf("readers of a chain that is refused are %q, and its program %s; want %q and %s", i.Spec.MetricsReaders, i.Spec.Program, one(), before.Spec.Program)
	}
}

func TestInstancesThatShareStateKnowTheReadersOfMetrics(t *testing.T) {
	a := sharing(t, edge(443, two))
	a.chains.MetricsReaders = one
	begun := a.begun
	a.pass(time.Second, 1)
	a.apply(edge(443, strings.ReplaceAll(two, "2", "3")))
	a.pass(time.Second, 2)
	all := a.instances()
	for _, i := range all {
		if !slices.Equal(i.Spec.MetricsReaders, one()) {
			t.Errorf("readers of %s are %q, want %q", i.Name, i.Spec.MetricsReaders, one())
		}
	}
	if len(all) != 3 || a.begun != begun {
		t.Errorf("%d instances, and %d shards began without sessions; want 3, and none", len(all), a.begun-begun)
	}
}
