package servicechain

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

func TestScaledSaysWhatKeepsLoadFromBeingBorne(t *testing.T) {
	with := func(name string, working int, status condition, reason, message string) v1alpha1.ChainInstance {
		i := running(name, "p", func(i *v1alpha1.ChainInstance) {
			i.Spec.Cores = 4
			i.Spec.Groups = []v1alpha1.InstanceGroup{{Name: "all", Cores: first(working)}}
		})
		if reason != "" {
			i.Status.Conditions = append(i.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionBalanced, Status: status, Reason: reason, Message: message})
		}
		return i
	}
	good := with("a", 2, isTrue, v1alpha1.ReasonBalancing, "shards are kept on cores by their load")
	heavy := with("b", 1, isFalse, v1alpha1.ReasonShardTooHeavy, "shard 7 wants 90 % of a core or more")
	most := scaling.Note{Pod: "a", Reason: scaling.AtMaximum, Message: "instance a has 4 of 4 cores at work"}
	for name, test := range map[string]struct {
		spec      v1alpha1.Scaling
		instances []v1alpha1.ChainInstance
		findings  []scaling.Note
		want      verdict
	}{
		"the load is borne": {
			instances: []v1alpha1.ChainInstance{good, with("b", 4, isTrue, v1alpha1.ReasonBalancing, "")},
			want:      verdict{isTrue, v1alpha1.ReasonWithinBounds, "a works with 2 of 4 cores; b works with 4 of 4 cores"},
		},
		"there is nothing to scale": {
			spec:      v1alpha1.Scaling{MinCores: 4},
			instances: []v1alpha1.ChainInstance{with("a", 4, isTrue, v1alpha1.ReasonNoState, "the chain keeps no state")},
			want:      verdict{isTrue, v1alpha1.ReasonFixed, "a works with 4 of 4 cores"},
		},
		"all cores work and it is not enough": {
			instances: []v1alpha1.ChainInstance{good}, findings: []scaling.Note{most},
			want: verdict{isFalse, v1alpha1.ReasonAtMaximum, most.Message},
		},
		"what cannot be divided comes first": {
			instances: []v1alpha1.ChainInstance{good, heavy}, findings: []scaling.Note{most},
			want: verdict{isFalse, v1alpha1.ReasonShardTooHeavy, "b: shard 7 wants 90 % of a core or more; " + most.Message},
		},
		"without state cores are of no use": {
			instances: []v1alpha1.ChainInstance{with("a", 1, isTrue, v1alpha1.ReasonNoState, "the chain keeps no state")},
			want:      verdict{isFalse, v1alpha1.ReasonNoState, "a: the chain keeps no state"},
		},
		"shards cannot be moved": {
			instances: []v1alpha1.ChainInstance{good, with("b", 1, isFalse, v1alpha1.ReasonMovesFail, "the engine's words")},
			want:      verdict{isFalse, v1alpha1.ReasonMovesFail, "b: the engine's words"},
		},
		"nobody has reported": {
			instances: []v1alpha1.ChainInstance{with("a", 1, isUnknown, v1alpha1.ReasonEngineDown, "no engine"), with("b", 1, "", "", "")},
			want:      verdict{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported what its shards want"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.spec == (v1alpha1.Scaling{}) {
				test.spec = v1alpha1.Scaling{MinCores: 1, MaxCores: 4}
			}
			if got := scaled(&test.spec, test.instances, test.findings); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestARolloutThatIsWatchedOutlivesAnotherNumberOfCores(t *testing.T) {
	split := func(i *v1alpha1.ChainInstance) { i.Generation++ } // Ready is of the generation before
	g := goal{
		program: &v1alpha1.ChainProgram{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: v1alpha1.ChainProgramSpec{Hash: "new-hash"}},
		want: func(*v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec {
			return v1alpha1.ChainInstanceSpec{Program: "new"}
		},
		policy: v1alpha1.Rollout{PauseOnDropsPercent: 5, ObserveSeconds: 120, DeadlineSeconds: 60},
	}
	last := &v1alpha1.RolloutStatus{Program: "new", Instance: "a", Since: metav1.NewTime(at(0)), AppliedTime: metav1.NewTime(at(5))}
	if got := advance(g, []v1alpha1.ChainInstance{running("a", "new", split)}, last, at(90)); got.refused != nil || got.rollout == nil {
		t.Errorf("the rollout goes on with %+v, refused: %+v; want it to be watched on", got.rollout, got.refused)
	}
	last.AppliedTime = metav1.Time{}
	if got := advance(g, []v1alpha1.ChainInstance{running("a", "new", split)}, last, at(90)); got.refused == nil {
		t.Error("what was never seen to run is to be refused after the deadline")
	}
}
