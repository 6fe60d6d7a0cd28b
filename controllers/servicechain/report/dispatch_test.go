package report

import (
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestDispatchNamesInterfacesOfOneReasonTogether(t *testing.T) {
	with := func(name string, dispatch ...v1alpha1.InterfaceDispatch) v1alpha1.ChainInstance {
		return fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) { i.Status.Dispatch = dispatch })
	}
	on := func(name v1alpha1.Name, dispatcher v1alpha1.Dispatcher, reason string) v1alpha1.InterfaceDispatch {
		return v1alpha1.InterfaceDispatch{Interface: name, Dispatcher: dispatcher, Reason: reason}
	}
	inside, outside := on("inside", v1alpha1.DispatcherFlow, ""), on("outside", v1alpha1.DispatcherFlow, "")
	slow := on("outside", v1alpha1.DispatcherSoftware, "no flow rules")
	for name, test := range map[string]struct {
		instances []v1alpha1.ChainInstance
		want      ConditionStatus
	}{
		"no instance has reported": {
			[]v1alpha1.ChainInstance{with("a-0")},
			ConditionStatus{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported yet"},
		},
		"all do it in hardware": {
			[]v1alpha1.ChainInstance{with("a-0", inside, outside), with("a-1", inside, outside)},
			ConditionStatus{isTrue, v1alpha1.ReasonInForce, "a-0/inside, a-0/outside, a-1/inside, a-1/outside: Flow"},
		},
		"one interface of each does not": {
			[]v1alpha1.ChainInstance{with("a-0", inside, slow), with("a-1", inside, slow)},
			ConditionStatus{isFalse, v1alpha1.ReasonSoftwareDispatch, "a-0/inside, a-1/inside: Flow; a-0/outside, a-1/outside: no flow rules"},
		},
		"each has a reason of its own": {
			[]v1alpha1.ChainInstance{with("a-0", slow), with("a-1", on("outside", v1alpha1.DispatcherSoftware, "the engine does not answer"))},
			ConditionStatus{isFalse, v1alpha1.ReasonSoftwareDispatch, "a-0/outside: no flow rules; a-1/outside: the engine does not answer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := View{Fleet: fleet.Fleet{Instances: test.instances}}
			if got := s.dispatch(); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
