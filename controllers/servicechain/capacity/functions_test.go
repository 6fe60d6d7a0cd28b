package capacity

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

// known is a function of which one container can do 1000 packets per second.
var known = []scaling.Capacity{{Function: "ips", Rate: 1000, Target: 0.7}}

// gets is instances whose functions get so many packets per second.
func gets(ready bool, rates ...int64) (list []v1alpha1.ChainInstance) {
	for i, rate := range rates {
		list = append(list, fleettest.Running(string(rune('a'+i)), "p", func(c *v1alpha1.ChainInstance) {
			c.Status.Functions = []v1alpha1.FunctionStatus{{Name: "dpi", Ready: true, SentRate: 99}, {Name: "ips", Ready: ready, SentRate: rate}}
		}))
	}
	return list
}

func TestAFunctionsLoadIsThatOfAllInstances(t *testing.T) {
	var m functions
	known := slices.Clone(known)
	now := fleettest.At(1000)
	see := func(instances []v1alpha1.ChainInstance) (float64, time.Duration) {
		t.Helper()
		f, again := m.see(now, known, instances)
		if len(f) != 1 || f[0].Name != "ips" || f[0].Target != 0.7 {
			t.Fatalf("functions are %+v, want ips alone", f)
		}
		return f[0].Load, again
	}
	if load, again := see(gets(true, 900, 300)); load != 1.2 || again != 0 {
		t.Errorf("the load is %.2f, and it is read again after %s; want 1.2, and with the next report", load, again)
	}
	if load, _ := see(gets(false, 0, 300)); load != 1.2 {
		t.Errorf("the load is %.2f while a function is down, want what it was before", load)
	}
	if load, _ := see(gets(false, 900, 400)); load != 1.3 {
		t.Errorf("the load is %.2f while a function is not ready, and gets more, want 1.3", load)
	}
	known[0].Rate = 2000
	if load, _ := see(gets(false, 0, 400)); load != 0.65 {
		t.Errorf("the load is %.2f when the capacity is twice as large, want half of what it was", load)
	}
	known[0].Rate = 1000
	full := gets(true, 900, 300)
	full[0].Status.Functions[1].FullRate = 500
	if load, _ := see(full); load != 1.7 {
		t.Errorf("the load is %.2f, want 1.7: what a function does not take is for it, too", load)
	}
	if load, _ := see(gets(true, 0, 300)); load != 0.3 {
		t.Errorf("the load is %.2f when it is ready, want 0.3", load)
	}
}

// Two instances report the packets of a shard for some seconds, when it goes from one to the other.
func TestAFunctionsLoadIsNotReadWhileShardsMove(t *testing.T) {
	m, now := newShared(), fleettest.At(1000)
	see := func(after time.Duration, rates ...int64) (float64, time.Duration) {
		f, again := m.given.see(now.Add(after), known, gets(true, rates...))
		return f[0].Load, again
	}
	see(0, 900)
	m.Carry(scaling.Input{Now: now}, []scaling.Handover{{To: "b"}})
	if load, again := see(time.Second, 900, 450); load != 0.9 || again != carry-time.Second {
		t.Errorf("the load is %.2f, and it is read again after %s, want 0.9 and %s", load, again, carry-time.Second)
	}
	m.Hands(now.Add(10*time.Second), true)
	if load, again := see(12*time.Second, 500, 450); load != 0.9 || again != carry-2*time.Second {
		t.Errorf("the load is %.2f, and it is read again after %s, want 0.9 and %s", load, again, carry-2*time.Second)
	}
	m.Hands(now.Add(20*time.Second), false)
	if load, again := see(10*time.Second+carry, 450, 460); load != 0.91 || again != 0 {
		t.Errorf("the load is %.2f, and it is read again after %s, want 0.91 and with the next report", load, again)
	}
}

// The packets of a chain without state, or with one shard, go through one instance, however many there are.
func TestAFunctionOfAChainThatCannotBeDividedBringsNoInstance(t *testing.T) {
	for reason, counts := range map[string]bool{
		v1alpha1.ReasonNoState: false, v1alpha1.ReasonOneShard: false, v1alpha1.ReasonOneCore: true, v1alpha1.ReasonBalancing: true, v1alpha1.ReasonShardTooHeavy: true,
	} {
		a := fleettest.Sharer("a", "0-127")
		a.Status.Functions = []v1alpha1.FunctionStatus{{Name: "ips", Ready: true, SentRate: 900}}
		a.Status.Conditions = append(a.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionBalanced, Reason: reason})
		f := &fleet.Fleet{Instances: []v1alpha1.ChainInstance{a}, Pods: map[string]*corev1.Pod{"a": fleettest.PodOf(&a)}}
		in, _, err := newShared().See(fleettest.At(1000), scaling.Bounds{}, known, f)
		if err != nil || (len(in.Functions) == 1) != counts {
			t.Errorf("%s: functions are %+v, %v; wanted that they count: %t", reason, in.Functions, err, counts)
		}
	}
}
