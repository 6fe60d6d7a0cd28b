package report

import (
	"reflect"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
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
				Name: "ips", Ready: true, SentRate: 1000, ReturnedRate: 900, PastRate: 3000, LatencyMedianMicroseconds: 30, LatencyP99Microseconds: 40,
				Contradictions: []string{"Source", "DSCP"},
			}),
			with("a-1",
				v1alpha1.FunctionStatus{Name: "dpi", Ready: true, SentRate: 5},
				v1alpha1.FunctionStatus{
					Name: "ips", SentRate: 2000, ReturnedRate: 1900, PastRate: 4000, LatencyMedianMicroseconds: 10, LatencyP99Microseconds: 300,
					Contradictions: []string{"DSCP"},
				}),
			with("a-2"),
		}},
	}
	want := []v1alpha1.FunctionStatus{
		{Name: "dpi", Ready: true, SentRate: 5},
		{
			Name: "ips", SentRate: 3050, ReturnedRate: 2800, PastRate: 7010, LatencyMedianMicroseconds: 20, LatencyP99Microseconds: 300,
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
