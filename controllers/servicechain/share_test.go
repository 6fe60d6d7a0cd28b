package servicechain

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// sharer is an instance that shares the chain's state and has some shards.
func sharer(name string, runs ...v1alpha1.ShardRange) v1alpha1.ChainInstance {
	return running(name, "p", func(i *v1alpha1.ChainInstance) {
		i.UID, i.Spec.Shared, i.Spec.Cores = types.UID(name), true, 1
		i.CreationTimestamp = metav1.NewTime(at(0))
		if len(runs) > 0 {
			i.Spec.Groups = groupOf(runs, 1)
		}
		i.Status.Shards = runs
	})
}

// podOf is the running pod of an instance.
func podOf(i *v1alpha1.ChainInstance, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: i.Name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(i, v1alpha1.GroupVersion.WithKind("ChainInstance"))}}}
	p.Status.Phase, p.Status.PodIP = corev1.PodRunning, "10.244.0.7"
	for _, c := range change {
		c(p)
	}
	return p
}

func TestShardsStayWithAnInstanceUntilItIsLost(t *testing.T) {
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	ends := func(p *corev1.Pod) { now := metav1.NewTime(at(1000)); p.DeletionTimestamp = &now }
	notReady := func(since int) func(*v1alpha1.ChainInstance) {
		return func(i *v1alpha1.ChainInstance) {
			says(v1alpha1.ConditionReady, isFalse, v1alpha1.ReasonPodNotReady)(i)
			for k := range i.Status.Conditions {
				i.Status.Conditions[k].LastTransitionTime = metav1.NewTime(at(since))
			}
		}
	}
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
		"it is ready":                               {bears: true, now: 1000},
		"its pod has ended":                         {pod: []func(*corev1.Pod){ended}, now: 1000},
		"its pod ends, and gives what it has":       {pod: []func(*corev1.Pod){ends}, now: 1000},
		"its pod is gone":                           {gone: true, now: 1000},
		"it is not ready for a moment":              {change: []func(*v1alpha1.ChainInstance){notReady(993)}, now: 1000, bears: true, again: 3 * time.Second},
		"it is not ready for long":                  {change: []func(*v1alpha1.ChainInstance){notReady(900)}, now: 1000},
		"it is brought to another program":          {change: []func(*v1alpha1.ChainInstance){notReady(900), says(v1alpha1.ConditionReady, isFalse, v1alpha1.ReasonNotReported)}, now: 1000, bears: true},
		"it is not ready and has no shards":         {change: []func(*v1alpha1.ChainInstance){notReady(999), none}, now: 1000},
		"it starts with shards of a new chain":      {change: []func(*v1alpha1.ChainInstance){young}, gone: true, now: 30, bears: true, again: 90 * time.Second},
		"it does not start":                         {change: []func(*v1alpha1.ChainInstance){young}, gone: true, now: 121},
		"it has state of its own until its pod end": {change: []func(*v1alpha1.ChainInstance){func(i *v1alpha1.ChainInstance) { i.Spec.Shared = false }}, now: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			i := sharer("a", "0-127")
			for _, c := range test.change {
				c(&i)
			}
			pod := podOf(&i, test.pod...)
			if test.gone {
				pod = nil
			}
			if got, again := bears(&i, pod, at(test.now)); got != test.bears || again != test.again {
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
		"it is to have some":                  {func(i *v1alpha1.ChainInstance) { i.Spec.Groups = groupOf(dealt(0, 1), 1) }, false, false},
		"it still has some":                   {func(i *v1alpha1.ChainInstance) { i.Status.Shards = []v1alpha1.ShardRange{"7"} }, false, false},
		"what it said is from before":         {func(i *v1alpha1.ChainInstance) { i.Generation++ }, false, false},
		"its pod is gone with what it had":    {func(i *v1alpha1.ChainInstance) { i.Status.Shards = []v1alpha1.ShardRange{"7"} }, true, true},
		"it has never said anything, nor had": {func(i *v1alpha1.ChainInstance) { i.Status, i.Generation = v1alpha1.ChainInstanceStatus{}, 5 }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			i := sharer("a")
			i.Status.ObservedGeneration = i.Generation
			test.change(&i)
			pod := podOf(&i)
			if test.gone {
				pod = nil
			}
			if got := empty(&i, pod); got != test.want {
				t.Errorf("goes: %t, want %t", got, test.want)
			}
		})
	}
}

func TestPeersAreAllOthers(t *testing.T) {
	a, b, own := sharer("a", "0-63"), sharer("b", "64-127"), sharer("own", "0-127")
	own.Spec.Shared = false // its pod is not replaced yet
	b.Status.Interfaces = []v1alpha1.InterfaceMAC{{Name: "inside", MAC: "02:00:00:00:00:0b"}}
	s := &scope{instances: []v1alpha1.ChainInstance{a, b, own}, pods: map[string]*corev1.Pod{"b": podOf(&b)}}
	groups := map[string][]v1alpha1.InstanceGroup{"a": groupOf([]v1alpha1.ShardRange{"0-31", "33"}, 1), "b": groupOf([]v1alpha1.ShardRange{"32", "34-127"}, 1)}
	want := []v1alpha1.InstancePeer{{Name: "b", Address: "10.244.0.7:9443", Shards: []v1alpha1.ShardRange{"32", "34-127"}, Interfaces: b.Status.Interfaces}}
	if got := s.peers(&a, groups); !reflect.DeepEqual(got, want) {
		t.Errorf("peers of a are %+v, want %+v", got, want)
	}
	want = []v1alpha1.InstancePeer{{Name: "a", Shards: []v1alpha1.ShardRange{"0-31", "33"}}} // whose pod is gone
	if got := s.peers(&b, groups); !reflect.DeepEqual(got, want) {
		t.Errorf("peers of b are %+v, want %+v", got, want)
	}
}

func TestShardsOfANewChainAreDealtOnce(t *testing.T) {
	for n := 1; n <= 64; n++ {
		seen, dealtOut := shard.Set{}, 0
		for k := range n {
			set, err := shardsOf(groupOf(dealt(k, n), 1))
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

func TestAnInstanceGetsNoShardsBeforeItsPeersKnowWhereToSendTheirPackets(t *testing.T) {
	a, b := sharer("a", "0-127"), sharer("b")
	s := &scope{chain: &v1alpha1.ServiceChain{}, now: at(1000), pods: map[string]*corev1.Pod{"a": podOf(&a), "b": podOf(&b)}}
	for _, known := range []bool{false, true} {
		if known {
			b.Status.Interfaces = []v1alpha1.InterfaceMAC{{Name: "inside", MAC: "02:00:00:00:00:0b"}}
		}
		s.instances = []v1alpha1.ChainInstance{a, b}
		in, err := newSharing().see(s)
		if err != nil || !in.Pods[0].Ready || in.Pods[1].Ready != known {
			t.Errorf("addresses known: %t: pods are %+v, %v", known, in.Pods, err)
		}
	}
}
