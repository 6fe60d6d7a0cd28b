package report

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestTheWorstWordOfFunctionsCounts(t *testing.T) {
	with := func(name string, status metav1.ConditionStatus, reason, message string) v1alpha1.ChainInstance {
		return fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) {
			meta.SetStatusCondition(&i.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFunctionsUp, Status: status, Reason: reason, Message: message})
		})
	}
	unwatched := fleettest.Running("u", "p", func(*v1alpha1.ChainInstance) {})
	up := with("a-0", isTrue, v1alpha1.ReasonAnswering, "probes come back")
	other := with("a-1", isTrue, v1alpha1.ReasonAnswering, "probes come back")
	silent := with("a-2", isUnknown, v1alpha1.ReasonEngineDown, "the engine does not say")
	bypassed := with("a-3", isFalse, v1alpha1.ReasonFunctionBypassed, "packets pass it by")
	down := with("a-4", isFalse, v1alpha1.ReasonFunctionDown, "packets are dropped")
	for name, test := range map[string]struct {
		instances []v1alpha1.ChainInstance
		want      *ConditionStatus
	}{
		"none is watched": {[]v1alpha1.ChainInstance{unwatched}, nil},
		"all answer": {
			[]v1alpha1.ChainInstance{up, unwatched, other},
			&ConditionStatus{isTrue, v1alpha1.ReasonAnswering, "a-0, a-1: probes come back"},
		},
		"an engine is silent": {
			[]v1alpha1.ChainInstance{up, silent},
			&ConditionStatus{isUnknown, v1alpha1.ReasonEngineDown, "a-0: probes come back; a-2: the engine does not say"},
		},
		"one passes its function by": {
			[]v1alpha1.ChainInstance{silent, bypassed, up},
			&ConditionStatus{isFalse, v1alpha1.ReasonFunctionBypassed, "a-2: the engine does not say; a-3: packets pass it by; a-0: probes come back"},
		},
		"one drops": {
			[]v1alpha1.ChainInstance{down, bypassed},
			&ConditionStatus{isFalse, v1alpha1.ReasonFunctionDown, "a-4: packets are dropped; a-3: packets pass it by"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := View{Fleet: fleet.Fleet{Instances: test.instances}}
			got := s.functions(v1alpha1.ConditionFunctionsUp)
			if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAContainerThatFailsCountsMoreThanOneThatStarts(t *testing.T) {
	with := func(name string, status metav1.ConditionStatus, reason, message string) v1alpha1.ChainInstance {
		return fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) {
			meta.SetStatusCondition(&i.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFunctionsRunning, Status: status, Reason: reason, Message: message})
		})
	}
	s := View{Fleet: fleet.Fleet{Instances: []v1alpha1.ChainInstance{
		with("a-0", isTrue, v1alpha1.ReasonContainersRunning, "all run"), with("a-1", isFalse, v1alpha1.ReasonContainerFailed, "container ips ended"),
		with("a-2", isFalse, v1alpha1.ReasonWaitingForPods, "container ips is starting"),
	}}}
	want := ConditionStatus{isFalse, v1alpha1.ReasonContainerFailed, "a-0: all run; a-1: container ips ended; a-2: container ips is starting"}
	if got := s.functions(v1alpha1.ConditionFunctionsRunning); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAnInstanceThatIsContradictedCounts(t *testing.T) {
	with := func(name string, status metav1.ConditionStatus, reason, message string) v1alpha1.ChainInstance {
		return fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) {
			meta.SetStatusCondition(&i.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFunctionsAsDeclared, Status: status, Reason: reason, Message: message})
		})
	}
	s := View{Fleet: fleet.Fleet{Instances: []v1alpha1.ChainInstance{
		with("a-0", isTrue, v1alpha1.ReasonAsDeclared, "no other change"),
		with("a-1", isFalse, v1alpha1.ReasonContradicted, "the function changes DSCP"),
		with("a-2", isUnknown, v1alpha1.ReasonNotChecked, "no packet yet"),
	}}}
	want := ConditionStatus{isFalse, v1alpha1.ReasonContradicted, "a-0: no other change; a-1: the function changes DSCP; a-2: no packet yet"}
	if got := s.functions(v1alpha1.ConditionFunctionsAsDeclared); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := s.functions(v1alpha1.ConditionFunctionsUp); got != nil {
		t.Errorf("nothing gets probes, and the condition is %+v", got)
	}
}
