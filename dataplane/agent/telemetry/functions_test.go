package telemetry

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// watching is testSeen of a program with a closed function and an open one.
func watching(t *testing.T, down ...bool) *Seen {
	t.Helper()
	s := testSeen(t)
	p := s.State.Program
	var wires []*controlpb.WireStats
	for _, name := range []string{"ips-inside", "ips-outside", "dpi-inside", "dpi-outside"} {
		p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: name, Wire: true, Function: name[:3]})
	}
	first := uint32(len(p.Interfaces) - 4)
	p.Reasons, p.Counters = append(p.Reasons, "ips/down"), append(p.Counters, "dpi/bypassed")
	drop := &programpb.Stop_Drop{Drop: uint32(len(p.Reasons) - 1)}
	bypass := &programpb.Stop_Bypass{Bypass: uint32(len(p.Counters) - 1)}
	class := &programpb.Class{}
	for _, stop := range []*programpb.Stop{
		{Out: first, Back: first + 1, Down: drop},
		{Out: first + 1, Back: first, Down: drop},
		{Out: first + 2, Back: first + 3, Down: bypass},
		{Out: first + 2, Back: first + 3, Segment: 1, Down: bypass}, // from elsewhere
	} {
		class.Legs = append(class.Legs, &programpb.Leg{Outcome: &programpb.Leg_Stop{Stop: stop}})
	}
	p.Segments[0].Classes = append(p.Segments[0].Classes, class)
	for i, stop := range class.GetLegs()[:3] {
		name := func(i uint32) string { return p.Interfaces[i].GetName() }
		wires = append(wires, &controlpb.WireStats{
			Out: name(stop.GetStop().GetOut()), Back: name(stop.GetStop().GetBack()), Watched: true, Down: i < len(down) && down[i],
		})
	}
	s.Now.Stats.Wires, s.Now.Stats.Hosts = wires, nil
	return s
}

func TestTheConditionOfFunctionsSaysWhatBecomesOfPackets(t *testing.T) {
	const closed, open = " does not answer probes: packets are dropped as ips/down", " does not answer probes: packets pass it by, counted by dpi/bypassed"
	for name, c := range map[string]struct {
		down            []bool
		status          metav1.ConditionStatus
		reason, message string
	}{
		"all answer": {
			nil, metav1.ConditionTrue, v1alpha1.ReasonAnswering,
			"ips-inside to ips-outside, ips-outside to ips-inside, dpi-inside to dpi-outside: probes come back",
		},
		"a closed one is down in one direction": {
			[]bool{true},
			metav1.ConditionFalse, v1alpha1.ReasonFunctionDown,
			"ips-inside to ips-outside" + closed + "; ips-outside to ips-inside, dpi-inside to dpi-outside: probes come back",
		},
		"an open one is down": {
			[]bool{false, false, true},
			metav1.ConditionFalse, v1alpha1.ReasonFunctionBypassed,
			"dpi-inside to dpi-outside" + open + "; ips-inside to ips-outside, ips-outside to ips-inside: probes come back",
		},
		"all are down": {
			[]bool{true, true, true},
			metav1.ConditionFalse, v1alpha1.ReasonFunctionDown,
			"ips-inside to ips-outside" + closed + "; ips-outside to ips-inside" + closed + "; dpi-inside to dpi-outside" + open,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := meta.FindStatusCondition(watching(t, c.down...).Status(nil).Conditions, v1alpha1.ConditionFunctionsUp)
			if got == nil || got.Status != c.status || got.Reason != c.reason || got.Message != c.message {
				t.Errorf("got %v\nwant %s, %s: %q", got, c.status, c.reason, c.message)
			}
		})
	}
}

func TestTheConditionOfFunctionsComesAndGoesWithThem(t *testing.T) {
	before := watching(t, true).Status(nil).Conditions
	s := watching(t)
	s.Now = nil
	got := meta.FindStatusCondition(s.Status(before).Conditions, v1alpha1.ConditionFunctionsUp)
	if got == nil || got.Status != metav1.ConditionUnknown || got.Reason != v1alpha1.ReasonEngineDown {
		t.Errorf("without an engine that answers the condition is %v", got)
	}
	s = watching(t)
	s.Now.Stats.Hash = []byte("the program before")
	if got := meta.FindStatusCondition(s.Status(before).Conditions, v1alpha1.ConditionFunctionsUp); got == nil || got.Reason != v1alpha1.ReasonFunctionDown {
		t.Errorf("while the engine tells of the program before, the condition is %v", got)
	}
	if got := meta.FindStatusCondition(testSeen(t).Status(before).Conditions, v1alpha1.ConditionFunctionsUp); got != nil {
		t.Errorf("without functions that get probes the condition is %v", got)
	}
}
