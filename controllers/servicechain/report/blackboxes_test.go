package report

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestAFunctionIsWhatAllInstancesSee(t *testing.T) {
	with := func(name string, functions ...v1alpha1.FunctionStatus) v1alpha1.ChainInstance {
		return fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) { i.Status.Functions = functions })
	}
	s := View{
		Chain: &v1alpha1.ServiceChain{Status: v1alpha1.ServiceChainStatus{Functions: []v1alpha1.FunctionStatus{
			{Name: "ips", SentRate: 3050, ReturnedRate: 100, PastRate: 7010, LatencyMedianMicroseconds: 20, LatencyP99Microseconds: 100},
		}}},
		Fleet: fleet.Fleet{Instances: []v1alpha1.ChainInstance{
			with("a-0", v1alpha1.FunctionStatus{
				Name: "ips", Ready: true, SentRate: 1000, FullRate: 10, ReturnedRate: 900, PastRate: 3000, LatencyMedianMicroseconds: 30, LatencyP99Microseconds: 40,
				Contradictions: []string{"Source", "DSCP"},
			}),
			with("a-1",
				v1alpha1.FunctionStatus{Name: "dpi", Ready: true, SentRate: 5},
				v1alpha1.FunctionStatus{
					Name: "ips", SentRate: 2000, FullRate: 300, ReturnedRate: 1900, PastRate: 4000, LatencyMedianMicroseconds: 10, LatencyP99Microseconds: 300,
					Contradictions: []string{"DSCP"},
				}),
			with("a-2"),
		}},
	}
	want := []v1alpha1.FunctionStatus{
		{Name: "dpi", Ready: true, SentRate: 5},
		{
			Name: "ips", SentRate: 3050, FullRate: 310, ReturnedRate: 2800, PastRate: 7010, LatencyMedianMicroseconds: 20, LatencyP99Microseconds: 300,
			Contradictions: []string{"DSCP", "Source"},
		},
	}
	if got := s.blackboxes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := s.Instances[0].Status.Functions[0].Contradictions; got[0] != "Source" {
		t.Errorf("the instance's own status became %v", got)
	}
}

func TestHowMuchOfItsCapacityAFunctionIsGivenIsThatOfTheBusiestContainer(t *testing.T) {
	with := func(name string, f v1alpha1.FunctionStatus) v1alpha1.ChainInstance {
		return fleettest.Running(name, "p", func(i *v1alpha1.ChainInstance) { i.Status.Functions = []v1alpha1.FunctionStatus{f} })
	}
	s := View{
		Chain:      &v1alpha1.ServiceChain{},
		Capacities: []scaling.Capacity{{Function: "ips", Rate: 2000, Target: 0.7}},
		Fleet: fleet.Fleet{Instances: []v1alpha1.ChainInstance{
			with("a-0", v1alpha1.FunctionStatus{Name: "ips", SentRate: 3000, Replicas: []v1alpha1.ReplicaStatus{{Name: "a", SentRate: 1200}, {Name: "b", SentRate: 1800}}}),
			with("a-1", v1alpha1.FunctionStatus{Name: "ips", SentRate: 2500, Replicas: []v1alpha1.ReplicaStatus{{Name: "a", SentRate: 1300, FullRate: 400}, {Name: "b", SentRate: 1200}}}),
			with("a-2", v1alpha1.FunctionStatus{Name: "dpi", SentRate: 9000}),
		}},
	}
	used := func() (percent []int32) {
		for _, f := range s.blackboxes() {
			percent = append(percent, f.UtilizationPercent)
		}
		return percent
	}
	if got := used(); !slices.Equal(got, []int32{0, 90}) {
		t.Errorf("dpi and ips are used to %v percent, want 0, as nobody knows what dpi can do, and 90", got)
	}
	s.Instances[1].Status.Functions[0].Replicas[0].FullRate = 1400
	if got := used(); got[1] != 135 {
		t.Errorf("ips is used to %d percent, want 135: what a container does not take is for it, too", got[1])
	}
	s.Instances[1].Status.Functions[0].Replicas[0].FullRate = 400
	if got := s.blackboxes()[1].Replicas; got[0].SentRate != 2500 || got[0].FullRate != 400 || got[1].SentRate != 3000 {
		t.Errorf("replicas are %+v, want the sums of all instances", got)
	}
	s.Chain.Status.Functions = s.blackboxes()
	s.Instances[0].Status.Functions[0].Replicas[1].SentRate = 1900
	if got := used(); got[1] != 90 {
		t.Errorf("ips is used to %d percent, want what was said before, as it is about that", got[1])
	}
}
