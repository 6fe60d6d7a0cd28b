package servicechain

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at is a time so many seconds after noon.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// running is an instance that runs a program, and is ready.
func running(name, program string, change ...func(*v1alpha1.ChainInstance)) v1alpha1.ChainInstance {
	i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: v1alpha1.ChainInstanceSpec{Program: program}}
	i.Status.AppliedHash = program + "-hash"
	i.Status.PacketRate = 1000
	i.Status.LastReportTime = metav1.NewTime(at(1000))
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionPlaced, v1alpha1.ConditionProgrammed} {
		i.Status.Conditions = append(i.Status.Conditions, metav1.Condition{Type: kind, Status: isTrue, ObservedGeneration: 1})
	}
	for _, c := range change {
		c(&i)
	}
	return i
}

// told to run another program, of which it has not reported yet.
func told(program string) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) {
		i.Spec.Program = program
		i.Generation++
	}
}

func says(kind string, status condition, reason string) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) {
		for k := range i.Status.Conditions {
			if c := &i.Status.Conditions[k]; c.Type == kind {
				c.Status, c.Reason, c.ObservedGeneration = status, reason, i.Generation
			}
		}
	}
}

// since tells when a condition was last another.
func since(kind string, seconds int) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) {
		meta.FindStatusCondition(i.Status.Conditions, kind).LastTransitionTime = metav1.NewTime(at(seconds))
	}
}

func loses(packets int64) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) { i.Status.LossRate = packets }
}

func TestARolloutGoesFromInstanceToInstance(t *testing.T) {
	const (
		before = "old"
		next   = "new"
	)
	watched := func(instance string, since, applied int) *v1alpha1.RolloutStatus {
		r := &v1alpha1.RolloutStatus{Program: next, Instance: instance, Since: metav1.NewTime(at(since))}
		if applied > 0 {
			r.AppliedTime = metav1.NewTime(at(applied))
		}
		return r
	}
	for name, test := range map[string]struct {
		instances []v1alpha1.ChainInstance
		last      *v1alpha1.RolloutStatus
		proven    bool
		now       int
		write     string // instances that are brought to the program
		instance  string // that is watched then
		refused   string
	}{
		"the first instance begins": {
			instances: []v1alpha1.ChainInstance{running("a", before), running("b", before)}, write: "a", instance: "a",
		},
		"nothing is to be done where all have it": {
			instances: []v1alpha1.ChainInstance{running("a", next), running("b", next)},
		},
		"the next one waits for the report of the first": {
			instances: []v1alpha1.ChainInstance{running("a", before, told(next)), running("b", before)}, last: watched("a", 0, 0), now: 5, instance: "a",
		},
		"the next one waits while the first is watched": {
			instances: []v1alpha1.ChainInstance{running("a", next), running("b", before)}, last: watched("a", 0, 5), now: 10, instance: "a",
		},
		"after that it follows": {
			instances: []v1alpha1.ChainInstance{running("a", next), running("b", before)}, last: watched("a", 0, 5), now: 15, write: "b", instance: "b",
		},
		"after the last one it is done": {
			instances: []v1alpha1.ChainInstance{running("a", next), running("b", next)}, last: watched("b", 20, 25), now: 35,
		},
		"an engine that refuses the program ends it": {
			instances: []v1alpha1.ChainInstance{running("a", before, told(next), says(v1alpha1.ConditionProgrammed, isFalse, v1alpha1.ReasonLoadFailed)), running("b", before)},
			last:      watched("a", 0, 0), now: 3, instance: "a", refused: "LoadFailed: instance a could not load it",
		},
		"that it refused the program before means nothing": {
			instances: []v1alpha1.ChainInstance{running("a", before, says(v1alpha1.ConditionProgrammed, isFalse, v1alpha1.ReasonLoadFailed), told(next)), running("b", before)},
			last:      watched("a", 0, 0), now: 3, instance: "a",
		},
		"an engine that dies of the program ends it": {
			instances: []v1alpha1.ChainInstance{running("a", next, says(v1alpha1.ConditionProgrammed, isFalse, v1alpha1.ReasonEngineDown)), running("b", before)},
			last:      watched("a", 0, 2), now: 3, instance: "a", refused: "EngineDown: instance a lost its engine",
		},
		"an instance that never reports ends it": {
			instances: []v1alpha1.ChainInstance{running("a", before, told(next)), running("b", before)},
			last:      watched("a", 0, 0), now: 60, instance: "a", refused: "DeadlinePassed: instance a did not report it within 1m0s",
		},
		"an instance whose pod has no node is waited for": {
			instances: []v1alpha1.ChainInstance{running("a", before, told(next), says(v1alpha1.ConditionPlaced, isFalse, v1alpha1.ReasonUnschedulable)), running("b", before)},
			last:      watched("a", 0, 0), now: 600, instance: "a",
		},
		"once its pod has a node its time begins": {
			instances: []v1alpha1.ChainInstance{running("a", before, told(next), since(v1alpha1.ConditionPlaced, 590)), running("b", before)},
			last:      watched("a", 0, 0), now: 600, instance: "a",
		},
		"and then it ends": {
			instances: []v1alpha1.ChainInstance{running("a", before, told(next), since(v1alpha1.ConditionPlaced, 590)), running("b", before)},
			last:      watched("a", 0, 0), now: 650, instance: "a", refused: "DeadlinePassed: instance a did not report it within 1m0s",
		},
		"an instance that ran it and is not ready for a moment is waited for": {
			instances: []v1alpha1.ChainInstance{running("a", next, says(v1alpha1.ConditionReady, isFalse, v1alpha1.ReasonPodNotReady), since(v1alpha1.ConditionReady, 65)), running("b", before)},
			last:      watched("a", 0, 58), now: 66, instance: "a",
		},
		"one that ran it and does not become ready again ends it": {
			instances: []v1alpha1.ChainInstance{running("a", next, says(v1alpha1.ConditionReady, isFalse, v1alpha1.ReasonPodNotReady), since(v1alpha1.ConditionReady, 65)), running("b", before)},
			last:      watched("a", 0, 58), now: 125, instance: "a", refused: "DeadlinePassed: instance a ran it, and then was not ready for 1m0s",
		},
		"an instance that loses packets ends it": {
			instances: []v1alpha1.ChainInstance{running("a", next, loses(61)), running("b", before)},
			last:      watched("a", 0, 2), now: 5, instance: "a", refused: "DropsJumped: instance a lost 6.1 % of its packets with it, 0.0 % before",
		},
		"some loss is borne": {
			instances: []v1alpha1.ChainInstance{running("a", next, loses(50)), running("b", before)}, last: watched("a", 0, 2), now: 5, instance: "a",
		},
		"a program that was in force is taken back by all at once": {
			instances: []v1alpha1.ChainInstance{running("a", before), running("b", before), running("c", next)}, proven: true, write: "a b",
		},
		"another goal on the way begins anew": {
			instances: []v1alpha1.ChainInstance{running("a", "other"), running("b", before)},
			last:      &v1alpha1.RolloutStatus{Program: "other", Instance: "a"}, write: "a", instance: "a",
		},
		"an instance that is gone is not waited for": {
			instances: []v1alpha1.ChainInstance{running("b", before)}, last: watched("a", 0, 0), write: "b", instance: "b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			program := &v1alpha1.ChainProgram{ObjectMeta: metav1.ObjectMeta{Name: next}, Spec: v1alpha1.ChainProgramSpec{Hash: next + "-hash"}}
			g := goal{
				program: program, proven: test.proven,
				want: func(i *v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec {
					return v1alpha1.ChainInstanceSpec{Program: next}
				},
				policy: v1alpha1.Rollout{PauseOnDropsPercent: 5, ObserveSeconds: 10, DeadlineSeconds: 60},
			}
			got := advance(g, test.instances, test.last, at(test.now))
			var written []string
			for _, k := range got.write {
				written = append(written, test.instances[k].Name)
			}
			if s := strings.Join(written, " "); s != test.write {
				t.Errorf("brought to the program are %q, wanted %q", s, test.write)
			}
			instance, refused := "", ""
			if got.rollout != nil {
				instance = got.rollout.Instance
			}
			if got.refused != nil {
				refused = got.refused.reason + ": " + got.refused.message
			}
			if instance != test.instance {
				t.Errorf("watched is %q, wanted %q", instance, test.instance)
			}
			if (test.refused == "") != (refused == "") || !strings.HasPrefix(refused, test.refused) {
				t.Errorf("the program is refused by %q, wanted %q", refused, test.refused)
			}
			if got.rollout != nil && got.refused == nil && got.wait <= 0 {
				t.Errorf("a rollout goes on, and nothing looks at it again")
			}
		})
	}
}

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

func TestGroupsAreToldWithTheCPUsThatTheirCoresAre(t *testing.T) {
	i := running("edge-0", "p", func(i *v1alpha1.ChainInstance) {
		i.Spec.Groups = []v1alpha1.InstanceGroup{{Name: "all", Shards: []v1alpha1.ShardRange{"0-127"}, Cores: []int32{0, 1, 2}}}
		i.Status.Node = "n"
		i.Status.Cores = []v1alpha1.CoreStatus{{LCore: 4, LoadPercent: 20}, {LCore: 6, LoadPercent: 51}} // the third has not reported
	})
	got := groupPlaces(nil, []v1alpha1.ChainInstance{i})
	if len(got) != 1 || got[0].Node != "n" || len(got[0].Cores) != 2 || got[0].Cores[1] != 6 || got[0].LoadPercent != 51 {
		t.Fatalf("groups are %+v, wanted one on CPUs 4 and 6 with a load of 51 %%", got)
	}
	i.Status.Cores[1].LoadPercent = 55
	if again := groupPlaces(got, []v1alpha1.ChainInstance{i}); again[0].LoadPercent != 51 {
		t.Errorf("a load of 55 %% after 51 %% is said as %d %%", again[0].LoadPercent)
	}
	i.Status.Cores[1].LoadPercent = 90
	if again := groupPlaces(got, []v1alpha1.ChainInstance{i}); again[0].LoadPercent != 90 {
		t.Errorf("a load of 90 %% after 51 %% is said as %d %%", again[0].LoadPercent)
	}
}

func TestGroupsAreToldWithTheShardsOfEachCore(t *testing.T) {
	i := running("edge-0", "p", func(i *v1alpha1.ChainInstance) {
		i.Spec.Groups = []v1alpha1.InstanceGroup{{Name: "all", Shards: []v1alpha1.ShardRange{"0-127"}, Cores: []int32{0, 1}}}
		i.Status.Groups = []v1alpha1.GroupStatus{{Name: "all", Owners: []v1alpha1.CoreShards{
			{LCore: 4, Shards: []v1alpha1.ShardRange{"0-63"}, LoadPercent: 20}, {LCore: 6, Shards: []v1alpha1.ShardRange{"64-127"}, LoadPercent: 51},
		}}}
	})
	said := groupPlaces(nil, []v1alpha1.ChainInstance{i})
	owners := i.Status.Groups[0].Owners
	if !reflect.DeepEqual(said[0].Owners, owners) {
		t.Fatalf("owners are %+v, wanted %+v", said[0].Owners, owners)
	}
	owners[0].Shards, owners[0].LoadPercent, owners[1].LoadPercent = []v1alpha1.ShardRange{"0-65"}, 40, 45
	got := groupPlaces(said, []v1alpha1.ChainInstance{i})[0].Owners
	if got[0].Shards[0] != "0-65" || got[0].LoadPercent != 40 || got[1].LoadPercent != 51 {
		t.Errorf("owners are %+v, wanted the move, 40 %% after 20 %%, and 51 %% as before, of which 45 %% is near", got)
	}
	if owners[1].LoadPercent != 45 {
		t.Error("the instance that was read was written to")
	}
}
