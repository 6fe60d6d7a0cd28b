package rollout

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

// The programs of steps.
const (
	before = "old"
	next   = "new"
)

// watched is a rollout that has come to an instance.
func watched(instance string, since, applied int) *v1alpha1.RolloutStatus {
	r := &v1alpha1.RolloutStatus{Program: next, Instance: instance, Since: metav1.NewTime(fleettest.At(since))}
	if applied > 0 {
		r.AppliedTime = metav1.NewTime(fleettest.At(applied))
	}
	return r
}

// lost is a rollout to an instance that lost packets before, per mille.
func lost(before int32, r *v1alpha1.RolloutStatus) *v1alpha1.RolloutStatus {
	r.LossPerMille = before
	return r
}

func TestARolloutGoesFromInstanceToInstance(t *testing.T) {
	for name, test := range steps {
		t.Run(name, func(t *testing.T) {
			program := &v1alpha1.ChainProgram{ObjectMeta: metav1.ObjectMeta{Name: next}, Spec: v1alpha1.ChainProgramSpec{Hash: next + "-hash"}}
			g := Goal{
				Program: program, Proven: test.proven,
				Want: func(i *v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec {
					return v1alpha1.ChainInstanceSpec{Program: next}
				},
				Policy: v1alpha1.Rollout{PauseOnDropsPercent: 5, ObserveSeconds: 10, DeadlineSeconds: 60},
			}
			got := Advance(g, test.instances, test.last, fleettest.At(test.now))
			var written []string
			for _, k := range got.Write {
				written = append(written, test.instances[k].Name)
			}
			if s := strings.Join(written, " "); s != test.write {
				t.Errorf("brought to the program are %q, wanted %q", s, test.write)
			}
			instance, refused := "", ""
			if got.Rollout != nil {
				instance = got.Rollout.Instance
			}
			if got.Refused != nil {
				refused = got.Refused.Reason + ": " + got.Refused.Message
			}
			if instance != test.instance {
				t.Errorf("watched is %q, wanted %q", instance, test.instance)
			}
			if (test.refused == "") != (refused == "") || !strings.HasPrefix(refused, test.refused) {
				t.Errorf("the program is refused by %q, wanted %q", refused, test.refused)
			}
			if got.Rollout != nil && got.Refused == nil && got.Wait <= 0 {
				t.Errorf("a rollout goes on, and nothing looks at it again")
			}
		})
	}
}

// steps are what a rollout does next, by what the instances report.
var steps = map[string]struct {
	instances []v1alpha1.ChainInstance
	last      *v1alpha1.RolloutStatus
	proven    bool
	now       int
	write     string // instances that are brought to the program
	instance  string // that is watched then
	refused   string
}{
	"the first instance begins": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before), fleettest.Running("b", before)}, write: "a", instance: "a",
	},
	"nothing is to be done where all have it": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next), fleettest.Running("b", next)},
	},
	"the next one waits for the report of the first": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Told(next)), fleettest.Running("b", before)}, last: watched("a", 0, 0), now: 5, instance: "a",
	},
	"the next one waits while the first is watched": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next), fleettest.Running("b", before)}, last: watched("a", 0, 5), now: 10, instance: "a",
	},
	"after that it follows": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next), fleettest.Running("b", before)}, last: watched("a", 0, 5), now: 15, write: "b", instance: "b",
	},
	"after the last one it is done": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next), fleettest.Running("b", next)}, last: watched("b", 20, 25), now: 35,
	},
	"an engine that refuses the program ends it": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Told(next), fleettest.Says(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonLoadFailed)), fleettest.Running("b", before)},
		last:      watched("a", 0, 0), now: 3, instance: "a", refused: "LoadFailed: instance a could not load it",
	},
	"that it refused the program before means nothing": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Says(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonLoadFailed), fleettest.Told(next)), fleettest.Running("b", before)},
		last:      watched("a", 0, 0), now: 3, instance: "a",
	},
	"an engine that dies of the program ends it": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Says(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonEngineDown)), fleettest.Running("b", before)},
		last:      watched("a", 0, 2), now: 3, instance: "a", refused: "EngineDown: instance a lost its engine",
	},
	"an instance that never reports ends it": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Told(next)), fleettest.Running("b", before)},
		last:      watched("a", 0, 0), now: 60, instance: "a", refused: "DeadlinePassed: instance a did not report it within 1m0s",
	},
	"an instance whose pod has no node is waited for": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Told(next), fleettest.Says(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonUnschedulable)), fleettest.Running("b", before)},
		last:      watched("a", 0, 0), now: 600, instance: "a",
	},
	"once its pod has a node its time begins": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Told(next), fleettest.Since(v1alpha1.ConditionPlaced, 590)), fleettest.Running("b", before)},
		last:      watched("a", 0, 0), now: 600, instance: "a",
	},
	"and then it ends": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before, fleettest.Told(next), fleettest.Since(v1alpha1.ConditionPlaced, 590)), fleettest.Running("b", before)},
		last:      watched("a", 0, 0), now: 650, instance: "a", refused: "DeadlinePassed: instance a did not report it within 1m0s",
	},
	"an instance that ran it and is not ready for a moment is waited for": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPodNotReady), fleettest.Since(v1alpha1.ConditionReady, 65)), fleettest.Running("b", before)},
		last:      watched("a", 0, 58), now: 66, instance: "a",
	},
	"one that ran it and does not become ready again ends it": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPodNotReady), fleettest.Since(v1alpha1.ConditionReady, 65)), fleettest.Running("b", before)},
		last:      watched("a", 0, 58), now: 125, instance: "a", refused: "DeadlinePassed: instance a ran it, and then was not ready for 1m0s",
	},
	"an instance that loses packets ends it": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Loses(61)), fleettest.Running("b", before)},
		last:      watched("a", 0, 2), now: 5, instance: "a", refused: "DropsJumped: instance a lost 6.1 % of its packets with the new program, 0.0 % before",
	},
	"some loss is borne": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Loses(50)), fleettest.Running("b", before)}, last: watched("a", 0, 2), now: 5, instance: "a",
	},
	"what was lost before it is not its fault": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Loses(340)), fleettest.Running("b", before)}, last: lost(300, watched("a", 0, 2)), now: 5, instance: "a",
	},
	"what is lost in addition is": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", next, fleettest.Loses(361)), fleettest.Running("b", before)},
		last:      lost(300, watched("a", 0, 2)), now: 5, instance: "a", refused: "DropsJumped: instance a lost 36.1 % of its packets with the new program, 30.0 % before",
	},
	"a program that was in force is taken back by all at once": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", before), fleettest.Running("b", before), fleettest.Running("c", next)}, proven: true, write: "a b",
	},
	"another goal on the way starts again": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("a", "other"), fleettest.Running("b", before)},
		last:      &v1alpha1.RolloutStatus{Program: "other", Instance: "a"}, write: "a", instance: "a",
	},
	"an instance that is gone is not waited for": {
		instances: []v1alpha1.ChainInstance{fleettest.Running("b", before)}, last: watched("a", 0, 0), write: "b", instance: "b",
	},
}

func TestARolloutThatIsWatchedOutlivesAnotherNumberOfCores(t *testing.T) {
	split := func(i *v1alpha1.ChainInstance) { i.Generation++ } // Ready is of the generation before
	g := Goal{
		Program: &v1alpha1.ChainProgram{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: v1alpha1.ChainProgramSpec{Hash: "new-hash"}},
		Want: func(*v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec {
			return v1alpha1.ChainInstanceSpec{Program: "new"}
		},
		Policy: v1alpha1.Rollout{PauseOnDropsPercent: 5, ObserveSeconds: 120, DeadlineSeconds: 60},
	}
	last := &v1alpha1.RolloutStatus{Program: "new", Instance: "a", Since: metav1.NewTime(fleettest.At(0)), AppliedTime: metav1.NewTime(fleettest.At(5))}
	if got := Advance(g, []v1alpha1.ChainInstance{fleettest.Running("a", "new", split)}, last, fleettest.At(90)); got.Refused != nil || got.Rollout == nil {
		t.Errorf("the rollout goes on with %+v, refused: %+v; want it to be watched on", got.Rollout, got.Refused)
	}
	last.AppliedTime = metav1.Time{}
	if got := Advance(g, []v1alpha1.ChainInstance{fleettest.Running("a", "new", split)}, last, fleettest.At(90)); got.Refused == nil {
		t.Error("what was never seen to run is to be refused after the deadline")
	}
}
