package fleet

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/dataplane/shard"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestShardsStayWithAnInstanceUntilItIsLost(t *testing.T) {
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	ends := func(p *corev1.Pod) { now := metav1.NewTime(fleettest.At(1000)); p.DeletionTimestamp = &now }
	notReady := func(since int) func(*v1alpha1.ChainInstance) {
		return func(i *v1alpha1.ChainInstance) {
			fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPodNotReady)(i)
			for k := range i.Status.Conditions {
				i.Status.Conditions[k].LastTransitionTime = metav1.NewTime(fleettest.At(since))
			}
		}
	}
	failed := fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonContainerFailed)
	silent := fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAgentNotReady)
	young := func(i *v1alpha1.ChainInstance) { i.Status = v1alpha1.ChainInstanceStatus{} }
	none := func(i *v1alpha1.ChainInstance) { i.Spec.Groups = nil }
	for name, test := range map[string]struct {
		change []func(*v1alpha1.ChainInstance)
		pod    []func(*corev1.Pod)
		gone   bool
		now    int
		bears  bool
		again  time.Duration
	}{
		"it is ready":                                                {bears: true, now: 1000},
		"its pod has ended":                                          {pod: []func(*corev1.Pod){ended}, now: 1000},
		"its pod ends, and gives what it has":                        {pod: []func(*corev1.Pod){ends}, now: 1000},
		"its pod is gone":                                            {gone: true, now: 1000},
		"it is not ready for a moment":                               {change: []func(*v1alpha1.ChainInstance){notReady(993)}, now: 1000, bears: true, again: 3 * time.Second},
		"it is not ready for long":                                   {change: []func(*v1alpha1.ChainInstance){notReady(900)}, now: 1000},
		"it is brought to another program":                           {change: []func(*v1alpha1.ChainInstance){notReady(900), fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotReported)}, now: 1000, bears: true},
		"a wrong clock keeps it from saying that it has the program": {change: []func(*v1alpha1.ChainInstance){notReady(900), fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonClockSkew)}, now: 1000, bears: true},
		"its agent is silent, and its engine forwards":               {change: []func(*v1alpha1.ChainInstance){notReady(900), silent}, now: 1000, bears: true},
		"its agent ends while it is brought to another program":      {change: []func(*v1alpha1.ChainInstance){notReady(900), silent, fleettest.Told("q")}, now: 1000, bears: true},
		"its agent is silent, and its pod is gone":                   {change: []func(*v1alpha1.ChainInstance){silent}, gone: true, now: 1000},
		"its agent is silent, and its pod ends":                      {change: []func(*v1alpha1.ChainInstance){silent}, pod: []func(*corev1.Pod){ends}, now: 1000},
		"its new pod cannot be made meanwhile": {change: []func(*v1alpha1.ChainInstance){
			notReady(900), failed, fleettest.Told("q"), fleettest.Says(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonContainerFailed),
		}, now: 1000},
		"its engine ends again and again":           {change: []func(*v1alpha1.ChainInstance){notReady(900), failed}, now: 1000},
		"it is not ready and has no shards":         {change: []func(*v1alpha1.ChainInstance){notReady(999), none}, now: 1000},
		"it starts with shards of a new chain":      {change: []func(*v1alpha1.ChainInstance){young}, gone: true, now: 30, bears: true, again: 90 * time.Second},
		"it does not start":                         {change: []func(*v1alpha1.ChainInstance){young}, gone: true, now: 121},
		"it has state of its own until its pod end": {change: []func(*v1alpha1.ChainInstance){func(i *v1alpha1.ChainInstance) { i.Spec.Shared = false }}, now: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			i := fleettest.Sharer("a", "0-127")
			for _, c := range test.change {
				c(&i)
			}
			pod := fleettest.PodOf(&i, test.pod...)
			if test.gone {
				pod = nil
			}
			if got, again := Bears(&i, pod, fleettest.At(test.now)); got != test.bears || again != test.again {
				t.Errorf("bears %t, asked again after %s; want %t, %s", got, again, test.bears, test.again)
			}
		})
	}
}

func TestAnInstanceGoesWhenNothingIsLeftOfIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.ChainInstance)
		gone   bool
		want   bool
	}{
		"it has said that it has none":        {func(i *v1alpha1.ChainInstance) {}, false, true},
		"it is to have some":                  {func(i *v1alpha1.ChainInstance) { i.Spec.Groups = desired.Groups(desired.Dealt(0, 1), 1) }, false, false},
		"it still has some":                   {func(i *v1alpha1.ChainInstance) { i.Status.Shards = []v1alpha1.ShardRange{"7"} }, false, false},
		"what it said is from before":         {func(i *v1alpha1.ChainInstance) { i.Generation++ }, false, false},
		"its pod is gone with what it had":    {func(i *v1alpha1.ChainInstance) { i.Status.Shards = []v1alpha1.ShardRange{"7"} }, true, true},
		"it has never said anything, nor had": {func(i *v1alpha1.ChainInstance) { i.Status, i.Generation = v1alpha1.ChainInstanceStatus{}, 5 }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			i := fleettest.Sharer("a")
			i.Status.ObservedGeneration = i.Generation
			test.change(&i)
			pod := fleettest.PodOf(&i)
			if test.gone {
				pod = nil
			}
			if got := Empty(&i, pod); got != test.want {
				t.Errorf("goes: %t, want %t", got, test.want)
			}
		})
	}
}

func TestPeersAreAllOthers(t *testing.T) {
	a, b, own := fleettest.Sharer("a", "0-63"), fleettest.Sharer("b", "64-127"), fleettest.Sharer("own", "0-127")
	own.Spec.Shared = false // its pod is not replaced yet
	b.Status.Interfaces = []v1alpha1.InterfaceMAC{{Name: "inside", MAC: "02:00:00:00:00:0b"}}
	s := &Fleet{Instances: []v1alpha1.ChainInstance{a, b, own}, Pods: map[string]*corev1.Pod{"b": fleettest.PodOf(&b)}}
	groups := map[string][]v1alpha1.InstanceGroup{"a": desired.Groups([]v1alpha1.ShardRange{"0-31", "33"}, 1), "b": desired.Groups([]v1alpha1.ShardRange{"32", "34-127"}, 1)}
	want := []v1alpha1.InstancePeer{{Name: "b", Address: "10.244.0.7:9443", Shards: []v1alpha1.ShardRange{"32", "34-127"}, Interfaces: b.Status.Interfaces}}
	if got := s.Peers(&a, groups); !reflect.DeepEqual(got, want) {
		t.Errorf("peers of a are %+v, want %+v", got, want)
	}
	want = []v1alpha1.InstancePeer{{Name: "a", Shards: []v1alpha1.ShardRange{"0-31", "33"}}} // whose pod is gone
	if got := s.Peers(&b, groups); !reflect.DeepEqual(got, want) {
		t.Errorf("peers of b are %+v, want %+v", got, want)
	}
}

func TestShardsOfANewChainAreDealtOnce(t *testing.T) {
	for n := 1; n <= 64; n++ {
		seen, dealtOut := shard.Set{}, 0
		for k := range n {
			set, err := shardsOf(desired.Groups(desired.Dealt(k, n), 1))
			if err != nil || set.Len() < shard.Count/n {
				t.Fatalf("instance %d of %d gets %v, %v", k, n, set, err)
			}
			seen, dealtOut = seen.Or(set), dealtOut+set.Len()
		}
		if seen.Len() != shard.Count || dealtOut != shard.Count {
			t.Errorf("%d instances are dealt %d shards, in all %v, want each of %d once", n, dealtOut, seen, shard.Count)
		}
	}
}
