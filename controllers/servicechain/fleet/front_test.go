package fleet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestExactlyOneInstanceIsTheFrontAndStaysItWhileItTakesPackets(t *testing.T) {
	const is, ready, ends, down, drains, old, silent, failed = 1, 2, 4, 8, 16, 32, 64, 128
	for name, test := range map[string]struct {
		instances []int
		want      string
	}{
		"a new chain":                             {[]int{is, 0}, "i-0"},
		"of two the first":                        {[]int{ready, ready}, "i-0"},
		"not one that takes no packets":           {[]int{0, ready}, "i-1"},
		"it stays where it is":                    {[]int{ready, is | ready}, "i-1"},
		"another one when its pod ends":           {[]int{is | ready | ends, ready}, "i-1"},
		"another one when its engine is gone":     {[]int{is | ready | down, ready}, "i-1"},
		"another one when it is to go":            {[]int{ready, is | ready | drains}, "i-0"},
		"another one when it takes none":          {[]int{is, ready}, "i-1"},
		"none takes packets: as it was":           {[]int{0, is, 0}, "i-1"},
		"none but who is to go: nothing is won":   {[]int{0, is | ready | drains}, "i-1"},
		"two were told, as one write failed":      {[]int{is | ready | ends, is | ready}, "i-1"},
		"it stays where only the agent is silent": {[]int{ready, is | silent}, "i-1"},
		"another one when its agent says so":      {[]int{ready, is | silent | failed}, "i-0"},
		"who has state of its own answers anyway": {[]int{old | ready, ready}, "i-1"},
		"none shares state":                       {[]int{old | ready}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Fleet{Pods: map[string]*corev1.Pod{}, Drains: map[string]bool{}}
			for k, has := range test.instances {
				i := fleettest.Sharer(desired.InstanceName("i", k))
				i.Spec.Shared, i.Spec.Front = has&old == 0, has&is != 0
				pod := fleettest.PodOf(&i)
				if has&ready != 0 {
					pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				}
				if has&silent != 0 {
					fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAgentNotReady)(&i)
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: v1alpha1.ContainerEngine, Ready: true}}
				}
				if has&failed != 0 {
					fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonEngineDown)(&i)
				}
				if has&ends != 0 {
					now := metav1.NewTime(fleettest.At(1000))
					pod.DeletionTimestamp = &now
				}
				if has&down != 0 {
					i.Status.AppliedHash = ""
				}
				s.Pods[i.Name], s.Drains[i.Name] = pod, has&drains != 0
				s.Instances = append(s.Instances, i)
			}
			if got := s.Front(); got != test.want {
				t.Errorf("the front is %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheFrontStaysWhileAProgramIsLoaded(t *testing.T) {
	i := fleettest.Sharer("a", "0-127")
	fleettest.Says(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonNoProgram)(&i) // the one before goes on
	fleettest.Says(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoProgram)(&i)
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if !takes(&i, fleettest.PodOf(&i, ready)) {
		t.Error("an instance that is brought to another program is taken for one without packets")
	}
}
