package servicechain_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
)

const upToTwoCores = "  scaling: {minCores: 1, maxCores: 2}\n"

// scalable is a world in which the chain edge runs with one core of two.
func scalable(t *testing.T, more ...string) *world {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, append([]string{upToTwoCores}, more...)...))
	w.run()
	w.wants(0.1)
	w.settle()
	return w
}

// wants plays the agent of edge-0: its 16 shards with work want so many cores together, and are spread over those that are to work.
func (w *world) wants(cores float64, change ...func(*v1alpha1.ChainInstance)) {
	w.Helper()
	w.report("edge-0", func(i *v1alpha1.ChainInstance) {
		c := i.Status.Conditions[0]
		c.Type, c.Reason, c.Message = v1alpha1.ConditionBalanced, v1alpha1.ReasonBalancing, "shards are kept on cores by their load"
		i.Status.Conditions = append(i.Status.Conditions, c)
		working := len(i.Spec.Groups[0].Cores)
		owners := []v1alpha1.CoreShards{{LCore: 2, Shards: []v1alpha1.ShardRange{"0-127"}}}
		if working == 2 {
			owners = []v1alpha1.CoreShards{{LCore: 2, Shards: []v1alpha1.ShardRange{"0-7", "16-127"}}, {LCore: 3, Shards: []v1alpha1.ShardRange{"8-15"}}}
		}
		i.Status.Cores = []v1alpha1.CoreStatus{{LCore: 2, Packets: w.clock.Now().Unix()}, {LCore: 3}}
		i.Status.Groups = []v1alpha1.GroupStatus{{Name: "all", Owners: owners, Work: slices.Repeat([]int32{int32(cores * 1000 / 16)}, 16)}}
		for _, f := range change {
			f(i)
		}
	})
}

// works checks which cores of edge-0 work.
func (w *world) works(cores ...int32) {
	w.Helper()
	if got := w.instance("edge-0").Spec.Groups[0].Cores; !slices.Equal(got, cores) {
		w.Fatalf("cores %v of edge-0 work, want %v; events:\n%s", got, cores, strings.Join(w.events, "\n"))
	}
}

// watch lets time pass in which the operator looks at the chain only when it said that it would, and at its own writes.
func (w *world) watch(d time.Duration) {
	w.Helper()
	for end := w.clock.Now().Add(d); ; {
		w.writes = nil
		result, err := w.chains.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "edge"}})
		w.must(err)
		if len(w.writes) > 0 {
			w.settle()
			continue
		}
		if result.RequeueAfter == 0 || w.clock.Now().Add(result.RequeueAfter).After(end) {
			w.clock.SetTime(end)
			return
		}
		w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	}
}

// place is where the chain's one group is: its shards and cores by the spec of edge-0, and by the agent's report the
// node, and which of its CPUs own which shards.
type place struct {
	spec   v1alpha1.InstanceGroup
	node   string
	owners []v1alpha1.CoreShards
}

// group is where the chain's one group is.
func (w *world) group() place {
	w.Helper()
	var all v1alpha1.ChainInstanceList
	w.must(w.client.List(w.Context(), &all, client.InNamespace(w.namespace)))
	if len(all.Items) != 1 || all.Items[0].Name != "edge-0" {
		w.Fatalf("instances are %+v, want edge-0 alone", all.Items)
	}
	i := &all.Items[0]
	if len(i.Spec.Groups) != 1 || len(i.Status.Groups) != 1 || i.Status.Groups[0].Name != i.Spec.Groups[0].Name {
		w.Fatalf("edge-0 is to have the groups %+v and has %+v, want one", i.Spec.Groups, i.Status.Groups)
	}
	return place{i.Spec.Groups[0], i.Status.Node, i.Status.Groups[0].Owners}
}

func TestAChainSplitsUnderLoadAndMergesWhenItFalls(t *testing.T) {
	w := scalable(t)
	w.works(0)
	if cpu := w.pod("edge-0").Spec.Containers[0].Resources.Limits.Cpu(); cpu.Value() != 2 {
		t.Errorf("the pod owns %s CPUs, want 2: it grows into cores of its own", cpu)
	}
	w.says(v1alpha1.ConditionScaled, yes, v1alpha1.ReasonWithinBounds, "edge-0 works with 1 of 2 cores")
	before := place{
		v1alpha1.InstanceGroup{Name: "all", Shards: []v1alpha1.ShardRange{"0-127"}, Cores: []int32{0}},
		"n",
		[]v1alpha1.CoreShards{{LCore: 2, Shards: []v1alpha1.ShardRange{"0-127"}}},
	}
	if got := w.group(); !reflect.DeepEqual(got, before) {
		t.Errorf("before: %+v, want %+v", got, before)
	}
	pod := w.pod("edge-0").UID

	w.events = nil
	w.wants(0.9)
	w.reconcile()
	w.works(0, 1)
	w.told("Normal CoresAdded: instance edge-0 scales from 1 to 2 working cores: the load is 0.90 cores, the target is 70 % of each core")
	w.settle()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
	w.says(v1alpha1.ConditionScaled, yes, v1alpha1.ReasonWithinBounds, "edge-0 works with 2 of 2 cores")
	w.wants(0.9) // the agent has followed
	w.settle()
	after := before
	after.spec.Cores = []int32{0, 1}
	after.owners = []v1alpha1.CoreShards{{LCore: 2, Shards: []v1alpha1.ShardRange{"0-7", "16-127"}}, {LCore: 3, Shards: []v1alpha1.ShardRange{"8-15"}}}
	if got := w.group(); !reflect.DeepEqual(got, after) {
		t.Errorf("after the split: %+v, want %+v", got, after)
	}

	w.wants(0.2)
	w.watch(14 * time.Second)
	w.works(0, 1)
	w.watch(3 * time.Second)
	w.works(0)
	w.told("Normal CoresRemoved: instance edge-0 scales from 2 to 1 working cores: for 15s fewer cores were enough to stay well below 70 % of each; the load is 0.19 cores now")
	w.wants(0.2)
	w.settle()
	if got := w.group(); !reflect.DeepEqual(got, before) {
		t.Errorf("after the merge: %+v, want %+v", got, before)
	}
	for _, e := range w.events {
		if strings.Contains(e, "Ready") || strings.Contains(e, "PodOutdated") || strings.Contains(e, "Rollout") {
			t.Errorf("scaling told %q", e)
		}
	}
	if len(w.events) != 2 || w.pod("edge-0").UID != pod {
		t.Errorf("events are %v, want one per split and merge, and the pod of before", w.events)
	}
}

func TestAScaledChainInSteadyStateIsNotWritten(t *testing.T) {
	w := scalable(t)
	w.wants(0.9)
	w.settle()
	w.wants(0.9)
	w.settle()
	w.writes, w.events = nil, nil
	for range 30 { // heartbeats of the agent
		w.clock.SetTime(w.clock.Now().Add(5 * time.Minute))
		w.wants(0.88)
		w.reconcile()
	}
	if len(w.writes)+len(w.events) > 0 {
		t.Errorf("nothing has changed, and written was %v, told %v", w.writes, w.events)
	}
}

func TestNoiseDoesNotFlap(t *testing.T) {
	w := scalable(t)
	w.events = nil
	noise := rand.New(rand.NewPCG(1, 2))
	for range 120 { // as often as an agent may tell, for twenty minutes
		w.wants(0.62 + 0.2*(noise.Float64()-0.5))
		w.watch(10 * time.Second)
	}
	if len(w.events) != 1 || !strings.Contains(w.events[0], "CoresAdded") {
		t.Errorf("with 0.52 to 0.72 cores wanted of 0.70 events are %v, want CoresAdded once", w.events)
	}
	w.works(0, 1)
}

func TestAnOperatorThatRestartsGivesNothingUpBeforeItsWindowIsFull(t *testing.T) {
	w := scalable(t)
	w.wants(0.9)
	w.settle()
	w.wants(0.3)
	w.watch(12 * time.Second)
	w.chains = &servicechain.Reconciler{Client: w.chains.Client, Live: w.client, Recorder: w, Clock: w.clock}
	w.watch(14 * time.Second)
	w.works(0, 1)
	w.watch(3 * time.Second)
	w.works(0)
}

func TestLostPacketsAreAnAlarmOnce(t *testing.T) {
	w := scalable(t)
	lose := func(packets, lost int64) {
		w.wants(0.3, func(i *v1alpha1.ChainInstance) { i.Status.Cores[0].Packets, i.Status.Cores[0].Lost = packets, lost })
	}
	lose(1e9+1e9, 0)
	w.settle()
	w.works(0)
	lose(1e9+2e9, 5_000_000)
	w.settle()
	w.works(0, 1)
	w.told("Warning CoresAdded: instance edge-0 scales from 1 to 2 working cores: it lost 0.50 % of its packets")
	w.watch(20 * time.Second) // the same report
	w.works(0)
}

func TestARolloutKeepsTheCoresAndScalingKeepsTheRollout(t *testing.T) {
	w := scalable(t, "  rollout: {observeSeconds: 120, deadlineSeconds: 60}\n")
	w.wants(0.9)
	w.settle()
	w.wants(0.9)
	w.settle()
	w.events = nil
	w.apply(edge(8443, upToTwoCores, "  rollout: {observeSeconds: 120, deadlineSeconds: 60}\n"))
	w.settle()
	w.works(0, 1) // brought to the program with as many cores
	w.wants(0.2)  // applied
	w.settle()
	first := w.chain("edge").Status.Rollout
	if first == nil || first.AppliedTime.IsZero() {
		t.Fatalf("the rollout is %+v, want edge-0 to be watched", first)
	}
	w.watch(90 * time.Second) // past the deadline, within the time of watching
	w.works(0)
	if ro := w.chain("edge").Status.Rollout; ro == nil || !ro.AppliedTime.Equal(&first.AppliedTime) {
		t.Errorf("after a merge the rollout is %+v, want it as it was: %+v", ro, first)
	}
	w.wants(0.9)
	w.watch(90 * time.Second)
	w.works(0, 1)
	w.told("RolloutCompleted")
	w.says(v1alpha1.ConditionProgrammed, yes, v1alpha1.ReasonApplied, "")
	for _, e := range w.events {
		if strings.Contains(e, "Refused") {
			t.Errorf("scaling ended the rollout: %s", e)
		}
	}
}

func TestOtherBoundsHoldAtOnce(t *testing.T) {
	w := scalable(t)
	w.apply(edge(443, "  scaling: {minCores: 2, maxCores: 2}\n"))
	w.settle()
	w.works(0, 1)
	w.told("CoresAdded: instance edge-0 scales from 1 to 2 working cores: the spec asks for 2 to 2")
	w.wants(0.1)
	w.settle()
	w.says(v1alpha1.ConditionScaled, yes, v1alpha1.ReasonFixed, "edge-0 works with 2 of 2 cores")
	w.watch(time.Hour)
	w.works(0, 1)
}

func TestWhatMoreCoresCannotDoIsACondition(t *testing.T) {
	for name, test := range map[string]struct {
		cores  float64
		change func(*v1alpha1.ChainInstance)
		reason string
		text   string
	}{
		"more than all cores are wanted": {1.6, nil, v1alpha1.ReasonAtMaximum, "instance edge-0 works with 2 of 2 cores"},
		"a shard is too heavy": {0.3, func(i *v1alpha1.ChainInstance) {
			balanced(i, no, v1alpha1.ReasonShardTooHeavy, "shard 7 wants 90 % of a core or more")
		}, v1alpha1.ReasonShardTooHeavy, "edge-0: shard 7 wants 90 %"},
	} {
		t.Run(name, func(t *testing.T) {
			w := scalable(t)
			change := func(i *v1alpha1.ChainInstance) {
				if test.change != nil {
					test.change(i)
				}
			}
			w.wants(test.cores, change)
			w.settle()
			w.wants(test.cores, change)
			w.settle()
			w.says(v1alpha1.ConditionScaled, no, test.reason, test.text)
			w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
			w.told(fmt.Sprintf("Warning %s: Scaled is False", test.reason))
		})
	}
}

// balanced sets the agent's condition about the load of cores.
func balanced(i *v1alpha1.ChainInstance, status metav1.ConditionStatus, reason, message string) {
	for k := range i.Status.Conditions {
		if c := &i.Status.Conditions[k]; c.Type == v1alpha1.ConditionBalanced {
			c.Status, c.Reason, c.Message = status, reason, message
		}
	}
}

func TestTheOperatorComesBackByItselfToMerge(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.start(nil)
	w.apply(edge(443, upToTwoCores))
	w.eventually("a pod", func() bool {
		return w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge-0"}, &corev1.Pod{}) == nil
	})
	w.startPods()
	working := func() int { return len(w.instance("edge-0").Spec.Groups[0].Cores) }
	w.wants(0.9)
	w.eventually("split", func() bool { return working() == 2 })
	w.wants(0.2)
	fell := time.Now()
	w.eventually("merged", func() bool { return working() == 1 })
	if took := time.Since(fell); took < 14*time.Second {
		t.Errorf("merged %s after the load fell, want no sooner than after 15 s", took)
	}
	w.wants(0.2)
	w.rest()
	w.taken()
	time.Sleep(2 * time.Second)
	if n := w.taken(); n > 0 {
		t.Errorf("%d writes while nothing changes", n)
	}
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

func TestWhatAnotherHasChangedMeanwhileIsDecidedAgain(t *testing.T) {
	w := scalable(t)
	conflicts := 1
	c, ok := w.client.(client.WithWatch)
	if !ok {
		t.Fatalf("the test's client is %T, which cannot watch", w.client)
	}
	w.chains.Client = interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if conflicts > 0 {
				conflicts-- // somebody writes before us: the version that was read is not the newest any more
				w.wants(0.8)
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	w.events = nil
	w.wants(0.9)
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "edge"}}
	result, err := w.chains.Reconcile(t.Context(), request)
	if err != nil || result.RequeueAfter == 0 || len(w.events) > 0 {
		t.Fatalf("%v, again after %s, told %v; want to look again soon, and nothing told that is not so", err, result.RequeueAfter, w.events)
	}
	w.works(0)
	_, err = w.chains.Reconcile(t.Context(), request)
	w.must(err)
	w.works(0, 1)
	if len(w.events) != 1 || !strings.Contains(w.events[0], "CoresAdded: instance edge-0 scales from 1 to 2") {
		t.Errorf("told %v, want CoresAdded once", w.events)
	}
}
