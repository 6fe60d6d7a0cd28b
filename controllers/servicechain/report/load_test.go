package report

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestARateIsSaidAnewOnlyWhenItHasReallyChanged(t *testing.T) {
	for name, test := range map[string]struct{ said, now, want int64 }{
		"a first packet":     {0, 1, 1},
		"the last packet":    {1000, 0, 0},
		"a little more":      {1000, 1100, 1000},
		"much more":          {1000, 1200, 1200},
		"a little less":      {1000, 905, 1000},
		"nothing, as before": {0, 0, 0},
	} {
		if got := steady(test.said, test.now); got != test.want {
			t.Errorf("%s: %d after %d is said as %d, wanted %d", name, test.now, test.said, got, test.want)
		}
	}
}

func TestScaledSaysWhatKeepsLoadFromBeingBorne(t *testing.T) {
	with := func(name string, working int, status metav1.ConditionStatus, reason, message string) v1alpha1.ChainInstance {
		i := fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) {
			i.Spec.Cores = 4
			i.Spec.Groups = []v1alpha1.InstanceGroup{{Name: "all", Cores: desired.Cores(working)}}
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
		want      ConditionStatus
	}{
		"the load is borne": {
			instances: []v1alpha1.ChainInstance{good, with("b", 4, isTrue, v1alpha1.ReasonBalancing, "")},
			want:      ConditionStatus{isTrue, v1alpha1.ReasonWithinBounds, "a works with 2 of 4 cores; b works with 4 of 4 cores"},
		},
		"there is nothing to scale": {
			spec:      v1alpha1.Scaling{MinCores: 4},
			instances: []v1alpha1.ChainInstance{with("a", 4, isTrue, v1alpha1.ReasonNoState, "the chain keeps no state")},
			want:      ConditionStatus{isTrue, v1alpha1.ReasonFixed, "a works with 4 of 4 cores"},
		},
		"all cores work and it is not enough": {
			instances: []v1alpha1.ChainInstance{good}, findings: []scaling.Note{most},
			want: ConditionStatus{isFalse, v1alpha1.ReasonAtMaximum, most.Message},
		},
		"what cannot be divided comes first": {
			instances: []v1alpha1.ChainInstance{good, heavy}, findings: []scaling.Note{most},
			want: ConditionStatus{isFalse, v1alpha1.ReasonShardTooHeavy, "b: shard 7 wants 90 % of a core or more; " + most.Message},
		},
		"without state cores are of no use": {
			instances: []v1alpha1.ChainInstance{with("a", 1, isTrue, v1alpha1.ReasonNoState, "the chain keeps no state")},
			want:      ConditionStatus{isFalse, v1alpha1.ReasonNoState, "a: the chain keeps no state"},
		},
		"shards cannot be moved": {
			instances: []v1alpha1.ChainInstance{good, with("b", 1, isFalse, v1alpha1.ReasonMovesFail, "the engine's words")},
			want:      ConditionStatus{isFalse, v1alpha1.ReasonMovesFail, "b: the engine's words"},
		},
		"nobody has reported": {
			instances: []v1alpha1.ChainInstance{with("a", 1, isUnknown, v1alpha1.ReasonEngineDown, "no engine"), with("b", 1, "", "", "")},
			want:      ConditionStatus{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported the load of its shards"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.spec == (v1alpha1.Scaling{}) {
				test.spec = v1alpha1.Scaling{MinCores: 1, MaxCores: 4}
			}
			if got := Scaled(&test.spec, test.instances, test.findings); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
